"""Instances and plans of tiny cases, made once for all tests of a process; and what verification says of changed ones.

Most tests ask something of a case that differs little from that of another test. :func:`built` keeps the stages of its
builds, :func:`planned` whole plans; both give copies that the test may change. What a test watches or breaks on the way
(options of HiGHS, progress, a patched step of the search) it asks of :func:`searched`, which searches anew; what a test
patches below the instance, or of the packaged data, it asks of ``procure.instance.build`` itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
from tiny_case import rich

from procure.case import Case
from procure.check import check_case
from procure.errors import InputError
from procure.instance import Cache, Instance, build
from procure.plan import Plan
from procure.plan.verify import faults_by_check, verify
from procure.program import build as build_program
from procure.solver.compile import compile_program
from procure.solver.highs import Options
from procure.solver.solve import Method, _cost_usd, _stages, plan_of

_STAGES = Cache()
_BUILT: dict[str, Instance] = {}
_PLANNED: dict[tuple[str, Method, float], Plan] = {}


def _content(case: Case) -> str:
    """What a case states, spelt out: cases made alike are alike, whoever made them."""
    stated = [(name, rows.columns, rows.rows) for name, rows in case._stated.items()]
    return repr((sorted(case._given.items()), stated, case.folder))


def built(case: Case) -> Instance:
    """The instance of a case: tables to be changed at will, from stages that other tests may have run before."""
    content = _content(case)
    if content not in _BUILT:
        _BUILT[content] = build(case, _STAGES)
    made = _BUILT[content]
    return Instance({name: table.copy() for name, table in made.tables.items()}, dict(made.settings))


def checked(case: Case) -> pd.DataFrame:
    """What ``procure.check`` says of a case, of the instance of :func:`built`."""
    return check_case(case, built(case))


def searched(case: Case, *, method: Method = "decomposed", **options: Any) -> Plan:
    """What ``procure.solve`` gives, by a search of its own on the instance of :func:`built`."""
    return plan_of(case, built(case), Options(**options), method)


def planned(case: Case, *, gap: float = 0.005, method: Method = "decomposed") -> Plan:
    """What ``procure.solve`` gives on one thread, searched for once: a plan to be changed at will."""
    asked = (_content(case), method, gap)
    if asked not in _PLANNED:
        _PLANNED[asked] = searched(case, method=method, gap=gap, threads=1)
    made = _PLANNED[asked]
    return Plan(deepcopy(made.summary), {name: table.copy() for name, table in made.tables.items()})


@dataclass(frozen=True)
class Found:
    """What a search ends with: shortfall in bp without what is tolerated, cost and its proven bound in USD."""

    short_bp: float
    cost_usd: float
    bound_usd: float


def found(case: Case, method: Method, gap: float) -> Found:
    """The search alone by a method, on one thread: no plan is made of what it finds, told or verified."""
    instance = built(case)
    compiled = compile_program(build_program(instance))
    _, final = _stages(compiled, Options(gap, threads=1), method, instance, None)
    cost, bound = _cost_usd(compiled, {}, final)
    assert final.values is not None
    assert bound is not None
    return Found(float(compiled.shortfall @ final.values), cost, bound)


@dataclass(frozen=True)
class Solved:
    """A case, its instance, and the plan that answers it."""

    case: Case
    instance: Instance
    plan: Plan

    def failing(self, plan: Plan) -> set[str]:
        """Names of the checks that do not hold for a plan of the case."""
        checks = verify(plan, self.case, self.instance)
        return set(checks.loc[~checks["holds"], "check"])

    def fails(self, check: str, plan: Plan) -> bool:
        """Whether one check fails for a plan of the case; no other is worked out."""
        return _fails(faults_by_check(plan, self.case, self.instance)[check])

    def seen(self, plan: Plan, first: str = "") -> str:
        """A check that fails for a plan of the case, none if all hold: :meth:`failing`, which ends with the first.

        ``first`` is the name of the check that is asked before the others.
        """
        named = faults_by_check(plan, self.case, self.instance)
        order = sorted(named, key=lambda name: name != first)
        return next((name for name in order if _fails(named[name])), None) or next(iter(self.failing(plan)), "")


def _fails(faults: Iterable[str]) -> bool:
    try:
        return any(True for _ in faults)
    except (KeyError, ValueError, TypeError, InputError):  # verification says of these that they cannot be recomputed
        return True


def solved(case: Case) -> Solved:
    """A case solved to one percent."""
    return Solved(case, built(case), planned(case, gap=0.01))


@cache
def solved_rich() -> Solved:
    """The case with a bit of everything, solved once for all tests of a process; nobody changes what it holds."""
    return solved(rich())
