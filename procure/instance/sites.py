"""What sites hold, what units take of it, and what space and power cost there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case import schema as given
from procure.instance.rent import offers
from procure.instance.tables import (
    BuiltKw,
    Expansion,
    ExpansionAdd,
    MaxqSaving,
    PodPlaces,
    ResourceUse,
    SiteLimit,
    Space,
    Upkeep,
)
from procure.instance.units import busy_kw, has_maxq, skus_in_play
from procure.quarter import HOURS_PER_QUARTER, MONTHS_PER_QUARTER, Quarter
from procure.schema import Resource

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case
    from procure.catalogue import Sku


def first_rows(case: Case) -> dict[str, given.Site]:
    """The row of each site that holds first; what does not change over time is read from it."""
    found: dict[str, given.Site] = {}
    for row in sorted(given.Site.rows(case.tables["sites"]), key=lambda row: (row.site, row.from_quarter)):
        found.setdefault(row.site, row)
    return found


def stands_on(sku: Sku, site: given.Site) -> bool:
    """Whether a site's floor carries a SKU."""
    return sku.footprint_m2 <= 0 or sku.weight_kg / sku.footprint_m2 <= site.floor_load_kg_per_m2


def _resource_use(case: Case) -> pd.DataFrame:
    rows = []
    for site in first_rows(case).values():
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


def _maxq_savings(case: Case) -> pd.DataFrame:
    """Power, and heat to the liquid in proportion to it."""
    rows = []
    for site in first_rows(case).values():
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
    for site in first_rows(case):
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
        places = sum(r.most_units * case.catalogue.sku(r.sku).pod_slots for r in offers(case) if r.site == site)
        most = math.ceil(places / s.nvl72_per_pod)
        rows.append(PodPlaces(site, most, s.nvl72_per_pod, s.lpx_per_pod, s.cmx_racks_per_pod, 0))
    frame = case.tables["sites"]
    for site, first in first_rows(case).items():
        most = int(frame.loc[frame["site"] == site, "pods_max"].max())
        crosses = int(first.cmx_crosses_pods)
        rows.append(PodPlaces(site, most, s.nvl72_per_pod, s.lpx_per_pod, s.cmx_racks_per_pod, crosses))
    return PodPlaces.frame(rows)


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


def _space(case: Case) -> pd.DataFrame:
    """Rent by quarter; the price is that of a site's first row, as its electricity is."""
    rows, frame = [], case.tables["sites"]
    early = (r.site for r in given.Reservation.rows(case.tables["reservations"]) if r.instrument == "early_rent")
    builds = {*_built_kw(case)["site"], *early}
    for name, first in first_rows(case).items():
        stages = sorted(given.Site.rows(frame[frame["site"] == name]), key=lambda r: Quarter(r.from_quarter))
        usd = first.space_usd_per_kw_month * MONTHS_PER_QUARTER
        if usd <= 0 or not (name in builds or any(math.isfinite(stage.contracted_kw) for stage in stages)):
            continue
        for t, quarter in enumerate(case.quarters):
            held = [stage for stage in stages if Quarter(stage.from_quarter) <= quarter][-1].contracted_kw
            rows.append(Space(t, name, usd, held if math.isfinite(held) else 0.0))
    return Space.frame(rows)


def _built_kw(case: Case) -> pd.DataFrame:
    sites = first_rows(case)
    rows = []
    for r in given.Expansion.rows(case.tables["expansions"]):
        per_it = sites[r.site].pue if sites[r.site].power_basis == "facility" else 1.0
        if r.power_kw > 0 and not r.pays_rent:
            rows.append(BuiltKw(r.site, r.expansion, r.power_kw / per_it))
    return BuiltKw.frame(rows)


def _upkeep(case: Case) -> pd.DataFrame:
    """Power and space of units at the sites; at a provider's both are in the rent."""
    rows, s = [], case.settings
    at_providers = {(r.site, r.sku) for r in offers(case) if r.site in case.providers}
    rows += [Upkeep(site, sku, 0.0, 0.0, 0.0, 0.0) for site, sku in sorted(at_providers)]
    for site in first_rows(case).values():
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


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {
    "resource_use": _resource_use,
    "maxq_savings": _maxq_savings,
    "site_limits": _site_limits,
    "pods": _pods,
    "expansions": _expansions,
    "expansion_adds": _expansion_adds,
    "space": _space,
    "built_kw": _built_kw,
    "upkeep": _upkeep,
}
"""Tables of :data:`procure.instance.tables.TABLES` that it makes, of the case alone."""
