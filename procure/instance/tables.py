"""The tables that a program is built from: one class of rows for each, which is its schema.

Base units throughout. ``t`` is the position of a quarter, 0 for the first; quarters of the past are negative.
"""

from __future__ import annotations

from procure.schema import CacheLoss, Evidence, Instrument, Origin, Resource, Role, Row, SkuKind, Table, Tier, col, row

_T = "quarter"
_BUCKET = "length bucket"
_UNIT_READ = "per unit, at the utilisation cap"
_USD_PER_QUARTER = "USD/quarter"


@row("quarters")
class QuarterRow(Row):
    """Quarters of the plan and its look-ahead."""

    t: int = col("position of the quarter, 0 for the first", key=True)
    quarter: str = col("its name", kind="quarter")
    planned: int = col("1 planned, 0 look-ahead")
    fiscal_year: int = col("fiscal year whose budget it draws on")
    discount_factor: float = col("present value at the start of quarter 0 of one USD paid in this quarter")


@row("skus")
class SkuRow(Row):
    """SKUs that stand, are on order or may be bought."""

    sku: str = col("name", key=True)
    kind: SkuKind = col("gpu, lpx, cmx_rack, cmx_enclosure or ssd_kit")
    host: str = col("gpu SKU that an ssd_kit goes into", reference="skus.sku", empty="what is no ssd_kit")
    lead_quarters: int = col("whole quarters from order to delivery, rounded up", unit="quarters")
    first_order_t: int = col("earliest order whose delivery is not before general availability")
    last_order_t: int = col("latest order that arrives in the horizon, before the end of sale; below the first: none")
    min_order: int = col("units, the least number in an order of a quarter over all sites", unit="units")
    supply_per_quarter: float = col("units, the most that can be ordered in a quarter over all sites", unit="units")
    life_quarters: float = col("quarters until the residual value is zero", unit="quarters")
    haircut: float = col("share of the straight-line value that a unit is worth", unit="share")
    resale_spread: float = col("share of the residual value that a sale loses", unit="share")
    resale_delay_quarters: int = col("whole quarters from leaving service to the money of a sale", unit="quarters")
    resale_lockup_quarters: int = col("whole quarters that a unit stands before it may be sold", unit="quarters")
    resale_per_quarter: int = col("units, the most that can be sold in a quarter over all sites", unit="units")
    removal_usd: float = col("USD per unit sold for taking it out, paid when it leaves service", unit="USD")
    removal_quarters: int = col("whole quarters in which a sold unit takes its place and idles", unit="quarters")
    book_life_quarters: float = col("quarters until a unit is written off in the books", unit="quarters")
    milestone_order: float = col(
        "share of the price paid in the quarter of the order; the rest on delivery", unit="share"
    )
    attach_usd: float = col("USD per unit for what it drags along outside itself", unit="USD")
    install_usd: float = col("USD per unit for installation, paid on delivery", unit="USD")
    usable_share: float = col(
        "share of owned units that may be busy at the peak: availability, spares, utilisation cap", unit="share"
    )
    present_share: float = col(
        "share of owned units that are up and not spares; no CMX rack or enclosure is a spare", unit="share"
    )
    availability: float = col("share of owned units that are up", unit="share")
    gpus: int = col("GPUs per unit", unit="GPUs")
    pod_slots: float = col("NVL72 places that the unit takes in a pod; 0 outside pods", unit="places")
    places: float = col("SSD kits or CMX enclosures that the unit holds; 0 for what holds none", unit="places")


@row("supply")
class QuarterSupply(Row):
    """What suppliers sell in quarters of which the case says it; in others ``supply_per_quarter`` holds."""

    sku: str = col("name", key=True, reference="skus.sku")
    t: int = col("quarter of the order that is delivered then", key=True, reference="quarters.t")
    most_units: int = col("units, the most that can be ordered in it over all sites", unit="units")


@row("prices")
class Price(Row):
    """Prices of what is bought."""

    sku: str = col("name", key=True, reference="skus.sku")
    t: int = col("quarter of delivery", key=True, reference="quarters.t")
    price_usd: float = col("USD per unit", unit="USD")
    support_usd_per_quarter: float = col("USD per unit and quarter for units delivered then", unit=_USD_PER_QUARTER)


@row("fixed")
class Fixed(Row):
    """Units that stand or are firmly on order, whatever the plan decides."""

    group: str = col("identifier of a group of units that exist or are firmly on order", key=True)
    origin: Origin = col("fleet or order")
    site: str = col("site", reference="pods.site")
    sku: str = col("SKU", reference="skus.sku")
    count: int = col("units", unit="units")
    vintage_t: int = col("quarter of delivery, negative for the past")
    retirable: int = col("1 where the plan may sell them")
    paid_usd: float = col("USD paid or to be paid for the unit itself, without attach and installation", unit="USD")
    due_usd: float = col("USD per unit still to be paid, on delivery", unit="USD")
    due_t: int = col("quarter of that payment", reference="quarters.t")
    support_usd_per_quarter: float = col("USD per unit and quarter", unit=_USD_PER_QUARTER)


@row("order_terms")
class OrderTerms(Row):
    """Groups on firm order of which units can be cancelled or deferred, with notice in the first quarter."""

    group: str = col("group of units on firm order", key=True, reference="fixed.group")
    may_cancel: int = col("1 where units can be cancelled")
    cancel_usd: float = col("USD per unit cancelled, beyond what is paid already", unit="USD")
    defer_most: int = col("quarters by which units can be deferred at most; 0 where they cannot", unit="quarters")
    defer_usd_per_quarter: float = col("USD per unit and quarter deferred", unit=_USD_PER_QUARTER)


@row("reserved")
class Reserved(Row):
    """Units held for something else."""

    t: int = col(_T, key=True, reference="quarters.t")
    site: str = col("site", key=True, reference="pods.site")
    sku: str = col("SKU", key=True, reference="skus.sku")
    count: float = col("units held for other purposes", unit="units")


@row("resource_use")
class ResourceUse(Row):
    """What a unit takes of a site's resources."""

    site: str = col("site", key=True, reference="pods.site")
    sku: str = col("SKU", key=True, reference="skus.sku")
    resource: Resource = col("power_kw, positions, area_m2, liquid_kw or ports", key=True)
    per_unit: float = col("of one unit with what it drags along; facility power includes the PUE")


@row("power_modes")
class PowerMode(Row):
    """SKUs that may also run at Max-Q; empty where all run at full power."""

    sku: str = col("gpu SKU", key=True, reference="skus.sku")
    throughput_factor: float = col("work of a unit at Max-Q over that at full power", unit="ratio")


@row("maxq_savings")
class MaxqSaving(Row):
    """What a unit at Max-Q leaves of what it takes of a site's resources at full power."""

    site: str = col("site", key=True, reference="pods.site")
    sku: str = col("SKU", key=True, reference="power_modes.sku")
    resource: Resource = col("power_kw or liquid_kw", key=True)
    saved: float = col("of one unit; facility power includes the PUE")


@row("full_power_prefill")
class FullPowerPrefill(Row):
    """Ways to prefill that would make more requests late at Max-Q: units at full power do them."""

    option: str = col("way to prefill a bucket", key=True, reference="prefill.option")


@row("site_limits")
class SiteLimit(Row):
    """What a site holds; a resource without a limit has no row."""

    t: int = col(_T, key=True, reference="quarters.t")
    site: str = col("site", key=True, reference="pods.site")
    resource: Resource = col("resource", key=True)
    limit: float = col("most that the site has built")


@row("pods")
class PodPlaces(Row):
    """Pods of each site."""

    site: str = col("site", key=True)
    pods_max: int = col("most pods", unit="pods")
    nvl72_per_pod: int = col("places for pod racks", unit="places")
    lpx_per_pod: int = col("places for LPX racks", unit="places")
    cmx_racks_per_pod: int = col("places for CMX racks", unit="places")
    cmx_crosses_pods: int = col("1 where racks read the CMX of other pods too")


@row("expansions")
class Expansion(Row):
    """How a site can grow."""

    site: str = col("site", key=True, reference="pods.site")
    expansion: str = col("name", key=True)
    lead_quarters: int = col("whole quarters until it can be used", unit="quarters")
    max_count: int = col("most of them")
    capex_usd: float = col("USD each, paid when ordered", unit="USD")
    last_order_t: int = col("last quarter in which it can be ordered, to be ready in the horizon; negative for none")


@row("reservations")
class Reservation(Row):
    """Ways to keep a step of a site on offer, and what that costs."""

    reservation: str = col("name", key=True)
    site: str = col("site", reference="pods.site")
    expansion: str = col("step that it keeps", reference="expansions.expansion")
    instrument: Instrument = col("first_offer, firm_hold or early_rent")
    counted: int = col("1 where the plan may order by it")
    most_steps: int = col("steps kept, at most", unit="steps")
    first_t: int = col("first quarter in which the step is kept, and paid for")
    last_t: int = col("last quarter in which it can be ordered, to be ready in the horizon")
    usd_per_quarter: float = col("fee, or rent, of one step", unit=_USD_PER_QUARTER)
    kw: float = col("IT power of one step that pays no rent of the site once it is ready", unit="kW")


@row("expansion_adds")
class ExpansionAdd(Row):
    """What an expansion adds of a resource."""

    site: str = col("site", key=True, reference="pods.site")
    expansion: str = col("name", key=True, reference="expansions.expansion")
    resource: Resource = col("resource", key=True)
    adds: float = col("amount of each")


@row("rent_offers")
class RentOffer(Row):
    """Units that can be rented; an offer that stands at no site of its own has its provider's location as a site."""

    offer: str = col("name", key=True)
    site: str = col("site at which its units stand and serve", reference="pods.site")
    sku: str = col("SKU", reference="skus.sku")
    most_units: int = col("units rented at once, at most", unit="units")
    usd_per_quarter: float = col("USD per unit and quarter of use", unit=_USD_PER_QUARTER)
    lead_quarters: int = col("whole quarters from order to use", unit="quarters")
    min_term_quarters: int = col("quarters that are paid for once rent begins, used or not", unit="quarters")
    first_t: int = col("first quarter in which rent can begin")
    last_start_t: int = col("last quarter in which rent can begin so that its term ends in the offer's window")
    last_t: int = col("last quarter of the horizon in which its units may stand")
    capital: int = col("1 where rent draws on the budget of capital")


@row("rented")
class Rented(Row):
    """Units rented, or ordered for rent, when the plan begins."""

    offer: str = col("offer", key=True, reference="rent_offers.offer")
    from_t: int = col("first quarter of use, negative for the past", key=True)
    until_t: int = col("last quarter that is paid for in any case", key=True)
    count: int = col("units", unit="units")


@row("budget")
class Budget(Row):
    """Capital spending that is allowed; a quarter without a row has no limit."""

    t: int = col(_T, key=True, reference="quarters.t")
    budget_usd: float = col("most capital spending", unit="USD")


@row("opex")
class OpexCap(Row):
    """Operating expenses that are allowed; a quarter without a row has no limit."""

    t: int = col(_T, key=True, reference="quarters.t")
    opex_usd: float = col(
        "most that rent, power, space, support, reservations, replaced drives and rent of links may cost", unit="USD"
    )


@row("beside_terms")
class BesideTerms(Row):
    """How what is bought beside units loses its worth; of what has no row nothing is left."""

    what: str = col("attach, or expansion", key=True)
    life_quarters: float = col("quarters until nothing is left", unit="quarters")
    haircut: float = col("factor on the residual value", unit="share")


@row("space")
class Space(Row):
    """Rent of sites that have a contract, or can build for themselves; of others what stands pays all of it."""

    t: int = col(_T, key=True, reference="quarters.t")
    site: str = col("site", key=True, reference="pods.site")
    usd_per_kw_quarter: float = col("rent of one kW of IT power", unit="USD/kW/quarter")
    contracted_kw: float = col("IT power that is paid whether used or not", unit="kW")


@row("built_kw")
class BuiltKw(Row):
    """IT power that expansions add, which pays no rent."""

    site: str = col("site", key=True, reference="pods.site")
    expansion: str = col("name", key=True, reference="expansions.expansion")
    kw: float = col("IT power of each", unit="kW")


@row("upkeep")
class Upkeep(Row):
    """What a unit costs to run."""

    site: str = col("site", key=True, reference="pods.site")
    sku: str = col("SKU", key=True, reference="skus.sku")
    idle_usd_per_quarter: float = col("USD for power of one idle unit with its attach", unit=_USD_PER_QUARTER)
    prefill_usd_per_quarter: float = col(
        "USD for the extra power of one unit busy with prefill all quarter", unit=_USD_PER_QUARTER
    )
    decode_usd_per_quarter: float = col(
        "USD for the extra power of one unit busy with decode all quarter", unit=_USD_PER_QUARTER
    )
    space_usd_per_quarter: float = col("USD for the space of one unit with its attach", unit=_USD_PER_QUARTER)


@row("workloads")
class Workload(Row):
    """Workloads and what is promised to them."""

    workload: str = col("name", key=True)
    card: str = col("LLM")
    priority: float = col("weight of a request of this workload in the shortfall")
    ttft_share: float = col("share of requests that must meet TTFT", unit="share")
    ttft_target_s: float = col("seconds to the first token that are asked for; inf: none", unit="s")
    tps_target: float = col("tokens/s of one user in the fastest phase that has tokens; 0: none", unit="tokens/s")
    llm: str = col("LLM as an instance holds it: the card with its formats of weights and cache; a name to compare")
    min_served_share: float = col("share that every planned quarter serves as promised at least", unit="share")
    deferrable: int = col("1: its requests may wait for other hours of the same day, 0: not")


@row("resilience")
class Resilience(Row):
    """Workloads that must be served after a loss; others may be shed then."""

    workload: str = col("workload", key=True, reference="workloads.workload")
    units_down: int = col("units of each pool of a site that may be down at once", unit="units")
    pod_down: int = col("1 where any one pod of a site may be down")
    site_down: int = col("1 where any one site may be down")
    cache_loss: CacheLoss = col("caches that may be lost: none, those of a CMX rack, of a store, or all (cold_start)")


@row("short_prices")
class ShortPrice(Row):
    """Worth of requests that are not served."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    usd_per_request: float = col(
        "worth of a mean request of that quarter; the price of one unserved in look-ahead quarters", unit="USD/request"
    )


@row("token_prices")
class TokenPrice(Row):
    """Market prices of tokens."""

    workload: str = col("workload", key=True, reference="workloads.workload")
    tokens: str = col("cached input, computed input or output", key=True)
    usd_per_million: float = col("what a million of them sells for", unit="USD/M tokens")


@row("tasks")
class Task(Row):
    """Requests of one task, one after the other."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    output_s: float = col("seconds from the first token to the last at the speeds asked for", unit="s")
    calls: float = col("requests of one task that follow one another: those of one of its subtasks", unit="requests")
    tool_s: float = col("seconds of tools between the requests of one subtask", unit="s")


@row("rates")
class Rate(Row):
    """Requests by length."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    bucket: str = col(_BUCKET, key=True)
    requests_per_s: float = col(
        "rate that capacity is sized for: the peak, or the mean of deferrable work", unit="requests/s"
    )
    mean_per_peak: float = col("mean rate over that rate", unit="share")


@row("lengths")
class Length(Row):
    """Lengths of the requests that arrive."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    bucket: str = col(_BUCKET, key=True)
    input_tokens: float = col("mean tokens of input", unit="tokens")
    input_upper_tokens: float = col("longest input: a sequence of it must fit", unit="tokens")
    thinking_tokens: float = col("mean tokens of thinking", unit="tokens")
    visible_tokens: float = col("mean tokens of visible output", unit="tokens")
    kv_bytes: float = col("bytes of the parked sequence", unit="B")


@row("serve")
class Serve(Row):
    """Operating points that a bucket may be decoded at."""

    point: str = col("identifier of an operating point for a bucket", key=True)
    t: int = col(_T, reference="quarters.t")
    workload: str = col("workload", reference="workloads.workload")
    bucket: str = col(_BUCKET)
    card: str = col("LLM")
    deployment: str = col("pool, with + and the lpx SKU where LPX decodes beside it; a name to show, not to take apart")
    sku: str = col("gpu SKU that works", reference="skus.sku")
    rack_s: float = col("unit-seconds of decode per request on that SKU", unit="s")
    lpx_sku: str = col("lpx SKU that decodes beside it", reference="skus.sku", empty="without LPX")
    lpx_rack_s: float = col("LPX rack-seconds per request, 0 without LPX", unit="s")
    free_hbm_bytes: float = col("HBM beside weights and running batch, per unit busy with it", unit="B")
    tps_user: float = col("tokens/s of one user at this point, in its slowest phase", unit="tokens/s")
    tps_margin: float = col(
        "least ratio over the phases of speed reached to speed promised; inf where none is promised"
    )
    distance: float = col(
        "doublings in TPS/User, context, LLM size and HBM rate from the nearest measurement, of the farthest phase; "
        "100 where nothing alike was measured",
        unit="doublings",
    )
    low: float = col("low end of the point's throughput over it; 0 where it may not be reached at all", unit="ratio")
    evidence: Evidence = col("what the point rests on")


@row("prefill")
class Prefill(Row):
    """Ways to prefill a bucket."""

    option: str = col("identifier of a way to prefill a bucket", key=True)
    t: int = col(_T, reference="quarters.t")
    workload: str = col("workload", reference="workloads.workload")
    bucket: str = col(_BUCKET)
    sku: str = col("gpu SKU that works", reference="skus.sku")
    store: str = col("store that the reused tokens come from, or recompute", reference="stores.store")
    rack_s: float = col("unit-seconds per request", unit="s")
    ttft_s: float = col("mean seconds to the first token", unit="s")
    late_share: float = col(
        "share of the bucket's requests, its longest, whose first token misses the target", unit="share"
    )
    read_bytes: float = col("bytes read from the store per request", unit="B")
    valid_bytes: float = col(
        "bytes of them that parking again need not write: entries, not states or windows", unit="B"
    )
    evidence: Evidence = col("what the cost rests on")


@row("first_token")
class FirstToken(Row):
    """Seconds to the first token along a workload's requests in order of length."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload with a target", key=True, reference="workloads.workload")
    sku: str = col("gpu SKU that prefills", key=True, reference="skus.sku")
    store: str = col("store that the reused tokens come from, or recompute", key=True, reference="stores.store")
    share: float = col("share of the workload's requests in order of length", unit="share", key=True)
    ttft_s: float = col("seconds to the first token of the longest of them", unit="s")


@row("links")
class LinkRow(Row):
    """Links between sites, one direction each; a quarter without a link has no row."""

    t: int = col(_T, key=True, reference="quarters.t")
    from_site: str = col("site that sends caches", key=True, reference="pods.site")
    to_site: str = col("site that receives them", key=True, reference="pods.site")
    bytes_per_s: float = col("bandwidth less the share kept for other traffic", unit="B/s")
    latency_s: float = col("delay from site to site, one way", unit="s")
    usd_per_quarter: float = col("rent where it is used; 0 for a link that is there", unit=_USD_PER_QUARTER)


@row("pool_roles")
class PoolRole(Row):
    """Pools that may only prefill or only decode; without a row a pool does both."""

    site: str = col("site", key=True, reference="pods.site")
    sku: str = col("gpu SKU", key=True, reference="skus.sku")
    role: Role = col("prefill or decode")


@row("handovers")
class Handover(Row):
    """What prefill hands to decode."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    bucket: str = col(_BUCKET, key=True)
    bytes: float = col("mean bytes of the whole cache of a request's input", unit="B")


@row("nics")
class Nic(Row):
    """What the scale-out network of a unit carries."""

    sku: str = col("gpu SKU", key=True, reference="skus.sku")
    bytes_per_s: float = col("in each direction, at the utilisation cap", unit="B/s")


@row("peer_readers")
class PeerReader(Row):
    """How fast units read their peers' memory or drives, where racks of a pod or site share them."""

    store: str = col("store that its units share", key=True, reference="stores.store")
    sku: str = col("gpu SKU that reads it", key=True, reference="skus.sku")
    read_bytes_per_s: float = col("per reading unit", unit="B/s")


@row("ships")
class Ship(Row):
    """Ways to prefill a bucket at one site and decode it at another, over a link.

    Only what is prefilled in full is sent. A pair that is late for all requests of a bucket is left out where the
    receiving site may prefill the bucket itself.
    """

    option: str = col("way to prefill, at the sending site", key=True, reference="prefill.option")
    from_site: str = col("site that prefills", key=True, reference="pods.site")
    to_site: str = col("site that decodes", key=True, reference="pods.site")
    t: int = col(_T, reference="quarters.t")
    workload: str = col("workload", reference="workloads.workload")
    bucket: str = col(_BUCKET)
    sku: str = col("gpu SKU that prefills", reference="skus.sku")
    bytes: float = col("bytes sent per request: the whole cache of its input", unit="B")
    transfer_s: float = col("mean seconds that sending takes, latency included", unit="s")
    ttft_s: float = col("mean seconds to the first token, sending included", unit="s")
    late_share: float = col(
        "share of the bucket's requests, its longest, whose first token misses the target", unit="share"
    )


@row("ship_first_token")
class ShipFirstToken(Row):
    """Seconds to the first token of requests whose caches are sent over a link, in order of length."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload with a target", key=True, reference="workloads.workload")
    sku: str = col("gpu SKU that prefills", key=True, reference="skus.sku")
    from_site: str = col("site that prefills", key=True, reference="pods.site")
    to_site: str = col("site that decodes", key=True, reference="pods.site")
    share: float = col("share of the workload's requests in order of length", unit="share", key=True)
    ttft_s: float = col("seconds to the first token of the longest of them", unit="s")


@row("cached_tokens")
class CachedTokens(Row):
    """Input that a request finds in a cache."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    bucket: str = col(_BUCKET, key=True)
    shared_tokens: float = col(
        "mean tokens of input that a full prefill finds in a cache: the shared prefix", unit="tokens"
    )
    reused_tokens: float = col("mean tokens of input that a request finds whose own cache was kept", unit="tokens")


@row("out_of_reach")
class OutOfReach(Row):
    """Requests that nothing serves in time."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    bucket: str = col(_BUCKET, key=True)
    share: float = col(
        "share of its requests, the longest, late on every pool that may stand, beyond what may be late", unit="share"
    )


@row("stores")
class Store(Row):
    """Where caches can be kept."""

    store: str = col("name", key=True)
    tier: Tier = col("hbm, dram, ssd or cmx")


@row("return_shares")
class ReturnShare(Row):
    """How returns find their copies."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    store: str = col("store", key=True, reference="stores.store")
    homes: int = col("units, each with a store of its own, that the workload is spread over", unit="homes")
    in_flight_per_home: float = col("requests in flight in each at the peak", unit="requests")
    return_share: float = col("chance that a return reaches its copy", unit="share")


@row("store_units")
class StoreUnit(Row):
    """What the units of the one SKU behind a store bring to it."""

    store: str = col("store", key=True, reference="stores.store")
    sku: str = col("SKU that brings bytes", reference="skus.sku")
    bytes: float = col("bytes per unit", unit="B")
    read_bytes_per_s: float = col(_UNIT_READ, unit="B/s")
    write_bytes_per_s: float = col(_UNIT_READ, unit="B/s")
    write_bytes_per_day: float = col("per unit, by endurance; inf where memory does not wear", unit="B/day")


@row("wear_prices")
class WearPrice(Row):
    """What writing beyond endurance costs, where worn drives are replaced; empty where endurance is a limit."""

    t: int = col(_T, key=True, reference="quarters.t")
    store: str = col("store on flash", key=True, reference="stores.store")
    usd_per_byte: float = col("price of the drives that a byte written beyond their endurance wears off", unit="USD/B")


@row("store_readers")
class StoreReader(Row):
    """How fast units read CMX."""

    sku: str = col("gpu SKU that may read CMX", key=True, reference="skus.sku")
    read_bytes_per_s: float = col("per reading unit from all CMX stores together, at the utilisation cap", unit="B/s")


@row("idle_hbm")
class IdleHbm(Row):
    """HBM of units that do not decode."""

    sku: str = col("gpu SKU", key=True, reference="skus.sku")
    bytes: float = col("HBM of an idle or prefilling unit beside resident weights", unit="B")


@row("parked")
class Parked(Row):
    """What parking a sequence takes."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    kv_bytes: float = col("bytes of one parked sequence at the mix of buckets", unit="B")


@row("ages")
class Age(Row):
    """How parked sequences come back by age."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    interval: int = col("position of the age interval, 0 for the youngest", key=True)
    age_to_s: float = col("idle seconds at its end", unit="s")
    seconds: float = col("its length", unit="s")
    return_share: float = col("share of requests that return within it", unit="share")
    mean_released: float = col(
        "mean over the interval of the share of parked bytes that a return has taken back", unit="share"
    )


@row("dayparts")
class Daypart(Row):
    """Parts of the day, in which capacity is sized where the case says ``dayparts = "clock"``."""

    daypart: str = col("part of the day: its clock hours, such as 09-17; the busiest first", key=True)
    hours_per_day: int = col("clock hours in it", unit="h")
    clock_hours: str = col("which, such as 9 10 11")


@row("daypart_rates")
class DaypartRate(Row):
    """Rates by part of the day."""

    daypart: str = col("part of the day", key=True, reference="dayparts.daypart")
    workload: str = col("workload", key=True, reference="workloads.workload")
    of_peak: float = col("rate of its busiest hour over the workload's peak", unit="share")
    mean_of_peak: float = col("mean rate over the workload's peak", unit="share")


@row("notes")
class Note(Row):
    """What was held back on the way from forecast to demand."""

    workload: str = col("workload", reference="workloads.workload")
    topic: str = col("context cap, reused share or reuse clock")
    sentence: str = col("what holds its lengths or reuse back")


@row("lpx_copies")
class LpxCopy(Row):
    """Copies of an LLM on LPX racks."""

    card: str = col("LLM", key=True)
    sku: str = col("lpx SKU", key=True, reference="skus.sku")
    racks_per_copy: int = col("whole LPX racks that hold its FFN weights", unit="racks")
    copies_per_pod: int = col("whole copies that fit in a pod", unit="copies")


@row("placed_before")
class PlacedBefore(Row):
    """Where the service is before the first quarter; of use to the stage that keeps it in place."""

    work: str = col("decode or prefill", key=True)
    workload: str = col("workload", key=True, reference="workloads.workload")
    site: str = col("site", key=True, reference="pods.site")
    deployment: str = col("pool, with + and the lpx SKU where LPX decodes beside it", key=True)
    share: float = col("share of the workload's requests", unit="share")


@row("instances")
class InstanceRow(Row):
    """Instances of an LLM on a deployment, of the size that carries its whole load there with the fewest units."""

    t: int = col(_T, key=True, reference="quarters.t")
    llm: str = col("LLM as an instance holds it", key=True)
    deployment: str = col("pool, with + and the lpx SKU where LPX decodes beside it", key=True)
    role: Role = col("prefill, decode or both", key=True)
    sku: str = col("gpu SKU that works", reference="skus.sku")
    lpx_sku: str = col("lpx SKU that decodes beside it", reference="skus.sku", empty="without LPX")
    gpus: int = col("GPUs of one instance, whose HBM holds its weights", unit="GPUs")
    units: float = col(
        "units that one takes: its part of a unit filled with its like, whole units beyond one", unit="units"
    )
    busy_units: float = col("units of work that one does: usable share × its GPUs over those of a unit", unit="units")
    load: float = col("instances that would carry the LLM's whole load in this role there", unit="instances")
    whole: int = col("1 where the program counts them in whole numbers, 0 where it leaves them fluid")


@row("instance_rates")
class InstanceRate(Row):
    """Throughput of decode on instances of their size; without a row it is the best."""

    t: int = col(_T, key=True, reference="quarters.t")
    workload: str = col("workload", key=True, reference="workloads.workload")
    bucket: str = col(_BUCKET, key=True)
    deployment: str = col("pool, with + and the lpx SKU where LPX decodes beside it", key=True)
    throughput_share: float = col("tokens/s per GPU over those of the best layout, by physics", unit="ratio")


ROWS: tuple[type[Row], ...] = (
    QuarterRow, SkuRow, QuarterSupply, Price, Fixed, OrderTerms, Reserved, ResourceUse, PowerMode, MaxqSaving,
    FullPowerPrefill, SiteLimit, PodPlaces, Expansion, Reservation, ExpansionAdd, RentOffer, Rented, Budget,
    OpexCap, Space, BuiltKw, BesideTerms,
    Upkeep, Workload, Resilience, ShortPrice, TokenPrice, Task, Rate, Length, Serve, Prefill, FirstToken, LinkRow,
    PoolRole, Handover, Nic, PeerReader, Ship, ShipFirstToken, CachedTokens, OutOfReach, Store, ReturnShare, StoreUnit,
    WearPrice, StoreReader, IdleHbm, Parked, Age, Daypart, DaypartRate, Note, LpxCopy,
    PlacedBefore, InstanceRow, InstanceRate,
)  # fmt: skip
"""Every table of an instance, in order."""

TABLES: dict[str, Table] = {made.schema.name: made.schema for made in ROWS}
"""Their descriptions by name."""
