"""What a change does to a plan: intervals, since a least cost is known only between its bound and what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from procure.plan.summary import Summary
from procure.rules.objective import Objective

SAME_SHARE = 2e-6
"""Share of the weighted planned demand within which two shortfalls are the same: what a search can prove, twice."""
SAME_COST = 2e-6
"""The same of a cost, relative: gaps are closed to half of it."""


@dataclass(frozen=True)
class Point:
    """What is known of a least-cost plan: cost and shortfall as found, and their proven bounds.

    Attributes:
        cost_usd, bound_usd: net present cost; the bound is minus infinity where none is known.
        short, short_bound: share of the weighted planned demand that is not served.
    """

    cost_usd: float
    bound_usd: float
    short: float
    short_bound: float

    @classmethod
    def of_summary(cls, summary: Summary) -> Point:
        """Of a plan, by its ``plan.json``; nothing counts as short where shortfall has a price and no rank."""
        short, bound = summary["shortfall"], _bound(summary["bound_usd"])
        if not Objective(summary["objective"]).ranked:
            return cls(summary["objective_usd"], bound, 0.0, 0.0)
        return cls(summary["objective_usd"], bound, short["share"], short["bound"])

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any], ranked: bool) -> Point:
        """Of an outcome of a study, by its facts; ``ranked``: whether shortfall comes before cost."""
        cost, bound = facts["objective_usd"], _bound(facts["bound_usd"])
        return cls(cost, bound, *((facts["shortfall_share"], facts["shortfall_bound"]) if ranked else (0.0, 0.0)))


def _bound(value: float | None) -> float:
    return -math.inf if value is None else value


@dataclass(frozen=True)
class Effect:
    """By how much one plan serves more, and costs less, than another: at least and at most.

    Shortfall comes before cost: where shortfalls differ, costs say what the other service costs, and no interval is
    told of them (both ends NaN).

    Attributes:
        least_share, most_share: of the weighted planned demand, that is served in addition.
        least_usd, most_usd: of net present cost, that is saved.
        cost_usd: cost of the plan found over that of the other, saved or spent.
        same_usd: what two costs may differ by and be the same.
    """

    least_share: float
    most_share: float
    least_usd: float
    most_usd: float
    cost_usd: float
    same_usd: float = 0.0

    @classmethod
    def of(cls, before: Point, after: Point, *, ordered: bool) -> Effect:
        """What ``after`` serves more and saves against ``before``.

        With ``ordered``, every plan that may be had before may be had after: neither shortfall nor, at equal shortfall,
        the least cost can rise.
        """
        floor = 0.0 if ordered else -math.inf
        least_share = max(floor, before.short_bound - after.short)
        most_share = before.short - after.short_bound
        cost = after.cost_usd - before.cost_usd
        if abs(before.short - after.short) > SAME_SHARE:
            return cls(least_share, most_share, math.nan, math.nan, cost)
        least = max(floor, before.bound_usd - after.cost_usd)
        most = before.cost_usd - after.bound_usd
        return cls(least_share, most_share, least, max(most, floor), cost, SAME_COST * abs(before.cost_usd))

    @property
    def serves_more(self) -> bool:
        """Whether more is served, proven."""
        return self.least_share > SAME_SHARE

    @property
    def saves(self) -> bool:
        """Whether it costs less at the same service, proven."""
        return self.least_usd > self.same_usd

    @property
    def helps(self) -> bool:
        """Whether it is better by one of the two."""
        return self.serves_more or self.saves
