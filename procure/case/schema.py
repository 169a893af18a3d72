"""What a case may contain: every table and column with its type, unit, range, default and meaning.

Validation, the documentation of the case folder and the reports' headings all come from here.
"""

from __future__ import annotations

from procure.case.columns import Column, Table, number, optional, text

__all__ = ["TABLES", "Column", "Table"]

_SITE = text("site", "A site of sites.csv.", "site")
_SKU = text("sku", "A SKU of the catalogue or of hardware.csv.", "sku")
_QUARTER = Column("quarter", "quarter", "Calendar quarter, for example 2027Q1.")
_COUNT = Column("count", "integer", "Whole units.", unit="units", minimum=1)
_SCENARIO = "the scenario"
_LENGTHS = "the scenario, scaled by the lengths stated"

FORECAST = Table(
    "forecast",
    "How many requests arrive, at the peak, in every quarter of the plan and its look-ahead.",
    ("quarter", "workload"),
    (
        _QUARTER,
        text("workload", "A workload of workloads.csv.", "workload"),
        optional(
            number("peak_requests_per_s", "requests/s", "Requests per second in the busiest hour."),
            "worked out from one of the next columns",
        ),
        optional(number("open_sessions", "sessions", "Sessions open at the peak (Little's law)."), "not used"),
        optional(number("people", "people", "People at work in the busiest hour."), "not used"),
        optional(number("requests_per_person_hour", "requests/person/hour", "Needed beside people."), "not used"),
        optional(
            number("tokens_per_day", "tokens/day", "Input and output of a mean day, cached ones included."), "not used"
        ),
    ),
    required=True,
)

WORKLOADS = Table(
    "workloads",
    "What is asked of which LLM, how long, how fast. The scenario fills all but the first three columns.",
    ("workload",),
    (
        text("workload", "Name used in the other tables."),
        text("scenario", "A packaged scenario: lengths, reuse and service levels.", "scenario"),
        text("card", "The LLM: a packaged card, or a JSON file in the case folder.", "card"),
        optional(text("weight_precision", "Precision of the weights.", "precision"), "the card's native precision"),
        optional(
            text("kv_format", "Format of the KV cache; parts that differ after a plus: `fp8+rope=bf16`.", "kv_format"),
            "premise column/workloads.kv_format",
        ),
        Column(
            "sla_tier",
            "choice",
            "Which service level of the scenario.",
            choices=("ok", "good", "great"),
            required=False,
            default="premise column/workloads.sla_tier",
        ),
        optional(
            number("priority", "weight", "Weight of a request that is not served.", above=0.0, minimum=None),
            "premise column/workloads.priority",
        ),
        Column("deferrable", "flag", "May wait for quiet hours; sized at its mean.", required=False, default=_SCENARIO),
        optional(number("ttft_s", "s", "Time to first token.", above=0.0, minimum=None), f"{_SCENARIO} at the tier"),
        optional(
            number("tps_user", "tokens/s", "Speed of visible output per user; 0 for no target."),
            f"{_SCENARIO} at the tier",
        ),
        optional(
            number("tps_thinking", "tokens/s", "Speed of thinking per user; 0 for no target."),
            f"{_SCENARIO} at the tier",
        ),
        optional(
            number("input_mean_tokens", "tokens", "Mean input of a request, history included.", minimum=1), _LENGTHS
        ),
        optional(number("input_p50_tokens", "tokens", "Median input.", minimum=1), _LENGTHS),
        optional(number("input_p90_tokens", "tokens", "90th percentile of input.", minimum=1), _LENGTHS),
        optional(number("input_p99_tokens", "tokens", "99th percentile of input.", minimum=1), _LENGTHS),
        optional(
            number(
                "context_cap_tokens",
                "tokens",
                "Longest context served: longer ones are compacted to it. "
                "Must be stated where the scenario's cap exceeds the card's maximum.",
                minimum=1,
            ),
            _SCENARIO,
        ),
        optional(
            number("output_thinking_tokens", "tokens", "Thinking per request; dropped from the next prompt."),
            _SCENARIO,
        ),
        optional(
            number("output_visible_tokens", "tokens", "Visible output per request; part of the next prompt."),
            _SCENARIO,
        ),
        optional(
            number(
                "mean_to_peak",
                "fraction",
                "Mean over peak rate; energy and wear follow the mean.",
                above=0.0,
                minimum=None,
                maximum=1.0,
            ),
            _SCENARIO,
        ),
        optional(
            text(
                "reuse_curve",
                "Which reuse curve: a packaged name, with :low or :high for its band, or none.",
                "reuse_curve",
            ),
            _SCENARIO,
        ),
        optional(
            number("shared_prefix_tokens", "tokens", "System and tool prompt shared by all requests; always kept."),
            _SCENARIO,
        ),
        optional(
            number("isl_growth_per_year", "fraction/year", "Growth of input length.", minimum=-0.9),
            "the case's setting",
        ),
        optional(
            number("output_growth_per_year", "fraction/year", "Growth of output length.", minimum=-0.9), "no growth"
        ),
        optional(
            number("context_cap_growth_per_year", "fraction/year", "Growth of the context cap.", minimum=-0.9),
            "that of the input under route cap, else no growth",
        ),
        optional(
            number(
                "tail_growth_per_year",
                "fraction/year",
                "Growth of the spread of lengths at equal mean: more long requests.",
                minimum=-0.9,
            ),
            "no growth",
        ),
        optional(
            number("session_s_per_call", "s", "Seconds of open session per request.", above=0.0, minimum=None),
            _SCENARIO,
        ),
        optional(number("calls_per_task", "requests/task", "Requests of one task.", minimum=1), _SCENARIO),
        optional(number("subtasks", "sessions/task", "Sessions into which a task is split.", minimum=1), _SCENARIO),
        optional(number("tool_s", "s/task", "Time that the tools of one task take."), _SCENARIO),
        optional(number("burst_tokens", "tokens", "First tokens that must come at burst speed."), _SCENARIO),
        optional(
            number(
                "ttft_share",
                "fraction",
                "Share of requests that must meet their TTFT.",
                above=0.0,
                minimum=None,
                maximum=1.0,
            ),
            "the case's setting",
        ),
        optional(
            number(
                "lookahead_short_usd_per_million_cached_input_tokens",
                "USD/M tokens",
                "Worth of input found in a cache, not served in the look-ahead.",
            ),
            "the case's setting",
        ),
        optional(
            number(
                "lookahead_short_usd_per_million_computed_input_tokens",
                "USD/M tokens",
                "Worth of input to be prefilled, not served in the look-ahead.",
            ),
            "the case's setting",
        ),
        optional(
            number(
                "lookahead_short_usd_per_million_output_tokens",
                "USD/M tokens",
                "Worth of output, thinking included, not served in the look-ahead.",
            ),
            "the case's setting",
        ),
        optional(
            number(
                "lookahead_short_usd_per_request",
                "USD/request",
                "Worth of a request not served in the look-ahead, whatever its length; goes before its tokens'.",
            ),
            "the worths of its tokens at the lengths and reuse of each quarter",
        ),
    ),
    required=True,
)

SITES = Table(
    "sites",
    "What each site can hold from a quarter on, until its next row. A site needs a row at or before the first quarter.",
    ("site", "from_quarter"),
    (
        text("site", "Name used in the other tables."),
        Column("from_quarter", "quarter", "The limits hold from this quarter on."),
        number("power_kw", "kW", "Power that the site can supply, on the stated basis."),
        Column(
            "power_basis",
            "choice",
            "Whether power_kw is drawn from the grid (facility) or arrives at racks (it).",
            choices=("facility", "it"),
        ),
        number("pue", "ratio", "Facility power over IT power.", minimum=1.0, maximum=3.0),
        number("positions", "rack positions", "Rack positions."),
        number("area_m2", "m2", "Whitespace, aisles included."),
        optional(
            number("liquid_kw", "kW", "Heat that liquid cooling can take."),
            "premise column/sites.liquid_kw (no limit)",
        ),
        optional(number("ports", "ports", "Network ports."), "premise column/sites.ports (no limit)"),
        optional(
            number("floor_load_kg_per_m2", "kg/m2", "What the floor bears under a rack.", above=0.0, minimum=None),
            "premise column/sites.floor_load_kg_per_m2",
        ),
        Column(
            "pods_max", "integer", "Pods (domains that share CMX and LPX) that may stand here.", unit="pods", minimum=0
        ),
        Column(
            "cmx_crosses_pods",
            "flag",
            "Racks read the CMX of the site's other pods as fast as that of their own.",
            required=False,
            default="premise column/sites.cmx_crosses_pods",
        ),
        number("electricity_usd_per_kwh", "USD/kWh", "Price of electricity."),
        number("space_usd_per_kw_month", "USD/kW/month", "Rent per kW of IT power in use."),
    ),
    required=True,
)

BUDGET = Table(
    "budget",
    "Capital that may be spent in each quarter; every quarter of the plan and its look-ahead.",
    ("quarter",),
    (_QUARTER, number("budget_usd", "USD", "Capital budget of the quarter.")),
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
        number("paid_usd_per_unit", "USD", "Price paid, attach and installation included."),
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
        number("price_usd_per_unit", "USD", "Agreed price, attach and installation included."),
        optional(
            number("paid_share", "fraction", "Share of the price already paid.", maximum=1.0),
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
        text("expansion", "Name of the step."),
        number("power_kw", "kW", "Power added, on the site's basis."),
        number("positions", "rack positions", "Positions added."),
        number("area_m2", "m2", "Whitespace added."),
        optional(number("liquid_kw", "kW", "Liquid cooling added."), "premise column/expansions.liquid_kw"),
        optional(number("ports", "ports", "Ports added."), "premise column/expansions.ports"),
        number("capex_usd", "USD", "Capital per step."),
        number("lead_quarters", "quarters", "From decision to use; rounded up to whole quarters."),
        Column("max_count", "integer", "How many steps at most.", unit="steps", minimum=1),
    ),
    when_absent="Sites cannot be expanded.",
)

RESERVED = Table(
    "reserved",
    "Units held for something else, such as training or a customer.",
    ("site", "sku", "quarter", "purpose"),
    (_SITE, _SKU, _QUARTER, _COUNT, text("purpose", "What they are held for.")),
    when_absent="Everything owned may serve.",
)

LENGTHS = Table(
    "lengths",
    "Input lengths as a histogram, as `procure trace` writes it (lengths.csv); replaces p50, p90, p99 of workloads.",
    ("workload", "up_to_tokens"),
    (
        text("workload", "A workload of workloads.csv, which states the mean.", "workload"),
        number("up_to_tokens", "tokens", "Upper end of the bin.", above=0.0, minimum=None),
        number("share_requests", "fraction", "Share of the requests in the bin; scaled to sum to 1.", maximum=1.0),
    ),
    when_absent="Lengths follow from mean, p50, p90 and p99.",
)

REUSE = Table(
    "reuse",
    "Reuse curves of your own, as `procure trace` writes them (reuse.csv); name them in workloads.reuse_curve.",
    ("curve", "age_s"),
    (
        text("curve", "Name of the curve."),
        number("age_s", "s", "Idle time from completion to the next arrival.", above=0.0, minimum=None),
        number("return_share", "fraction", "Requests, by tokens, that return within the age.", maximum=1.0),
        number("reused_share", "fraction", "Share of a returning request's input that is reused.", maximum=1.0),
        Column(
            "clock",
            "choice",
            "What the age counts from: completion (idle), or start, which overstates idle time.",
            choices=("idle", "start"),
            required=False,
            default="idle",
        ),
    ),
    when_absent="Packaged curves only.",
)

THROUGHPUT = Table(
    "throughput",
    "Measured throughput of your own, used as stated at its lengths and speeds (docs/performance.md).",
    ("sku", "card", "weight_precision", "with_lpx", "isl", "osl", "all_gpus", "tps_user"),
    (
        _SKU,
        text("card", "Name of the LLM that was measured."),
        text("weight_precision", "Format of its weights."),
        number("isl", "tokens", "Mean input length that ran.", above=0.0, minimum=None),
        number("osl", "tokens", "Mean output length that ran.", above=0.0, minimum=None),
        number("tps_user", "tokens/s", "TPS/User of the median stream.", above=0.0, minimum=None),
        number(
            "tokens_per_s_per_gpu",
            "tokens/s",
            "Output tokens/s per GPU, the best of the sweep; may not rise with tps_user.",
            above=0.0,
            minimum=None,
        ),
        Column(
            "all_gpus", "integer", "1: over decode and prefill GPUs, 0: over decode GPUs alone.", minimum=0, maximum=1
        ),
        optional(
            number("low", "factor", "Low end of the band, a factor on throughput.", maximum=1.0), "the physics' band"
        ),
        optional(number("high", "factor", "High end of the band, a factor.", minimum=1.0), "the physics' band"),
        text("date", "When it was measured, for example 2027-02."),
        text("source", "Who measured it, and how."),
        optional(text("techniques", "Speculation, wide EP, disaggregation."), "empty"),
        optional(
            Column("with_lpx", "integer", "1: decode with LPX racks beside the GPUs.", minimum=0, maximum=1),
            "0: GPUs alone",
        ),
        optional(
            number(
                "prefill_tokens_per_s_per_gpu",
                "tokens/s",
                "Input tokens/s per GPU of a saturated prefill pool on prompts of isl tokens, nothing reused.",
                above=0.0,
                minimum=None,
            ),
            "the physics",
        ),
    ),
    when_absent="Packaged measured curves and physics.",
)

HARDWARE = Table(
    "hardware",
    "A case's own figures over the catalogue's, one attribute of one SKU, class or price path per row.",
    ("sku", "attribute"),
    (
        text("sku", "A SKU, class or price path of the catalogue; a new SKU has a row with attribute kind.", ""),
        text("attribute", "An attribute of the catalogue."),
        text("value", "The value, in the catalogue's unit."),
        text("unit", "The catalogue's unit."),
        optional(text("low", "Low end of the band."), "no band"),
        optional(text("high", "High end of the band."), "no band"),
        optional(text("kind", "Kind of evidence."), "user"),
        text("source", "Where the figure comes from."),
        optional(text("source_date", "Its date."), "empty"),
        optional(text("note", "Anything else."), "empty"),
    ),
    when_absent="The catalogue as packaged.",
)

ATTACH = Table(
    "attach",
    "What one unit drags along outside itself, over the catalogue's figures.",
    ("sku",),
    (
        _SKU,
        optional(number("attach_kw", "kW", "Switches and their optics."), "the catalogue"),
        optional(number("attach_positions", "rack positions", "Network racks and row CDUs."), "the catalogue"),
        optional(number("attach_usd", "USD", "Switches, optics, cabling."), "the catalogue"),
        optional(number("install_usd", "USD", "Installation, freight, first spare parts."), "the catalogue"),
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
        number("price_usd", "USD", "Price of one unit."),
    ),
    when_absent="The catalogue as packaged.",
)

SOURCES = Table(
    "sources",
    "Where the numbers of the other tables come from. For readers: it changes nothing in the plan.",
    ("table", "column", "item"),
    (
        text("table", "A table of this case, or case.toml.", "table"),
        text("column", "Column or setting."),
        optional(text("item", "Which rows, in words or by key."), "all rows"),
        Column(
            "kind",
            "choice",
            "Kind of evidence.",
            choices=("measured", "user", "published", "press", "analyst", "physics", "vendor claim", "assumption"),
        ),
        text("source", "Where it comes from, or how it was reasoned."),
        optional(text("note", "Anything else."), "empty"),
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
        LENGTHS,
        REUSE,
        THROUGHPUT,
        HARDWARE,
        ATTACH,
        PRICES,
        SOURCES,
    )
}
"""Every table of a case, in the order in which a planner meets them."""
