"""The whole program in one HiGHS run: the reference that the decomposition is held against."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np

from procure.solver.compile import Compiled, limited
from procure.solver.highs import Options, be_exact, load, new_solver, run, set_option
from procure.solver.solution import Solution


def solve_whole(compiled: Compiled, options: Options, objective: str, most_short: float | None) -> Solution:
    """Least ``cost`` or least ``shortfall`` of the whole program; arguments as for the decomposition."""
    solver = new_solver(options)
    set_option(solver, "mip_rel_gap", options.gap if objective == "cost" else 0.0)
    set_option(solver, "mip_abs_gap", 1e-6 if objective == "cost" else compiled.short_tolerance / 10)
    cost = compiled.cost if objective == "cost" else compiled.shortfall
    be_exact(solver)
    stage = limited(compiled, most_short)
    rows, columns = (stage.row_lower, stage.row_upper), (compiled.col_lower, stage.col_upper)
    load(solver, stage.matrix, cost, rows, columns, compiled.integer)
    _listen(solver, options, objective)
    answer = run(solver, options.left(), is_mip=True)
    if answer.status == "infeasible":
        return Solution("infeasible", None, None, None)
    status = "optimal" if answer.status == "optimal" else "limit"
    values = answer.values
    if values is not None:
        values = np.where(compiled.integer, np.round(values), values)
    return Solution(status, values, answer.objective, answer.bound)


def _listen(solver: Any, options: Options, phase: str) -> None:
    """Report incumbent and bound while HiGHS runs."""
    if options.progress is None:
        return

    def tell(event: Any) -> None:
        data = event.data_out
        finite = [v if abs(v) < highspy.kHighsInf else None for v in (data.mip_primal_bound, data.mip_dual_bound)]
        options.report(phase, *finite)

    solver.cbMipInterrupt.subscribe(tell)
