"""Questions about a plan, each a change that is solved again, and what came of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pandas as pd

from procure.plan.summary import Short
from procure.solver import Infeasible
from procure.study.change import Change
from procure.study.outcome import Outcome
from procure.why.effect import Effect, Point


class Kind(StrEnum):
    """What is asked about."""

    LIMIT = "limit"
    ORDER = "order"
    WHY_NOT = "why not"
    SERVE = "to serve"


class Relation(StrEnum):
    """What plans of the changed case are to those of the case."""

    EASES = "eases"
    """Every plan of the case is one of the changed case."""
    TIGHTENS = "tightens"
    """Every plan of the changed case is one of the case."""
    OTHER = "other"


class Verdict(StrEnum):
    """What came of a question, in a word."""

    SERVES_MORE = "serves more"
    SAVES = "saves"
    SERVES_LESS = "serves less"
    COSTS = "costs more"
    BELOW = "below resolution"
    NO_PLAN = "no plan"
    HOLDS = "serves it"
    NOT_ENOUGH = "does not serve it"
    FAILED = "failed"
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Question:
    """One change and what it is about.

    Attributes:
        kind: what it is about.
        about: the limit, order line or SKU, in words.
        what: the change, in words.
        change: paths and values.
        relation: what the change does to the plans there are.
        quarters: when, in words.
    """

    kind: Kind
    about: str
    what: str
    change: Change
    relation: Relation
    quarters: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from other questions about a plan."""
        return str(self.kind), self.about, self.what, *(f"{path}={value}" for path, value in self.change.items())


@dataclass(frozen=True)
class Answer:
    """A question and what came of it.

    Attributes:
        question: what was asked.
        verdict: in a word.
        least_usd, most_usd: present USD that the change saves or costs, as the verdict says, an interval from both
            bounds of both plans; NaN where shortfalls differ or nothing is known.
        least_share, most_share: share of the weighted planned demand that it serves more, or less.
        cost_usd: cost of the plan found, less that of the plan.
        orders: units ordered in planned quarters by SKU, more (+) or fewer (−) than in the plan.
        short: who is short in the planned quarters of the changed case.
        note: anything else, why it failed for instance.
    """

    question: Question
    verdict: Verdict
    least_usd: float = math.nan
    most_usd: float = math.nan
    least_share: float = math.nan
    most_share: float = math.nan
    cost_usd: float = math.nan
    orders: dict[str, int] = field(default_factory=dict)
    short: list[Short] = field(default_factory=list)
    note: str = ""

    def facts(self) -> dict[str, Any]:
        """The answer as JSON holds it; what is not known is null."""
        q = self.question
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return {
            "kind": str(q.kind),
            "about": q.about,
            "quarters": q.quarters,
            "what": q.what,
            "change": {path: str(value) for path, value in q.change.items()},
            "relation": str(q.relation),
            "verdict": str(self.verdict),
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
            "orders": self.orders,
            "short": self.short,
            "note": self.note,
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Answer:
        """The answer that :meth:`facts` holds.

        Raises:
            KeyError, TypeError, ValueError: it holds none.
        """
        kind, relation = Kind(facts["kind"]), Relation(facts["relation"])
        question = Question(kind, facts["about"], facts["what"], facts["change"], relation, facts["quarters"])
        numbers = {name: math.nan if facts[name] is None else float(facts[name]) for name in NUMBERS}
        return cls(
            question, Verdict(facts["verdict"]), **numbers, orders=dict(facts["orders"]), short=list(facts["short"]),
            note=str(facts["note"]),
        )  # fmt: skip


NUMBERS = ("least_usd", "most_usd", "least_share", "most_share", "cost_usd")
"""Numbers of an answer."""


def answer(question: Question, before: Point, orders: dict[str, int], outcome: Outcome | None, ranked: bool) -> Answer:
    """What an outcome says about a question.

    Args:
        before: the plan that is asked about.
        orders: what it orders in planned quarters, by SKU.
        outcome: what came of the change; None where it was not begun.
        ranked: whether shortfall comes before cost.
    """
    if outcome is None or outcome.stopped:
        return Answer(question, Verdict.NOT_ASKED)
    if outcome.failed:
        verdict = Verdict.NO_PLAN if outcome.is_infeasible else Verdict.FAILED
        return Answer(question, verdict, note=outcome.reason.removeprefix(Infeasible.NONE).strip())
    after = Point.of_facts(outcome.facts, ranked)
    now: dict[str, int] = {}
    for order in outcome.facts["purchases"]:
        now[order["sku"]] = now.get(order["sku"], 0) + int(order["count"])
    moved = {sku: now.get(sku, 0) - orders.get(sku, 0) for sku in sorted({*now, *orders})}
    ordered = question.relation is not Relation.OTHER
    gained, lost = (Effect.of(*pair, ordered=ordered) for pair in ((before, after), (after, before)))
    eases = question.relation is Relation.EASES or (not ordered and gained.helps)
    effect = gained if eases else lost
    return Answer(
        question,
        _verdict(effect, eases),
        effect.least_usd,
        effect.most_usd,
        effect.least_share,
        effect.most_share,
        after.cost_usd - before.cost_usd,
        {sku: units for sku, units in moved.items() if units},
        list(outcome.facts["short"]),
    )


def _verdict(effect: Effect, eases: bool) -> Verdict:
    if effect.serves_more:
        return Verdict.SERVES_MORE if eases else Verdict.SERVES_LESS
    if effect.saves:
        return Verdict.SAVES if eases else Verdict.COSTS
    return Verdict.BELOW


def frame_of(answers: list[Answer]) -> pd.DataFrame:
    """Answers as a table, one row each: columns of :meth:`Answer.facts`, lists and mappings in words."""
    rows = []
    for found in answers:
        facts = found.facts()
        facts["change"] = "; ".join(f"{path}={value}" for path, value in facts["change"].items())
        facts["orders"] = ", ".join(f"{units:+d} {sku}" for sku, units in found.orders.items())
        facts["short"] = "; ".join(f"{s['workload']} {s['quarter']} {s['share']:.6f}" for s in found.short)
        rows.append(facts)
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = [
    "kind", "about", "quarters", "what", "verdict", *NUMBERS, "orders", "short", "note", "change",
]  # fmt: skip
"""Columns of ``explain.csv``."""
