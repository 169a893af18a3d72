"""What would serve who is short, or let a case have a plan: every lever and choice alone, then several together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from procure.case import Case
from procure.errors import Fault, InputError
from procure.families.wording import figure
from procure.instance import Instance
from procure.plan.summary import Short
from procure.study.change import Change
from procure.why.levers import FIGURES, Lever, choices, levers, load_cells
from procure.why.question import Answer, Kind, Question, Relation, Verdict
from procure.why.search import Found, OutOfTime, Trial, alone, shared, together

ALL = "all"
"""Everything that is short."""
A_PLAN = "a plan"
"""What is asked for where there is none."""
EASED = 1e-4
"""Of the load of others, that is left out beside what the plan does not serve of it: rounding is no shortfall."""


def wanted(short: Sequence[Short], names: Sequence[str]) -> list[Short]:
    """Who of those that are short is to be served.

    Raises:
        InputError: a workload that is not short.
    """
    if ALL in names:
        return list(short)
    known = {s["workload"] for s in short}
    unknown = [name for name in names if name not in known]
    if unknown:
        expected = f"A workload that is short in planned quarters: {', '.join(sorted(known)) or 'none is'}; or {ALL}."
        raise InputError([Fault("--to-serve", 0, "", name, expected) for name in unknown])
    return [s for s in short if s["workload"] in names]


def about(target: Sequence[Short]) -> str:
    """Who is to be served, in words; :data:`A_PLAN` for nobody."""
    return ", ".join(dict.fromkeys(s["workload"] for s in target)) or A_PLAN


def others_held(case: Case, short: Sequence[Short], target: Sequence[Short]) -> Change:
    """The load of what is short and not asked about, cut to what the plan serves of it: it is not to lose anything."""
    mine = {s["workload"] for s in target}
    return {
        path: now * (1.0 - s["share"]) * (1.0 - EASED)
        for s in short
        if s["workload"] not in mine
        for path, now in load_cells(case, s["workload"], [s["quarter"]])
    }


def needs(
    case: Case, instance: Instance, target: Sequence[Short], trial: Trial, tell: Callable[[str], object]
) -> list[Answer]:
    """What serves the workloads that are asked about, or lets a case without any plan have one.

    Args:
        target: who is short; nobody for a case without a plan.
        trial: whether it is served with a change.
        tell: told a line for each lever and choice.
    """
    movers = levers(case, instance, target)
    whom = about(target)
    found: list[Found] = []
    answered: list[Answer] = []
    try:
        for answer, one in _each(whom, case, movers, target, trial):
            tell(f"{answer.question.what}: {answer.verdict}")
            answered.append(answer)
            found += [] if one is None else [one]
        eases = [one for one in found if one.levers[0].eases]
        several = shared(eases, trial) if eases else together(movers, trial)
        if several is not None:
            tell(f"together, {several.what}: {Verdict.HOLDS}")
            answered.append(Answer(_question(whom, f"together {several.what}", several.change), Verdict.HOLDS))
    except OutOfTime:
        answered.append(Answer(_question(whom, "what else would, alone or together", {}), Verdict.NOT_ASKED))
    return answered


def _each(
    whom: str, case: Case, movers: Sequence[Lever], target: Sequence[Short], trial: Trial
) -> Iterator[tuple[Answer, Found | None]]:
    """Levers and choices one by one."""
    for lever in movers:
        one = alone(lever, trial)
        if one is not None:
            yield Answer(_question(whom, one.what, one.change), Verdict.HOLDS), one
            continue
        most = lever.at(lever.most)
        way = "up" if lever.far > lever.start else "down"
        question = _question(whom, f"{lever.name} {way} to {figure(most, FIGURES)} {lever.unit}", lever.put(most))
        yield Answer(question, Verdict.NOT_ENOUGH), None
    for choice in choices(case, target):
        question = _question(whom, f"{choice.name} {choice.what}", choice.change)
        try:
            yield Answer(question, Verdict.HOLDS if trial(choice.change) else Verdict.NOT_ENOUGH), None
        except InputError as error:
            yield Answer(question, Verdict.FAILED, note=" ".join(str(fault) for fault in error.faults)), None


def _question(whom: str, what: str, change: Change) -> Question:
    return Question(Kind.SERVE, whom, what, change, Relation.OTHER)
