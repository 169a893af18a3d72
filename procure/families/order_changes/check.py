"""Changes of firm orders checked: only by their terms, no more than they have, at the fee that was agreed."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Fixed, OrderTerms
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.tables import ChangedOrder
from procure.plan.tolerance import differ
from procure.quarter import Quarter
from procure.schema import CostLine, OrderChange, Origin, Span


def terms(plan: Plan, instance: Instance) -> Iterable[str]:
    """Units are cancelled where that is agreed and deferred no further than agreed, for the fee that is agreed."""
    start = Quarter(instance.quarters[0]).index
    agreed = {row.group: row for row in instance.rows(OrderTerms)}
    orders = {(g.site, g.sku, g.vintage_t): g for g in instance.rows(Fixed) if g.origin is Origin.ORDER}
    seen: set[tuple[str, str, str, int]] = set()
    left = {key: g.count for key, g in orders.items()}
    for r in plan.rows(ChangedOrder):
        label = f"{r.site} {r.sku} ordered for {r.delivery_quarter}"
        key = (r.site, r.sku, Quarter(r.delivery_quarter).index - start)
        if key not in orders or orders[key].group not in agreed:
            yield f"{label}: no firm order that can be changed"
            continue
        firm, say = orders[key], agreed[orders[key].group]
        left[key] -= r.count
        cancelled = r.change is OrderChange.CANCEL
        allowed = (
            r.deferred_quarters == 0 and say.may_cancel if cancelled else 1 <= r.deferred_quarters <= say.defer_most
        )
        if not allowed:
            yield f"{label}: its terms do not let the plan {r.change} units by {r.deferred_quarters} quarters"
        if r.count <= 0 or r.count % 1 or left[key] < 0 or r.ordered != firm.count:
            yield f"{label}: {r.change} {r.count:g} of {r.ordered:g}, where there are {firm.count:g}"
        if (place := (r.site, r.sku, r.delivery_quarter, r.deferred_quarters)) in seen:
            yield f"{label}: the same change twice"
        seen.add(place)
        fee = say.cancel_usd if cancelled else r.deferred_quarters * say.defer_usd_per_quarter
        if differ(r.fee_usd, r.count * fee) or differ(r.due_usd, r.count * firm.due_usd):
            yield f"{label}: {r.fee_usd:,.0f} USD of fees and {r.due_usd:,.0f} USD due are not what is agreed"
        if r.quarter != instance.quarters[0] or r.span is not Span.PLANNED:
            yield f"{label}: notice is given in the first quarter"


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Fees, with the notice."""
    for r in ChangedOrder.rows(tables["order_changes"]):
        ledger.pay(instance.position[r.quarter], CostLine.ORDER_CHANGES, r.site, r.sku, r.fee_usd)


CHECK = Check(None, {"firm orders change by their terms": terms}, cash)
