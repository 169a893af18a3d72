"""Why nothing fits, and why something is not served."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from procure.instance import Instance
from procure.program import Program
from procure.program.demand import shortfall_weights
from procure.solver.compile import Compiled
from procure.solver.highs import Options, load, new_solver, run

SMALL = 1e-6

LIMITS = {
    "budget": lambda row: row.startswith("budget_limit"),
    "power": lambda row: row.startswith("site_limit") and "power_kw" in row,
    "positions": lambda row: row.startswith("site_limit") and "positions" in row,
    "area": lambda row: row.startswith("site_limit") and "area_m2" in row,
    "liquid cooling": lambda row: row.startswith("site_limit") and "liquid_kw" in row,
    "ports": lambda row: row.startswith("site_limit") and "ports" in row,
    "supply": lambda row: row.startswith("supply_cap"),
    "pods": lambda row: row.startswith("places_in_pods"),
    "time to first token": lambda row: row.startswith("late_prefill_share"),
}
"""Limits that a planner can move, by the rows that state them."""


class Infeasible(Exception):
    """No plan exists, whatever is left unserved; the lines say which limits are broken by how much."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("No plan fits the limits, even with every request left unserved:\n  " + "\n  ".join(lines))


class NoPlan(Exception):
    """A limit was reached before any plan was found."""


@dataclass(frozen=True)
class Cause:
    """Why a workload is short in a quarter."""

    t: int
    workload: str
    text: str


def causes(
    program: Program, compiled: Compiled, instance: Instance, short: dict[tuple[int, str], float], options: Options
) -> list[Cause]:
    """Why each planned quarter and workload is short: inside the lead time, no deployment, or the limits that bind.

    A limit is named if the relaxation serves more of the workload without it. Each limit is lifted on its own, then all
    together; what remains short even so is inside the lead time.
    """
    if not short:
        return []
    base = _relaxed(program, compiled, options, None)
    without = {name: _relaxed(program, compiled, options, name) for name in LIMITS if _has(compiled, name)}
    free = _relaxed(program, compiled, options, "all")
    pointed = {(r.t, r.workload) for r in instance["serve"].itertuples()}
    serving: dict[str, set[str]] = defaultdict(set)
    for r in instance["serve"].itertuples():
        serving[r.workload].add(r.sku)
    orderable = {sku for _, sku, _ in program.index.orders}
    arrival = _first_arrival(program)
    found = []
    for (t, w), share in sorted(short.items()):
        named = [name for name, value in without.items() if base[t, w] - value[t, w] > SMALL]
        if (t, w) not in pointed:
            text = "no deployment meets its SLA"
        elif free[t, w] > SMALL and not orderable & serving[w]:
            text = "nothing that may be bought serves it"
        elif free[t, w] > share - SMALL and t < arrival:
            text = "inside lead time"
        elif named:
            text = "limit: " + ", ".join(named)
        elif free[t, w] > SMALL:
            text = "inside lead time"
        elif base[t, w] <= SMALL:
            text = "whole units do not fit the limits"
        else:
            text = "several limits together"
        found.append(Cause(t, w, text))
    return found


def _has(compiled: Compiled, name: str) -> bool:
    return any(LIMITS[name](row) for row in compiled.rows)


def _first_arrival(program: Program) -> int:
    index = program.index
    return min((t + int(index.sku[k].lead_quarters) for _, k, t in index.orders), default=index.horizon)


def _relaxed(program: Program, compiled: Compiled, options: Options, lift: str | None) -> dict[tuple[int, str], float]:
    """Shortfall by quarter and workload in the LP relaxation, without one limit or ``all`` of them."""
    index, m = program.index, program.model
    upper = compiled.row_upper.copy()
    for name, owns in LIMITS.items():
        if lift in (name, "all"):
            for i, row in enumerate(compiled.rows):
                if owns(row):
                    upper[i] = np.inf
    solver = new_solver(options)
    bounds = (compiled.col_lower, np.where(np.isinf(compiled.col_upper), np.inf, compiled.col_upper))
    load(solver, compiled.matrix, compiled.shortfall, (compiled.row_lower, upper), bounds)
    answer = run(solver, max(options.left(), 60.0))
    shares: dict[tuple[int, str], float] = defaultdict(float)
    if answer.values is not None:
        for t, w in shortfall_weights(index):
            column = compiled.column(m.short[t, w])
            shares[t, w] = float(answer.values[column]) if column >= 0 else 0.0
    return shares
