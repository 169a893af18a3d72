"""The tables of a plan: one class of rows for each, which is its schema.

A table of a result folder is the CSV file of its name, with these columns in this order. What is of a block of service
carries the whole time key (:mod:`procure.timekey`); fleet, orders and money are of a quarter.
"""

from __future__ import annotations

from procure.schema import (
    CostLine,
    Evidence,
    Instrument,
    Lost,
    OrderChange,
    Origin,
    ReservationOutcome,
    Role,
    Row,
    Span,
    Table,
    Tier,
    col,
    row,
)

_QUARTER = "quarter"
_SCENARIO = "which future; base is the one planned for"
_DAYPART = "which part of the day; peak is the peaks of all workloads at once"
_BUCKET = "length bucket"
_DEPLOYMENT = "pool, with + and the lpx SKU where LPX decodes beside it"


@row("purchases")
class Purchase(Row):
    """Orders of units; those of the look-ahead are foreseen, not recommended."""

    quarter: str = col("quarter of the order", kind="quarter", key=True, word="order quarter")
    site: str = col("site", key=True)
    sku: str = col("SKU", word="SKU", key=True)
    count: int = col("units ordered", unit="units", word="units")
    span: Span = col("planned or lookahead")
    delivery_quarter: str = col("quarter in which they are delivered and work", kind="quarter")
    unit_price_usd: float = col("price of one unit at delivery", unit="USD")
    unit_attach_usd: float = col("what one unit drags along outside itself", unit="USD")
    unit_install_usd: float = col("installation of one unit", unit="USD")
    capex_usd: float = col("capital of the order: all units with attach and installation", unit="USD")


@row("fleet")
class Batch(Row):
    """Units that stand, by vintage."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    sku: str = col("SKU", word="SKU", key=True)
    origin: Origin = col("fleet, order, deferred, purchase or rent", key=True)
    vintage: str = col("quarter of delivery; of rented units that in which their rent began", kind="quarter", key=True)
    opening: int = col("units at the start of the quarter", unit="units")
    delivered: int = col("units that arrive", unit="units")
    retired: int = col("units sold; of rented ones given back", unit="units")
    closing: int = col("units that stand and work in the quarter", unit="units")


@row("power_modes")
class Modes(Row):
    """Power modes of units that have a second one, where the plan may choose: no more at Max-Q than power asks for."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    sku: str = col("SKU", word="SKU", key=True)
    max_p: int = col("units at full power", unit="units", word="at Max-P")
    maxq: int = col("units at Max-Q", unit="units", word="at Max-Q")
    saved_kw: float = col(
        "power that Max-Q leaves to others, of what the limit of the site counts", unit="kW", word="power saved"
    )


@row("rents")
class UnitRent(Row):
    """Units that are rented; those ordered in the look-ahead are foreseen, not recommended."""

    quarter: str = col(
        "quarter of the order; of units rented when the plan begins the first of their rent", kind="quarter", key=True,
        word="order quarter",
    )  # fmt: skip
    site: str = col("site, or location of the provider", key=True)
    sku: str = col("SKU", word="SKU", key=True)
    offer: str = col("offer", key=True)
    first_quarter: str = col("first quarter in which they work", kind="quarter", key=True, word="from")
    last_quarter: str = col("last quarter of the plan in which they work", kind="quarter", key=True, word="to")
    paid_until_quarter: str = col(
        "last quarter that is paid for: that, or the end of the term", kind="quarter", key=True, word="paid until"
    )
    decided: bool = col("whether the plan decides it; otherwise it ran when the plan began", key=True)
    count: int = col("units rented", unit="units", word="units")
    span: Span = col("planned or lookahead")
    unit_usd_per_quarter: float = col("rent of one unit", unit="USD/quarter", word="rent of one a quarter")
    rent_usd: float = col("rent of all units, from the first quarter of the plan on", unit="USD", word="rent")


@row("order_changes")
class ChangedOrder(Row):
    """Units of firm orders that the plan does not take as agreed, by terms of the case."""

    quarter: str = col("quarter of the notice, the first of the plan", kind="quarter", key=True, word="notice in")
    site: str = col("site", key=True)
    sku: str = col("SKU", word="SKU", key=True)
    delivery_quarter: str = col("quarter of delivery as agreed", kind="quarter", key=True, word="agreed for")
    change: OrderChange = col("cancel or defer", key=True)
    deferred_quarters: int = col(
        "quarters by which they come later; 0 where they are cancelled", unit="quarters", key=True, word="deferred by"
    )
    count: int = col("units changed", unit="units", word="units")
    ordered: int = col("units of the order", unit="units", word="of")
    span: Span = col("planned: notice is given in the first quarter")
    fee_usd: float = col("fee of all units, paid with the notice", unit="USD", word="fee")
    due_usd: float = col(
        "what is due on delivery of all units: not paid where they are cancelled, later where they are deferred",
        unit="USD", word="due on delivery",
    )  # fmt: skip


@row("sales")
class Sold(Row):
    """Units that leave service and are sold; those of the look-ahead are foreseen, not recommended."""

    quarter: str = col(
        "quarter at the start of which they leave service", kind="quarter", key=True, word="sale quarter"
    )
    site: str = col("site", key=True)
    sku: str = col("SKU", word="SKU", key=True)
    origin: Origin = col("fleet, order or purchase", key=True)
    vintage: str = col("quarter of delivery", kind="quarter", key=True)
    count: int = col("units sold", unit="units", word="units")
    span: Span = col("planned or lookahead")
    received_quarter: str = col("quarter in which the buyer pays", kind="quarter", word="money in")
    freed_quarter: str = col(
        "first quarter in which their places and power are free", kind="quarter", word="places free in"
    )
    unit_price_usd: float = col("what the buyer pays for one unit", unit="USD", word="price of one")
    unit_removal_usd: float = col("what taking out one unit costs", unit="USD", word="removal of one")
    net_usd: float = col("what the sale brings: all units at their price, less their removal", unit="USD", word="net")
    unit_book_usd: float = col(
        "what the books show of one unit when it leaves, without attach and installation", unit="USD",
        word="book value of one",
    )  # fmt: skip
    book_loss_usd: float = col(
        "what the sale loses against the books: book value of all units less what the sale brings", unit="USD",
        word="book loss",
    )  # fmt: skip


@row("serving")
class Serving(Row):
    """What decodes what, by operating point."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    workload: str = col("workload")
    bucket: str = col(_BUCKET)
    deployment: str = col(_DEPLOYMENT)
    sku: str = col("gpu SKU that works", word="SKU")
    requests_per_s: float = col("requests at the peak", unit="requests/s", word="requests at the peak")
    racks: float = col("busy units of the SKU", unit="racks", word="busy racks")
    lpx_racks: float = col("busy LPX racks beside them", unit="racks", word="busy LPX racks")
    distance: float = col(
        "doublings in TPS/User, context, LLM size and HBM rate from the nearest measurement", unit="doublings",
        word="doublings from a measurement", empty="not stated",
    )  # fmt: skip
    low: float = col("low end of the point's throughput over it", unit="ratio", word="low end of throughput",
                      empty="not stated")  # fmt: skip
    evidence: Evidence = col("what the operating point rests on")
    point: str = col("operating point of the instance", key=True)
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("prefill")
class Prefilled(Row):
    """What prefills what, and where the reused tokens come from."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    workload: str = col("workload", key=True)
    bucket: str = col(_BUCKET, key=True)
    deployment: str = col(_DEPLOYMENT)
    sku: str = col("gpu SKU that works", word="SKU", key=True)
    store: str = col("store that the reused tokens come from; recompute where nothing is reused", key=True)
    requests_per_s: float = col("requests at the peak", unit="requests/s", word="requests at the peak")
    racks: float = col("busy units of the SKU", unit="racks", word="busy racks")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("shipments")
class Shipped(Row):
    """What is prefilled at one site and decoded at another, its KV cache sent over the link between them."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    from_site: str = col("site that prefills", key=True, word="prefilled at")
    to_site: str = col("site that decodes", key=True, word="decoded at")
    workload: str = col("workload", key=True)
    bucket: str = col(_BUCKET, key=True)
    sku: str = col("gpu SKU that prefills", word="SKU", key=True)
    requests_per_s: float = col("requests at the peak", unit="requests/s", word="requests at the peak")
    egress_bytes_per_s: float = col("bytes sent at the peak", unit="B/s", word="egress")
    transfer_s: float = col(
        "mean seconds that sending a cache adds to the first token, latency included", unit="s", word="transfer"
    )
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("link_rents")
class LinkRent(Row):
    """Links that are rented, in the quarters in which they are used."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    from_site: str = col("site that sends", key=True, word="from")
    to_site: str = col("site that receives", key=True, word="to")
    rent_usd: float = col("rent of the quarter", unit="USD", word="rent")


@row("kv_placement")
class Placement(Row):
    """Caches kept in a store."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    workload: str = col("workload", key=True)
    store: str = col("store", key=True)
    tier: Tier = col("hbm, dram, ssd or cmx")
    parked_bytes: float = col(
        "bytes parked at the peak, copies of returns that wait or run included", unit="B", word="parked KV cache"
    )
    hits_per_s: float = col("requests that find their cache", unit="requests/s", word="requests that find their cache")
    read_bytes_per_s: float = col("bytes read at the peak", unit="B/s", word="read")
    write_bytes_per_s: float = col("bytes written at the peak", unit="B/s", word="written")
    longest_age_s: float = col("longest age up to which caches are kept", unit="s", word="longest idle age kept")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("retention")
class Kept(Row):
    """Requests whose cache stays through an age interval."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    workload: str = col("workload", key=True)
    store: str = col("store", key=True)
    interval: int = col("position of the age interval, 0 for the youngest", key=True)
    kept_requests_per_s: float = col("requests whose cache stays through it", unit="requests/s")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("cache_moves")
class CacheMove(Row):
    """Caches that move to a slower store as they age."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    workload: str = col("workload", key=True)
    store: str = col("store that they leave", key=True, word="from")
    to_store: str = col("store that they come to", key=True, word="to")
    interval: int = col("position of the age interval at whose start they move", key=True)
    age_s: float = col("idle age at which they move", unit="s", word="idle age")
    requests_per_s: float = col("requests whose cache moves", unit="requests/s")
    read_bytes_per_s: float = col("bytes read at the store that they leave, at the peak", unit="B/s", word="read")
    write_bytes_per_s: float = col(
        "bytes written to the store that they come to, at the peak; with write_through when they are parked",
        unit="B/s", word="written",
    )  # fmt: skip
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("moved_retention")
class MovedKept(Row):
    """Requests whose cache came from another store and stays through an age interval."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    workload: str = col("workload", key=True)
    store: str = col("store", key=True)
    interval: int = col("position of the age interval", key=True)
    kept_requests_per_s: float = col("requests whose cache stays through it", unit="requests/s")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("lpx_copies")
class Copies(Row):
    """Copies of an LLM that stand on LPX racks."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    card: str = col("LLM", key=True)
    sku: str = col("SKU of the LPX racks", word="SKU", key=True)
    copies: int = col("whole copies", unit="copies")
    racks: int = col("LPX racks that they take", unit="racks")


@row("instances")
class Instances(Row):
    """Instances that the work of an LLM takes, by role.

    Small loads are counted in whole ones; of the others the plan holds what their work fills, and this table what
    rounding up would add at most.
    """

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    llm: str = col("LLM as an instance holds it", word="LLM", key=True)
    deployment: str = col(_DEPLOYMENT, key=True)
    role: Role = col("prefill, decode or both", key=True)
    sku: str = col("gpu SKU that works", word="SKU")
    gpus: int = col("GPUs of one instance, whose HBM holds its weights", unit="GPUs", word="GPUs of one")
    busy: float = col("instances that the work fills", unit="instances", word="filled by work")
    instances: int = col("whole instances that do it", unit="instances")
    units: float = col("units that these take", unit="units", word="units taken")
    whole: bool = col("whether the plan counts them in whole numbers", word="counted in whole")
    uncounted_units: float = col(
        "units that whole instances would take beyond what the plan counts; 0 where it counts them",
        unit="units", word="units not counted",
    )  # fmt: skip
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("survival")
class Survival(Row):
    """What the loads of a pool take after a loss, and what is left for them, whether or not the case asks for it."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site of the loss", key=True)
    loss: Lost = col(
        "rack, two_racks, pod, cmx_rack, store, caches (all of them) or site", key=True, word="kind of loss"
    )
    lost: str = col("SKU of which units are lost, store, pod, or site", key=True)
    sku: str = col("SKU that the loads work on", word="SKU", key=True)
    racks_needed: float = col("units that they take after it", unit="units", word="units needed")
    racks_there: float = col(
        "units left for them, not reserved, less what Max-Q does not do", unit="units", word="units left"
    )
    short_share: float = col("part of what they need that is not there", unit="share", word="not there")
    workloads: str = col("workloads whose racks, caches or site are lost", word="workloads concerned")
    asked: str = col("those of them that ask to survive it", empty="none", word="asked by")
    likely_down: int = col(
        "units of the pool to plan as down: more are for at most 5% of the time, by the availability of the SKU",
        unit="units", word="likely down at once",
    )  # fmt: skip
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("fallback")
class Fallback(Row):
    """Where workloads that survive the loss of a site are served without it, every prompt computed in full."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    lost_site: str = col("site that is lost", key=True)
    site: str = col("site that serves", key=True)
    workload: str = col("workload")
    bucket: str = col(_BUCKET)
    role: Role = col("prefill or decode", key=True)
    deployment: str = col(_DEPLOYMENT)
    sku: str = col("gpu SKU that works", word="SKU")
    requests_per_s: float = col("requests at the peak", unit="requests/s", word="requests at the peak")
    racks: float = col("busy units of the SKU", unit="racks", word="busy racks")
    lpx_racks: float = col("busy LPX racks beside them", unit="racks", word="busy LPX racks")
    way: str = col("operating point or way to prefill of the instance", key=True)
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


_HOURS = "clock hours of the part of the day, such as 09-17"


@row("deferred")
class Deferred(Row):
    """When work that may wait runs: its decode, and its prefill in full; what reads a store runs evenly over the day.

    Empty where the case sizes capacity at one coincident peak.
    """

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    workload: str = col("workload", key=True)
    bucket: str = col(_BUCKET, key=True)
    work: Role = col("decode or prefill", key=True)
    sku: str = col("gpu SKU that works", word="SKU", key=True)
    point: str = col("operating point of the instance", key=True, empty="prefill")
    hours: str = col(_HOURS, key=True, word="clock hours")
    requests_per_s: float = col("requests in these hours", unit="requests/s", word="requests")
    racks: float = col("busy units of the SKU", unit="racks", word="busy racks")
    lpx_racks: float = col("busy LPX racks beside them", unit="racks", word="busy LPX racks")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("day")
class DayLoad(Row):
    """Racks that are busy in each part of the day, by pool; empty where capacity is sized at one coincident peak."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    sku: str = col("SKU that works", word="SKU", key=True)
    hours: str = col(_HOURS, key=True, word="clock hours")
    hours_per_day: int = col("hours of a day in the part", unit="h", word="hours of a day")
    racks: float = col("busy with work that runs when it is asked for", unit="racks", word="busy racks, on demand")
    deferrable_racks: float = col("busy with work that may wait", unit="racks", word="busy racks, work that may wait")
    usable_racks: float = col("that may be busy", unit="racks", word="racks that may be busy")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("pods")
class Pods(Row):
    """Pods that are open at a site."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site", key=True)
    pods: int = col("pods", unit="pods")


@row("expansions")
class ExpansionOrder(Row):
    """Expansions of sites that are ordered."""

    quarter: str = col("quarter of the order", kind="quarter", key=True, word="order quarter")
    site: str = col("site", key=True)
    expansion: str = col("name", key=True)
    count: int = col("how many", unit="steps", word="steps")
    span: Span = col("planned or lookahead")
    capex_usd: float = col("capital of the order", unit="USD")
    reservation: str = col("reservation that kept it on offer", key=True, empty="it was on offer")


@row("reservations")
class Reserving(Row):
    """Ways to keep steps of sites on offer: what was kept and ordered, and what was not."""

    reservation: str = col("name", key=True)
    site: str = col("site")
    expansion: str = col("step that it keeps")
    instrument: Instrument = col("first_offer, firm_hold or early_rent")
    outcome: ReservationOutcome = col("exercised, lapsed or not_counted", key=True)
    quarter: str = col("quarter of the order; of steps not kept the last in which one could be", kind="quarter",
                       key=True, word="order quarter")  # fmt: skip
    count: int = col("steps exercised, or not kept", unit="steps", word="steps")
    span: Span = col("planned or lookahead: of the quarter in which keeping begins, or would")
    kept_from_quarter: str = col("first quarter in which it is kept, after its offer", kind="quarter", word="kept from")
    paid_until_quarter: str = col(
        "last quarter of the plan that is paid for: that of the order, or the horizon's where its rent began; of steps "
        "not kept, which cost nothing, the first one",
        kind="quarter", word="paid until",
    )  # fmt: skip
    fee_usd: float = col("fees, or rent, of all steps in the horizon", unit="USD", word="paid for keeping")
    kept_capex_usd: float = col(
        "what the steps cost, which it keeps open until then", unit="USD", word="capital kept open"
    )


@row("limits")
class Limit(Row):
    """Every limit that exists, whether or not it binds; used, limit and slack in the unit named."""

    family: str = col("which limit", key=True)
    quarter: str = col(_QUARTER, kind="quarter", key=True)
    site: str = col("site; empty where it holds for all together", key=True)
    item: str = col("SKU, store, workload or LLM that it concerns", key=True)
    used: float = col("what is used")
    limit: float = col("what is there", empty="no limit")
    slack: float = col("what is left: limit less used", empty="no limit")
    unit: str = col("unit of the three")
    binding: bool = col("whether nothing is left of what is used")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("cash")
class Cash(Row):
    """Every payment; receipts are negative."""

    quarter: str = col("quarter, at the start of which it is paid", kind="quarter", key=True)
    span: Span = col("planned or lookahead")
    line: CostLine = col("what it is for", key=True)
    site: str = col("site; empty for what belongs to none", key=True)
    sku: str = col("SKU, expansion or workload", word="SKU", key=True)
    cash_usd: float = col("paid", unit="USD")
    discount_factor: float = col("present value of one USD of that quarter")
    npv_usd: float = col("present value at the start of the first quarter", unit="USD", word="net present value")


@row("costs")
class Cost(Row):
    """Net present cost by line; the sum is the objective."""

    line: CostLine = col("what it is for", key=True)
    span: Span = col("planned or lookahead", key=True)
    npv_usd: float = col("present value at the start of the first quarter", unit="USD", word="net present value")


@row("unit_costs")
class UnitCost(Row):
    """What a million tokens cost, those of later quarters discounted like money."""

    workload: str = col("workload; empty for the whole plan", key=True)
    tokens: str = col("cached input, computed input, output or blended", key=True)
    million_tokens: float = col("tokens served, discounted", unit="M tokens")
    npv_usd: float = col("their share of the cost", unit="USD", word="net present value")
    usd_per_million_tokens: float = col("cost of a million", unit="USD/M tokens", empty="nothing served", word="cost")
    market_usd_per_million_tokens: float = col(
        "market price of a million", unit="USD/M tokens", empty="no price", word="market price"
    )
    cost_per_market: float = col(
        "cost over market price", unit="ratio", empty="no price or nothing served", word="cost over market price"
    )


@row("sla")
class Service(Row):
    """What is served as promised; late and out of reach are parts of short."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    workload: str = col("workload", key=True)
    requests_per_s: float = col("requests at the peak", unit="requests/s", word="requests at the peak")
    served_share: float = col("share of the requests served as promised", unit="share")
    short_share: float = col("share not served as promised", unit="share", word="share not served as promised")
    cause: str = col("what stands in the way", empty="nothing short", word="cause of shortfall")
    ttft_target_s: float = col("time to first token asked for", unit="s", empty="no target", word="TTFT target")
    ttft_share: float = col(
        "share of the served requests whose first token is in time",
        unit="share",
        empty="no target",
        word="requests within TTFT",
    )
    tps_target: float = col(
        "tokens/s of one user asked for", unit="tokens/s", empty="no target", word="TPS/User target"
    )
    task_s: float = col(
        "seconds of one task from the first request to the last token", unit="s", empty="unknown", word="one task"
    )
    late_share: float = col(
        "share served, but too late beyond what may be late",
        unit="share",
        empty="not stated",
        word="of it served, too late",
    )
    out_of_reach_share: float = col("share that nothing serves in time", unit="share", empty="not stated")
    ttft_share_asked: float = col(
        "share of requests whose first token must be in time",
        unit="share",
        empty="no target",
        word="requests within TTFT, asked",
    )
    ttft_reached_s: float = col(
        "time to first token within which the share asked for is",
        unit="s",
        empty="no target",
        word="TTFT of the share asked",
    )
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("demand")
class Asked(Row):
    """Requests that arrive, by length."""

    quarter: str = col(_QUARTER, kind="quarter", key=True)
    workload: str = col("workload", key=True)
    bucket: str = col(_BUCKET, key=True)
    requests_per_s: float = col("requests at the peak", unit="requests/s", word="requests at the peak")
    input_tokens: float = col("mean tokens of input", unit="tokens")
    input_upper_tokens: float = col("longest input", unit="tokens")
    thinking_tokens: float = col("mean tokens of thinking", unit="tokens")
    visible_tokens: float = col("mean tokens of visible output", unit="tokens")
    kv_bytes: float = col("bytes of the parked sequence", unit="B")
    scenario: str = col(_SCENARIO, key=True)
    daypart: str = col(_DAYPART, key=True)


@row("premises")
class Premise(Row):
    """What the plan rests on and did not compute."""

    name: str = col("path of the premise", word="premise", key=True)
    value: str = col("value", empty="none")
    unit: str = col("unit", empty="none")
    low: str = col("low end of the band", empty="no band")
    high: str = col("high end of the band", empty="no band")
    kind: str = col("kind of evidence", word="how sure", empty="none")
    source: str = col("where it comes from", empty="none")
    source_date: str = col("date of the source", empty="none")
    note: str = col("anything else", empty="none")


@row("checks")
class Check(Row):
    """Verification of the plan from its tables, with no word of the solver."""

    check: str = col("what was checked", key=True)
    holds: bool = col("whether it holds")
    detail: str = col("by how much, or what does not hold", empty="nothing to say")


ROWS: tuple[type[Row], ...] = (
    Purchase, Batch, Modes, UnitRent, ChangedOrder, Sold, Serving, Prefilled, Shipped, LinkRent, Placement, Kept,
    CacheMove, MovedKept, Copies, Instances, Deferred, DayLoad, Survival, Fallback, Pods, ExpansionOrder, Reserving,
    Limit, Cash, Cost, UnitCost, Service, Asked, Premise, Check,
)  # fmt: skip
"""Every table of a plan, in order."""

TABLES: dict[str, Table] = {made.schema.name: made.schema for made in ROWS}
"""Their descriptions by name."""
