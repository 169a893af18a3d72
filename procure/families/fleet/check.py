"""The fleet checked: balance by vintage, what may be sold, what it is worth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Fixed, Price, SkuRow
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Batch, Purchase
from procure.quarter import Quarter
from procure.rules.worth import residual_usd, sale_usd
from procure.schema import CostLine, Origin


def limits(s: Standing, rows: Rows) -> None:
    """Units held for other purposes stand."""
    for (quarter, site, sku), count in sorted(s.reserved.items()):
        if count > 0:
            rows.add("reserved units stand", quarter, site, sku, count, s.own[quarter, site, sku], "units")


def balance(plan: Plan, instance: Instance) -> Iterable[str]:
    """Opening + delivered − retired = closing; openings follow closings; deliveries are orders and firm orders."""
    position = instance.position
    start = Quarter(instance.quarters[0]).index
    delivered: dict[tuple[str, str, Origin, int], float] = defaultdict(float)
    for order in plan.rows(Purchase):
        delivered[order.site, order.sku, Origin.PURCHASE, position[order.delivery_quarter]] += order.count
    retirable = {}
    for firm in instance.rows(Fixed):
        delivered[firm.site, firm.sku, firm.origin, firm.vintage_t] += firm.count
        retirable[firm.site, firm.sku, firm.origin, firm.vintage_t] = bool(firm.retirable)
    standing: dict[tuple[str, str, Origin, int], tuple[int, float]] = {}
    for r in sorted(plan.rows(Batch), key=lambda r: r.quarter):
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
    for firm in instance.rows(Fixed):
        if firm.due_usd > 0:
            ledger.pay(firm.due_t, CostLine.FIRM_ORDERS, firm.site, firm.sku, firm.count * firm.due_usd)
    start, end = Quarter(instance.quarters[0]).index, len(instance.quarters)
    fixed = {(r.site, r.sku, r.origin, r.vintage_t): r for r in instance.rows(Fixed)}
    bought = {(r.sku, r.t): r for r in instance.rows(Price)}
    sku_of = {r.sku: r for r in instance.rows(SkuRow)}
    for row in Batch.rows(tables["fleet"]):
        t, vintage = instance.position[row.quarter], Quarter(row.vintage).index - start
        if row.origin is Origin.PURCHASE:
            paid, support = bought[row.sku, vintage].price_usd, bought[row.sku, vintage].support_usd_per_quarter
        else:
            group = fixed[row.site, row.sku, row.origin, vintage]
            paid, support = group.paid_usd, group.support_usd_per_quarter
        sku = sku_of[row.sku]
        ledger.pay(t, CostLine.SUPPORT, row.site, row.sku, row.closing * support)
        ledger.pay(t, CostLine.SALES, row.site, row.sku, -row.retired * sale_usd(paid, t - vintage, sku))
        if t == end - 1:
            ledger.pay(end, CostLine.RESIDUAL, row.site, row.sku, -row.closing * residual_usd(paid, end - vintage, sku))


CHECK = Check(limits, {"fleet balances by vintage": balance}, cash)
