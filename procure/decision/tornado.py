"""Which premises matter: each alone at the ends of its band, by what it does to the cost and to the first orders.

A premise moves the cost if that is proven, by the bounds of both plans. It changes the decision if the first orders of
the plan as it stands, held while the premise is at an end, are proven to cost more there, or to serve less, than those
that would be chosen: other orders at the same cost are no finding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from procure.case import Case
from procure.catalogue import Fact
from procure.decision.rounds import How, Rounds, gap_usd, in_words, is_beyond, moved, ordered
from procure.errors import Fault, InputError
from procure.rules.objective import Objective
from procure.study import Change, NothingToCompare, Outcome
from procure.why.effect import SAME_SHARE, Effect, Point

ENDS = ("low", "high")


@dataclass(frozen=True)
class End:
    """A premise at one end of its band, all else as it stands.

    Attributes:
        least_usd, most_usd: present USD that the plan costs more than as it stands (less where negative), from the
            bounds of both; NaN where shortfalls differ or there is no plan.
        cost_usd: the same of the plans found.
        least_share, most_share: share of the weighted planned demand that it serves less, from the bounds of both.
        moves: units ordered in the first quarter, more (+) or fewer (−), by SKU.
        regret_usd: present USD that the first orders as they stand cost more here, at least; 0 where nothing is proven,
            NaN where that was not worked out.
        regret_share: the same of what they serve less.
        reason: why there is no plan, there or with first orders held; ``error`` is the class of what was raised.
        is_infeasible: whether there is none since no plan keeps the limits, which is proven.
    """

    least_usd: float = math.nan
    most_usd: float = math.nan
    cost_usd: float = math.nan
    least_share: float = math.nan
    most_share: float = math.nan
    moves: dict[str, int] = field(default_factory=dict)
    regret_usd: float = 0.0
    regret_share: float = 0.0
    reason: str = ""
    error: str = ""
    is_infeasible: bool = False

    @property
    def proven_usd(self) -> float:
        """By how much the cost is proven to move, either way."""
        return _proven(self.least_usd, self.most_usd)

    @property
    def breaks(self) -> float:
        """By which share the shortfall is proven to move, either way; 1 where no plan keeps the limits."""
        share = _proven(self.least_share, self.most_share)
        return 1.0 if self.is_infeasible else share if share > SAME_SHARE else 0.0

    @property
    def is_proven(self) -> bool:
        """Whether the cost is proven to move, or the shortfall is, or no plan keeps the limits."""
        return self.breaks > 0 or self.proven_usd > 0

    @property
    def is_open(self) -> bool:
        """Whether it has no answer, or not on the first orders, since a search ended without one."""
        return (bool(self.reason) and not self.is_infeasible) or math.isnan(self.regret_usd)

    @property
    def decides(self) -> bool:
        """Whether the first orders as they stand are proven to be the worse choice here, or to be none."""
        return self.regret_usd > 0 or self.regret_share > 0


def _proven(least: float, most: float) -> float:
    """How far from 0 an interval lies; 0 where it is not known."""
    return 0.0 if math.isnan(least) or math.isnan(most) else max(least, -most, 0.0)


@dataclass(frozen=True)
class Bar:
    """A premise and what its band does.

    Attributes:
        path: of the premise; ``fact`` is its value, band, kind and source.
        low, high: at the ends; None where an end is the value itself, or was not worked out.
    """

    path: str
    fact: Fact
    low: End | None
    high: End | None

    @property
    def ends(self) -> list[End]:
        """The ends that were worked out."""
        return [end for end in (self.low, self.high) if end is not None]

    @property
    def matters(self) -> bool:
        """Whether an end is proven to move cost or shortfall, or to change the first orders."""
        return any(end.is_proven or end.decides for end in self.ends)

    @property
    def is_noise(self) -> bool:
        """Whether both ends have an answer, and none is proven to move anything."""
        return not self.matters and not any(end.is_open for end in self.ends)

    @property
    def decides(self) -> bool:
        """Whether an end changes the first orders, proven."""
        return any(end.decides for end in self.ends)

    @property
    def weight(self) -> tuple[float, ...]:
        """What bars are ranked by: no plan or other shortfalls, then the widest move of the cost that is proven."""
        breaks = max((end.breaks for end in self.ends), default=0.0)
        return (breaks, max((end.proven_usd for end in self.ends), default=0.0))


@dataclass(frozen=True)
class Tornado:
    """Premises by what they do.

    Attributes:
        cost_usd, gap_usd: of the plan as it stands.
        first_quarter: whose orders are the first ones; ``first_orders`` are they, by SKU.
        bars: the strongest first.
        left: premises of which an end, or what it would mean for the first orders, was not worked out.
    """

    cost_usd: float
    gap_usd: float
    first_quarter: str
    first_orders: dict[str, int]
    bars: list[Bar]
    left: list[str]

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each premise and end."""
        rows = []
        for bar in self.bars:
            for end_name, end in zip(ENDS, (bar.low, bar.high), strict=True):
                if end is not None:
                    rows.append(_row(bar, end_name, end))
        return pd.DataFrame(rows, columns=list(COLUMNS))


COLUMNS = (
    "group", "path", "end", "value", "base", "unit", "kind", "source", "cost_usd", "least_usd", "most_usd",
    "least_share", "most_share", "proven", "first_orders", "decides", "regret_usd", "regret_share", "reason", "error",
)  # fmt: skip
"""Columns of ``tornado.csv``."""


def _row(bar: Bar, name: str, end: End) -> dict[str, Any]:
    fact = bar.fact
    cells = (
        bar.path.partition("/")[0], bar.path, name, getattr(fact, name), fact.value, fact.unit, str(fact.kind),
        fact.source, end.cost_usd, end.least_usd, end.most_usd, end.least_share, end.most_share, end.is_proven,
        in_words(end.moves), end.decides, end.regret_usd, end.regret_share, end.reason, end.error,
    )  # fmt: skip
    return dict(zip(COLUMNS, cells, strict=True))


def tornado(case: Case, only: Sequence[str], how: How) -> Tornado:
    """Work out every premise that the plan rests on and that has a band, alone, at both ends.

    Args:
        case: as it stands.
        only: beginnings of the paths that are asked about (``hardware/``, ``physics``); all with none.
        how: effort, folder, jobs.

    Raises:
        InputError: no premise with a band begins so, or the folder holds something else.
        NothingToCompare: the case as it stands has no plan.
    """
    facts = banded(case, only)
    rounds, ranked = Rounds("tornado", case, how), Objective(case.settings.objective).ranked
    asked = [(path, name) for path, fact in facts.items() for name in ENDS if getattr(fact, name) != fact.value]
    base, *found = rounds.ask([{}, *({path: name} for path, name in asked)])
    if base is None:
        raise NothingToCompare("It was not solved.", "")
    if base.failed:
        raise NothingToCompare(base.reason, base.error)
    first = str(case.quarters[0])
    stands, orders = Point.of_facts(base.facts, ranked), ordered(base, first)
    outcomes = dict(zip(asked, found, strict=True))
    other = [key for key, o in outcomes.items() if o is not None and not o.failed and ordered(o, first) != orders]
    again = rounds.ask([{path: name, **_held(case, orders, first)} for path, name in other])
    held = dict(zip(other, again, strict=True))
    ends: dict[tuple[str, str], End] = {}
    for key, outcome in outcomes.items():
        if outcome is not None:
            moves = {} if outcome.failed else moved(orders, ordered(outcome, first))
            end = _end(stands, outcome, ranked, moves)
            ends[key] = _with_regret(end, outcome, held[key], ranked) if key in held else end
    bars = [Bar(path, fact, ends.get((path, "low")), ends.get((path, "high"))) for path, fact in facts.items()]
    done = [bar for bar in bars if bar.ends]
    left = [path for path, name in asked if (path, name) not in ends or ends[path, name].is_open]
    return Tornado(
        stands.cost_usd, gap_usd(stands), first, orders,
        sorted(done, key=lambda bar: (*(-w for w in bar.weight), bar.path)), list(dict.fromkeys(left)),
    )  # fmt: skip


def banded(case: Case, only: Sequence[str] = ()) -> dict[str, Fact]:
    """Premises that a plan of the case rests on and whose source gives a band of numbers, by path.

    Raises:
        InputError: none begins as asked.
    """
    found = {path: fact for path, fact in case.rests_on.items() if _has_band(fact)}
    chosen = {path: fact for path, fact in found.items() if not only or path.startswith(tuple(only))}
    lost = [each for each in only if not any(path.startswith(each) for path in found)]
    if lost or not chosen:
        groups = ", ".join(sorted({path.partition("/")[0] for path in found}))
        expected = f"The beginning of a premise with a band that the plan rests on; groups: {groups}."
        raise InputError([Fault("--only", 0, "", each, expected) for each in lost or ["everything"]])
    return chosen


def _has_band(fact: Fact) -> bool:
    return all(isinstance(value, int | float) for value in (fact.low, fact.value, fact.high)) and fact.low != fact.high


def _held(case: Case, orders: Mapping[str, int], quarter: str) -> Change:
    """A change that holds the orders of a quarter as they are, of every SKU that may be ordered."""
    return {f"buy/*/{sku}/{quarter}": f"{orders.get(sku, 0)}" for sku in sorted(case.settings.may_buy)}


def _end(stands: Point, outcome: Outcome, ranked: bool, moves: dict[str, int]) -> End:
    if outcome.failed:
        return End(reason=outcome.reason, error=outcome.error, is_infeasible=outcome.is_infeasible)
    here = Point.of_facts(outcome.facts, ranked)
    effect = Effect.of(here, stands, ordered=False)
    usd = (effect.least_usd - effect.same_usd, effect.most_usd + effect.same_usd, here.cost_usd - stands.cost_usd)
    return End(*usd, effect.least_share, effect.most_share, moves)


def _with_regret(end: End, free: Outcome, held: Outcome | None, ranked: bool) -> End:
    """An end with what first orders that are held cost more and serve less there than free ones, where it is proven.

    All of it counts as lost where no plan has them.
    """
    if held is not None and held.is_infeasible:
        return replace(end, regret_share=1.0)
    if held is None or held.failed:
        reason, error = ("not worked out", "") if held is None else (held.reason, held.error)
        reason = f"first orders held: {reason}"
        return replace(end, regret_usd=math.nan, regret_share=math.nan, reason=reason, error=error)
    here, kept = Point.of_facts(free.facts, ranked), Point.of_facts(held.facts, ranked)
    effect = Effect.of(kept, here, ordered=True)
    if effect.serves_more:
        return replace(end, regret_share=effect.least_share)
    return replace(end, regret_usd=effect.least_usd) if effect.saves and is_beyond(kept, here) else end
