"""A case with its plan, and what verification finds wrong with a changed one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tiny_case import rich

import procure
from procure.case import Case
from procure.errors import InputError
from procure.instance import Instance, build
from procure.plan import Plan
from procure.plan.verify import faults_by_check, verify


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

    def seen(self, plan: Plan, first: str = "") -> bool:
        """Whether any check fails for a plan of the case: :meth:`failing`, which ends with the first that does.

        ``first`` is the name of the check that is asked before the others.
        """
        named = faults_by_check(plan, self.case, self.instance)
        order = sorted(named, key=lambda name: name != first)
        return any(_fails(named[name]) for name in order) or bool(self.failing(plan))


def _fails(faults: Iterable[str]) -> bool:
    try:
        return any(True for _ in faults)
    except (KeyError, ValueError, TypeError, InputError):  # verification says of these that they cannot be recomputed
        return True


def solved(case: Case) -> Solved:
    """A case solved to one percent."""
    return Solved(case, build(case), procure.solve(case, gap=0.01, threads=1))


@cache
def solved_rich() -> Solved:
    """The case with a bit of everything, solved once for all tests of a process; nobody changes what it holds."""
    return solved(rich())
