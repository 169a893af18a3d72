"""The fleet checked: balance by vintage, what may be sold, what it is worth."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import BesideTerms, Expansion, Fixed, Price, SkuRow
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Batch, ChangedOrder, ExpansionOrder, Purchase, Sold, UnitRent
from procure.plan.tolerance import differ
from procure.quarter import Quarter
from procure.rules.worth import book_usd, residual_usd, sale_usd
from procure.schema import CostLine, OrderChange, Origin
from procure.timekey import totals


def limits(s: Standing, rows: Rows) -> None:
    """Units held for other purposes stand; the market takes no more in a quarter than it does."""
    for (quarter, site, sku), count in sorted(s.reserved.items()):
        if count > 0:
            owned = s.own[quarter, site, sku] - s.rented[quarter, site, sku]
            rows.add("reserved units stand", quarter, site, sku, count, owned, "units")
    for (quarter, sku), count in totals(s.tables["sales"], ["quarter", "sku"], "count").items():
        rows.add("resale", quarter, "", sku, float(count), s.sku[sku].resale_per_quarter, "units")


def balance(plan: Plan, instance: Instance) -> Iterable[str]:
    """Opening + delivered − retired = closing; openings follow closings; deliveries are orders and firm orders."""
    position = instance.position
    start = Quarter(instance.quarters[0]).index
    delivered: dict[tuple[str, str, Origin, int], float] = defaultdict(float)
    for order in plan.rows(Purchase):
        delivered[order.site, order.sku, Origin.PURCHASE, position[order.delivery_quarter]] += order.count
    for firm in instance.rows(Fixed):
        delivered[firm.site, firm.sku, firm.origin, firm.vintage_t] += firm.count
    for change in plan.rows(ChangedOrder):
        agreed = Quarter(change.delivery_quarter).index - start
        delivered[change.site, change.sku, Origin.ORDER, agreed] -= change.count
        if change.change is OrderChange.DEFER:
            arrival = agreed + change.deferred_quarters
            delivered[change.site, change.sku, Origin.DEFERRED, arrival] += change.count
    for rent in plan.rows(UnitRent):
        delivered[rent.site, rent.sku, Origin.RENT, Quarter(rent.first_quarter).index - start] += rent.count
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
        standing[key] = (t, r.closing)
    last = len(position) - 1
    for key, count in delivered.items():
        if count and (key not in standing or (standing[key][1] > 0 and standing[key][0] != last)):
            yield f"{key[0]} {key[1]} delivered {count:g} that the fleet does not show to the end"


def trade(plan: Plan, instance: Instance) -> Iterable[str]:
    """Sales are of units that may be sold, after their lock-up, of no SKU ordered then, and those of the fleet."""
    position, start = instance.position, Quarter(instance.quarters[0]).index
    sku_of = {r.sku: r for r in instance.rows(SkuRow)}
    may = {(r.site, r.sku, r.origin, r.vintage_t): bool(r.retirable) for r in instance.rows(Fixed)}
    ordered = {(r.quarter, r.sku) for r in plan.rows(Purchase)}
    gone: dict[tuple[str, str, str, Origin, str], int] = {
        (r.quarter, r.site, r.sku, r.origin, r.vintage): r.retired
        for r in plan.rows(Batch)
        if r.retired and r.origin is not Origin.RENT
    }
    for r in plan.rows(Sold):
        t, vintage, sku = position[r.quarter], Quarter(r.vintage).index - start, sku_of[r.sku]
        label = f"{r.quarter} {r.site} {r.sku} of {r.vintage}"
        count = gone.pop((r.quarter, r.site, r.sku, r.origin, r.vintage), 0)
        if r.count != count:
            yield f"{label}: {r.count:g} sold, {count:g} retired"
        bought = r.origin is Origin.PURCHASE
        if not (instance.settings["resale"] == "all" if bought else may.get((r.site, r.sku, r.origin, vintage), False)):
            yield f"{label}: sells units that may not be sold"
        if t < vintage + sku.resale_lockup_quarters:
            yield f"{label}: sold within {sku.resale_lockup_quarters} quarters of service"
        if (r.quarter, r.sku) in ordered:
            yield f"{label}: sold in a quarter that orders the same SKU"
    for (quarter, site, name, _, of), count in gone.items():
        yield f"{quarter} {site} {name} of {of}: {count:g} retired, none sold"


def terms(plan: Plan, instance: Instance) -> Iterable[str]:
    """What a sale brings, when it is paid, when its places are free, and what it loses against the books."""
    start = Quarter(instance.quarters[0]).index
    sku_of = {r.sku: r for r in instance.rows(SkuRow)}
    paid = _paid_usd(instance)
    for r in plan.rows(Sold):
        sku, sold, vintage = sku_of[r.sku], Quarter(r.quarter).index, Quarter(r.vintage).index
        label = f"{r.quarter} {r.site} {r.sku} of {r.vintage}"
        usd = paid(r.origin, r.site, r.sku, vintage - start)
        price, book = sale_usd(usd, sold - vintage, sku), book_usd(usd, sold - vintage, sku)
        net = r.count * (price - sku.removal_usd)
        for name, told, right in (
            ("price", r.unit_price_usd, price),
            ("removal", r.unit_removal_usd, sku.removal_usd),
            ("net", r.net_usd, net),
            ("book value", r.unit_book_usd, book),
            ("book loss", r.book_loss_usd, r.count * book - net),
        ):
            if differ(told, right):
                yield f"{label}: {name} {told:,.0f} USD, not {right:,.0f}"
        for name, quarter, delay in (
            ("money", r.received_quarter, sku.resale_delay_quarters),
            ("places free", r.freed_quarter, sku.removal_quarters),
        ):
            if Quarter(quarter).index != sold + delay:
                yield f"{label}: {name} in {quarter} does not fit {delay} quarters"
        if r.span != instance.span[r.quarter]:
            yield f"{label}: span {r.span} is wrong"


def _paid_usd(instance: Instance) -> Callable[[Origin, str, str, int], float]:
    """What was paid for one unit of (origin, site, SKU, vintage), without attach and installation."""
    fixed = {(r.origin, r.site, r.sku, r.vintage_t): r.paid_usd for r in instance.rows(Fixed)}
    price = {(r.sku, r.t): r.price_usd for r in instance.rows(Price)}

    def paid(origin: Origin, site: str, sku: str, vintage: int) -> float:
        if origin is Origin.PURCHASE:
            return price.get((sku, vintage), math.nan)
        return fixed.get((origin, site, sku, vintage), math.nan)

    return paid


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Firm orders, support, sales and residual values, by vintage; the worth of what was bought beside units."""
    _beside(ledger, instance, tables)
    for firm in instance.rows(Fixed):
        if firm.due_usd > 0:
            ledger.pay(firm.due_t, CostLine.FIRM_ORDERS, firm.site, firm.sku, firm.count * firm.due_usd)
    _changed(ledger, instance, tables)
    start, end = Quarter(instance.quarters[0]).index, len(instance.quarters)
    fixed = {(r.site, r.sku, r.origin, r.vintage_t): r for r in instance.rows(Fixed)}
    bought = {(r.sku, r.t): r for r in instance.rows(Price)}
    sku_of = {r.sku: r for r in instance.rows(SkuRow)}
    for row in Batch.rows(tables["fleet"]):
        if row.origin in (Origin.RENT, Origin.DEFERRED):
            continue  # who rents neither supports nor sells; what is deferred is paid by its order
        t, vintage = instance.position[row.quarter], Quarter(row.vintage).index - start
        if row.origin is Origin.PURCHASE:
            paid, support = bought[row.sku, vintage].price_usd, bought[row.sku, vintage].support_usd_per_quarter
        else:
            group = fixed[row.site, row.sku, row.origin, vintage]
            paid, support = group.paid_usd, group.support_usd_per_quarter
        sku = sku_of[row.sku]
        ledger.pay(t, CostLine.SUPPORT, row.site, row.sku, row.closing * support)
        if row.retired:
            received = t + sku.resale_delay_quarters
            usd = row.retired * sale_usd(paid, t - vintage, sku)
            if received > end:  # what is owed at the end counts at its present value, as what stands there does
                usd *= ledger.step ** (received - end)
            ledger.pay(min(received, end), CostLine.SALES, row.site, row.sku, -usd)
            ledger.pay(t, CostLine.REMOVAL, row.site, row.sku, row.retired * sku.removal_usd)
        if t == end - 1:
            ledger.pay(end, CostLine.RESIDUAL, row.site, row.sku, -row.closing * residual_usd(paid, end - vintage, sku))


def _changed(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """What changes of firm orders move: what is due on them, and support and worth of units that come later."""
    start, end = Quarter(instance.quarters[0]).index, len(instance.quarters)
    orders = {(r.site, r.sku, r.vintage_t): r for r in instance.rows(Fixed) if r.origin is Origin.ORDER}
    sku_of = {r.sku: r for r in instance.rows(SkuRow)}
    for change in ChangedOrder.rows(tables["order_changes"]):
        agreed = Quarter(change.delivery_quarter).index - start
        firm, place = orders[change.site, change.sku, agreed], (change.site, change.sku)
        ledger.pay(agreed, CostLine.FIRM_ORDERS, *place, -change.due_usd)
        if change.change is OrderChange.CANCEL:
            continue
        arrival = agreed + change.deferred_quarters
        ledger.pay(arrival, CostLine.FIRM_ORDERS, *place, change.due_usd)
        for t in range(arrival, end):
            ledger.pay(t, CostLine.SUPPORT, *place, change.count * firm.support_usd_per_quarter)
        worth = residual_usd(firm.paid_usd, end - arrival, sku_of[change.sku])
        ledger.pay(end, CostLine.RESIDUAL, *place, -change.count * worth)


def _beside(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """What attach and expansions are worth at the end, by their own lives; sold units leave theirs behind."""
    end, position = len(instance.quarters), instance.position
    terms = {r.what: r for r in instance.rows(BesideTerms)}
    if "attach" in terms:
        for bought in Purchase.rows(tables["purchases"]):
            age = end - position[bought.delivery_quarter]
            usd = bought.count * residual_usd(bought.unit_attach_usd, age, terms["attach"])
            ledger.pay(end, CostLine.RESIDUAL, bought.site, bought.sku, -usd)
    if "expansion" in terms:
        lead = {(r.site, r.expansion): r.lead_quarters for r in instance.rows(Expansion)}
        for built in ExpansionOrder.rows(tables["expansions"]):
            age = end - position[built.quarter] - lead[built.site, built.expansion]
            usd = residual_usd(built.capex_usd, age, terms["expansion"])
            ledger.pay(end, CostLine.RESIDUAL, built.site, built.expansion, -usd)


CHECK = Check(
    limits,
    {"fleet balances by vintage": balance, "sales are ones that can be": trade, "sales bring what they bring": terms},
    cash,
)
