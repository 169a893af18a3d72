"""What a case may contain: every table and column with its type, unit, range, default and meaning.

Validation, the documentation of the case folder and the reports' headings all come from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """One column of a case table.

    ``kind`` is text, number, integer, flag, quarter or choice. ``default`` says in words where the value of an
    empty cell comes from; a required column has none. ``reference`` names what the value must be found in.
    """

    name: str
    kind: str
    description: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    required: bool = True
    default: str = ""
    choices: tuple[str, ...] = ()
    reference: str = ""


@dataclass(frozen=True)
class Table:
    """One table of a case: a CSV file of the same name."""

    name: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    required: bool = False
    when_absent: str = ""
    by_column: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_column", {column.name: column for column in self.columns})


def _text(name: str, description: str, reference: str = "", **more: object) -> Column:
    return Column(name, "text", description, reference=reference, **more)  # type: ignore[arg-type]


def _number(name: str, unit: str, description: str, minimum: float | None = 0.0, **more: object) -> Column:
    return Column(name, "number", description, unit=unit, minimum=minimum, **more)  # type: ignore[arg-type]


def _optional(column: Column, default: str) -> Column:
    return Column(**{**column.__dict__, "required": False, "default": default})


_SITE = _text("site", "A site of sites.csv.", "site")
_SKU = _text("sku", "A SKU of the catalogue or of hardware.csv.", "sku")
_QUARTER = Column("quarter", "quarter", "Calendar quarter, for example 2027Q1.")
_COUNT = Column("count", "integer", "Whole units.", unit="units", minimum=1)
_SCENARIO = "the scenario"
_LENGTHS = "the scenario, scaled by the stated mean"

FORECAST = Table(
    "forecast",
    "How many requests arrive, at the peak, in every quarter of the plan and its look-ahead.",
    ("quarter", "workload"),
    (
        _QUARTER,
        _text("workload", "A workload of workloads.csv.", "workload"),
        _number(
            "peak_requests_per_s",
            "requests/s",
            "Requests per second in the busiest hour.",
        ),
    ),
    required=True,
)

WORKLOADS = Table(
    "workloads",
    "What is asked of which LLM, how long, how fast. The scenario fills all but the first three columns.",
    ("workload",),
    (
        _text("workload", "Name used in the other tables."),
        _text("scenario", "A packaged scenario: lengths, reuse and service levels.", "scenario"),
        _text("card", "The LLM: a packaged card, or a JSON file in the case folder.", "card"),
        _optional(_text("weight_precision", "Precision of the weights.", "precision"), "the card's native precision"),
        _optional(_text("kv_format", "Format of the KV cache.", "kv_format"), "premise column/workloads.kv_format"),
        Column(
            "sla_tier",
            "choice",
            "Which service level of the scenario.",
            choices=("ok", "good", "great"),
            required=False,
            default="premise column/workloads.sla_tier",
        ),
        _optional(
            _number("priority", "weight", "Weight of a request that is not served.", above=0.0, minimum=None),
            "premise column/workloads.priority",
        ),
        Column("deferrable", "flag", "May wait for quiet hours; sized at its mean.", required=False, default=_SCENARIO),
        _optional(_number("ttft_s", "s", "Time to first token.", above=0.0, minimum=None), f"{_SCENARIO} at the tier"),
        _optional(
            _number("tps_user", "tokens/s", "Speed of visible output per user; 0 for no target."),
            f"{_SCENARIO} at the tier",
        ),
        _optional(
            _number("tps_thinking", "tokens/s", "Speed of thinking per user; 0 for no target."),
            f"{_SCENARIO} at the tier",
        ),
        _optional(
            _number("input_mean_tokens", "tokens", "Mean input of a request, history included.", minimum=1), _SCENARIO
        ),
        _optional(_number("input_p50_tokens", "tokens", "Median input.", minimum=1), _LENGTHS),
        _optional(_number("input_p90_tokens", "tokens", "90th percentile of input.", minimum=1), _LENGTHS),
        _optional(_number("input_p99_tokens", "tokens", "99th percentile of input.", minimum=1), _LENGTHS),
        _optional(
            _number(
                "context_cap_tokens",
                "tokens",
                "Longest context served: longer ones are compacted to it. "
                "Must be stated where the scenario's cap exceeds the card's maximum.",
                minimum=1,
            ),
            _SCENARIO,
        ),
        _optional(
            _number("output_thinking_tokens", "tokens", "Thinking per request; dropped from the next prompt."),
            _SCENARIO,
        ),
        _optional(
            _number("output_visible_tokens", "tokens", "Visible output per request; part of the next prompt."),
            _SCENARIO,
        ),
        _optional(
            _number(
                "mean_to_peak",
                "fraction",
                "Mean over peak rate; energy and wear follow the mean.",
                above=0.0,
                minimum=None,
                maximum=1.0,
            ),
            _SCENARIO,
        ),
        _optional(
            _text(
                "reuse_curve",
                "Which reuse curve: a packaged name, with :low or :high for its band, or none.",
                "reuse_curve",
            ),
            _SCENARIO,
        ),
        _optional(
            _number("shared_prefix_tokens", "tokens", "System and tool prompt shared by all requests; always kept."),
            _SCENARIO,
        ),
        _optional(
            _number("isl_growth_per_year", "fraction/year", "Growth of input length.", minimum=-0.9),
            "the case's setting",
        ),
        _optional(
            _number(
                "lookahead_short_usd_per_request", "USD/request", "Worth of a request not served in the look-ahead."
            ),
            "lookahead_short_usd_per_million_tokens x mean input and output",
        ),
    ),
    required=True,
)

SITES = Table(
    "sites",
    "What each site can hold from a quarter on, until its next row. A site needs a row at or before the first quarter.",
    ("site", "from_quarter"),
    (
        _text("site", "Name used in the other tables."),
        Column("from_quarter", "quarter", "The limits hold from this quarter on."),
        _number("power_kw", "kW", "Power that the site can supply, on the stated basis."),
        Column(
            "power_basis",
            "choice",
            "Whether power_kw is drawn from the grid (facility) or arrives at racks (it).",
            choices=("facility", "it"),
        ),
        _number("pue", "ratio", "Facility power over IT power.", minimum=1.0, maximum=3.0),
        _number("positions", "rack positions", "Rack positions."),
        _number("area_m2", "m2", "Whitespace, aisles included."),
        _optional(
            _number("liquid_kw", "kW", "Heat that liquid cooling can take."),
            "premise column/sites.liquid_kw (no limit)",
        ),
        _optional(_number("ports", "ports", "Network ports."), "premise column/sites.ports (no limit)"),
        _optional(
            _number("floor_load_kg_per_m2", "kg/m2", "What the floor bears under a rack.", above=0.0, minimum=None),
            "premise column/sites.floor_load_kg_per_m2",
        ),
        Column(
            "pods_max", "integer", "Pods (domains that share CMX and LPX) that may stand here.", unit="pods", minimum=0
        ),
        _number("electricity_usd_per_kwh", "USD/kWh", "Price of electricity."),
        _number("space_usd_per_kw_month", "USD/kW/month", "Rent per kW of IT power in use."),
    ),
    required=True,
)

BUDGET = Table(
    "budget",
    "Capital that may be spent in each quarter; every quarter of the plan and its look-ahead.",
    ("quarter",),
    (_QUARTER, _number("budget_usd", "USD", "Capital budget of the quarter.")),
    when_absent="No budget limit.",
)

FLEET = Table(
    "fleet",
    "What stands and works when the plan begins, by vintage.",
    ("site", "sku", "in_service"),
    (
        _SITE,
        _SKU,
        _COUNT,
        Column("in_service", "quarter", "Quarter in which these units went into service; before the first quarter."),
        _number("paid_usd_per_unit", "USD", "Price paid, attach included."),
        Column(
            "retirable",
            "flag",
            "May leave before the end of its life.",
            required=False,
            default="premise column/fleet.retirable",
        ),
    ),
    when_absent="Nothing stands yet.",
)

ORDERS = Table(
    "orders",
    "Firm orders on the way: they arrive whatever the plan decides.",
    ("site", "sku", "delivery", "price_usd_per_unit"),
    (
        _SITE,
        _SKU,
        _COUNT,
        Column("delivery", "quarter", "Quarter of delivery, inside the horizon."),
        _number("price_usd_per_unit", "USD", "Agreed price, attach and installation included."),
        _optional(
            _number("paid_share", "fraction", "Share of the price already paid.", maximum=1.0),
            "the class's milestone at order",
        ),
    ),
    when_absent="Nothing is on the way.",
)

EXPANSIONS = Table(
    "expansions",
    "How a site can grow: each step adds power, positions and area.",
    ("site", "expansion"),
    (
        _SITE,
        _text("expansion", "Name of the step."),
        _number("power_kw", "kW", "Power added, on the site's basis."),
        _number("positions", "rack positions", "Positions added."),
        _number("area_m2", "m2", "Whitespace added."),
        _optional(_number("liquid_kw", "kW", "Liquid cooling added."), "premise column/expansions.liquid_kw"),
        _optional(_number("ports", "ports", "Ports added."), "premise column/expansions.ports"),
        _number("capex_usd", "USD", "Capital per step."),
        _number("lead_quarters", "quarters", "From decision to use; rounded up to whole quarters."),
        Column("max_count", "integer", "How many steps at most.", unit="steps", minimum=1),
    ),
    when_absent="Sites cannot be expanded.",
)

RESERVED = Table(
    "reserved",
    "Units held for something else, such as training or a customer.",
    ("site", "sku", "quarter", "purpose"),
    (_SITE, _SKU, _QUARTER, _COUNT, _text("purpose", "What they are held for.")),
    when_absent="Everything owned may serve.",
)

HARDWARE = Table(
    "hardware",
    "A case's own figures over the catalogue's, one attribute of one SKU, class or price path per row.",
    ("sku", "attribute"),
    (
        _text("sku", "A SKU, class or price path of the catalogue; a new SKU has a row with attribute kind.", ""),
        _text("attribute", "An attribute of the catalogue."),
        _text("value", "The value, in the catalogue's unit."),
        _text("unit", "The catalogue's unit."),
        _optional(_text("low", "Low end of the band."), "no band"),
        _optional(_text("high", "High end of the band."), "no band"),
        _optional(_text("kind", "Kind of evidence."), "user"),
        _text("source", "Where the figure comes from."),
        _optional(_text("source_date", "Its date."), "empty"),
        _optional(_text("note", "Anything else."), "empty"),
    ),
    when_absent="The catalogue as packaged.",
)

ATTACH = Table(
    "attach",
    "What one unit drags along outside itself, over the catalogue's figures.",
    ("sku",),
    (
        _SKU,
        _optional(_number("attach_kw", "kW", "Switches and their optics."), "the catalogue"),
        _optional(_number("attach_positions", "rack positions", "Network racks and row CDUs."), "the catalogue"),
        _optional(_number("attach_usd", "USD", "Switches, optics, cabling."), "the catalogue"),
        _optional(_number("install_usd", "USD", "Installation, freight, first spare parts."), "the catalogue"),
    ),
    when_absent="The catalogue as packaged.",
)

PRICES = Table(
    "prices",
    "Quoted prices; a quarter that is not listed keeps the catalogue's level and path.",
    ("sku", "quarter"),
    (
        _SKU,
        Column("quarter", "quarter", "Quarter of delivery."),
        _number("price_usd", "USD", "Price of one unit."),
    ),
    when_absent="The catalogue as packaged.",
)

SOURCES = Table(
    "sources",
    "Where the numbers of the other tables come from. For readers: it changes nothing in the plan.",
    ("table", "column", "item"),
    (
        _text("table", "A table of this case, or case.toml.", "table"),
        _text("column", "Column or setting."),
        _optional(_text("item", "Which rows, in words or by key."), "all rows"),
        Column(
            "kind",
            "choice",
            "Kind of evidence.",
            choices=("measured", "user", "published", "press", "analyst", "physics", "vendor claim", "assumption"),
        ),
        _text("source", "Where it comes from, or how it was reasoned."),
        _optional(_text("note", "Anything else."), "empty"),
    ),
    when_absent="The case names no sources.",
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        FORECAST,
        WORKLOADS,
        SITES,
        BUDGET,
        FLEET,
        ORDERS,
        EXPANSIONS,
        RESERVED,
        HARDWARE,
        ATTACH,
        PRICES,
        SOURCES,
    )
}
"""Every table of a case, in the order in which a planner meets them."""
