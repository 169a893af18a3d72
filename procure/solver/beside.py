"""Plans beside a plan: another fleet, and another service of one block; every other block is served as it was.

They have so few columns that they are searched in whole units in a fraction of a second, where the whole program takes
minutes. What one of them serves can be served; where none does, nothing is said of all the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from procure.solver.compile import Compiled
from procure.solver.highs import Options, load, new_solver, run


class Rules(NamedTuple):
    """A program as a question puts it: ``rows`` and ``columns`` are lower and upper bounds."""

    matrix: sparse.csr_matrix
    rows: tuple[np.ndarray, np.ndarray]
    columns: tuple[np.ndarray, np.ndarray]


class Beside:
    """The plans beside one plan that differ in the service of one block, ready for many questions.

        L ≤ A·x + B·y ≤ U,   other blocks' columns as the plan has them

    for the fleet x (columns of the first stage) and the service y of the block. Rows and bounds that the plan itself
    breaks by a rounding are held where it leaves them.
    """

    def __init__(self, compiled: Compiled, rules: Rules, values: np.ndarray, block: int, options: Options) -> None:
        """``values`` are the plan's of all columns; ``block`` is the position of the block among the program's."""
        self._free = np.flatnonzero(compiled.master | (compiled.column_block == block))
        self._fleet = np.flatnonzero(compiled.master[self._free]).astype(np.int32)
        self._integer = compiled.integer[self._free]
        own = sparse.csr_matrix(rules.matrix[:, self._free])
        rows = np.flatnonzero(np.diff(own.indptr))
        self._matrix, mine = own[rows], values[self._free]
        present = (rules.matrix @ values)[rows]
        others = present - self._matrix @ mine
        (least, most), (lower, upper) = rules.rows, rules.columns
        self._rows = np.minimum(least[rows], present) - others, np.maximum(most[rows], present) - others
        self._columns = np.minimum(lower[self._free], mine), np.maximum(upper[self._free], mine)
        self._options = options
        self._parts: Any = None

    def serves(self, fleet: np.ndarray | None, column: int, most: float, seconds: float) -> bool:
        """Whether the block can have at most so much of a column with a fleet, or with any in parts of units."""
        if self._parts is None:
            self._parts = self._solver(None)
        solver, (place,) = self._parts, np.flatnonzero(self._free == column)
        lower, upper = (bound[self._fleet] if fleet is None else fleet for bound in self._columns)
        solver.changeColsBounds(len(self._fleet), self._fleet, lower, upper)
        solver.changeColCost(place, 1.0)
        answer = run(solver, seconds)
        solver.changeColCost(place, 0.0)
        return answer.status == "optimal" and answer.objective is not None and answer.objective <= most

    def fleet(self, column: int, most: float, seconds: float) -> np.ndarray | None:
        """A fleet in whole units with which the block has at most so much of a column; None where none was found."""
        solver, (place,) = self._solver(self._integer), np.flatnonzero(self._free == column)
        solver.changeColBounds(place, self._columns[0][place], most)
        answer = run(solver, seconds, is_mip=True)
        if answer.values is None:
            return None
        whole = self._integer[self._fleet]
        fleet = answer.values[self._fleet]
        return np.where(whole, np.round(fleet), fleet)

    def _solver(self, integer: np.ndarray | None) -> Any:
        solver = new_solver(self._options)
        load(solver, self._matrix, np.zeros(len(self._free)), self._rows, self._columns, integer)
        return solver
