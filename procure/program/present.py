"""Units that serve, those that are up and not held for other purposes, and what keeps them busy."""

from __future__ import annotations

from typing import Any

from procure.instance.tables import PowerMode
from procure.program.day import add_way, day_of
from procure.program.decided import Decided
from procure.program.index import Index, Option, Point, lookup
from procure.program.linear import Terms
from procure.timekey import TimeKey


def add_present(m: Any, index: Index, row: Terms, coef: float, key: tuple[str, str, TimeKey]) -> None:
    """Add the units of (site, SKU, block) that serve to a row, times a coefficient.

        present[k] · (own[s,k,t] − reserved[s,k,t])
        present[k] · fitted[s,k,t]                      for parts some of whose hosts are reserved

    Units. ``present`` is the share that is up and no spare. DRAM, drives and ports of a host that failed, stands by as
    a spare or is held for others are not there; a kit in such a host is not there either. CMX enclosures are there
    when they are up: none stands by, since what a failed one loses is computed again.
    """
    site, sku, at = key
    factor = coef * index.sku[sku].present_share
    if key in m.fitted:
        row.add(factor, m.fitted[key])
        return
    row.add(factor, m.own[site, sku, at.t])
    row.constant -= factor * index.reserved.get((at.t, site, sku), 0.0)


def maxq_shares(index: Index) -> dict[str, float]:
    """Work of a unit at Max-Q over that at full power, by SKU that may run so."""
    return {row.sku: row.throughput_factor for row in index.instance.rows(PowerMode)}


def add_slowed(m: Any, index: Index, row: Terms, coef: float, key: tuple[str, str, int]) -> None:
    """Add the work that units of (site, SKU, quarter) at Max-Q do not do, in units: coef · (1 − factor) · maxq."""
    if key in m.maxq:
        row.add(coef * (1.0 - index.of(maxq_shares)[key[1]]), m.maxq[key])


def at_work(d: Decided, site: str, sku: str, t: int) -> float:
    """Units of a pool that are not reserved, less the work that those at Max-Q do not do; of decisions with values."""
    maxq = lookup(d.table("power_modes"), ["quarter", "site", "sku"], "maxq").get((d.names[t], site, sku), 0.0)
    return unreserved(d, site, sku, t) - (1.0 - d.index.of(maxq_shares).get(sku, 1.0)) * float(maxq)


def unreserved(d: Decided, site: str, sku: str, t: int) -> float:
    """Units of a pool that are not reserved; of decisions with values."""
    own = d.value.whole(d.m.own[site, sku, t]) if (site, sku, t) in d.index.in_stock else 0
    return own - d.index.reserved.get((t, site, sku), 0.0)


def ways_of(index: Index, pool: tuple[str, str, TimeKey]) -> list[tuple[Point | Option, str]]:
    """Ways to decode and to prefill in a pool (site, SKU, block), with their site."""
    return [*index.serve_by_pool.get(pool, []), *index.prefill_by_pool.get(pool, [])]


def hours_of_pools(index: Index) -> list[tuple[str, str, TimeKey]]:
    """(site, SKU, hours of a block) in which the work of a pool may be tightest."""
    day, found = index.of(day_of), []
    for site, sku, at in sorted({*index.serve_by_pool, *index.prefill_by_pool}):
        workloads = {way.workload for way, _ in ways_of(index, (site, sku, at))}
        found += [(site, sku, hours) for hours in day.rows(at, workloads)]
    return found


def add_work(m: Any, index: Index, row: Terms, key: tuple[str, str, TimeKey]) -> None:
    """Add the busy racks of a pool (site, SKU, hours of a block) to a row."""
    site, sku, at = key
    for way in ways_of(index, (site, sku, at.block)):
        add_way(m, index, row, way[0].rate * way[0].rack_s, way, at)
