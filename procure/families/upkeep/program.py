"""Power and space in the program: costs of what stands and of what it does."""

from __future__ import annotations

from typing import Any

from procure.families.scales import USD_PER_UNIT
from procure.instance.tables import Upkeep
from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.power import prefill_usd, serve_usd
from procure.program.sales import leaving


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """Idle power and space of what stands or was sold and is not yet removed, and power above idle at the mean rate.

    Decode and prefill draw different shares of a unit's maximum.
    """
    rows = {(r.site, r.sku): r.idle_usd_per_quarter + r.space_usd_per_quarter for r in index.instance.rows(Upkeep)}
    for site, sku, t in index.stock:
        terms.add(rows[site, sku] * index.discount[t] / USD_PER_UNIT, m.own[site, sku, t])
    for (site, sku, t), found in index.of(leaving).items():
        terms.extend(rows[site, sku] * index.discount[t] / USD_PER_UNIT, (sale.decision(m) for sale in found))
    for p, site, usd in serve_usd(index):
        terms.add(usd / USD_PER_UNIT, m.serve[p.point, site])
    for o, site, usd in prefill_usd(index):
        terms.add(usd / USD_PER_UNIT, m.prefill[o.option, site])


PROGRAM = Part(cost=add_cost)
