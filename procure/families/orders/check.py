"""Orders checked: windows, prices, supply and least orders, and what is paid for them when."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Price, QuarterSupply, SkuRow
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Purchase
from procure.plan.tolerance import differ
from procure.rules.payments import due_by_line
from procure.timekey import totals


def limits(s: Standing, rows: Rows) -> None:
    """All sites together order no more than the supplier sells, and no less than its least order."""
    bought = s.tables["purchases"]
    said = {(r.sku, r.t): float(r.most_units) for r in s.instance.rows(QuarterSupply)}
    for (quarter, sku), count in totals(bought, ["quarter", "sku"], "count").items():
        most = said.get((sku, s.position[quarter]), s.sku[sku].supply_per_quarter)
        if math.isfinite(most):
            rows.add("supply", quarter, "", sku, float(count), most, "units")
        least = s.sku[sku].min_order
        if least > 1:
            rows.add("minimum order", quarter, "", sku, least, float(count), "units")


def windows(plan: Plan, instance: Instance) -> Iterable[str]:
    """Whole units, in the order window, at the price of their delivery quarter."""
    position = instance.position
    sku = {r.sku: r for r in instance.rows(SkuRow)}
    allowed = set(zip(instance["resource_use"]["site"], instance["resource_use"]["sku"], strict=True))
    price = {(r.sku, r.t): r.price_usd for r in instance.rows(Price)}
    for r in plan.rows(Purchase):
        t, row = position[r.quarter], sku[r.sku]
        label = f"{r.quarter} {r.site} {r.sku}"
        if not row.first_order_t <= t <= row.last_order_t or (r.site, r.sku) not in allowed:
            yield f"{label}: cannot be ordered then and there"
        if position[r.delivery_quarter] != t + row.lead_quarters:
            yield f"{label}: delivery in {r.delivery_quarter} does not fit a lead of {row.lead_quarters} quarters"
        elif differ(r.unit_price_usd, price[r.sku, position[r.delivery_quarter]]):
            yield f"{label}: {r.unit_price_usd:g} USD is not the price of its delivery quarter"
        unit = r.unit_price_usd + r.unit_attach_usd + r.unit_install_usd
        if r.count <= 0 or r.count % 1 or differ(r.capex_usd, r.count * unit):
            yield f"{label}: {r.count:g} units for {r.capex_usd:g} USD"
        if differ(r.unit_attach_usd, row.attach_usd) or differ(r.unit_install_usd, row.install_usd):
            yield f"{label}: attach or installation is not the catalogue's"
        if r.span != instance.span[r.quarter]:
            yield f"{label}: span {r.span} is wrong"


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Price, attach and installation of what is ordered."""
    position = instance.position
    terms = {row.sku: row for row in instance.rows(SkuRow)}
    for row in Purchase.rows(tables["purchases"]):
        ordered, delivered = position[row.quarter], position[row.delivery_quarter]
        unit_usd = (row.unit_price_usd, row.unit_attach_usd, row.unit_install_usd)
        for line, due in due_by_line(*unit_usd, terms[row.sku]).items():
            ledger.pay(ordered, line, row.site, row.sku, row.count * due.on_order)
            ledger.pay(delivered, line, row.site, row.sku, row.count * due.on_delivery)


CHECK = Check(limits, {"orders arrive when they can": windows}, cash)
