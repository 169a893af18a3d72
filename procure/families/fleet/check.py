"""The fleet checked: balance by vintage, what may be sold, what it is worth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.quarter import Quarter
from procure.rules.worth import residual_usd, sale_usd


def limits(s: Standing, rows: Rows) -> None:
    """Units held for other purposes stand."""
    for (quarter, site, sku), count in sorted(s.reserved.items()):
        if count > 0:
            rows.add("reserved units stand", quarter, site, sku, count, s.own[quarter, site, sku], "units")


def balance(plan: Plan, instance: Instance) -> Iterable[str]:
    """Opening + delivered − retired = closing; openings follow closings; deliveries are orders and firm orders."""
    position = instance.position
    start = Quarter(instance.quarters[0]).index
    delivered: dict[tuple[str, str, str, int], float] = defaultdict(float)
    for r in plan.tables["purchases"].itertuples():
        delivered[r.site, r.sku, "purchase", position[r.delivery_quarter]] += r.count
    retirable = {}
    for r in instance["fixed"].itertuples():
        delivered[r.site, r.sku, r.origin, r.vintage_t] += r.count
        retirable[r.site, r.sku, r.origin, r.vintage_t] = bool(r.retirable)
    standing: dict[tuple[str, str, str, int], tuple[int, float]] = {}
    for r in plan.tables["fleet"].sort_values("quarter").itertuples():
        t, vintage = position[r.quarter], Quarter(r.vintage).index - start
        key = (r.site, r.sku, r.origin, vintage)
        label = f"{r.quarter} {r.site} {r.sku} of {r.vintage}"
        expected = delivered[key] if vintage < 0 and t == 0 else standing.get(key, (t - 1, 0.0))[1]
        arriving = delivered[key] if vintage == t else 0.0
        if key in standing and standing[key][0] != t - 1:
            yield f"{label}: a quarter is missing before it"
        if r.opening != expected or r.delivered != arriving:
            yield f"{label}: opens with {r.opening:g} and receives {r.delivered:g}, not {expected:g} and {arriving:g}"
        if r.opening + r.delivered - r.retired != r.closing or min(r.closing, r.retired) < 0 or r.closing % 1:
            yield f"{label}: {r.opening:g} + {r.delivered:g} − {r.retired:g} is not {r.closing:g} whole units"
        if r.retired and not retirable.get(key, False):
            yield f"{label}: sells units that may not be sold"
        standing[key] = (t, r.closing)
    last = len(position) - 1
    for key, count in delivered.items():
        if count and (key not in standing or (standing[key][1] > 0 and standing[key][0] != last)):
            yield f"{key[0]} {key[1]} delivered {count:g} that the fleet does not show to the end"


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Firm orders, support, sales and residual values, by vintage."""
    for row in instance["fixed"].itertuples():
        if row.due_usd > 0:
            ledger.pay(int(row.due_t), "firm orders", row.site, row.sku, row.count * row.due_usd)
    start, end = Quarter(instance.quarters[0]).index, len(instance.quarters)
    fixed = {(r.site, r.sku, r.origin, r.vintage_t): r for r in instance["fixed"].itertuples()}
    bought = {(r.sku, r.t): r for r in instance["prices"].itertuples()}
    sku_of = {r.sku: r for r in instance["skus"].itertuples()}
    for row in tables["fleet"].itertuples():
        t, vintage = instance.position[row.quarter], Quarter(row.vintage).index - start
        if row.origin == "purchase":
            paid, support = bought[row.sku, vintage].price_usd, bought[row.sku, vintage].support_usd_per_quarter
        else:
            group = fixed[row.site, row.sku, row.origin, vintage]
            paid, support = group.paid_usd, group.support_usd_per_quarter
        sku = sku_of[row.sku]
        ledger.pay(t, "support", row.site, row.sku, row.closing * support)
        ledger.pay(t, "sales", row.site, row.sku, -row.retired * sale_usd(paid, t - vintage, sku))
        if t == end - 1:
            ledger.pay(end, "residual value", row.site, row.sku, -row.closing * residual_usd(paid, end - vintage, sku))


CHECK = Check(limits, {"fleet balances by vintage": balance}, cash)
