"""Every dollar of a plan, from its tables: what is paid when, and what it is worth at the start.

Nothing here knows the program: the total is compared with the solver's objective.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd

from procure.families import contents
from procure.instance import Instance
from procure.plan.plan import frame
from procure.quarter import Quarter
from procure.schema import CostLine, Span
from procure.timekey import one_block, totals


class Ledger:
    """Cash by quarter position, line, site and SKU."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.cash: dict[tuple[int, CostLine, str, str], float] = defaultdict(float)
        self.factors = instance["quarters"]["discount_factor"].tolist()
        self.step = self.factors[-1] / self.factors[-2] if len(self.factors) > 1 else 1.0
        """Present value of one USD a quarter later."""

    def pay(self, t: int, line: CostLine, site: str, sku: str, usd: float) -> None:
        """Record a payment; receipts are negative."""
        self.cash[t, line, site, sku] += usd

    def table(self) -> pd.DataFrame:
        """The plan's ``cash`` table. Residual values, and what is owed by then, stand in the quarter after the last."""
        names, factors = list(self.instance.quarters), [*self.factors, self.factors[-1] * self.step]
        names.append(str(Quarter(names[-1]) + 1))
        rows: list[tuple[Any, ...]] = []
        for (t, line, site, sku), usd in sorted(self.cash.items(), key=lambda i: (i[0][0], i[0][1].order, i[0][2:])):
            if usd != 0.0:
                span = self.instance.span.get(names[t], Span.LOOKAHEAD)
                rows.append((names[t], span, line, site, sku, usd, factors[t], usd * factors[t]))
        return frame("cash", rows)


def cash_table(instance: Instance, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """What a plan pays, by quarter, line, site and SKU.

    Payments fall at the start of their quarter; every family pays what it costs.

    Raises:
        InputError: rows of several scenarios or parts of the day, which families would pay for one after the other.
    """
    instance.of(one_block)
    one_block(tables)
    ledger = Ledger(instance)
    for check in contents.checks().values():
        if check.cash is not None:
            check.cash(ledger, instance, tables)
    return ledger.table()


def costs_table(cash: pd.DataFrame) -> pd.DataFrame:
    """Net present cost by line and span; the sum is the objective."""
    sums = totals(cash, ["line", "span"], "npv_usd")
    rows = [(line, span, float(sums.get((line, span), 0.0))) for line in CostLine for span in Span]
    return frame("costs", rows)
