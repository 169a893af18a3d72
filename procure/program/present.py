"""Units that serve, those that are up and not held for other purposes, and what keeps them busy."""

from __future__ import annotations

from typing import Any

from procure.instance.tables import PowerMode
from procure.program.index import Index
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


def add_work(m: Any, index: Index, row: Terms, key: tuple[str, str, TimeKey]) -> None:
    """Add the busy racks of a pool (site, SKU, block) to a row."""
    for p, site in index.serve_by_pool.get(key, []):
        row.add(p.rate * p.rack_s, m.serve[p.point, site])
    for o, site in index.prefill_by_pool.get(key, []):
        row.add(o.rate * o.rack_s, m.prefill[o.option, site])
