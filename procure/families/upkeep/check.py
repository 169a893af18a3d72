"""Power and space paid for again, from what stands and what it does."""

from __future__ import annotations

from collections import defaultdict

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import BuiltKw, Expansion, Rate, Reservation, SkuRow, Space, Upkeep
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.tables import Batch, ExpansionOrder, Prefilled, Serving, Sold
from procure.schema import CostLine

CENT = 0.01
"""USD that are rounding."""


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Idle power and space of what stands or is not yet removed, and power above idle of busy racks at mean load.

    Where a site has a contract, or was expanded, what it pays beside the rent of what stands is a line of its own:
    contracted space that nothing uses, and below zero what was built and pays none.
    """
    position = instance.position
    removal = {r.sku: r.removal_quarters for r in instance.rows(SkuRow)}
    upkeep = {(r.site, r.sku): r for r in instance.rows(Upkeep)}
    for row in Batch.rows(tables["fleet"]):
        t, keep = position[row.quarter], upkeep[row.site, row.sku]
        ledger.pay(t, CostLine.POWER, row.site, row.sku, row.closing * keep.idle_usd_per_quarter)
        ledger.pay(t, CostLine.SPACE, row.site, row.sku, row.closing * keep.space_usd_per_quarter)
    for gone in Sold.rows(tables["sales"]):
        t, keep = position[gone.quarter], upkeep[gone.site, gone.sku]
        for q in range(t, min(t + removal[gone.sku], len(position))):
            ledger.pay(q, CostLine.POWER, gone.site, gone.sku, gone.count * keep.idle_usd_per_quarter)
            ledger.pay(q, CostLine.SPACE, gone.site, gone.sku, gone.count * keep.space_usd_per_quarter)
    _contracts(ledger, instance, tables)
    mean = {(r.t, r.workload, r.bucket): r.mean_per_peak for r in instance.rows(Rate)}
    partner = dict(zip(instance["serve"]["point"], instance["serve"]["lpx_sku"], strict=True))
    for decode in Serving.rows(tables["serving"]):
        t = position[decode.quarter]
        share = mean[t, decode.workload, decode.bucket]
        usd = decode.racks * share * upkeep[decode.site, decode.sku].decode_usd_per_quarter
        ledger.pay(t, CostLine.POWER, decode.site, decode.sku, usd)
        if decode.lpx_racks:
            lpx = partner[decode.point]
            usd = decode.lpx_racks * share * upkeep[decode.site, lpx].decode_usd_per_quarter
            ledger.pay(t, CostLine.POWER, decode.site, lpx, usd)
    for fill in Prefilled.rows(tables["prefill"]):
        t = position[fill.quarter]
        usd = fill.racks * mean[t, fill.workload, fill.bucket] * upkeep[fill.site, fill.sku].prefill_usd_per_quarter
        ledger.pay(t, CostLine.POWER, fill.site, fill.sku, usd)


def _contracts(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """What contracts and own building add to the rent of all that stands, or take off it."""
    position = instance.position
    kw_of = {(r.site, r.expansion): r.kw for r in instance.rows(BuiltKw)}
    kept_kw = {r.reservation: r.kw for r in instance.rows(Reservation)}
    lead = {(r.site, r.expansion): r.lead_quarters for r in instance.rows(Expansion)}
    paid: dict[tuple[int, str], float] = defaultdict(float)
    for (t, line, site, _), usd in ledger.cash.items():
        if line is CostLine.SPACE:
            paid[t, site] += usd
    for space in instance.rows(Space):
        built = sum(
            order.count * kept_kw.get(order.reservation, kw_of.get((order.site, order.expansion), 0.0))
            for order in ExpansionOrder.rows(tables["expansions"])
            if order.site == space.site and position[order.quarter] + lead[order.site, order.expansion] <= space.t
        )
        stands_usd, rate = paid[space.t, space.site], space.usd_per_kw_quarter
        beyond_usd = max(0.0, stands_usd - (space.contracted_kw + built) * rate)
        more = space.contracted_kw * rate + beyond_usd - stands_usd
        if abs(more) > CENT:
            ledger.pay(space.t, CostLine.SPACE, space.site, "", more)


CHECK = Check(cash=cash)
