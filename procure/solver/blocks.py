"""The service of one quarter: an LP given the fleet, and cuts that say how cost and shortfall depend on the fleet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from procure.solver.compile import Compiled
from procure.solver.highs import (
    EXACT,
    INFINITY,
    Answer,
    Basis,
    Options,
    OutOfTime,
    basis_of,
    be_exact,
    duals_at,
    load,
    new_solver,
    run,
    set_option,
)
from procure.timekey import TimeKey

NEGLIGIBLE = 1e-8
"""A breach of a feasibility cut that counts as none, in units of the column that mends it most: ten times what the
master may leave, so that no fleet is proposed twice for the sake of rounding."""
DUAL_ROUNDING = 1e-6
"""A reduced cost of the wrong sign that counts as none, M USD or basis points per unit of a column without a bound."""
DUAL_SLACK = 1e-4
"""The same at an optimum of the simplex, whose duals are off by rounding alone."""
MOST_PRICE = 1e3
"""M USD per basis point at most that the price on excess shortfall is, for the sake of the simplex."""


Proof = Basis | np.ndarray
"""What a cut follows from at whatever coefficients: the basis whose duals it has, or multipliers of the rows."""


@dataclass(frozen=True)
class Cut:
    """constant + slope · x ≤ θ (or ≤ 0 where ``feasibility``), x the master columns.

    ``most`` is what the left-hand side exceeds the right-hand side by at most, within the bounds of all columns,
    ``whole`` marks the integer columns whose least is zero, and ``proof`` is what the cut follows from. One unit of
    such a column need not mend more than that:

        slope_j ← max(slope_j, −most)   for whole columns

    turns down the same fleets in whole numbers. It bounds the slope where a unit is many times what is asked for (a
    rack for a request in ten days has 10¹² basis points), so that solvers' tolerances stay small against a shortfall.
    """

    block: int
    constant: float
    slope: np.ndarray
    feasibility: bool
    most: float
    whole: np.ndarray
    proof: Proof

    @cached_property
    def tight(self) -> np.ndarray:
        """The slope, with no more of a whole column than one unit of it can mend."""
        return np.where(self.whole, np.maximum(self.slope, -max(self.most, 0.0)), self.slope)

    def value(self, x: np.ndarray) -> float:
        """Left-hand side at a point."""
        return self.constant + float(self.tight @ x)

    def moved(self, further: float) -> Cut:
        """The cut that asks for more by so much."""
        return replace(self, constant=self.constant + further, most=self.most + further)

    @property
    def scale(self) -> float:
        """Largest coefficient, that of θ included."""
        largest = float(np.abs(self.tight).max(initial=0.0 if self.feasibility else 1.0))
        return largest if largest > 0.0 else 1.0


@dataclass(frozen=True)
class Outcome:
    """What a block says at a fleet: ``cost`` and ``values`` where it can be served, else the ``excess``.

    ``excess`` is the shortfall beyond what the master allows, in basis points: infinite where no shortfall mends what
    the fleet breaks. ``beside`` is a cut of cost at a fleet that cannot be served: what service would cost with excess
    at its price, which is no more than without.
    """

    cut: Cut
    cost: float | None
    values: np.ndarray | None
    excess: float
    beside: Cut | None = None


@dataclass(frozen=True)
class Part:
    """One block of a compiled program: its time key, and the positions of its columns and rows."""

    at: TimeKey
    columns: np.ndarray
    rows: np.ndarray


def parts_of(compiled: Compiled) -> list[Part]:
    """The blocks as declared, which are independent of each other once the first stage is fixed."""
    found = []
    for number, at in enumerate(compiled.blocks):
        columns = np.flatnonzero(compiled.column_block == number)
        if len(columns):
            found.append(Part(at, columns, np.flatnonzero(compiled.row_block == number)))
    return found


def _least(cost: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Least of cost · x within bounds."""
    used = cost != 0.0
    return float(np.minimum(cost[used] * lower[used], cost[used] * upper[used]).sum())


class Block:
    """One independent part, kept ready in the solver for many fleets."""

    def __init__(self, number: int, compiled: Compiled, part: Part, cost: np.ndarray, options: Options) -> None:
        self.number, self.at = number, part.at
        self.columns, self.rows = columns, rows = part.columns, part.rows
        matrix = compiled.matrix[rows]
        self._master_part = matrix[:, np.flatnonzero(compiled.master)]
        master = compiled.master
        self._master_bounds = compiled.col_lower[master], compiled.col_upper[master]
        self._whole = compiled.integer[master] & (compiled.col_lower[master] == 0.0)
        own = matrix[:, columns]
        mendable = compiled.mendable[rows]
        # Excess loosens a row as the column that mends it does: down from a most, up from a least.
        elastic = np.where(mendable, np.where(np.isfinite(compiled.row_upper[rows]), -1.0, 1.0), 0.0).reshape(-1, 1)
        measured = np.abs(self._master_part[mendable]).sum(axis=0)
        self.short_columns = np.flatnonzero(np.where(compiled.mends[compiled.master], measured, 0.0))
        """Positions among the master columns that mend what a fleet breaks: they give this block its shortfall."""
        self.met = np.flatnonzero(abs(self._master_part).sum(axis=0))
        """Positions of the master columns that stand in rows of this block."""
        self._matrix = sparse.csr_matrix(sparse.hstack([own, sparse.csr_matrix(elastic)]))
        self._bounds = compiled.row_lower[rows], compiled.row_upper[rows]
        self._lower = np.append(compiled.col_lower[columns], 0.0)
        self._upper = np.append(compiled.col_upper[columns], 0.0)
        self._tolerated = np.flatnonzero(compiled.tolerated[columns]).astype(np.int32)
        self._most_tolerated = self._upper[self._tolerated]
        self._options = options
        self._cost = np.append(cost[columns], 0.0)
        nothing = np.zeros(len(columns))
        upper = np.append(self._upper[:-1], INFINITY)
        self._cheapest = self._solver(np.append(cost[columns], self._price(mendable)), upper)
        self._least_short = self._solver(np.append(nothing, 1.0), upper)
        self._least_broken: Any = None
        self.floor = _least(cost[columns], compiled.col_lower[columns], compiled.col_upper[columns])
        """A value that the cost of this block is never below, from the bounds of its columns alone; may be −inf."""

    def _price(self, mendable: np.ndarray) -> float:
        """A price on excess shortfall that, as a rule, makes it dearer than any other way to serve, M USD per unit.

        Ten times what it takes to tolerate instead, of the workload where that is most. No bound hangs on it: where
        the price is too low, :meth:`serve` asks for the least excess.
        """
        part = sparse.csc_matrix(self._matrix[mendable][:, :-1])
        weight = np.asarray(np.abs(part).sum(axis=0)).ravel()
        weighed = weight[weight > 0.0]
        dearest = float(self._cost[self._tolerated].max(initial=0.0))
        return min(10.0 * dearest / float(weighed.min()), MOST_PRICE) if weighed.size else 0.0

    def _solver(self, cost: np.ndarray, upper: np.ndarray) -> Any:
        solver = new_solver(self._options)
        be_exact(solver)
        set_option(solver, "solver", "simplex")
        load(solver, self._matrix, cost, self._bounds, (self._lower, upper))
        return solver

    def tolerate(self, allowed: bool) -> None:
        """Let what counts as served be left unserved, or not."""
        self._upper[self._tolerated] = self._most_tolerated if allowed else 0.0
        low, most = self._lower[self._tolerated], self._upper[self._tolerated]
        for solver in (self._cheapest, self._least_short, self._least_broken):
            if solver is not None:
                solver.changeColsBounds(len(self._tolerated), self._tolerated, low, most)

    def _run(self, solver: Any, x: np.ndarray) -> Answer:
        taken = self._master_part @ x
        lower, upper = self._bounds
        index = np.arange(len(lower), dtype=np.int32)
        solver.changeRowsBounds(len(index), index, lower - taken, upper - taken)
        answer = run(solver, self._options.left())
        if answer.status not in ("optimal", "infeasible") and self._options.left() > 0:
            # A warm start from another fleet can leave the simplex stuck on tolerances: once more from nothing.
            solver.clearSolver()
            set_option(solver, "presolve", "off")
            answer = run(solver, self._options.left())
            set_option(solver, "presolve", "choose")
        if self._options.left() <= 0:
            raise OutOfTime
        return answer

    def serve(self, x: np.ndarray) -> Outcome:
        """The cheapest service at a fleet, or the least excess shortfall where it cannot be served.

        The cheapest is asked for with a price on excess, so that the simplex always has an answer and stays warm: it
        is lost for long on fleets that cannot serve when it must find out that there is none.
        """
        answer = self._run(self._cheapest, x)
        if answer.status == "optimal" and answer.values is not None and answer.values[-1] <= EXACT:
            return self._served(answer)
        priced = None if answer.row_dual is None else self.cut(answer.row_dual, False, DUAL_SLACK)
        if priced is not None:
            priced = replace(priced, proof=basis_of(self._cheapest))
        short = self.shortfall(x)
        if short.excess > NEGLIGIBLE * short.cut.scale:
            return replace(short, beside=priced)
        return self._with(short, x)

    def _with(self, short: Outcome, x: np.ndarray) -> Outcome:
        """The cheapest service with an excess that is rounding, since even presolve takes 1e-11 for a contradiction."""
        last = len(self.columns)
        self._cheapest.changeColBounds(last, 0.0, short.excess + NEGLIGIBLE * short.cut.scale)
        answer = self._run(self._cheapest, x)
        self._cheapest.changeColBounds(last, 0.0, INFINITY)
        if answer.status != "optimal":
            return short
        return self._served(answer)

    def shortfall(self, x: np.ndarray) -> Outcome:
        """The least excess shortfall at a fleet, or the least breach of all rows where no shortfall mends it."""
        answer = self._run(self._least_short, x)
        if answer.status != "optimal":
            return self.breach(x)
        assert answer.values is not None
        assert answer.objective is not None
        cut = self._cut(answer, True, basis_of(self._least_short))
        return Outcome(cut, None, answer.values[:-1], answer.objective)

    def breach(self, x: np.ndarray) -> Outcome:
        """The least breach of all rows together, each relative to its largest coefficient, and its feasibility cut."""
        if self._least_broken is None:
            self._least_broken = self._breakable()
        answer = self._run(self._least_broken, x)
        if answer.status != "optimal":
            raise RuntimeError(f"the rows of block {self.at.words} could not be loosened: HiGHS says {answer.status}")
        return Outcome(self._cut(answer, True), None, None, float("inf"))

    def _breakable(self) -> Any:
        """The block with every row elastic on both sides."""
        rows = self._matrix.shape[0]
        whole_rows = sparse.hstack([self._matrix[:, :-1], self._master_part])
        slack = sparse.diags(np.maximum(np.abs(whole_rows).max(axis=1).toarray().ravel(), 1e-9))
        solver = new_solver(self._options)
        be_exact(solver)
        set_option(solver, "solver", "simplex")
        count = len(self.columns)
        load(
            solver,
            sparse.csr_matrix(sparse.hstack([self._matrix[:, :-1], slack, -slack])),
            np.append(np.zeros(count), np.ones(2 * rows)),
            self._bounds,
            (
                np.append(self._lower[:-1], np.zeros(2 * rows)),
                np.append(self._upper[:-1], np.full(2 * rows, INFINITY)),
            ),
        )
        return solver

    def _served(self, answer: Answer) -> Outcome:
        assert answer.values is not None
        cost = float(self._cost @ answer.values)
        cut = self._cut(answer, False, basis_of(self._cheapest))
        return Outcome(cut, cost, answer.values[:-1], 0.0)

    def _cut(self, answer: Answer, feasibility: bool, basis: Basis | None = None) -> Cut:
        assert answer.row_dual is not None
        cut = self.cut(answer.row_dual, feasibility, DUAL_SLACK)
        if cut is None:
            raise RuntimeError(f"the duals of block {self.at.words} leave a column without a price")
        return cut if basis is None else replace(cut, proof=basis)

    def recall(self, proof: Proof, feasibility: bool) -> Cut | None:
        """The cut that a proof gives at the coefficients of this block, whatever those that it was found at.

        It is valid at any; how tight it is depends on how far they are. Duals of a basis move with the coefficients,
        so that as a rule few reduced costs are of the wrong sign; multipliers stay as they are.
        """
        if not isinstance(proof, Basis):
            return self.cut(proof, feasibility, DUAL_SLACK)
        duals = duals_at(self._least_short if feasibility else self._cheapest, proof)
        cut = self.cut(duals, feasibility, DUAL_SLACK) if np.isfinite(duals).all() else None
        return None if cut is None else replace(cut, proof=proof)

    def cut(self, multipliers: np.ndarray, feasibility: bool, slack: float = DUAL_ROUNDING) -> Cut | None:
        """The cut that any multipliers λ of the rows give, by weak duality.

            θ ≥ λ·(L where λ > 0, U where λ < 0) − (Bᵀλ)·x + Σ_j min(r_j·l_j, r_j·u_j),   r = c − Aᵀλ

        for a block min c·y, L ≤ A·y + B·x ≤ U, l ≤ y ≤ u; a multiplier whose side is infinite counts as zero, and for
        a feasibility cut c and θ are. Excess has no part in it. None where a column without a bound leaves no bound:
        where its reduced cost is of the wrong sign by more than ``slack``.
        """
        lower, upper = self._bounds
        side = np.where(multipliers > 0.0, lower, upper)
        held = np.isfinite(side)
        price = np.where(held, multipliers, 0.0)
        own = self._matrix[:, :-1]
        reduced = (0.0 if feasibility else self._cost[:-1]) - own.T @ price
        bound = np.where(reduced > 0.0, self._lower[:-1], self._upper[:-1])
        free = ~np.isfinite(bound)
        if np.abs(reduced[free]).max(initial=0.0) > slack:
            return None
        constant = float(price[held] @ side[held]) + float(reduced[~free] @ bound[~free])
        slope = -(self._master_part.T @ price)
        slope[np.abs(slope) < 1e-11] = 0.0
        lower, upper = self._master_bounds
        used = slope != 0.0
        most = constant + float(np.maximum(slope[used] * lower[used], slope[used] * upper[used]).sum())
        most -= 0.0 if feasibility else self.floor
        return Cut(self.number, constant, slope, feasibility, most, self._whole, multipliers)
