"""What running costs: power, space, support and what else a quarter is charged for, apart from capital."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from procure.families.scales import USD_PER_UNIT
from procure.program.index import Index
from procure.program.linear import Terms
from procure.timekey import TimeKey


class Running(NamedTuple):
    """USD of quarter ``t``, not discounted, for each unit of a decision; of none, what the quarter costs anyway.

    ``at`` is the block of a decision of recourse; none for what is decided first.
    """

    t: int
    usd: float
    decision: Any = None
    at: TimeKey | None = None


def add_running(index: Index, terms: Terms, spent: Iterable[Running]) -> None:
    """Add the present cost of what is spent on running, M USD."""
    for one in spent:
        usd = one.usd * index.discount[one.t] / USD_PER_UNIT
        if one.decision is None:
            terms.constant += usd
        else:
            terms.add(usd, one.decision)
