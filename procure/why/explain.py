"""A plan explained by plans of changed cases: which limits bind, why each order, what would serve what is short."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from procure.case import Case
from procure.csvtext import guarded
from procure.errors import Fault, InputError
from procure.files import silent
from procure.instance import Instance, build
from procure.plan import Plan
from procure.plan.summary import Short
from procure.rules.objective import Objective
from procure.solver import NoPlan
from procure.solver.servable import has_plan, servable
from procure.study import Change, Effort, Outcome, Step, Study
from procure.why import limits, orders
from procure.why.effect import Point
from procure.why.needs import needs, others_held, wanted
from procure.why.question import Answer, Kind, Question, Verdict, answer, frame_of
from procure.why.serve import OutOfTime, Trial

JSON, TABLE = "explain.json", "explain.csv"
"""Files of a result that hold its explanation."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a plan.

    Attributes:
        limits: whether those that leave no room are asked about.
        named: limits that are asked about by name, full or not.
        orders: whether order lines are.
        why_not: SKUs and groups (cmx, lpx, ssd, gpu) to be forced in or out.
        to_serve: workloads that are short, or :data:`procure.why.needs.ALL` of them: what would serve them.
    """

    limits: bool = True
    named: tuple[str, ...] = ()
    orders: bool = True
    why_not: tuple[str, ...] = ()
    to_serve: tuple[str, ...] = ()


@dataclass(frozen=True)
class How:
    """How hard to try, and for how long.

    Attributes:
        effort: of each plan that is solved.
        seconds: wall seconds for all of them; what is not asked by then is said.
        jobs: plans worked on at a time.
        out: folder of the study, which goes on where it was; nothing is stored without it.
        progress: told a line after each plan.
        stop: asked often; once it is true, what is at hand is given up.
    """

    effort: Effort
    seconds: float = float("inf")
    jobs: int = 1
    out: Path | None = None
    progress: Callable[[str], object] = silent
    stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Explanation:
    """Answers about one plan.

    Attributes:
        plan: facts of the plan that is explained: case, hashes, cost, bound, shortfall.
        answers: question by question.
    """

    plan: dict[str, Any]
    answers: list[Answer] = field(repr=False)

    def of(self, kind: Kind) -> list[Answer]:
        """The answers of a kind that were asked."""
        return [a for a in self.answers if a.question.kind is kind and a.verdict is not Verdict.NOT_ASKED]

    @property
    def not_asked(self) -> list[Question]:
        """Questions for which no time was left."""
        return [a.question for a in self.answers if a.verdict is Verdict.NOT_ASKED]

    @property
    def binding(self) -> list[Answer]:
        """Limits that are proven to bind: moved by a unit, or doubled, the plan serves more or costs less."""
        return [a for a in self.of(Kind.LIMIT) if a.verdict in (Verdict.SERVES_MORE, Verdict.SAVES)]

    def facts(self) -> dict[str, Any]:
        """The content of ``explain.json``."""
        return {"plan": self.plan, "answers": [found.facts() for found in self.answers]}

    def write(self, folder: Path) -> list[Path]:
        """Write ``explain.json`` and ``tables/explain.csv`` beside a stored plan, in place of earlier ones."""

        def make(fresh: Path) -> None:
            text = json.dumps(self.facts(), indent=1, ensure_ascii=False, allow_nan=False)
            (fresh / JSON).write_text(text + "\n", encoding="utf-8")
            (fresh / "tables").mkdir()
            guarded(frame_of(self.answers)).to_csv(fresh / "tables" / TABLE, index=False, lineterminator="\n")

        return Plan.add(folder, make)


def explain(plan: Plan, case: Case, asked: Asked, how: How) -> Explanation:
    """What the limits of a plan cost, why each of its orders, and why not something else, each by solving again.

    Args:
        plan: of the case.
        case: as it was solved.
        asked: which questions.
        how: how hard to try; a gap below the plan's own has the plan solved again too.

    Raises:
        InputError: the case is not the one that the plan answers, or a name that it does not have.
    """
    if case.input_hash != plan.summary["input_hash"]:
        expected = "The case that the plan answers; it was changed since."
        raise InputError([Fault(str(case.source or case.name), 0, "", "", expected, "Solve it again.")])
    instance, how = build(case), _timed(how)
    asker = _Asker(case, plan, how)
    found = limits.candidates(plan, case, instance, asked.named) if asked.limits or asked.named else []
    questions = [limits.question(candidate) for candidate in found]
    for name in asked.why_not:
        questions += orders.why_not(name, plan, case, instance)
    target = wanted(plan.summary["shortfall"]["workloads"], asked.to_serve)
    if asked.orders:
        questions += orders.order_questions(plan, case)
    answers = _served(asker, case, instance, target) if target else []
    limited = asker.ask(questions)
    return Explanation(_facts(plan, asker.before), [*answers, *limited, *_doubled(asker, found, limited)])


def unblock(case: Case, how: How) -> Explanation | None:
    """The smallest changes with which a case that has no plan has one; None where it has one.

    Raises:
        NoPlan: the time was over before that was known.
    """
    how, instance = _timed(how), build(case)
    trial = Trial(case, {}, has_plan, how.effort, how.stop)
    try:
        if trial({}):
            return None
    except OutOfTime as error:
        raise NoPlan("The time limit came before it was known whether there is a plan; allow more time.") from error
    facts = {"case": case.name, "input_hash": case.input_hash, "status": "infeasible", "short": []}
    return Explanation(facts, needs(case, instance, [], trial, how.progress))


def _timed(how: How) -> How:
    """The same with the wish to stop once its time is over."""
    end = time.perf_counter() + how.seconds
    return replace(how, stop=lambda: how.stop() or time.perf_counter() >= end)


def _served(asker: _Asker, case: Case, instance: Instance, target: list[Short]) -> list[Answer]:
    """What would serve who is short, with what it costs: plans of the changed cases, solved like the plan itself."""
    how = asker.how
    held = others_held(case, asker.short, target)
    found = needs(case, instance, target, Trial(case, held, servable, how.effort, how.stop), how.progress)
    serving = [one.question for one in found if one.verdict is Verdict.HOLDS]
    priced = iter(asker.ask([replace(question, change={**held, **question.change}) for question in serving]))
    return [replace(next(priced), verdict=one.verdict) if one.verdict is Verdict.HOLDS else one for one in found]


def _doubled(asker: _Asker, found: Sequence[limits.Candidate], answers: list[Answer]) -> list[Answer]:
    """Twice as much of the limits of which one more unit is worth nothing that can be told."""
    pairs = zip(found, answers[: len(found)], strict=True)
    again = [c for c, a in pairs if a.verdict is Verdict.BELOW and c.can_double]
    return asker.ask([limits.question(candidate, doubled=True) for candidate in again])


def _facts(plan: Plan, before: Point) -> dict[str, Any]:
    bound = None if before.bound_usd == -float("inf") else before.bound_usd
    return {
        **{name: dict(plan.summary)[name] for name in ("case", "input_hash", "status")},
        "objective_usd": before.cost_usd,
        "bound_usd": bound,
        "shortfall_share": before.short,
        "short": plan.summary["shortfall"]["workloads"],
    }


class _Asker:
    """Questions put to the study engine, against one plan."""

    def __init__(self, case: Case, plan: Plan, how: How) -> None:
        self._case, self.how = case, how
        self.before, self.short = Point.of_summary(plan.summary), plan.summary["shortfall"]["workloads"]
        self._ranked = Objective(plan.summary["objective"]).ranked
        self._orders: dict[str, int] = {}
        for order in plan.summary["purchases"]:
            self._orders[order["sku"]] = self._orders.get(order["sku"], 0) + order["count"]
        self._finer = how.effort.gap < plan.summary["gap_asked"]
        self._batches = 0

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """What comes of questions, in their order; before them the plan's own where the gap is to be finer than it."""
        if not questions:
            return []
        if self._finer:
            self._finer = False
            for again in self._study([{}], ["the case as it stands"]):
                if not again.failed:
                    self.before = _better(self.before, Point.of_facts(again.facts, self._ranked))
        names = [f"{question.about}, {question.what}" for question in questions]
        found = {outcome.number: outcome for outcome in self._study([q.change for q in questions], names)}
        return [
            answer(q, self.before, self._orders, found.get(n), self._ranked) for n, q in enumerate(questions, start=1)
        ]

    def _study(self, changes: Sequence[Change], names: Sequence[str]) -> list[Outcome]:
        def told(step: Step) -> None:
            left = f", {step.seconds_left / 60:.1f} min left" if step.done < step.total else ""
            self.how.progress(
                f"{step.done}/{step.total}  {names[step.outcome.number - 1]}: {step.outcome.status}{left}"
            )

        self._batches += 1
        study = Study("explain", self._case, changes, self.how.effort)
        folder = None if self.how.out is None else self.how.out / f"{self._batches}"
        return study.run(folder, self.how.jobs, told, self.how.stop)


def _better(plan: Point, again: Point) -> Point:
    """What two solves of one case know together."""
    short = min(plan.short, again.short)
    cost = min((p.cost_usd for p in (plan, again) if p.short == short), default=again.cost_usd)
    bound = max(plan.bound_usd, again.bound_usd) if plan.short == again.short else again.bound_usd
    return Point(cost, bound, short, max(plan.short_bound, again.short_bound))
