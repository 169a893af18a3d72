"""Budgets checked: capital spending against what is budgeted and could be carried in; what running costs."""

from __future__ import annotations

from collections import defaultdict

from procure.instance.tables import Fixed, OpexCap, RentOffer, SkuRow
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.standing import Standing
from procure.plan.tables import Cash, ChangedOrder, ExpansionOrder, Purchase, UnitRent
from procure.quarter import Quarter
from procure.rules.payments import due
from procure.schema import OrderChange


def limits(s: Standing, rows: Rows) -> None:
    """Spending against budget and what could be carried into the quarter, and operating expenses against theirs."""
    caps = {r.t: r.opex_usd for r in s.instance.rows(OpexCap)}
    opex: dict[str, float] = defaultdict(float)
    for paid in Cash.rows(s.tables["cash"]) if caps else []:
        if paid.line.operating:
            opex[paid.quarter] += paid.cash_usd
    for t, cap in caps.items():
        rows.add("opex", s.quarters[t], "", "", opex[s.quarters[t]], cap, "USD")
    _capital(s, rows)


def _capital(s: Standing, rows: Rows) -> None:
    budget = dict(zip(s.instance["budget"]["t"], s.instance["budget"]["budget_usd"], strict=True))
    if not budget:
        return
    spent: dict[int, float] = defaultdict(float)
    commitment = s.instance.settings["budget_basis"] == "commitment"
    terms = {r.sku: r for r in s.instance.rows(SkuRow)}
    for r in Purchase.rows(s.tables["purchases"]):
        ordered, delivered = s.position[r.quarter], s.position[r.delivery_quarter]
        unit = due(r.unit_price_usd, r.unit_attach_usd, r.unit_install_usd, terms[r.sku])
        spent[ordered] += r.count * (unit.on_order + unit.on_delivery if commitment else unit.on_order)
        spent[delivered] += 0.0 if commitment else r.count * unit.on_delivery
    for built in ExpansionOrder.rows(s.tables["expansions"]):
        spent[s.position[built.quarter]] += built.capex_usd
    capital = {offer.offer for offer in s.instance.rows(RentOffer) if offer.capital}
    start = Quarter(s.quarters[0]).index
    for rent in UnitRent.rows(s.tables["rents"]):
        if rent.offer in capital:
            for q in range(Quarter(rent.first_quarter).index, Quarter(rent.last_quarter).index + 1):
                spent[q - start] += rent.count * rent.unit_usd_per_quarter
    if not commitment:
        for g in s.instance.rows(Fixed):
            spent[int(g.due_t)] += g.count * g.due_usd
    for change in ChangedOrder.rows(s.tables["order_changes"]):
        spent[s.position[change.quarter]] += change.fee_usd
        if not commitment:
            agreed = s.position[change.delivery_quarter]
            spent[agreed] -= change.due_usd
            if change.change is OrderChange.DEFER:
                spent[agreed + change.deferred_quarters] += change.due_usd
    year = dict(zip(s.instance["quarters"]["t"], s.instance["quarters"]["fiscal_year"], strict=True))
    mode, carried = s.instance.settings["budget_carry"], 0.0
    for t, quarter in enumerate(s.quarters):
        if t not in budget:
            carried = 0.0
            continue
        if mode == "none" or (mode == "within_year" and t and year[t] != year[t - 1]):
            carried = 0.0
        rows.add("budget", quarter, "", "", spent[t], budget[t] + carried, "USD")
        carried = max(0.0, budget[t] + carried - spent[t])


CHECK = Check(limits)
