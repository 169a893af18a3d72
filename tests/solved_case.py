"""A case with its plan, and what verification finds wrong with a changed one."""

from __future__ import annotations

from dataclasses import dataclass

import procure
from procure.case import Case
from procure.instance import Instance, build
from procure.plan import Plan
from procure.plan.verify import verify


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


def solved(case: Case) -> Solved:
    """A case solved to one percent."""
    return Solved(case, build(case), procure.solve(case, gap=0.01, threads=1))
