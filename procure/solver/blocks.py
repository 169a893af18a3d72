"""The service of one quarter: an LP given the fleet, and cuts that say how cost and shortfall depend on the fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from procure.solver.compile import Compiled
from procure.solver.highs import INFINITY, Options, load, new_solver, run, set_option


@dataclass(frozen=True)
class Cut:
    """constant + slope · x ≤ θ (or ≤ 0 where ``feasibility``), x the master columns."""

    block: int
    constant: float
    slope: np.ndarray
    feasibility: bool

    def value(self, x: np.ndarray) -> float:
        """Left-hand side at a point."""
        return self.constant + float(self.slope @ x)


@dataclass(frozen=True)
class Outcome:
    """What a block says at a fleet: ``cost`` and ``values`` where it can be served, else the ``excess`` shortfall."""

    cut: Cut
    cost: float | None
    values: np.ndarray | None
    excess: float


def find_blocks(compiled: Compiled) -> list[tuple[np.ndarray, np.ndarray]]:
    """Columns and rows of each part that is independent of the others once the master columns are fixed."""
    free = np.flatnonzero(~compiled.master)
    incidence = compiled.matrix[:, free]
    rows = incidence.shape[0]
    graph = sparse.bmat([[None, incidence != 0], [(incidence != 0).T, None]])
    _, label = csgraph.connected_components(graph, directed=False)
    blocks = []
    for number in np.unique(label[rows:]):
        blocks.append((free[label[rows:] == number], np.flatnonzero(label[:rows] == number)))
    return blocks


def _least(cost: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Least of cost · x within bounds."""
    used = cost != 0.0
    return float(np.minimum(cost[used] * lower[used], cost[used] * upper[used]).sum())


class InfeasibleBlock(Exception):
    """A service that no shortfall can mend: the fleet breaks a rule on its own."""

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__("a quarter has no service at this fleet whatever the shortfall")
        self.rows = rows


class Block:
    """One independent part, kept ready in the solver for many fleets."""

    def __init__(
        self, number: int, compiled: Compiled, columns: np.ndarray, rows: np.ndarray, cost: np.ndarray, options: Options
    ) -> None:
        self.number = number
        self.columns, self.rows = columns, rows
        part = compiled.matrix[rows]
        self._master_part = part[:, np.flatnonzero(compiled.master)]
        own = part[:, columns]
        elastic = np.where(compiled.elastic[rows], -1.0, 0.0).reshape(-1, 1)
        measured = np.abs(self._master_part[compiled.elastic[rows]]).sum(axis=0)
        self.short_columns = np.flatnonzero(measured)
        """Positions among the master columns that give this block its shortfall."""
        self._matrix = sparse.csr_matrix(sparse.hstack([own, sparse.csr_matrix(elastic)]))
        self._bounds = compiled.row_lower[rows], compiled.row_upper[rows]
        lower = np.append(compiled.col_lower[columns], 0.0)
        self._cheapest = self._solver(
            np.append(cost[columns], 0.0), lower, np.append(compiled.col_upper[columns], 0.0), options
        )
        self._least_short = self._solver(
            np.append(np.zeros(len(columns)), 1.0), lower, np.append(compiled.col_upper[columns], INFINITY), options
        )
        self._all = np.arange(len(rows), dtype=np.int32)
        self.floor = _least(cost[columns], compiled.col_lower[columns], compiled.col_upper[columns])
        """A value that the cost of this block is never below, from the bounds of its columns alone; may be −inf."""

    def _solver(self, cost: np.ndarray, lower: np.ndarray, upper: np.ndarray, options: Options) -> Any:
        solver = new_solver(options)
        set_option(solver, "solver", "simplex")
        load(solver, self._matrix, cost, self._bounds, (lower, upper))
        return solver

    def _run(self, solver: Any, x: np.ndarray) -> Any:
        taken = self._master_part @ x
        lower, upper = self._bounds
        solver.changeRowsBounds(len(self._all), self._all, lower - taken, upper - taken)
        answer = run(solver)
        if answer.status == "optimal":
            return answer
        # A warm start from another fleet can leave the simplex stuck on tolerances, and presolve can take a fleet of
        # 1e-11 units for a contradiction: once more from nothing and without it.
        solver.clearSolver()
        set_option(solver, "presolve", "off")
        answer = run(solver)
        set_option(solver, "presolve", "choose")
        return answer

    def shortfall(self, x: np.ndarray) -> Outcome:
        """The least excess shortfall at a fleet and the feasibility cut it gives."""
        answer = self._run(self._least_short, x)
        if answer.status != "optimal":
            raise InfeasibleBlock(self.rows)
        cut = self._cut(answer, x, feasibility=True)
        return Outcome(cut, None, answer.values[:-1], float(answer.objective))

    def serve(self, x: np.ndarray) -> Outcome:
        """The cheapest service at a fleet, or the least excess shortfall where it cannot be served."""
        answer = self._run(self._cheapest, x)
        if answer.status != "optimal":
            return self.shortfall(x)
        return Outcome(self._cut(answer, x, feasibility=False), float(answer.objective), answer.values[:-1], 0.0)

    def _cut(self, answer: Any, x: np.ndarray, feasibility: bool) -> Cut:
        slope = -(self._master_part.T @ answer.row_dual)
        slope[np.abs(slope) < 1e-11] = 0.0
        return Cut(self.number, float(answer.objective) - float(slope @ x), slope, feasibility)
