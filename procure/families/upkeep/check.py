"""Power and space paid for again, from what stands and what it does."""

from __future__ import annotations

import pandas as pd

from procure.instance import Instance
from procure.plan.money import Ledger
from procure.plan.part import Check


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Idle power and space of what stands, and power above idle of busy racks at their mean load, by kind of work."""
    position = instance.position
    upkeep = {(r.site, r.sku): r for r in instance["upkeep"].itertuples()}
    for row in tables["fleet"].itertuples():
        t, keep = position[row.quarter], upkeep[row.site, row.sku]
        ledger.pay(t, "power", row.site, row.sku, row.closing * keep.idle_usd_per_quarter)
        ledger.pay(t, "space", row.site, row.sku, row.closing * keep.space_usd_per_quarter)
    mean = {(r.t, r.workload, r.bucket): r.mean_per_peak for r in instance["rates"].itertuples()}
    partner = dict(zip(instance["serve"]["point"], instance["serve"]["lpx_sku"], strict=True))
    for row in tables["serving"].itertuples():
        t = position[row.quarter]
        share = mean[t, row.workload, row.bucket]
        ledger.pay(t, "power", row.site, row.sku, row.racks * share * upkeep[row.site, row.sku].decode_usd_per_quarter)
        if row.lpx_racks:
            lpx = partner[row.point]
            usd = row.lpx_racks * share * upkeep[row.site, lpx].decode_usd_per_quarter
            ledger.pay(t, "power", row.site, lpx, usd)
    for row in tables["prefill"].itertuples():
        t = position[row.quarter]
        usd = row.racks * mean[t, row.workload, row.bucket] * upkeep[row.site, row.sku].prefill_usd_per_quarter
        ledger.pay(t, "power", row.site, row.sku, usd)


CHECK = Check(cash=cash)
