"""Whether a case can be served, or has any plan at all: the first fleet that does, without looking for a cheap one."""

from __future__ import annotations

import numpy as np

from procure.instance import Instance
from procure.solver.compile import limited
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options, be_exact, load, new_solver, run
from procure.solver.memory import Memory
from procure.solver.violation import smallest_violation

ANY_COST = 1.0
"""Relative gap at which every plan is good enough."""


def servable(instance: Instance, options: Options, memory: Memory) -> bool | None:
    """Whether some plan serves every planned request as promised; None where the time was over before that was known.

    Args:
        instance: of the case.
        options: threads, seed and time; its gap should be :data:`ANY_COST`, so that the first plan ends the search.
        memory: what earlier searches of cases alike have left; it is read, and renewed where a plan serves.
    """
    found = Decomposition(memory.program_of(instance)[1], options, memory).solve("cost", 0.0)
    return _known(found.values is not None, found.status)


def has_plan(instance: Instance, options: Options, memory: Memory) -> bool | None:
    """Whether there is any plan, whatever is left unserved; None where the time was over before that was known."""
    compiled = memory.program_of(instance)[1]
    stage, solver = limited(compiled, None), new_solver(options)
    be_exact(solver)
    rows, columns = (stage.row_lower, stage.row_upper), (compiled.col_lower, stage.col_upper)
    load(solver, stage.matrix, np.zeros(len(compiled.columns)), rows, columns, compiled.integer)
    found = run(solver, options.left(), is_mip=True)
    return _known(found.values is not None, found.status)


def reasons(instance: Instance, options: Options, memory: Memory) -> list[str]:
    """The limits that must break for a case without any plan to have one, in a planner's words."""
    return smallest_violation(memory.program_of(instance)[1], options, instance)


def _known(found: bool, status: str) -> bool | None:
    if found:
        return True
    return False if status == "infeasible" else None
