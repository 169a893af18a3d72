"""A Pyomo program as arrays: what HiGHS and the decomposition work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy import sparse

from procure.program import Program


@dataclass(frozen=True)
class Compiled:
    """min c·x subject to row_lower ≤ A·x ≤ row_upper, col_lower ≤ x ≤ col_upper, some x integer.

    ``cost`` (M USD) and ``shortfall`` (basis points of weighted planned demand) are the two objectives. ``counting``
    marks integer columns that only add up others; ``linking`` marks continuous columns that, with the integer ones, tie
    the quarters together; ``elastic`` marks the rows that
    measure shortfall, the only ones a service of a quarter may break for a price.
    """

    matrix: sparse.csr_matrix
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integer: np.ndarray
    counting: np.ndarray
    linking: np.ndarray
    elastic: np.ndarray
    cost: np.ndarray
    shortfall: np.ndarray
    columns: list[str]
    rows: list[str]
    keys: list[tuple[str, tuple[Any, ...]]]
    """Family (name of the component) and index of each row."""
    variables: list[Any]

    @property
    def master(self) -> np.ndarray:
        """Columns given which the rest falls apart into independent blocks."""
        return self.integer | self.linking

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
    counting = {id(v) for var in model.counting for v in var.values()}
    linking = {id(v) for var in model.linking for v in var.values()}
    lower = np.array([-np.inf if v.lb is None else v.lb for v in form.columns], dtype=float)
    upper = np.array([np.inf if v.ub is None else v.ub for v in form.columns], dtype=float)
    return Compiled(
        matrix=sparse.csr_matrix(form.A),
        row_lower=np.where(sense <= 0, rhs, -np.inf),
        row_upper=np.where(sense >= 0, rhs, np.inf),
        col_lower=lower,
        col_upper=upper,
        integer=np.array([v.is_integer() or v.is_binary() for v in form.columns], dtype=bool),
        counting=np.array([id(v) in counting for v in form.columns], dtype=bool),
        linking=np.array([id(v) in linking for v in form.columns], dtype=bool),
        elastic=np.array(
            [row.constraint.parent_component() is model.shortfall_of_quarter for row in form.rows], dtype=bool
        ),
        cost=objectives[names.index("cost")],
        shortfall=objectives[names.index("shortfall")],
        columns=[v.name for v in form.columns],
        rows=[row.constraint.name for row in form.rows],
        keys=[_key(row.constraint) for row in form.rows],
        variables=list(form.columns),
    )


def _key(constraint: Any) -> tuple[str, tuple[Any, ...]]:
    index = constraint.index()
    return constraint.parent_component().local_name, index if isinstance(index, tuple) else (index,)


def limited(compiled: Compiled, most_short: float | None) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
    """Matrix and row bounds with the total shortfall held to a most, as one more row."""
    if most_short is None:
        return compiled.matrix, compiled.row_lower, compiled.row_upper
    total = sparse.csr_matrix((compiled.shortfall != 0).astype(float))
    matrix = sparse.csr_matrix(sparse.vstack([compiled.matrix, total]))
    return matrix, np.append(compiled.row_lower, -np.inf), np.append(compiled.row_upper, most_short)
