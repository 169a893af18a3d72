"""A Pyomo program as arrays: what HiGHS and the decomposition work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy import sparse

from procure.plan.status import SERVED
from procure.program import Program
from procure.program.declare import Rows, block_of, declaration
from procure.timekey import TimeKey

STANDING = "always[0]"
"""The column, fixed at 1, with the cost of what stands and is on firm order."""
MOST_SHORT_GAP = 1e4 * SERVED
"""Basis points of the weighted planned demand by which a least shortfall may lie above its bound: as a share of demand,
what counts as served of each workload."""
MOST_SHORT_TOLERANCE = 1e-2
LEAST_SHORT_TOLERANCE = 1e-4
"""Basis points of the weighted planned demand; less is beyond what a search in whole numbers can prove."""


@dataclass(frozen=True)
class Compiled:
    """min c·x subject to row_lower ≤ A·x ≤ row_upper, col_lower ≤ x ≤ col_upper, some x integer.

    ``cost`` (M USD) and ``shortfall`` (basis points of weighted planned demand) are the two objectives. The rest is
    what variables and rows were declared to be (:mod:`procure.program.declare`): ``column_block`` and ``row_block`` are
    positions in ``blocks``, or -1 for what is decided first; ``helps`` is 1 where more of a first-stage column only
    loosens the rows of blocks, -1 where it only tightens them; ``counting`` marks integer columns that only add up
    others; ``tolerated`` the columns of what may go unserved and count as served; ``mendable`` the rows that a fleet
    may break, and ``mends`` the first-stage columns that make up for it, one for one.
    """

    matrix: sparse.csr_matrix
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integer: np.ndarray
    counting: np.ndarray
    helps: np.ndarray
    tolerated: np.ndarray
    mendable: np.ndarray
    mends: np.ndarray
    column_block: np.ndarray
    row_block: np.ndarray
    blocks: list[TimeKey]
    cost: np.ndarray
    shortfall: np.ndarray
    columns: list[str]
    rows: list[str]
    keys: list[tuple[str, tuple[Any, ...]]]
    """Family (name of the component) and index of each row."""
    variables: list[Any]

    @property
    def master(self) -> np.ndarray:
        """Columns of the first stage, given which the rest falls apart into independent blocks."""
        return self.column_block < 0

    @property
    def standing(self) -> float:
        """M USD that no decision moves: of what stands and is on firm order."""
        return float(self.cost[[name == STANDING for name in self.columns]].sum())

    @property
    def short_tolerance(self) -> float:
        """Basis points within which two shortfalls are the same.

        A hundredth at most, and no more than what counts as served of the smallest workload: else all of a small one
        could be dropped for nothing as soon as anything is short.
        """
        return float(min(MOST_SHORT_TOLERANCE, max(SERVED * self._smallest, LEAST_SHORT_TOLERANCE)))

    @property
    def short_gap(self) -> float:
        """Basis points of shortfall at which a least shortfall that is hard to prove is near enough.

        :data:`MOST_SHORT_GAP`, or half of the smallest workload of a quarter where that is less, so that none is given
        up for it; never less than what is told apart.
        """
        return float(max(min(MOST_SHORT_GAP, self._smallest / 2), self.short_tolerance))

    @property
    def _smallest(self) -> float:
        """Basis points that the smallest workload of a block weighs."""
        weights = self.matrix[np.flatnonzero(self.mendable)].data
        return float(weights[weights > 0].min(initial=np.inf))

    def column(self, variable: Any) -> int:
        """Position of a Pyomo variable, or -1 where no row or objective mentions it."""
        return self._position.get(id(variable), -1)

    @property
    def _position(self) -> dict[int, int]:
        positions = self.__dict__.get("_positions")
        if positions is None:
            positions = {id(v): i for i, v in enumerate(self.variables)}
            object.__setattr__(self, "_positions", positions)
        return positions


def compile_program(program: Program) -> Compiled:
    """Turn a program into arrays."""
    model = program.model
    form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    names = [objective.name for objective in form.objectives]
    objectives = form.c.toarray()
    rhs = np.asarray(form.rhs, dtype=float)
    sense = np.array([row.bound_type for row in form.rows], dtype=int)
    blocks = program.index.blocks
    position: dict[TimeKey | None, int] = {None: -1, **{at: i for i, at in enumerate(blocks)}}
    said = [declaration(v.parent_component()) for v in form.columns]
    rows = [row.constraint for row in form.rows]
    matrix = sparse.csr_matrix(form.A)
    column_block = np.array([position[block_of(v)] for v in form.columns], dtype=int)
    row_block = np.array([position[block_of(row)] for row in rows], dtype=int)
    lower = np.array([-np.inf if v.lb is None else v.lb for v in form.columns], dtype=float)
    upper = np.array([np.inf if v.ub is None else v.ub for v in form.columns], dtype=float)
    return Compiled(
        matrix=matrix,
        row_lower=np.where(sense <= 0, rhs, -np.inf),
        row_upper=np.where(sense >= 0, rhs, np.inf),
        col_lower=lower,
        col_upper=upper,
        integer=np.array([v.is_integer() or v.is_binary() for v in form.columns], dtype=bool),
        counting=np.array([decision.counts for decision in said], dtype=bool),
        helps=np.array([decision.more for decision in said], dtype=int)
        * ~_named(form.columns, rows, matrix, lambda row: row.against),
        tolerated=np.array([decision.tolerated for decision in said], dtype=bool),
        mendable=np.array([declaration(row.parent_component()).mended_by != "" for row in rows], dtype=bool),
        mends=_named(form.columns, rows, matrix, lambda row: (row.mended_by,) if row.mended_by else ()),
        column_block=column_block,
        # A row over the fleet alone is the master's, of whatever block it is.
        row_block=np.where(abs(matrix) @ (column_block >= 0) > 0, row_block, -1),
        blocks=blocks,
        cost=objectives[names.index("cost")],
        shortfall=objectives[names.index("shortfall")],
        columns=[v.name for v in form.columns],
        rows=[row.name for row in rows],
        keys=[_key(row) for row in rows],
        variables=list(form.columns),
    )


def _named(
    columns: list[Any], rows: list[Any], matrix: sparse.csr_matrix, names: Callable[[Rows], tuple[str, ...]]
) -> np.ndarray:
    """Which columns stand in a row whose declaration names their variable."""
    found = np.zeros(len(columns), dtype=bool)
    for i, row in enumerate(rows):
        for name in names(declaration(row.parent_component())):
            for j in matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]:
                found[j] |= columns[j].parent_component().local_name == name
    return found


def _key(constraint: Any) -> tuple[str, tuple[Any, ...]]:
    index = constraint.index()
    return constraint.parent_component().local_name, index if isinstance(index, tuple) else (index,)


@dataclass(frozen=True)
class Limited:
    """A program with its total shortfall held: one more row, and bounds on its columns as the stage has them."""

    matrix: sparse.csr_matrix
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_upper: np.ndarray


def tolerates(most_short: float | None) -> bool:
    """Whether a stage may leave unserved what counts as served: where all is to be served, and only there.

    Where something must go short, every share of it is counted, so that the least shortfall is what it says.
    """
    return most_short == 0.0


def limited(compiled: Compiled, most_short: float | None) -> Limited:
    """The program of a stage that holds the total shortfall to a most, or does not hold it."""
    upper = compiled.col_upper.copy()
    if not tolerates(most_short):
        upper[compiled.tolerated] = 0.0
    if most_short is None:
        return Limited(compiled.matrix, compiled.row_lower, compiled.row_upper, upper)
    total = sparse.csr_matrix((compiled.shortfall != 0).astype(float))
    matrix = sparse.csr_matrix(sparse.vstack([compiled.matrix, total]))
    return Limited(matrix, np.append(compiled.row_lower, -np.inf), np.append(compiled.row_upper, most_short), upper)
