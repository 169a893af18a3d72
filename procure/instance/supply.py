"""What can be bought, what exists, and what a site can hold: tables of the instance that know no workload."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case import schema as given
from procure.instance.tables import (
    BesideTerms,
    Budget,
    BuiltKw,
    Expansion,
    ExpansionAdd,
    Fixed,
    LinkRow,
    MaxqSaving,
    OpexCap,
    OrderTerms,
    PlacedBefore,
    PodPlaces,
    PoolRole,
    PowerMode,
    Price,
    QuarterRow,
    Rented,
    RentOffer,
    Reserved,
    ResourceUse,
    SiteLimit,
    SkuRow,
    Space,
    Upkeep,
)
from procure.quarter import HOURS_PER_QUARTER, Quarter
from procure.rules import failures
from procure.schema import BYTES_PER_GBIT, Origin, Resource, Role, SkuKind

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case
    from procure.catalogue import Sku

MONTHS_PER_QUARTER = 3


def _quarters(case: Case) -> pd.DataFrame:
    rate, start = case.settings.discount_rate_per_year, case.settings.fiscal_year_start
    planned = len(case.planned)
    return QuarterRow.frame(
        QuarterRow(t, str(q), int(t < planned), q.fiscal_year(start), (1.0 + rate) ** (-t / 4))
        for t, q in enumerate(case.quarters)
    )


def availability(case: Case, sku: Sku) -> float:
    """Share of owned units that are up: the case's, or from failures and repair of the SKU and of its host."""
    stated = case.settings.availability
    if isinstance(stated, str):
        own = failures.availability(sku.failures_per_year, sku.repair_hours)
        return own * availability(case, case.catalogue.sku(sku.host)) if sku.host else own
    return stated


def present_share(case: Case, sku: Sku) -> float:
    """Share of owned units that are up and not spares.

    Racks and servers stand by as spares, and what is inside them with them. A CMX enclosure does not: when one fails
    its copies are computed again.
    """
    spares = 0.0 if sku.kind in (SkuKind.CMX_RACK, SkuKind.CMX_ENCLOSURE) else case.settings.spare_share
    return availability(case, sku) * (1.0 - spares)


def skus_in_play(case: Case) -> list[Sku]:
    """SKUs that exist, are on order, or may be bought, by name."""
    return [case.catalogue.sku(name) for name in case.skus_in_play]


def order_window(case: Case, sku: Sku) -> tuple[int, int]:
    """First and last quarter in which an order can be placed that arrives inside the horizon; empty if last < first."""
    lead = math.ceil(sku.lead_quarters)
    first = 0
    if sku.available_from:
        first = max(first, Quarter(sku.available_from).index - case.quarters[0].index - lead)
    last = len(case.quarters) - 1 - lead
    if sku.last_order:
        last = min(last, Quarter(sku.last_order).index - case.quarters[0].index)
    return (first, last) if sku.name in case.settings.may_buy else (0, -1)


def _skus(case: Case) -> pd.DataFrame:
    rows = []
    for sku in skus_in_play(case):
        present = present_share(case, sku)
        first, last = order_window(case, sku)
        rows.append(
            SkuRow(
                sku=sku.name,
                kind=sku.kind,
                host=sku.host,
                lead_quarters=math.ceil(sku.lead_quarters),
                first_order_t=first,
                last_order_t=last,
                min_order=sku.min_order,
                supply_per_quarter=float(sku.supply_per_quarter),
                life_quarters=sku.life_years * 4,
                haircut=sku.haircut,
                resale_spread=sku.resale_spread,
                resale_delay_quarters=math.ceil(sku.resale_delay_quarters),
                resale_lockup_quarters=math.ceil(sku.resale_lockup_quarters),
                resale_per_quarter=sku.resale_per_quarter,
                removal_usd=sku.removal_usd,
                removal_quarters=math.ceil(sku.removal_quarters),
                book_life_quarters=sku.book_life_years * 4,
                milestone_order=sku.milestone_order,
                attach_usd=sku.attach_usd,
                install_usd=sku.install_usd,
                usable_share=present * case.settings.utilisation_cap,
                present_share=present,
                availability=availability(case, sku),
                gpus=sku.gpus,
                pod_slots=sku.pod_slots,
                places=case.catalogue.places(sku),
            )
        )
    return SkuRow.frame(rows)


def _prices(case: Case) -> pd.DataFrame:
    rows = []
    for sku in skus_in_play(case):
        for t, quarter in enumerate(case.quarters):
            price = case.catalogue.price_usd(sku.name, quarter)
            rows.append(Price(sku.name, t, price, price * sku.support_per_year / 4))
    return Price.frame(rows)


def _fixed(case: Case) -> pd.DataFrame:
    """Fleet and firm orders, alike units of one vintage as one group at their mean price.

    What was paid includes what a unit drags along and its installation. Neither is sold or supported with the unit, so
    residual values and support start from the rest, as they do for purchases.
    """
    start = case.quarters[0].index
    rows: list[Fixed] = []
    sells_fleet, sells_all = case.settings.resale != "none", case.settings.resale == "all"
    fleet = [
        ((r.site, r.sku, r.in_service), r.count, r.paid_usd_per_unit, 1.0, r.retirable and sells_fleet)
        for r in given.Fleet.rows(case.tables["fleet"])
    ]
    orders = [
        ((r.site, r.sku, r.delivery), r.count, r.price_usd_per_unit, r.paid_share, sells_all)
        for r in given.Order.rows(case.tables["orders"])
    ]
    for origin, units in ((Origin.FLEET, fleet), (Origin.ORDER, orders)):
        groups: dict[tuple[str, str, str], list[tuple[int, float, float, bool]]] = {}
        for key, count, price_usd, paid_share, flag in units:
            groups.setdefault(key, []).append((count, price_usd, paid_share, flag))
        for number, ((site, sku, quarter), parts) in enumerate(sorted(groups.items())):
            count = sum(part[0] for part in parts)
            if count == 0:
                continue
            unit = case.catalogue.sku(sku)
            beside = unit.attach_usd + unit.install_usd
            paid = sum(part[0] * max(part[1] - beside, 0.0) for part in parts) / count
            due = sum(part[0] * part[1] * (1.0 - part[2]) for part in parts) / count
            support = paid * unit.support_per_year / 4
            vintage = Quarter(quarter).index - start
            retirable = int(all(part[3] for part in parts))
            rows.append(
                Fixed(
                    group=f"{origin}-{number}",
                    origin=origin,
                    site=site,
                    sku=sku,
                    count=count,
                    vintage_t=vintage,
                    retirable=retirable,
                    paid_usd=paid,
                    due_usd=due,
                    due_t=max(vintage, 0),
                    support_usd_per_quarter=support,
                )
            )
    return Fixed.frame(rows)


def _order_terms(case: Case) -> pd.DataFrame:
    """Terms of the groups on firm order of which something can be changed: notice is given in the first quarter.

    A unit that is cancelled owes its fee, what is paid already counted towards it; what is paid beyond is lost. No unit
    is deferred beyond the horizon, where nobody would see it paid for.
    """
    first, end = case.quarters[0], len(case.quarters)
    orders = given.Order.rows(case.tables["orders"])
    groups = sorted({(r.site, r.sku, r.delivery) for r in orders})  # numbered as in ``fixed``
    rows = []
    for r in orders:
        t = Quarter(r.delivery).index - first.index
        until = Quarter(r.notice_until) if r.notice_until else Quarter(r.delivery) + -1
        cancels = not math.isnan(r.cancel_fee_share)
        defers = 0 if math.isnan(r.defer_quarters_most) else min(int(r.defer_quarters_most), end - 1 - t)
        if until < first or not (cancels or defers):
            continue
        rows.append(
            OrderTerms(
                group=f"{Origin.ORDER}-{groups.index((r.site, r.sku, r.delivery))}",
                may_cancel=int(cancels),
                cancel_usd=max(r.cancel_fee_share - r.paid_share, 0.0) * r.price_usd_per_unit if cancels else 0.0,
                defer_most=defers,
                defer_usd_per_quarter=r.defer_fee_share_per_quarter * r.price_usd_per_unit if defers else 0.0,
            )
        )
    return OrderTerms.frame(sorted(rows, key=lambda row: row.group))


def _reserved(case: Case) -> pd.DataFrame:
    held: dict[tuple[int, str, str], float] = {}
    for row in given.Reserved.rows(case.tables["reserved"]):
        key = (case.position[row.quarter], row.site, row.sku)
        held[key] = held.get(key, 0.0) + row.count
    return Reserved.frame(Reserved(*key, count) for key, count in sorted(held.items()))


def _sites(case: Case) -> dict[str, given.Site]:
    """The row of each site that holds first; what does not change over time is read from it."""
    rows = case.tables["sites"].sort_values(["site", "from_quarter"])
    return {row.site: row for row in given.Site.rows(rows.drop_duplicates("site"))}


def stands_on(sku: Sku, site: given.Site) -> bool:
    """Whether a site's floor carries a SKU."""
    return sku.footprint_m2 <= 0 or sku.weight_kg / sku.footprint_m2 <= site.floor_load_kg_per_m2


def _resource_use(case: Case) -> pd.DataFrame:
    rows = []
    for site in _sites(case).values():
        pue = site.pue if site.power_basis == "facility" else 1.0
        for sku in skus_in_play(case):
            if not stands_on(sku, site):
                continue
            use = {
                Resource.POWER: (sku.power_kw + sku.attach_kw) * pue,
                Resource.POSITIONS: sku.positions + sku.attach_positions,
                Resource.AREA: sku.area_m2,
                Resource.LIQUID: sku.liquid_kw,
                Resource.PORTS: sku.ports,
            }
            rows += [ResourceUse(site.site, sku.name, resource, use[resource]) for resource in Resource]
    return ResourceUse.frame(rows)


def has_maxq(case: Case, sku: Sku) -> bool:
    """Whether the plan may run units of a SKU at Max-Q: it has such a mode, which draws less than full power."""
    if case.settings.power_modes != "by_quarter" or sku.kind != SkuKind.GPU:
        return False
    return 0 < sku.power_maxq_kw < sku.power_kw and sku.maxq_throughput_factor > 0


def maxq_share(sku: Sku) -> float:
    """Work of a unit at Max-Q over that in the mode that the case states for it; never more than 1."""
    return min(sku.maxq_throughput_factor / sku.throughput_factor, 1.0)


def _power_modes(case: Case) -> pd.DataFrame:
    return PowerMode.frame(PowerMode(sku.name, maxq_share(sku)) for sku in skus_in_play(case) if has_maxq(case, sku))


def _maxq_savings(case: Case) -> pd.DataFrame:
    """Power, and heat to the liquid in proportion to it."""
    rows = []
    for site in _sites(case).values():
        pue = site.pue if site.power_basis == "facility" else 1.0
        for sku in skus_in_play(case):
            if has_maxq(case, sku) and stands_on(sku, site):
                saved_kw = sku.power_kw - sku.power_maxq_kw
                saved = {
                    Resource.POWER: saved_kw * pue,
                    Resource.LIQUID: sku.liquid_kw * saved_kw / sku.power_kw,
                }
                rows += [MaxqSaving(site.site, sku.name, resource, value) for resource, value in saved.items()]
    return MaxqSaving.frame(rows)


def _site_limits(case: Case) -> pd.DataFrame:
    rows = []
    frame = case.tables["sites"]
    for site in _sites(case):
        stages = sorted(given.Site.rows(frame[frame["site"] == site]), key=lambda r: Quarter(r.from_quarter))
        for t, quarter in enumerate(case.quarters):
            row = [stage for stage in stages if Quarter(stage.from_quarter) <= quarter][-1]
            for resource in Resource:
                limit = getattr(row, resource)
                if math.isfinite(limit):
                    rows.append(SiteLimit(t, site, resource, limit))
    return SiteLimit.frame(rows)


def _pods(case: Case) -> pd.DataFrame:
    """Pods of the sites; a provider has as many as his offers can fill."""
    s = case.settings
    rows = []
    for site in case.providers:
        places = sum(r.most_units * case.catalogue.sku(r.sku).pod_slots for r in _offers(case) if r.site == site)
        most = math.ceil(places / s.nvl72_per_pod)
        rows.append(PodPlaces(site, most, s.nvl72_per_pod, s.lpx_per_pod, s.cmx_racks_per_pod, 0))
    frame = case.tables["sites"]
    for site, first in _sites(case).items():
        most = int(frame.loc[frame["site"] == site, "pods_max"].max())
        crosses = int(first.cmx_crosses_pods)
        rows.append(PodPlaces(site, most, s.nvl72_per_pod, s.lpx_per_pod, s.cmx_racks_per_pod, crosses))
    return PodPlaces.frame(rows)


def _offers(case: Case) -> list[given.Rent]:
    return given.Rent.rows(case.tables["rent"])


def _rent_offers(case: Case) -> pd.DataFrame:
    """Offers with their prices by quarter and their windows as positions of quarters.

    A price by GPU and hour is paid for every hour of a quarter. Rent begins no sooner than the lead allows, nor before
    the SKU is available, and so that its term ends in the window; a window that goes on after the horizon holds terms
    that do.
    """
    rows = []
    start, end = case.quarters[0].index, len(case.quarters) - 1
    for r in _offers(case):
        sku = case.catalogue.sku(r.sku)
        hourly = r.usd_per_gpu_hour * sku.gpus * HOURS_PER_QUARTER
        monthly = r.usd_per_unit_month * MONTHS_PER_QUARTER
        begins = [Quarter(q).index - start for q in (r.from_quarter, sku.available_from) if q]
        closes = Quarter(r.to_quarter).index - start if r.to_quarter else end + r.min_term_quarters
        rows.append(
            RentOffer(
                offer=r.offer,
                site=r.site,
                sku=r.sku,
                most_units=r.most_units,
                usd_per_quarter=monthly if math.isnan(hourly) else hourly,
                lead_quarters=math.ceil(r.lead_quarters),
                min_term_quarters=r.min_term_quarters,
                first_t=max(math.ceil(r.lead_quarters), *begins, 0),
                last_start_t=min(closes - r.min_term_quarters + 1, end),
                last_t=min(closes, end),
                capital=int(r.charged_to == "capital"),
            )
        )
    return RentOffer.frame(rows)


def _rented(case: Case) -> pd.DataFrame:
    start = case.quarters[0].index
    return Rented.frame(
        Rented(r.offer, Quarter(r.from_quarter).index - start, Quarter(r.until_quarter).index - start, r.count)
        for r in given.Rented.rows(case.tables["rented"])
    )


def _expansions(case: Case) -> pd.DataFrame:
    rows = []
    for r in given.Expansion.rows(case.tables["expansions"]):
        lead = math.ceil(r.lead_quarters)
        last = len(case.quarters) - 1 - lead
        if r.order_until:
            last = min(last, Quarter(r.order_until).index - case.quarters[0].index)
        rows.append(Expansion(r.site, r.expansion, lead, r.max_count, r.capex_usd, max(last, -1)))
    return Expansion.frame(rows)


def _expansion_adds(case: Case) -> pd.DataFrame:
    """What each expansion adds; without a stated figure what the units need that its power or positions hold."""
    rows = []
    use: dict[tuple[str, str], dict[Resource, float]] = {}
    for u in ResourceUse.rows(_resource_use(case)):
        use.setdefault((u.site, u.sku), {})[u.resource] = u.per_unit
    for r in given.Expansion.rows(case.tables["expansions"]):
        units = [unit for (site, _), unit in use.items() if site == r.site]
        for resource in Resource:
            adds = getattr(r, resource)
            if not math.isfinite(adds):
                adds = max((_most_units(r, unit) * unit[resource] for unit in units), default=0.0)
            if adds > 0:
                rows.append(ExpansionAdd(r.site, r.expansion, resource, adds))
    return ExpansionAdd.frame(rows)


def _most_units(expansion: given.Expansion, use: dict[Resource, float]) -> float:
    """Units of a SKU that the power of an expansion feeds or its positions hold, whichever is more; 0 for parts."""
    return max(
        (getattr(expansion, k) / use[k] for k in (Resource.POWER, Resource.POSITIONS) if use[k] > 0), default=0.0
    )


def _budget(case: Case) -> pd.DataFrame:
    rows = [Budget(case.position[r.quarter], r.budget_usd) for r in given.Budget.rows(case.tables["budget"])]
    return Budget.frame(sorted((row for row in rows if math.isfinite(row.budget_usd)), key=lambda row: row.t))


def _opex(case: Case) -> pd.DataFrame:
    rows = [OpexCap(case.position[r.quarter], r.opex_usd) for r in given.Budget.rows(case.tables["budget"])]
    return OpexCap.frame(sorted((row for row in rows if math.isfinite(row.opex_usd)), key=lambda row: row.t))


def _space(case: Case) -> pd.DataFrame:
    """Rent by quarter; the price is that of a site's first row, as its electricity is."""
    rows, frame = [], case.tables["sites"]
    builds = set(_built_kw(case)["site"])
    for name, first in _sites(case).items():
        stages = sorted(given.Site.rows(frame[frame["site"] == name]), key=lambda r: Quarter(r.from_quarter))
        usd = first.space_usd_per_kw_month * MONTHS_PER_QUARTER
        if usd <= 0 or not (name in builds or any(math.isfinite(stage.contracted_kw) for stage in stages)):
            continue
        for t, quarter in enumerate(case.quarters):
            held = [stage for stage in stages if Quarter(stage.from_quarter) <= quarter][-1].contracted_kw
            rows.append(Space(t, name, usd, held if math.isfinite(held) else 0.0))
    return Space.frame(rows)


def _built_kw(case: Case) -> pd.DataFrame:
    sites = _sites(case)
    rows = []
    for r in given.Expansion.rows(case.tables["expansions"]):
        per_it = sites[r.site].pue if sites[r.site].power_basis == "facility" else 1.0
        if r.power_kw > 0 and not r.pays_rent:
            rows.append(BuiltKw(r.site, r.expansion, r.power_kw / per_it))
    return BuiltKw.frame(rows)


BESIDE = {"attach": "network", "expansion": "facility"}
"""Classes of depreciation of what is bought beside units: switches, optics and cabling; what sites are expanded by."""


def _beside_terms(case: Case) -> pd.DataFrame:
    drags = any(case.catalogue.sku(name).attach_usd > 0 for name in case.settings.may_buy)
    used = {"attach": drags, "expansion": len(case.tables["expansions"]) > 0}
    fact = case.catalogue.fact
    return BesideTerms.frame(
        BesideTerms(what, fact(of, "life_years").number * 4, fact(of, "haircut").number)
        for what, of in BESIDE.items()
        if used[what]
    )


def busy_kw(case: Case, sku: Sku, share: float) -> float:
    """Mean draw of a unit that is busy all the time, without attach; limits use its maximum.

    GPU units draw a measured share of their maximum, by kind of work, and never less than when idle; what a case itself
    says of one stands instead. Other kinds draw their ``power_typical_kw``.
    """
    if sku.kind != SkuKind.GPU or case.catalogue.is_stated(sku, "power_typical_kw"):
        return sku.power_typical_kw
    return max(share * sku.power_kw, sku.power_idle_kw)


def _upkeep(case: Case) -> pd.DataFrame:
    """Power and space of units at the sites; at a provider's both are in the rent."""
    rows, s = [], case.settings
    at_providers = {(r.site, r.sku) for r in _offers(case) if r.site in case.providers}
    rows += [Upkeep(site, sku, 0.0, 0.0, 0.0, 0.0) for site, sku in sorted(at_providers)]
    for site in _sites(case).values():
        for sku in skus_in_play(case):
            if not stands_on(sku, site):
                continue
            usd_per_kw_quarter = site.pue * HOURS_PER_QUARTER * site.electricity_usd_per_kwh
            rows.append(
                Upkeep(
                    site.site,
                    sku.name,
                    (sku.power_idle_kw + sku.attach_kw) * usd_per_kw_quarter,
                    (busy_kw(case, sku, s.energy_share_of_nameplate_prefill) - sku.power_idle_kw) * usd_per_kw_quarter,
                    (busy_kw(case, sku, s.energy_share_of_nameplate_decode) - sku.power_idle_kw) * usd_per_kw_quarter,
                    (sku.power_kw + sku.attach_kw) * site.space_usd_per_kw_month * MONTHS_PER_QUARTER,
                )
            )
    return Upkeep.frame(rows)


def links(case: Case) -> list[LinkRow]:
    """Links of every quarter: usable bytes/s are the bandwidth less the share kept for other traffic."""
    stages: dict[tuple[str, str], list[given.Link]] = {}
    for r in given.Link.rows(case.tables["links"]):
        stages.setdefault((r.from_site, r.to_site), []).append(r)
    rows = []
    for t, quarter in enumerate(case.quarters):
        for (sends, receives), of in sorted(stages.items()):
            begun = [r for r in of if Quarter(r.from_quarter) <= quarter]
            if begun:
                last = max(begun, key=lambda r: Quarter(r.from_quarter))
                usable = last.bandwidth_gbit_per_s * BYTES_PER_GBIT * (1.0 - last.other_traffic_share)
                if usable > 0:
                    rent = last.usd_per_month * MONTHS_PER_QUARTER
                    rows.append(LinkRow(t, sends, receives, usable, last.latency_s, rent))
    return rows


def _links(case: Case) -> pd.DataFrame:
    return LinkRow.frame(links(case))


def _pool_roles(case: Case) -> pd.DataFrame:
    play = {sku.name for sku in skus_in_play(case)}
    rows = (PoolRole(r.site, r.sku, Role(r.role)) for r in given.Pool.rows(case.tables["pools"]) if r.sku in play)
    return PoolRole.frame(sorted(rows, key=lambda r: (r.site, r.sku)))


def _placed_before(case: Case) -> pd.DataFrame:
    rows = (PlacedBefore(r.work, r.workload, r.site, r.deployment, r.share)
            for r in given.Placed.rows(case.tables["placement"]))  # fmt: skip
    return PlacedBefore.frame(sorted(rows, key=lambda r: (r.work, r.workload, r.site, r.deployment)))


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {
    "quarters": _quarters,
    "skus": _skus,
    "prices": _prices,
    "fixed": _fixed,
    "order_terms": _order_terms,
    "reserved": _reserved,
    "resource_use": _resource_use,
    "power_modes": _power_modes,
    "maxq_savings": _maxq_savings,
    "placed_before": _placed_before,
    "site_limits": _site_limits,
    "pods": _pods,
    "expansions": _expansions,
    "expansion_adds": _expansion_adds,
    "rent_offers": _rent_offers,
    "rented": _rented,
    "budget": _budget,
    "opex": _opex,
    "beside_terms": _beside_terms,
    "space": _space,
    "built_kw": _built_kw,
    "upkeep": _upkeep,
    "links": _links,
    "pool_roles": _pool_roles,
}
"""The tables of :data:`procure.instance.tables.TABLES` that follow from the case alone."""
