"""Family 12: what only exists inside, beside or in multiples of something else."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyomo.environ as pyo

from procure.errors import Fault, InputError
from procure.program.index import Index, group
from procure.program.linear import Terms


def kits_within_hosts(m: Any, index: Index) -> None:
    """A kit fills all drive bays of one host that are free, and leaves with it.

        Σ_k own[s,k,t] ≤ places[h]·own[s,h,t]       over the kits k of a host h

    Units. ``places`` is 1, less the share of the bays that drives inside the host's price take.
    """
    kits = group(
        (k for k in index.stock if index.sku[k[1]].kind == "ssd_kit"), lambda k: (k[0], index.sku[k[1]].host, k[2])
    )

    def rule(m: Any, site: str, host: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.own[k] for k in kits[site, host, t]))
        if (site, host, t) in index.in_stock:
            row.add(-float(index.sku[host].places), m.own[site, host, t])
        return row.at_most(0.0)

    m.kits_within_hosts = pyo.Constraint(sorted(kits), rule=rule)


def parts_in_free_hosts(m: Any, index: Index) -> None:
    """Where hosts are held for others, only parts that fit into the rest of them serve.

        Σ_k fitted[s,k,t] ≤ Σ_h places[h]·(own[s,h,t] − reserved[s,h,t])       over the parts k of the same hosts h
        fitted[s,k,t] ≤ own[s,k,t] − reserved[s,k,t]

    Units; kits in racks or servers, enclosures in CMX racks. A part that finds no free host is held with the others.
    """
    parts = group(index.in_held_hosts, lambda k: (k[0], k[2], "+".join(index.places[k[1]])))

    def rule(m: Any, site: str, t: int, hosts: str) -> Any:
        row = Terms()
        held = parts[site, t, hosts]
        row.extend(1.0, (m.fitted[k] for k in held))
        for host, places in index.places[held[0][1]].items():
            if (site, host, t) in index.in_stock:
                row.add(-places, m.own[site, host, t])
            row.constant += places * index.reserved.get((t, site, host), 0.0)
        return row.at_most(0.0)

    def owned(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.fitted[site, sku, t])
        row.add(-1.0, m.own[site, sku, t])
        return row.at_most(-index.reserved.get((t, site, sku), 0.0))

    m.parts_in_free_hosts = pyo.Constraint(list(parts), rule=rule)
    m.fitted_within_own = pyo.Constraint(index.in_held_hosts, rule=owned)


def enclosures_in_racks(m: Any, index: Index) -> None:
    """CMX racks hold at least one enclosure each, and no more than they have places.

        Σ_r own[s,r,t] ≤ Σ_e own[s,e,t] ≤ Σ_r places[r]·own[s,r,t]       over the SKUs of racks r and of enclosures e

    Units; 1 to 16 in the reference rack.
    """
    racks, enclosures = (
        group((k for k in index.stock if index.sku[k[1]].kind == kind), lambda k: (k[0], k[2]))
        for kind in ("cmx_rack", "cmx_enclosure")
    )
    keys = sorted(set(racks) | set(enclosures))

    def within(m: Any, site: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.own[k] for k in enclosures.get((site, t), [])))
        for key in racks.get((site, t), []):
            row.add(-float(index.sku[key[1]].places), m.own[key])
        return row.at_most(0.0)

    def not_empty(m: Any, site: str, t: int) -> Any:
        row = Terms()
        row.extend(-1.0, (m.own[k] for k in enclosures.get((site, t), [])))
        row.extend(1.0, (m.own[k] for k in racks.get((site, t), [])))
        return row.at_most(0.0)

    m.enclosures_in_racks = pyo.Constraint(keys, rule=within)
    m.no_empty_cmx_rack = pyo.Constraint(keys, rule=not_empty)


def places_in_pods(m: Any, index: Index) -> None:
    """Racks of a pod fit its places: Σ slots[k]·own[s,k,t] ≤ places·pods[s,t], for NVL72, LPX and CMX racks. Places."""
    kinds = {
        "nvl72_per_pod": lambda sku: sku.pod_slots,
        "lpx_per_pod": lambda sku: float(sku.kind == "lpx"),
        "cmx_racks_per_pod": lambda sku: float(sku.kind == "cmx_rack"),
    }

    def rule(m: Any, site: str, t: int, places: str) -> Any:
        row = Terms()
        for key in index.stock:
            if key[0] == site and key[2] == t:
                row.add(kinds[places](index.sku[key[1]]), m.own[key])
        if not row.variables:
            return pyo.Constraint.Skip
        row.add(-getattr(index.pods_at[site], places), m.pods[site, t])
        return row.at_most(0.0)

    m.places_in_pods = pyo.Constraint(index.sites, index.t, list(kinds), rule=rule)


def pods_stay(m: Any, index: Index) -> None:
    """A pod once opened stays: pods[s,t−1] ≤ pods[s,t]."""

    def rule(m: Any, site: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.pods[site, t - 1])
        row.add(-1.0, m.pods[site, t])
        return row.at_most(0.0)

    m.pods_stay = pyo.Constraint(index.sites, [t for t in index.t if t > 0], rule=rule)


def supply_cap(m: Any, index: Index) -> None:
    """All sites together order at most what the supplier sells in a quarter: Σ_s buy[s,k,t] ≤ supply[k]. Units."""
    orders = group(index.orders, lambda o: (o[1], o[2]))
    keys = [(k, t) for k, t in sorted(orders) if index.sku[k].supply_per_quarter < float("inf")]

    def rule(m: Any, sku: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.buy[o] for o in orders[sku, t]))
        return row.at_most(index.sku[sku].supply_per_quarter)

    m.supply_cap = pyo.Constraint(keys, rule=rule)


def minimum_order(m: Any, index: Index) -> None:
    """All sites together order nothing or at least the supplier's minimum: min·ordered ≤ Σ_s buy ≤ most·ordered.

    Per SKU and quarter, as a supplier sees one order. ``most`` is the supply cap, or without one what the stated limits
    of all sites could hold. Units.
    """
    orders = group((o for o in index.orders if (o[1], o[2]) in m.ordered), lambda o: (o[1], o[2]))
    most = {sku: order_bound(index, sku) for sku, _ in m.ordered}

    def low(m: Any, sku: str, t: int) -> Any:
        row = Terms()
        row.add(index.sku[sku].min_order, m.ordered[sku, t])
        row.extend(-1.0, (m.buy[o] for o in orders[sku, t]))
        return row.at_most(0.0)

    def high(m: Any, sku: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.buy[o] for o in orders[sku, t]))
        row.add(-most[sku], m.ordered[sku, t])
        return row.at_most(0.0)

    m.minimum_order = pyo.Constraint(list(m.ordered), rule=low)
    m.order_placed = pyo.Constraint(list(m.ordered), rule=high)


def order_bound(index: Index, sku: str, without: Collection[str] = ()) -> float:
    """Units that one order of a SKU, over all sites, could be at most.

    ``without``: limits that are thought away: ``supply``, ``pods`` or resources; the bound may then be infinite.

    Raises:
        InputError: neither the supply cap nor a limit of a site bounds it.
    """
    sites = sorted({site for site, name in index.ordered_at if name == sku})
    bound = sum(_room(index, site, sku, without) for site in sites)
    if "supply" not in without:
        bound = min(bound, float(index.sku[sku].supply_per_quarter))
    if bound == float("inf") and not without:
        expected = "A limit that bounds an order: supply_per_quarter in hardware.csv, or a limit of every site."
        raise InputError([Fault("hardware.csv", 0, "supply_per_quarter", sku, expected)])
    return bound


def _room(index: Index, site: str, sku: str, without: Collection[str]) -> float:
    """Whole units of a SKU that a site's limits hold with all expansions, were nothing else there."""
    bound = float("inf")
    adds = group(index.instance["expansion_adds"].itertuples(), lambda row: (row.site, row.resource))
    use = {
        row.resource: row.per_unit
        for row in index.instance["resource_use"].itertuples()
        if row.site == site and row.sku == sku and row.resource not in without
    }
    limits = index.instance["site_limits"]
    for resource, rows in limits[limits["site"] == site].groupby("resource"):
        if use.get(str(resource), 0.0) > 0:
            grown = sum(a.adds * index.expansion[site, a.expansion].max_count for a in adds.get((site, resource), []))
            bound = min(bound, (rows["limit"].max() + grown) / use[str(resource)])
    if index.sku[sku].pod_slots and "pods" not in without:
        bound = min(bound, index.pods_at[site].pods_max * index.pods_at[site].nvl72_per_pod / index.sku[sku].pod_slots)
    return bound if bound == float("inf") else float(int(bound * (1.0 + 1e-9)))
