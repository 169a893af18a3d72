"""Which of several equally good services a plan shows: the one that spreads its shortfall most evenly.

Given the fleet, a quarter may be served in many ways at the same weighted shortfall and the same cost, and a linear
program answers with whichever corner it meets first. The way chosen here is one that has no rival, so that workloads
that are alike are short alike, whatever their names and the order of their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from procure.program import Program
from procure.solver.blocks import parts_of
from procure.solver.compile import Compiled
from procure.solver.highs import EXACT, INFINITY, Options, be_exact, load, new_solver, run, set_option

EVEN = 1e-7
"""Shares short that differ by less are the same; less than this is none."""
LEVEL_SLACK = 10.0 * EXACT
"""How much more than its level a share may be while the next ones are made even."""
SAME_COST = 1e-8
"""Relative to the cost of a quarter's service, what spreading its shortfall may cost."""


def even_out(program: Program, compiled: Compiled, values: np.ndarray, options: Options) -> np.ndarray:
    """The same fleet, cost and weighted shortfall, with the shares short of each quarter as even as they can be.

    Quarter by quarter: the largest share is made as small as possible, then the next (the lexicographic minimum of the
    sorted shares). That minimum is unique, since the services of a quarter are a convex set; among the services that
    reach it the cheapest is taken. A quarter for which no time is left stays as it is.
    """
    model = program.model
    shorts = {compiled.column(model.short[key]) for key in program.index.loads} - {-1}
    out = values.copy()
    for part in parts_of(compiled):
        columns = part.columns
        mine = [place for place, column in enumerate(columns) if column in shorts]
        if len(mine) > 1 and values[columns[mine]].max() > EVEN:
            found = _Quarter(compiled, values, columns, part.rows, options).spread(mine)
            if found is not None:
                out[columns] = found
    return out


class _Quarter:
    """The service of a quarter at the plan's fleet, with a column θ above the shares short.

    min θ   subject to the quarter's rows, cost ≤ the plan's, weighted shortfall ≤ the plan's, short[w] ≤ θ
    """

    def __init__(
        self, compiled: Compiled, values: np.ndarray, columns: np.ndarray, rows: np.ndarray, options: Options
    ) -> None:
        self.options = options
        self.count, self.present = len(columns), values[columns]
        self.cost = compiled.cost[columns]
        self.upper = np.where(compiled.tolerated, values, compiled.col_upper)[columns].astype(float)
        own = compiled.matrix[rows][:, columns]
        present = own @ values[columns]
        taken = compiled.matrix[rows] @ values - present
        # The plan's own service may be off its rows by rounding: it must be one of those to choose from.
        upper = np.maximum(compiled.row_upper[rows] - taken, present)
        upper = np.where(compiled.mendable[rows], present, upper)
        total = float(self.cost @ values[columns])
        self.rows = sparse.csr_matrix(sparse.vstack([own, sparse.csr_matrix(self.cost)]))
        self.row_lower = np.append(np.minimum(compiled.row_lower[rows] - taken, present), -np.inf)
        self.row_upper = np.append(upper, total + SAME_COST * max(1.0, abs(total)))
        self.lower = compiled.col_lower[columns].astype(float)

    def spread(self, shorts: list[int]) -> np.ndarray | None:
        """Values of the quarter's columns at the most even shares short; None where none were found."""
        solver = self._solver(shorts)
        first = self.rows.shape[0]
        active = dict(enumerate(shorts))
        while active:
            answer = run(solver, self.options.left())
            if answer.values is None or answer.row_dual is None:
                return None
            level = max(float(answer.values[self.count]), 0.0)
            if len(active) == len(shorts) and self._is_even(shorts, level):
                return self.present
            duals = np.abs(answer.row_dual[first:])
            stuck = [i for i in active if duals[i] > EVEN] if level > EVEN else list(active)
            for i in stuck or list(active):  # a share with a price on it cannot be less in any service of this level
                # A level is as exact as the solver: held to the last digit it may leave no service at all.
                solver.changeColBounds(active[i], 0.0, level + LEVEL_SLACK)
                solver.changeRowBounds(first + i, -INFINITY, INFINITY)
                del active[i]
        solver.changeColsCost(
            self.count + 1, np.arange(self.count + 1, dtype=np.int32), np.append(self.cost, 0.0).astype(float)
        )
        answer = run(solver, self.options.left())
        return None if answer.values is None else np.asarray(answer.values[: self.count])

    def _is_even(self, shorts: list[int], level: float) -> bool:
        """Whether the plan's own service is as even as can be: one share at the least level, all others none."""
        *others, largest = sorted(self.present[shorts])
        return level > EVEN and largest <= level + EVEN and all(share <= EVEN for share in others)

    def _solver(self, shorts: list[int]) -> Any:
        """A solver with θ as its last column and a row short[w] − θ ≤ 0 for each share."""
        count = len(shorts)
        below = sparse.csr_matrix((np.ones(count), (np.arange(count), np.array(shorts))), shape=(count, self.count))
        matrix = sparse.bmat([[self.rows, None], [below, sparse.csr_matrix(-np.ones((count, 1)))]])
        solver = new_solver(self.options)
        be_exact(solver)  # what it finds is the plan: dust beyond what master and quarters leave would not verify
        set_option(solver, "solver", "simplex")
        load(
            solver,
            sparse.csr_matrix(matrix),
            np.append(np.zeros(self.count), 1.0),
            (np.append(self.row_lower, np.full(count, -np.inf)), np.append(self.row_upper, np.zeros(count))),
            (np.append(self.lower, 0.0), np.append(self.upper, 1.0)),
        )
        return solver
