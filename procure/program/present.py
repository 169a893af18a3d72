"""Units that serve, those that are up and not held for other purposes, and what keeps them busy."""

from __future__ import annotations

from typing import Any

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


def add_work(m: Any, index: Index, row: Terms, key: tuple[str, str, TimeKey]) -> None:
    """Add the busy racks of a pool (site, SKU, block) to a row."""
    for p, site in index.serve_by_pool.get(key, []):
        row.add(p.rate * p.rack_s, m.serve[p.point, site])
    for o, site in index.prefill_by_pool.get(key, []):
        row.add(o.rate * o.rack_s, m.prefill[o.option, site])
