"""Power and space paid for again, from what stands and what it does."""

from __future__ import annotations

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Rate, SkuRow, Upkeep
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.tables import Batch, Prefilled, Serving, Sold
from procure.schema import CostLine


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Idle power and space of what stands or is not yet removed, and power above idle of busy racks at mean load."""
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


CHECK = Check(cash=cash)
