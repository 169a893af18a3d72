"""Of several equally good services of a block, the one in which the largest of some sums is least, then the next."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from scipy import sparse

from procure.solver.blocks import Part
from procure.solver.compile import Compiled
from procure.solver.highs import EXACT, INFINITY, Options, be_exact, load, new_solver, run, set_option

SAME = 1e-7
"""Sums that differ by less are the same; less than this is none."""
LEVEL_SLACK = 10.0 * EXACT
"""How much more than its level a sum may be while the next ones are lowered."""
SAME_COST = 1e-8
"""Relative to the cost of a block's service, what another service may cost more."""


class Services:
    """The services of a block at the plan's fleet that cost no more and leave no more short, weighted."""

    def __init__(
        self,
        compiled: Compiled,
        values: np.ndarray,
        part: Part,
        options: Options,
        free: Collection[int] | None = None,
    ) -> None:
        """Take the rows of a block with the fleet in them; ``free`` are positions of columns that may move, or all."""
        columns, rows = part.columns, part.rows
        self.options = options
        self.count, self.present = len(columns), values[columns]
        self.cost = compiled.cost[columns]
        self.lower = compiled.col_lower[columns].astype(float)
        self.upper = np.where(compiled.tolerated, values, compiled.col_upper)[columns].astype(float)
        if free is not None:
            held = np.ones(self.count, dtype=bool)
            held[list(free)] = False
            self.lower[held] = self.upper[held] = self.present[held]
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

    def lowest(
        self,
        sums: sparse.csr_matrix,
        last: np.ndarray | None = None,
        settled: Callable[[float], bool] = lambda level: False,
    ) -> np.ndarray | None:
        """Values of the block's columns at the lexicographic minimum of the sorted sums.

            min θ   subject to the block's rows, cost ≤ the plan's, weighted shortfall ≤ the plan's, sum[i] ≤ θ

        and again with the sums held that cannot be less. That minimum is unique, since the services of a block are a
        convex set.

        Args:
            sums: coefficients of the sums over the block's columns; none may be negative at any service.
            last: coefficients of what is least among the services that reach it; the cost if none are given.
            settled: whether the plan's own service is the one that is sought, once the least of the largest is known.

        Returns:
            the values; None where no time was left to find them.
        """
        solver = self._solver(sums)
        first, count = self.rows.shape[0], sums.shape[0]
        active = list(range(count))
        while active:
            answer = run(solver, self.options.left())
            if answer.values is None or answer.row_dual is None:
                return None
            level = max(float(answer.values[self.count]), 0.0)
            if len(active) == count and settled(level):
                return self.present
            duals = np.abs(answer.row_dual[first : first + count])
            stuck = [i for i in active if duals[i] > SAME] if level > SAME else []
            for i in stuck or list(active):  # a sum with a price on it cannot be less in any service of this level
                # A level is as exact as the solver: held to the last digit it may leave no service at all.
                solver.changeRowBounds(first + count + i, -INFINITY, level + LEVEL_SLACK)
                solver.changeRowBounds(first + i, -INFINITY, INFINITY)
                active.remove(i)
        weights = np.append(self.cost if last is None else last, 0.0).astype(float)
        solver.changeColsCost(self.count + 1, np.arange(self.count + 1, dtype=np.int32), weights)
        answer = run(solver, self.options.left())
        return None if answer.values is None else np.asarray(answer.values[: self.count])

    def _solver(self, sums: sparse.csr_matrix) -> Any:
        """A solver with θ as its last column; for each sum a row sum − θ ≤ 0, and one that holds it later."""
        count = sums.shape[0]
        theta = sparse.csr_matrix(-np.ones((count, 1)))
        matrix = sparse.bmat([[self.rows, None], [sums, theta], [sums, None]])
        solver = new_solver(self.options)
        be_exact(solver)  # what it finds is the plan: dust beyond what master and quarters leave would not verify
        set_option(solver, "solver", "simplex")
        load(
            solver,
            sparse.csr_matrix(matrix),
            np.append(np.zeros(self.count), 1.0),
            (
                np.append(self.row_lower, np.full(2 * count, -np.inf)),
                np.concatenate([self.row_upper, np.zeros(count), np.full(count, np.inf)]),
            ),
            (np.append(self.lower, 0.0), np.append(self.upper, np.inf)),
        )
        return solver
