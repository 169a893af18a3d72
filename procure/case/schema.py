"""What a case may contain: every table and column with its type, unit, range, default and meaning.

Validation, the documentation of the case folder and the reports' headings all come from here. An empty cell of an
optional column is filled from where ``empty`` says, before anything else reads the table.
"""

from __future__ import annotations

from procure.schema import CacheLoss, Evidence, Instrument, ResilienceKind, Row, Table, col, row

_SITE = "A site of sites.csv."
_SKU = "A SKU of the catalogue or of hardware.csv."
_QUARTER = "Calendar quarter, for example 2027Q1."
_COUNT = "Whole units."
_SCENARIO = "the scenario"
_TIER = "the scenario at the tier"
_LENGTHS = "the scenario, scaled by the lengths stated"
_SETTING = "the case's setting"
_CATALOGUE = "the catalogue"


@row("forecast", required=True)
class Forecast(Row):
    """How many requests arrive, at the peak, in every quarter of the plan and its look-ahead."""

    quarter: str = col(_QUARTER, key=True, kind="quarter")
    workload: str = col("A workload of workloads.csv.", key=True, reference="workload")
    peak_requests_per_s: float = col(
        "Requests per second in the busiest hour.",
        unit="requests/s",
        empty="worked out from one of the next columns",
        minimum=0.0,
    )
    open_sessions: float = col(
        "Sessions open at the peak (Little's law).", unit="sessions", empty="not used", minimum=0.0
    )
    people: float = col("People at work in the busiest hour.", unit="people", empty="not used", minimum=0.0)
    requests_per_person_hour: float = col(
        "Needed beside people.", unit="requests/person/hour", empty="not used", minimum=0.0
    )
    tokens_per_day: float = col(
        "Input and output of a mean day, cached ones included.", unit="tokens/day", empty="not used", minimum=0.0
    )
    requests_per_day: float = col("Requests of a mean day.", unit="requests/day", empty="not used", minimum=0.0)


@row("workloads", required=True)
class Workload(Row):
    """What is asked of which LLM, how long, how fast. The scenario fills all but the first three columns."""

    workload: str = col("Name used in the other tables.", key=True)
    scenario: str = col("A packaged scenario: lengths, reuse and service levels.", reference="scenario")
    card: str = col("The LLM: a packaged card, or a JSON file in the case folder.", reference="card")
    weight_precision: str = col("Precision of the weights.", reference="precision", empty="the card's native precision")
    kv_format: str = col(
        "Format of the KV cache; parts that differ after a plus: `fp8+rope=bf16`.",
        reference="kv_format",
        empty="premise column/workloads.kv_format",
    )
    sla_tier: str = col(
        "Which service level of the scenario.",
        empty="premise column/workloads.sla_tier",
        choices=("ok", "good", "great"),
    )
    instance_gpus: float = col(
        "GPUs of one instance of its LLM, at least; where no layout has so many, the largest.",
        unit="GPUs",
        kind="integer",
        empty="the size that carries the load with the fewest racks",
        minimum=1,
    )
    priority: float = col(
        "Weight of a request that is not served.", unit="weight", empty="premise column/workloads.priority", above=0.0
    )
    min_served_share: float = col(
        "Share of its requests that every planned quarter serves as promised at least; no plan serves less.",
        unit="fraction",
        empty="no least share",
        minimum=0.0,
        maximum=1.0,
    )
    deferrable: bool = col(
        "May wait for quiet hours of the same day; its requests are those of the day, forecast as peak and mean over "
        "peak. With dayparts = clock the plan places them, else they run evenly.",
        empty=_SCENARIO,
    )
    day_shape: str = col(
        "Its day by clock hour: the scenario whose day it has, or one of day_shapes.csv.",
        reference="day_shape",
        empty="the scenario's day",
    )
    clock_shift_hours: int = col(
        "Hours by which its day runs later on the case's clock than its day_shape says; 8 for people 8 hours west.",
        unit="h",
        empty="no shift",
        minimum=-23,
        maximum=23,
    )
    ttft_s: float = col("Time to first token.", unit="s", empty=_TIER, above=0.0)
    tps_user: float = col(
        "Speed of visible output per user; 0 for no target.", unit="tokens/s", empty=_TIER, minimum=0.0
    )
    tps_thinking: float = col("Speed of thinking per user; 0 for no target.", unit="tokens/s", empty=_TIER, minimum=0.0)
    tps_burst: float = col(
        "Speed of the first burst_tokens per user; 0 for no target.", unit="tokens/s", empty=_TIER, minimum=0.0
    )
    input_mean_tokens: float = col(
        "Mean input of a request, history included.", unit="tokens", empty=_LENGTHS, minimum=1
    )
    input_p50_tokens: float = col("Median input.", unit="tokens", empty=_LENGTHS, minimum=1)
    input_p90_tokens: float = col("90th percentile of input.", unit="tokens", empty=_LENGTHS, minimum=1)
    input_p99_tokens: float = col("99th percentile of input.", unit="tokens", empty=_LENGTHS, minimum=1)
    context_cap_tokens: float = col(
        "Longest context served: longer ones are compacted to it. "
        "Must be stated where the scenario's cap exceeds the card's maximum.",
        unit="tokens",
        empty=_SCENARIO,
        minimum=1,
    )
    output_thinking_tokens: float = col(
        "Thinking per request; dropped from the next prompt.", unit="tokens", empty=_SCENARIO, minimum=0.0
    )
    output_visible_tokens: float = col(
        "Visible output per request; part of the next prompt.", unit="tokens", empty=_SCENARIO, minimum=0.0
    )
    mean_to_peak: float = col(
        "Mean over peak rate; energy and wear follow the mean.",
        unit="fraction",
        empty="that of its day in day_shapes.csv, else the scenario",
        maximum=1.0,
        above=0.0,
    )
    reuse_curve: str = col(
        "Which reuse curve: a packaged name, with :low or :high for its band, or none.",
        reference="reuse_curve",
        empty=_SCENARIO,
    )
    shared_prefix_tokens: float = col(
        "System and tool prompt shared by all requests; always kept.", unit="tokens", empty=_SCENARIO, minimum=0.0
    )
    isl_growth_per_year: float = col("Growth of input length.", unit="fraction/year", empty=_SETTING, minimum=-0.9)
    output_growth_per_year: float = col(
        "Growth of output length.", unit="fraction/year", empty="no growth", minimum=-0.9
    )
    context_cap_growth_per_year: float = col(
        "Growth of the context cap.",
        unit="fraction/year",
        empty="that of the input under route cap, else no growth",
        minimum=-0.9,
    )
    tail_growth_per_year: float = col(
        "Growth of the spread of lengths at equal mean: more long requests.",
        unit="fraction/year",
        empty="no growth",
        minimum=-0.9,
    )
    session_s_per_call: float = col("Seconds of open session per request.", unit="s", empty=_SCENARIO, above=0.0)
    calls_per_task: float = col("Requests of one task.", unit="requests/task", empty=_SCENARIO, minimum=1)
    subtasks: float = col("Sessions into which a task is split.", unit="sessions/task", empty=_SCENARIO, minimum=1)
    tool_s: float = col("Time that the tools of one task take.", unit="s/task", empty=_SCENARIO, minimum=0.0)
    burst_tokens: float = col(
        "First tokens that must come at burst speed.", unit="tokens", empty=_SCENARIO, minimum=0.0
    )
    ttft_share: float = col(
        "Share of requests that must meet their TTFT.", unit="fraction", empty=_SETTING, maximum=1.0, above=0.0
    )
    resilience: str = col(
        "What it is still served after: the loss of one or two units of each pool of a site (n+1, n+2), of one unit "
        "of each and of any one pod of a site (pod), of any one site (two_sites), or nothing (none). Workloads that "
        "ask for less may be shed then.",
        empty=_SETTING,
        choices=tuple(ResilienceKind),
    )
    cache_loss: str = col(
        "Which caches may be lost while it is served: those of one CMX rack of a site, of any one store of a site, "
        "all of them (cold_start), or none.",
        empty=_SETTING,
        choices=tuple(CacheLoss),
    )
    lookahead_short_usd_per_million_cached_input_tokens: float = col(
        "Worth of input found in a cache, not served in the look-ahead.",
        unit="USD/M tokens",
        empty=_SETTING,
        minimum=0.0,
    )
    lookahead_short_usd_per_million_computed_input_tokens: float = col(
        "Worth of input to be prefilled, not served in the look-ahead.",
        unit="USD/M tokens",
        empty=_SETTING,
        minimum=0.0,
    )
    lookahead_short_usd_per_million_output_tokens: float = col(
        "Worth of output, thinking included, not served in the look-ahead.",
        unit="USD/M tokens",
        empty=_SETTING,
        minimum=0.0,
    )
    lookahead_short_usd_per_request: float = col(
        "Worth of a request not served in the look-ahead, whatever its length; goes before its tokens'.",
        unit="USD/request",
        empty="the worths of its tokens at the lengths and reuse of each quarter",
        minimum=0.0,
    )


@row("sites", required=True)
class Site(Row):
    """What each site can hold from a quarter on, until its next row.

    A site needs a row at or before the first quarter.
    """

    site: str = col("Name used in the other tables.", key=True)
    from_quarter: str = col("The limits hold from this quarter on.", key=True, kind="quarter")
    power_kw: float = col("Power that the site can supply, on the stated basis.", unit="kW", minimum=0.0)
    power_basis: str = col(
        "Whether power_kw is drawn from the grid (facility) or arrives at racks (it).", choices=("facility", "it")
    )
    pue: float = col("Facility power over IT power.", unit="ratio", minimum=1.0, maximum=3.0)
    positions: float = col("Rack positions.", unit="rack positions", minimum=0.0)
    area_m2: float = col("Whitespace, aisles included.", unit="m2", minimum=0.0)
    liquid_kw: float = col(
        "Heat that liquid cooling can take.", unit="kW", empty="premise column/sites.liquid_kw (no limit)", minimum=0.0
    )
    ports: float = col("Network ports.", unit="ports", empty="premise column/sites.ports (no limit)", minimum=0.0)
    floor_load_kg_per_m2: float = col(
        "What the floor bears under a rack.", unit="kg/m2", empty="premise column/sites.floor_load_kg_per_m2", above=0.0
    )
    pods_max: int = col("Pods (domains that share CMX and LPX) that may stand here.", unit="pods", minimum=0)
    cmx_crosses_pods: bool = col(
        "Racks read the CMX of the site's other pods as fast as that of their own.",
        empty="premise column/sites.cmx_crosses_pods",
    )
    electricity_usd_per_kwh: float = col("Price of electricity.", unit="USD/kWh", minimum=0.0)
    space_usd_per_kw_month: float = col(
        "Rent per kW of IT power that is contracted, or stands beyond that; none for what expansions built.",
        unit="USD/kW/month",
        minimum=0.0,
    )
    contracted_kw: float = col(
        "IT power that is rented from this quarter on, used or not (take or pay).",
        unit="kW",
        empty="nothing is contracted: what stands pays rent",
        minimum=0.0,
    )


@row("budget", when_absent="No budget limit.")
class Budget(Row):
    """Capital and operating expenses that each quarter may have; every quarter of the plan and its look-ahead."""

    quarter: str = col(_QUARTER, key=True, kind="quarter")
    budget_usd: float = col("Capital budget of the quarter.", unit="USD", minimum=0.0)
    opex_usd: float = col(
        "Most that rent, power, space, support, reservations, replaced drives and rent of links may cost in it.",
        unit="USD",
        empty="no limit",
        minimum=0.0,
    )


@row("fleet", when_absent="Nothing stands yet.")
class Fleet(Row):
    """What stands and works when the plan begins, by vintage."""

    site: str = col(_SITE, key=True, reference="site")
    sku: str = col(_SKU, key=True, reference="sku")
    count: int = col(_COUNT, unit="units", minimum=1)
    in_service: str = col(
        "Quarter in which these units went into service; before the first quarter.", key=True, kind="quarter"
    )
    paid_usd_per_unit: float = col("Price paid, attach and installation included.", unit="USD", minimum=0.0)
    retirable: bool = col("May be sold, where the setting resale allows it.", empty="premise column/fleet.retirable")


@row("orders", when_absent="Nothing is on the way.")
class Order(Row):
    """Firm orders on the way: they arrive whatever the plan decides, but for what their terms let it cancel or defer.

    The plan gives notice in its first quarter, where the supplier still takes it. What is paid already stays paid.
    """

    site: str = col(_SITE, key=True, reference="site")
    sku: str = col(_SKU, key=True, reference="sku")
    count: int = col(_COUNT, unit="units", minimum=1)
    delivery: str = col("Quarter of delivery, inside the horizon.", key=True, kind="quarter")
    price_usd_per_unit: float = col(
        "Agreed price, attach and installation included.", unit="USD", key=True, minimum=0.0
    )
    paid_share: float = col(
        "Share of the price already paid.",
        unit="fraction",
        empty="the class's milestone at order",
        minimum=0.0,
        maximum=1.0,
    )
    cancel_fee_share: float = col(
        "Share of the price owed for a unit that is cancelled, what is paid already counted towards it.",
        unit="fraction",
        empty="no unit can be cancelled",
        minimum=0.0,
        maximum=1.0,
    )
    defer_quarters_most: float = col(
        "How many quarters later units can be asked for at most, rounded down and within the horizon; the rest of the "
        "price falls due then.",
        unit="quarters",
        empty="no unit can be deferred",
        minimum=1.0,
    )
    defer_fee_share_per_quarter: float = col(
        "Share of the price that each quarter of deferral costs, paid with the notice; goes with defer_quarters_most.",
        unit="1/quarter",
        empty="no unit can be deferred",
        minimum=0.0,
        maximum=1.0,
    )
    notice_until: str = col(
        "Last quarter in which the supplier takes notice of either.",
        kind="quarter",
        empty="the quarter before delivery",
    )


@row("expansions", when_absent="Sites cannot be expanded.")
class Expansion(Row):
    """How a site can grow: each step adds power, positions and area."""

    site: str = col(_SITE, key=True, reference="site")
    expansion: str = col("Name of the step.", key=True)
    power_kw: float = col("Power added, on the site's basis.", unit="kW", minimum=0.0)
    positions: float = col("Positions added.", unit="rack positions", minimum=0.0)
    area_m2: float = col("Whitespace added.", unit="m2", minimum=0.0)
    liquid_kw: float = col("Liquid cooling added.", unit="kW", empty="premise column/expansions.liquid_kw", minimum=0.0)
    ports: float = col("Ports added.", unit="ports", empty="premise column/expansions.ports", minimum=0.0)
    capex_usd: float = col("Capital per step.", unit="USD", minimum=0.0)
    lead_quarters: float = col("From decision to use; rounded up to whole quarters.", unit="quarters", minimum=0.0)
    max_count: int = col("How many steps at most.", unit="steps", minimum=1)
    pays_rent: bool = col(
        "Its power pays the site's rent, as a leased shell does; else its capital is all that it costs.",
        empty="premise column/expansions.pays_rent",
    )
    order_until: str = col(
        "Last quarter in which it can be ordered, as an offer or a hold ends then; it lapses without a fee.",
        kind="quarter",
        empty="no end",
    )


@row("reservations", when_absent="Steps of sites lapse when their offer ends.")
class Reservation(Row):
    """Ways to keep a step of a site after its offer ends (`order_until`), each with what it costs until it is used.

    The plan decides whether to keep the step so, and in which quarter to order it, at its price; or it lapses.
    """

    reservation: str = col("Name.", key=True)
    site: str = col(_SITE, reference="site")
    expansion: str = col("A step of expansions.csv at that site, which states order_until.")
    instrument: str = col(
        "first_offer: free, not firm. firm_hold: a fee from the end of the offer until it is ordered. early_rent: its "
        "rent from the end of the offer on, used or not, for good.",
        choices=tuple(Instrument),
    )
    until_quarter: str = col("Last quarter in which a step so kept can be ordered.", kind="quarter")
    most_steps: int = col("Most steps so kept.", unit="steps", empty="max_count of the step", minimum=1)
    usd_per_kw_month: float = col(
        "Fee, or rent, of a kW of IT power of the step.",
        unit="USD/kW/month",
        empty="firm_hold: premise reservation/firm_hold/usd_per_kw_month; early_rent: the site's rent; else nothing",
        minimum=0.0,
    )
    usd_per_step_month: float = col(
        "Fee, or rent, of a step, instead of one by kW.", unit="USD/step/month", empty="not used", minimum=0.0
    )
    counted_on: bool = col("The plan may count on it.", empty="true; of a first_offer, which is not firm, false")


@row("rent", when_absent="Nothing can be rented.")
class Rent(Row):
    """Units that can be rented by the quarter, one row for each offer.

    At a site of sites.csv they stand like units of its own: they take its power and places, and pay for both. At any
    other they stand at the provider, a site of its own without limits whose power and space are in the price. Rent pays
    for use, support, attach and installation.
    """

    offer: str = col("Name of the offer.", key=True)
    site: str = col(
        "A site of sites.csv, where the units then stand and take power and places; any other name is the provider's "
        "location."
    )
    sku: str = col("A gpu SKU of the catalogue or of hardware.csv; also one past its last order.", reference="sku")
    most_units: int = col("Most units rented at once.", unit="units", minimum=1)
    usd_per_gpu_hour: float = col(
        "Price of one GPU, every hour of the quarter.",
        unit="USD/GPU-hour",
        empty="the packaged price that market_price names",
        minimum=0.0,
    )
    usd_per_unit_hour: float = col(
        "Price of one rack or server, every hour of the quarter, instead of one by GPU.",
        unit="USD/unit-hour",
        empty="not used",
        minimum=0.0,
    )
    usd_per_unit_month: float = col(
        "Price of one rack or server and month, instead of one by the hour.",
        unit="USD/unit/month",
        empty="not used",
        minimum=0.0,
    )
    market_price: str = col(
        "Which packaged price and minimum term of the SKU, where none is stated.",
        empty="none: the price is stated",
        choices=("on_demand", "contract_1y", "spot"),
    )
    lead_quarters: float = col(
        "From order to use; rounded up to whole quarters.",
        unit="quarters",
        empty="premise column/rent.lead_quarters",
        minimum=0.0,
    )
    min_term_quarters: int = col(
        "Quarters that are paid for at least, once rent begins.",
        unit="quarters",
        empty="that of the packaged price, else premise column/rent.min_term_quarters",
        minimum=1,
    )
    from_quarter: str = col(
        "First quarter in which units may stand.", kind="quarter", empty="as soon as the SKU is available"
    )
    to_quarter: str = col("Last quarter in which units may stand.", kind="quarter", empty="no end")
    charged_to: str = col(
        "Whether rent is an expense, or draws on the budget of capital.",
        empty="premise column/rent.charged_to",
        choices=("opex", "capital"),
    )


@row("rented", when_absent="Nothing is rented when the plan begins.")
class Rented(Row):
    """Units that are rented, or ordered for rent, when the plan begins; after their term they stay or go back."""

    offer: str = col("An offer of rent.csv, whose price they pay.", key=True, reference="offer")
    count: int = col(_COUNT, unit="units", minimum=1)
    from_quarter: str = col("First quarter of use; the past for those that stand.", key=True, kind="quarter")
    until_quarter: str = col(
        "Last quarter that is paid for in any case; the past where they may go back at once.", key=True, kind="quarter"
    )


@row("supply", when_absent="The catalogue's supply_per_quarter in every quarter.")
class Supply(Row):
    """What is delivered in a quarter where that is not the usual: the first quarters of a generation, an allocation."""

    sku: str = col(_SKU, key=True, reference="sku")
    quarter: str = col("Quarter of delivery.", key=True, kind="quarter")
    most_units: int = col(
        "Most units of all orders of the plan that arrive then, at all sites; goes before supply_per_quarter.",
        unit="units",
        minimum=0,
    )


@row("reserved", when_absent="Everything owned may serve.")
class Reserved(Row):
    """Units held for something else, such as training or a customer."""

    site: str = col(_SITE, key=True, reference="site")
    sku: str = col(_SKU, key=True, reference="sku")
    quarter: str = col(_QUARTER, key=True, kind="quarter")
    count: int = col(_COUNT, unit="units", minimum=1)
    purpose: str = col("What they are held for.", key=True)


@row("links", when_absent="Sites are not linked: every request is prefilled at the site that decodes it.")
class Link(Row):
    """Links between sites: prompts prefilled at one site may be decoded at another, their KV caches sent over the link.

    A row is one direction, and holds from its quarter on until the next row of the same two sites.
    """

    from_site: str = col(
        "Where prompts are prefilled: a site of sites.csv, or the location of a provider.", key=True, reference="place"
    )
    to_site: str = col("Where they are decoded: another one.", key=True, reference="place")
    from_quarter: str = col("The row holds from this quarter on.", key=True, kind="quarter")
    bandwidth_gbit_per_s: float = col("Bandwidth in this direction; 0 for no link.", unit="Gbit/s", minimum=0.0)
    other_traffic_share: float = col(
        "Share of it that is kept for other traffic.",
        unit="fraction",
        empty="premise column/links.other_traffic_share",
        minimum=0.0,
        maximum=1.0,
    )
    latency_s: float = col("Delay from site to site, one way.", unit="s", empty="premise column/links.latency_s",
                           minimum=0.0)  # fmt: skip
    usd_per_month: float = col(
        "Rent, in the quarters in which the plan uses the link; a link that is paid for anyhow costs 0.",
        unit="USD/month",
        empty="premise column/links.usd_per_month",
        minimum=0.0,
    )


@row("pools", when_absent="The GPUs of every site prefill and decode.")
class Pool(Row):
    """Hardware that may only prefill, or only decode, at a site; GPU SKUs that are not listed do both."""

    site: str = col("A site of sites.csv, or the location of a provider of rent.csv.", key=True, reference="place")
    sku: str = col("A GPU SKU of the catalogue or of hardware.csv.", key=True, reference="sku")
    role: str = col("What its units may do.", choices=("prefill", "decode"))


@row("placement", when_absent="Where the service was before is not known: no first placement is a move.")
class Placed(Row):
    """Where the service is before the first quarter, as `procure roll` writes it; read with placement_tolerance."""

    work: str = col("What is done there.", key=True, choices=("decode", "prefill"))
    workload: str = col("A workload of workloads.csv.", key=True, reference="workload")
    site: str = col(_SITE, key=True, reference="site")
    deployment: str = col("The GPU SKU that does it; of decode with LPX beside it `vr-nvl72+lpx`.", key=True)
    share: float = col(
        "Share of the workload's requests that is decoded, or prefilled, there.", unit="fraction", minimum=0.0,
        maximum=1.0,
    )  # fmt: skip


@row("lengths", when_absent="Lengths follow from mean, p50, p90 and p99.")
class Length(Row):
    """Input lengths as a histogram, as `procure trace` writes it (lengths.csv); replaces p50, p90, p99 of workloads."""

    workload: str = col("A workload of workloads.csv, which states the mean.", key=True, reference="workload")
    up_to_tokens: float = col("Upper end of the bin.", unit="tokens", key=True, above=0.0)
    share_requests: float = col(
        "Share of the requests in the bin; scaled to sum to 1.", unit="fraction", minimum=0.0, maximum=1.0
    )


@row("day_shapes", when_absent="Packaged days only.")
class DayShape(Row):
    """Days of your own by clock hour; name them in workloads.day_shape. Each of the 24 hours stands once in a shape."""

    shape: str = col("Name of the day.", key=True)
    from_hour: int = col("First clock hour of the stretch.", unit="h", key=True, minimum=0, maximum=23)
    to_hour: int = col(
        "Hour at which it ends; before from_hour where it runs past midnight.", unit="h", minimum=0, maximum=24
    )
    load: float = col(
        "Rate in each of its hours, in any unit: the highest of the day is the peak.", unit="any", minimum=0.0
    )


@row("reuse", when_absent="Packaged curves only.")
class Reuse(Row):
    """Reuse curves of your own, as `procure trace` writes them (reuse.csv); name them in workloads.reuse_curve."""

    curve: str = col("Name of the curve.", key=True)
    age_s: float = col("Idle time from completion to the next arrival.", unit="s", key=True, above=0.0)
    return_share: float = col(
        "Requests, by tokens, that return within the age.", unit="fraction", minimum=0.0, maximum=1.0
    )
    reused_share: float = col(
        "Share of a returning request's input that is reused.", unit="fraction", minimum=0.0, maximum=1.0
    )
    clock: str = col(
        "What the age counts from: completion (idle), or start, which overstates idle time.",
        empty="idle",
        choices=("idle", "start"),
    )


@row("throughput", when_absent="Packaged measured curves and physics.")
class Throughput(Row):
    """Measured throughput of your own, used as stated at its lengths and speeds (docs/performance.md)."""

    sku: str = col(_SKU, key=True, reference="sku")
    card: str = col("Name of the LLM that was measured.", key=True)
    weight_precision: str = col("Format of its weights.", key=True)
    isl: float = col("Mean input length that ran.", unit="tokens", key=True, above=0.0)
    osl: float = col("Mean output length that ran.", unit="tokens", key=True, above=0.0)
    tps_user: float = col("TPS/User of the median stream.", unit="tokens/s", key=True, above=0.0)
    tokens_per_s_per_gpu: float = col(
        "Output tokens/s per GPU, the best of the sweep; may not rise with tps_user.", unit="tokens/s", above=0.0
    )
    all_gpus: int = col("1: over decode and prefill GPUs, 0: over decode GPUs alone.", key=True, minimum=0, maximum=1)
    low: float = col(
        "Low end of the band, a factor on throughput.",
        unit="factor",
        empty="the physics' band",
        minimum=0.0,
        maximum=1.0,
    )
    high: float = col("High end of the band, a factor.", unit="factor", empty="the physics' band", minimum=1.0)
    date: str = col("When it was measured, for example 2027-02.")
    source: str = col("Who measured it, and how.")
    techniques: str = col("Speculation, wide EP, disaggregation.", empty="empty")
    with_lpx: int = col(
        "1: decode with LPX racks beside the GPUs.", key=True, empty="0: GPUs alone", minimum=0, maximum=1
    )
    prefill_tokens_per_s_per_gpu: float = col(
        "Input tokens/s per GPU of a saturated prefill pool on prompts of isl tokens, nothing reused.",
        unit="tokens/s",
        empty="the physics",
        above=0.0,
    )


@row("hardware", when_absent="The catalogue as packaged.")
class Hardware(Row):
    """A case's own figures over the catalogue's, one attribute of one SKU, class or price path per row."""

    sku: str = col("A SKU, class or price path of the catalogue; a new SKU has a row with attribute kind.", key=True)
    attribute: str = col("An attribute of the catalogue.", key=True)
    value: str = col("The value, in the catalogue's unit.")
    unit: str = col("The catalogue's unit.")
    low: str = col("Low end of the band.", empty="no band")
    high: str = col("High end of the band.", empty="no band")
    kind: str = col("Kind of evidence.", empty="user")
    source: str = col("Where the figure comes from.")
    source_date: str = col("Its date.", empty="empty")
    note: str = col("Anything else.", empty="empty")


@row("attach", when_absent="The catalogue as packaged.")
class Attach(Row):
    """What one unit drags along outside itself, over the catalogue's figures."""

    sku: str = col(_SKU, key=True, reference="sku")
    attach_kw: float = col("Switches and their optics.", unit="kW", empty=_CATALOGUE, minimum=0.0)
    attach_positions: float = col("Network racks and row CDUs.", unit="rack positions", empty=_CATALOGUE, minimum=0.0)
    attach_usd: float = col("Switches, optics, cabling.", unit="USD", empty=_CATALOGUE, minimum=0.0)
    install_usd: float = col("Installation, freight, first spare parts.", unit="USD", empty=_CATALOGUE, minimum=0.0)


@row("prices", when_absent="The catalogue as packaged.")
class Price(Row):
    """Quoted prices; a quarter that is not listed keeps the catalogue's level and path."""

    sku: str = col(_SKU, key=True, reference="sku")
    quarter: str = col("Quarter of delivery.", key=True, kind="quarter")
    price_usd: float = col("Price of one unit.", unit="USD", minimum=0.0)


@row("premises", when_absent="The premises as packaged.")
class Premise(Row):
    """Packaged premises of your own, each by the path that the plan's premises table and a sweep name it with."""

    path: str = col(
        "For example physics/kv_efficiency, sla/chat/good/ttft_s or hardware/lpx/price_usd.",
        key=True,
        reference="premise",
    )
    value: str = col("The value, in the packaged premise's unit; 1 or 0 for yes or no.")
    low: str = col("Low end of the band.", empty="no band")
    high: str = col("High end of the band.", empty="no band")
    kind: str = col("Kind of evidence.", empty="user")
    source: str = col("Where the figure comes from.", empty="the case")
    note: str = col("Anything else.", empty="empty")


@row("sources", when_absent="The case names no sources.")
class Source(Row):
    """Where the numbers of the other tables come from. For readers: it changes nothing in the plan."""

    table: str = col("A table of this case, or case.toml.", key=True, reference="table")
    column: str = col("Column or setting.", key=True)
    item: str = col("Which rows, in words or by key.", key=True, empty="all rows")
    kind: str = col("Kind of evidence.", choices=tuple(kind for kind in Evidence if kind.of_premise))
    source: str = col("Where it comes from, or how it was reasoned.")
    note: str = col("Anything else.", empty="empty")


ROWS: tuple[type[Row], ...] = (
    Forecast,
    Workload,
    Site,
    Budget,
    Fleet,
    Order,
    Expansion,
    Reservation,
    Rent,
    Rented,
    Supply,
    Reserved,
    Link,
    Pool,
    Placed,
    Length,
    DayShape,
    Reuse,
    Throughput,
    Hardware,
    Attach,
    Price,
    Premise,
    Source,
)
"""Every table of a case, in the order in which a planner meets them."""

TABLES: dict[str, Table] = {made.schema.name: made.schema for made in ROWS}
"""Their descriptions by name."""
