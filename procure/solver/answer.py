"""Values of the program's variables as the plan's tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from procure.case.frames import in_order
from procure.families import contents
from procure.instance import Instance
from procure.plan.limits import limits_table
from procure.plan.money import cash_table, costs_table
from procure.plan.unit_costs import unit_costs_table
from procure.program import Program
from procure.program.decided import Decided
from procure.solver.compile import Compiled

SORTED_BY = 5
"""Columns that rows of a plan's tables stand in order of: those of their keys come first."""


class Values:
    """Values by variable; a variable that no row mentions is at its lower bound, zero."""

    def __init__(self, compiled: Compiled, values: np.ndarray) -> None:
        self._compiled, self._values = compiled, values

    def __call__(self, variable: Any) -> float:
        """Value of a continuous variable, never below zero."""
        column = self._compiled.column(variable)
        return max(float(self._values[column]), 0.0) if column >= 0 else 0.0

    def whole(self, variable: Any) -> int:
        """Value of an integer variable."""
        return round(self(variable))


def tables_of(program: Program, instance: Instance, value: Values) -> dict[str, pd.DataFrame]:
    """Every table of a plan that follows from the decisions; premises and checks are added by the caller."""
    writers = {name: write for part in contents.programs().values() for name, write in part.tables.items()}
    decided = Decided(program.model, program.index, value, writers)
    tables = {name: in_order(decided.table(name), SORTED_BY) for name in writers}
    tables["cash"] = cash_table(instance, tables)
    tables["costs"] = costs_table(tables["cash"])
    tables["unit_costs"] = unit_costs_table(instance, tables)
    tables["limits"] = limits_table(instance, tables)
    return tables
