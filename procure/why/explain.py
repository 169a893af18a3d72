"""A plan explained by plans of changed cases: which limits bind, why each order, what would serve what is short."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from procure.case import Case
from procure.errors import Fault, InputError
from procure.files import silent
from procure.instance import Instance, build
from procure.plan import Plan
from procure.plan.summary import Short
from procure.rules.objective import Objective
from procure.solver import NoPlan
from procure.solver.servable import has_plan, reasons, servable
from procure.study import Change, Effort, Outcome, Step, Study
from procure.study.outcome import Known
from procure.why import limits, orders
from procure.why.effect import Point
from procure.why.explanation import Explanation
from procure.why.question import Answer, Kind, Question, Verdict, answer
from procure.why.search import OutOfTime, Trial
from procure.why.serve import about, needs, others_held, wanted

PART_OF_TIME = 0.25
"""Of the time for all questions, what one of them may take: its interval is wider where it is not done by then."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a plan.

    Attributes:
        limits: whether those that leave no room are asked about.
        named: limits that are asked about by name, full or not.
        orders: whether order lines are.
        why_not: SKUs and groups (cmx, lpx, ssd, gpu) to be forced in or out.
        to_serve: workloads that are short, or :data:`procure.why.serve.ALL` of them: what would serve them.
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
        effort: of each plan that is solved; to the gap of the plan that is explained if left out.
        seconds: wall seconds for all of them; what is not asked by then is said.
        most: changed cases that are solved for limits and orders; what is not asked then is said.
        jobs: plans worked on at a time.
        out: folder of the study, which goes on where it was; nothing is stored without it.
        progress: told a line before and after each plan.
        stop: asked often; once it is true, what is at hand is given up.
    """

    effort: Effort | None = None
    seconds: float = float("inf")
    most: float = float("inf")
    jobs: int = 1
    out: Path | None = None
    progress: Callable[[str], object] = silent
    stop: Callable[[], bool] = lambda: False


def explain(
    plan: Plan,
    case: Case,
    asked: Asked = Asked(),
    how: How = How(),
    earlier: Explanation | None = None,
) -> Explanation:
    """What the limits of a plan cost, why each of its orders, and why not something else, each by solving again.

    Args:
        plan: of the case.
        case: as it was solved.
        asked: which questions; limits and orders if left out.
        how: how hard to try; a gap below the plan's own has the plan solved again too.
        earlier: answers about the same plan: to the same gap they are not asked again, and all stay.

    Raises:
        InputError: the case is not the one that the plan answers, or a name that it does not have.
    """
    if case.input_hash != plan.summary["input_hash"]:
        expected = "The case that the plan answers; it was changed since."
        raise InputError([Fault(str(case.source or case.name), 0, "", "", expected, "Solve it again.")])
    earlier = earlier if earlier is not None and earlier.is_of(plan) else None
    effort = how.effort or Effort(gap=max(plan.summary["gap_asked"], plan.summary["gap"] or 0.0))
    instance, how = build(case), _timed(replace(how, effort=effort))
    asker = _Asker(case, plan, how, effort, earlier)
    found = limits.candidates(plan, case, instance, asked.named) if asked.limits or asked.named else []
    questions: list[Question] = []
    for name in asked.why_not:
        questions += orders.why_not(name, plan, case, instance)
    target = wanted(plan.summary["shortfall"]["workloads"], asked.to_serve)
    if asked.orders:
        questions += orders.order_questions(plan, case)
    answers = _served(asker, case, instance, target) if target else []
    steps = asker.ask([limits.question(candidate) for candidate in found])
    quick = [question for question in questions if question.kind is Kind.WHY_NOT or question.what == orders.NOTHING]
    first = asker.ask(quick)
    answers += [*_limits(asker, found, steps), *first]
    answers += asker.ask([question for question in questions if question not in quick])
    return Explanation(_facts(plan, asker.before, effort.gap), answers).beside(earlier)


def unblock(case: Case, how: How) -> Explanation | None:
    """The smallest changes with which a case that has no plan has one; None where it has one.

    Raises:
        NoPlan: the time was over before that was known.
    """
    how, instance, effort = _timed(how), build(case), how.effort or Effort()
    trial = Trial(case, {}, has_plan, effort, how.stop)
    try:
        if trial({}):
            return None
    except OutOfTime as error:
        raise NoPlan("The time limit came before it was known whether there is a plan; allow more time.") from error
    broken = reasons(instance, trial.options(), trial.known.memory)
    facts = {"case": case.name, "input_hash": case.input_hash, "status": "infeasible", "short": [], "reasons": broken}
    return Explanation(facts, needs(case, instance, [], trial, how.progress))


def _timed(how: How) -> How:
    """The same with the wish to stop once its time is over, and a part of it for each question."""
    end = time.perf_counter() + how.seconds
    effort = how.effort
    if effort is not None:
        effort = replace(effort, time_limit_s=min(effort.time_limit_s, PART_OF_TIME * how.seconds))
    return replace(how, effort=effort, stop=lambda: how.stop() or time.perf_counter() >= end)


def _served(asker: _Asker, case: Case, instance: Instance, target: list[Short]) -> list[Answer]:
    """What would serve who is short, with what it costs: plans of the changed cases, solved like the plan itself."""
    if known := asker.served(about(target)):
        return known
    how, held = asker.how, others_held(case, asker.short, target)
    trial = Trial(case, held, servable, asker.effort, how.stop, asker.known)
    found = needs(case, instance, target, trial, how.progress)
    serving = [one.question for one in found if one.verdict is Verdict.HOLDS]
    priced = iter(asker.ask([replace(question, change={**held, **question.change}) for question in serving]))
    return [replace(next(priced), verdict=one.verdict) if one.verdict is Verdict.HOLDS else one for one in found]


def _limits(asker: _Asker, found: Sequence[limits.Candidate], steps: list[Answer]) -> list[Answer]:
    """What a step of each limit is worth, and twice as much of those of which a step is worth nothing that can be told.

    More of a limit is worth no less than less of it, so that the bound on what twice as much is worth holds for a step
    too. Of limits that bind then, what each of several cells is worth alone.
    """
    again = [c for c, a in zip(found, steps, strict=True) if a.verdict is Verdict.BELOW and c.can_double]
    doubled = asker.ask([limits.question(candidate, doubled=True) for candidate in again])
    most = {id(c): a.most_usd for c, a in zip(again, doubled, strict=True)}
    steps = [replace(a, most_usd=min(a.most_usd, most.get(id(c), math.inf))) if math.isfinite(a.most_usd) else a
             for c, a in zip(found, steps, strict=True)]  # fmt: skip
    asked = zip([*found, *again], [*steps, *doubled], strict=True)
    helping = [c for c, a in asked if a.verdict in (Verdict.SERVES_MORE, Verdict.SAVES)]
    singles = asker.ask([limits.question(one) for candidate in helping for one in candidate.singles])
    return [*steps, *doubled, *singles]


def _facts(plan: Plan, before: Point, gap: float) -> dict[str, Any]:
    bound = None if before.bound_usd == -float("inf") else before.bound_usd
    return {
        **{name: dict(plan.summary)[name] for name in ("case", "input_hash", "status")},
        "plan_usd": plan.objective_usd,
        "objective_usd": before.cost_usd,
        "bound_usd": bound,
        "shortfall_share": before.short,
        "short": plan.summary["shortfall"]["workloads"],
        "gap": gap,
    }


class _Asker:
    """Questions put to the study engine, against one plan."""

    def __init__(self, case: Case, plan: Plan, how: How, effort: Effort, earlier: Explanation | None) -> None:
        self._case, self.how, self.effort = case, how, how.effort or effort
        self.before, self.short = Point.of_summary(plan.summary), plan.summary["shortfall"]["workloads"]
        self._ranked = Objective(plan.summary["objective"]).ranked
        self._orders: dict[str, int] = {}
        for order in plan.summary["purchases"]:
            self._orders[order["sku"]] = self._orders.get(order["sku"], 0) + order["count"]
        self._finer = effort.gap < plan.summary["gap_asked"]
        self._left = how.most
        self.known = Known()
        self._answered = {} if earlier is None else earlier.answered(effort.gap)
        self._unfinished = set() if earlier is None else {question.about for question in earlier.not_asked}

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """What comes of questions, in their order; before them the plan's own where the gap is to be finer than it."""
        new = [question for question in questions if question.key not in self._answered]
        new = new[: int(min(self._left, len(new)))]
        self._left -= len(new)
        answers = {**self._answered, **{one.question.key: one for one in self._asked(new)}}
        return [answers.get(q.key, Answer(q, Verdict.NOT_ASKED)) for q in questions]

    def served(self, about: str) -> list[Answer]:
        """What is known to serve some workloads; nothing where it was not asked to the end."""
        known = [a for a in self._answered.values() if (a.question.kind, a.question.about) == (Kind.SERVE, about)]
        return [] if about in self._unfinished else known

    def _asked(self, questions: Sequence[Question]) -> list[Answer]:
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
            more = step.done < step.total
            left = f", {step.seconds_left / 60:.1f} min left; next: {names[step.done]}" if more else ""
            self.how.progress(
                f"{step.done}/{step.total}  {names[step.outcome.number - 1]}: {step.outcome.status}{left}"
            )

        self.how.progress(f"0/{len(names)}  asking: {names[0]}")
        study = Study("explain", self._case, changes, replace(self.effort, ask_causes=False), self.known)
        folder = None if self.how.out is None else self.how.out / _name_of(study.changes)
        return study.run(folder, self.how.jobs, told, self.how.stop)


def _name_of(changes: Sequence[Change]) -> str:
    """A folder's name for a study of these changes: where some are answered already, the others are another study."""
    return hashlib.sha256(json.dumps([list(change.items()) for change in changes]).encode()).hexdigest()[:8]


def _better(plan: Point, again: Point) -> Point:
    """What two solves of one case know together."""
    short = min(plan.short, again.short)
    cost = min((p.cost_usd for p in (plan, again) if p.short == short), default=again.cost_usd)
    bound = max(plan.bound_usd, again.bound_usd) if plan.short == again.short else again.bound_usd
    return Point(cost, bound, short, max(plan.short_bound, again.short_bound))
