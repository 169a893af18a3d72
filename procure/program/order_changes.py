"""What can be cancelled or deferred of firm orders: what the fleet, the budget and the fees share."""

from __future__ import annotations

from typing import Any, NamedTuple

from procure.instance.tables import Fixed, OrderTerms
from procure.program.index import Index


class Change(NamedTuple):
    """Units of a group on firm order that come ``quarters`` later than agreed; with 0 they are cancelled.

    ``fee_usd`` is owed for each with the notice, in the first quarter.
    """

    firm: Fixed
    quarters: int
    fee_usd: float

    def decision(self, m: Any) -> Any:
        """The variable with the number of units."""
        return m.defer[self.firm.group, self.quarters] if self.quarters else m.cancel[self.firm.group]

    def misses(self, t: int) -> bool:
        """Whether a unit that would stand in a quarter as agreed does not."""
        agreed = int(self.firm.vintage_t)
        return t >= agreed and (not self.quarters or t < agreed + self.quarters)


def order_changes(index: Index) -> list[Change]:
    """Every change of a firm order that the plan may make."""
    found = []
    for terms in index.instance.rows(OrderTerms):
        firm = index.fixed[terms.group]
        if terms.may_cancel:
            found.append(Change(firm, 0, terms.cancel_usd))
        found += [Change(firm, d, d * terms.defer_usd_per_quarter) for d in range(1, terms.defer_most + 1)]
    return found


def capital_moved(change: Change) -> dict[int, float]:
    """USD of capital that one unit so changed adds to what is paid as agreed, by quarter."""
    firm = change.firm
    moved = {0: change.fee_usd}
    moved[firm.due_t] = moved.get(firm.due_t, 0.0) - firm.due_usd
    if change.quarters:
        moved[firm.due_t + change.quarters] = firm.due_usd
    return moved
