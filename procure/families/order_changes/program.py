"""Family 12c in the program: firm orders that are cancelled or deferred."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.families.scales import USD_PER_UNIT
from procure.plan.plan import frame
from procure.program.decided import Decided
from procure.program.declare import first_stage, first_stage_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.order_changes import capital_moved, order_changes
from procure.program.part import Part
from procure.program.running import Running
from procure.program.sales import of_groups
from procure.quarter import Quarter
from procure.rules.worth import residual_usd
from procure.schema import OrderChange, Span


def add_variables(m: Any, index: Index) -> None:
    """cancel[group] units that never come, defer[group, d] units that come d quarters later; integer."""
    changes = index.of(order_changes)
    m.cancel = first_stage([c.firm.group for c in changes if not c.quarters], domain=pyo.NonNegativeIntegers)
    m.defer = first_stage([(c.firm.group, c.quarters) for c in changes if c.quarters], domain=pyo.NonNegativeIntegers)


def changes_within_order(m: Any, index: Index) -> None:
    """No more of an order is changed or sold than it has: cancel[g] + Σ_d defer[g,d] + Σ_t retire[g,t] ≤ count[g].

    Units; over groups on firm order whose terms allow a change.
    """
    changes = group(index.of(order_changes), lambda change: change.firm.group)
    sold = group((sale.key for sale in index.of(of_groups)), lambda key: key[0])

    def rule(m: Any, name: str) -> Any:
        row = Terms()
        row.extend(1.0, (change.decision(m) for change in changes[name]))
        row.extend(1.0, (m.retire[key] for key in sold.get(name, [])))
        return row.at_most(index.fixed[name].count)

    m.changes_within_order = first_stage_rows(list(changes), rule=rule)


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """Fees, what is no longer due or due later, and what a unit that is younger, or not there, is worth at the end."""
    for change in index.of(order_changes):
        firm, age = change.firm, index.horizon - int(change.firm.vintage_t)
        usd = sum(paid * index.discount[t] for t, paid in capital_moved(change).items())
        worth = residual_usd(firm.paid_usd, age, index.sku[firm.sku])
        if change.quarters:
            worth -= residual_usd(firm.paid_usd, age - change.quarters, index.sku[firm.sku])
        terms.add((usd + worth * index.end_discount) / USD_PER_UNIT, change.decision(m))


def running(m: Any, index: Index) -> Iterator[Running]:
    """No support until a deferred unit comes, nor for one that is cancelled."""
    for change in index.of(order_changes):
        for t in index.t:
            if change.misses(t):
                yield Running(t, -change.firm.support_usd_per_quarter, change.decision(m))


def changed(d: Decided) -> pd.DataFrame:
    """What is cancelled and deferred of firm orders, with the fee and what it moves of payments due."""
    start = Quarter(d.names[0]).index
    rows = []
    for change in d.index.of(order_changes):
        count, firm = d.value.whole(change.decision(d.m)), change.firm
        if count:
            kind = OrderChange.DEFER if change.quarters else OrderChange.CANCEL
            agreed = str(Quarter.from_index(start + int(firm.vintage_t)))
            rows.append(
                (d.names[0], firm.site, firm.sku, agreed, kind, change.quarters, count, int(firm.count), Span.PLANNED,
                 count * change.fee_usd, count * firm.due_usd)
            )  # fmt: skip
    return frame("order_changes", rows)


PROGRAM = Part((changes_within_order,), add_variables, add_cost, running=running, tables={"order_changes": changed})
