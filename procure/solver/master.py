"""The master of the decomposition: the fleet and its money, with cuts for the service of each quarter."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from procure.solver.blocks import Block, Cut
from procure.solver.compile import Compiled
from procure.solver.highs import INFINITY, Answer, Options, be_exact, load, new_solver, run, set_option

PROVEN_SHORT = 1e-5
"""Basis points within which a least shortfall is proven."""
MINOR_SHARE = 0.002
"""An integer whose unit costs less than this share of the objective may be fractional in the first masters."""
WHOLE = 1e-6
"""How far below a whole number a value may be and count as that number."""
STALE = 1e-7
"""Relative distance between an answer's objective and what its values cost at which they do not belong together."""
POLISH_SECONDS = 5.0
"""CPU seconds for making minor integers whole beside a fleet whose major ones are fixed."""


@dataclass(frozen=True)
class Proposal:
    """A point of the master: the fleet ``x`` (integers whole), what it thinks each block costs, and a valid bound.

    ``reach`` is what the bound could at most become with integers as whole as they were: with more time, no higher.
    """

    status: str
    x: np.ndarray | None
    theta: np.ndarray | None
    bound: float | None
    reach: float = INFINITY


class Master:
    """Columns of the fleet (positions ``columns`` of the program) and one cost column per block, ready for many solves.

    ``objective`` is ``cost`` or ``shortfall``; ``most_short`` holds the total shortfall where it is given.
    """

    def __init__(
        self,
        compiled: Compiled,
        columns: np.ndarray,
        rows: np.ndarray,
        blocks: list[Block],
        objective: str,
        most_short: float | None,
        options: Options,
    ) -> None:
        self.options, self.objective = options, objective
        self.count, self.blocks = len(columns), len(blocks)
        counts = objective == "cost"
        own = (compiled.cost if counts else compiled.shortfall)[columns]
        self.cost = np.append(own, np.full(self.blocks, 1.0 if counts else 0.0))
        part = compiled.matrix[rows][:, columns]
        matrix = sparse.hstack([part, sparse.csr_matrix((part.shape[0], self.blocks))])
        lower, upper = compiled.row_lower[rows], compiled.row_upper[rows]
        self._held = len(lower)
        if most_short is not None:
            total = np.append((compiled.shortfall[columns] != 0.0).astype(float), np.zeros(self.blocks))
            matrix = sparse.vstack([matrix, sparse.csr_matrix(total)])
            lower, upper = np.append(lower, -np.inf), np.append(upper, most_short)
        floors = [block.floor if counts else 0.0 for block in blocks]
        self._lower = np.append(compiled.col_lower[columns], floors)
        self._upper = np.append(compiled.col_upper[columns], np.full(self.blocks, INFINITY))
        self.solver = new_solver(options)
        be_exact(self.solver)
        load(self.solver, sparse.csr_matrix(matrix), self.cost, (lower, upper), (self._lower, self._upper))
        self.integer = np.append(compiled.integer[columns], np.zeros(self.blocks, dtype=bool))
        self._feasibility: list[tuple[int, Cut, float]] = []
        self.listener: Callable[[float], None] | None = None
        """Told the bound while a search runs towards a bound that is enough."""
        self._counting = np.append(compiled.counting[columns], np.zeros(self.blocks, dtype=bool))
        bounds = compiled.row_lower[rows], compiled.row_upper[rows]
        self._counted = _counted(part, *bounds, compiled.counting[columns])

    def add(self, cut: Cut) -> None:
        """Add a cut, scaled so that its largest coefficient is one."""
        row = self.solver.getNumRow()
        index = np.flatnonzero(cut.tight)
        value = cut.tight[index]
        if not cut.feasibility:
            index, value = np.append(index, self.count + cut.block), np.append(value, -1.0)
        scale = cut.scale
        self.solver.addRow(-INFINITY, -cut.constant / scale, len(index), index.astype(np.int32), value / scale)
        if cut.feasibility:
            self._feasibility.append((row, cut, scale))

    def hold(self, most_short: float) -> None:
        """Hold the total shortfall to another most; for masters that hold it."""
        self.solver.changeRowBounds(self._held, -INFINITY, most_short)

    def relaxed(self) -> Proposal:
        """The optimum of the relaxation."""
        answer = self._run(np.zeros_like(self.integer), self.options.left())
        return self._proposal(answer, answer.objective if answer.status == "optimal" else None, whole=False)

    def whole(self, gap: float, cpu_s: float, enough: float, start: np.ndarray | None) -> Proposal:
        """A fleet in whole numbers within a gap; ``enough`` is a bound at which to stop, ``start`` an incumbent."""
        answer = self._search(self.integer, gap, cpu_s, enough, start)
        return self._proposal(answer, answer.bound, whole=True)

    def nearly_whole(self, gap: float, cpu_s: float, enough: float, start: np.ndarray | None, size: float) -> Proposal:
        """A fleet in whole numbers whose bound lets cheap units be fractional, which is proven several times faster.

        The major integers are solved for, then fixed, and the minor ones made whole beside them, or beside others
        within one unit. Without such a completion all integers are solved for. ``size`` is about what the whole costs:
        it says what is cheap.
        """
        major = self.integer & ~self._minor(size)
        if (major == self.integer).all():
            return self.whole(gap, cpu_s, enough, start)
        rough = self._search(major, gap, cpu_s, enough, start)
        if rough.values is None or (rough.bound is not None and rough.bound >= enough):
            return Proposal(rough.status, None, None, rough.bound)
        fixed = np.flatnonzero(major)
        at = np.round(rough.values[fixed])
        answer = self._search_within(fixed, at, at, gap / 4, POLISH_SECONDS)
        if answer.values is None:  # no whole numbers of minor ones beside exactly these
            low, high = np.maximum(self._lower[fixed], at - 1.0), np.minimum(self._upper[fixed], at + 1.0)
            answer = self._search_within(fixed, low, high, gap, POLISH_SECONDS)
        if answer.values is None:
            closer = self.whole(gap, cpu_s, enough, start)
            if closer.bound is None or rough.bound is None:
                return closer
            return replace(closer, bound=max(closer.bound, rough.bound))  # both hold, whichever ran out of time
        reach = INFINITY if rough.objective is None else rough.objective
        return replace(self._proposal(answer, rough.bound, whole=True), reach=reach)

    def no_worse(
        self, point: np.ndarray, helping: np.ndarray, hurting: np.ndarray, gap: float, cpu_s: float
    ) -> Proposal:
        """A fleet in whole numbers with no less than a point of columns that help, and no more of those that hurt.

        What a point can serve, such a fleet can serve too: this finds a first plan where limits leave room to round.
        """
        columns = np.append(helping, hurting)
        low, high = self._lower[columns], self._upper[columns]
        count = len(helping)
        low[:count] = np.clip(np.ceil(point[helping] - WHOLE), low[:count], high[:count])
        high[count:] = np.clip(np.floor(point[hurting] + WHOLE), low[count:], high[count:])
        answer = self._search_within(columns, low, high, gap, cpu_s)
        return self._proposal(answer, None, whole=True)

    def most_of(
        self, points: list[np.ndarray], met: list[np.ndarray], helping: np.ndarray, gap: float, cpu_s: float
    ) -> Proposal:
        """A fleet in whole numbers with as large a share of each of several points as limits leave room for.

            min c·x + Σ_b price·(1 − λ_b),   x_j ≥ λ_b·point_b[j],   0 ≤ λ_b ≤ 1

        for the columns j that help and that b has met; the price is ten times what the dearest point costs, so that
        only equal shares are chosen among by cost. Where what all want together is beyond a budget or a supply, each
        then has about a share of it. Its bound says nothing about the program.
        """
        price = 10.0 * max((abs(float(self.cost[: self.count] @ point)) for point in points), default=0.0)
        width, height = self.solver.getNumCol(), self.solver.getNumRow()
        for number, (point, mine) in enumerate(zip(points, met, strict=True)):
            self.solver.addCol(-price, 0.0, 1.0, 0, np.array([], dtype=np.int32), np.array([], dtype=float))
            for j in np.intersect1d(mine, helping):
                if point[j] > max(self._lower[j], WHOLE):
                    pair = np.array([j, width + number], dtype=np.int32)
                    self.solver.addRow(0.0, INFINITY, 2, pair, np.array([1.0, WHOLE - point[j]]))
        answer = self._search(np.append(self.integer, np.zeros(len(points), dtype=bool)), gap, cpu_s, INFINITY, None)
        rows, columns = np.arange(height, self.solver.getNumRow()), np.arange(width, self.solver.getNumCol())
        self.solver.deleteRows(len(rows), rows.astype(np.int32))
        self.solver.deleteCols(len(columns), columns.astype(np.int32))
        if answer.values is not None:
            answer = replace(answer, values=answer.values[:width])
        return self._proposal(answer, None, whole=True)

    def with_margin(self, margin: np.ndarray, gap: float, cpu_s: float) -> Proposal:
        """A fleet in whole numbers that keeps a margin from what is known not to serve.

        ``margin`` is in basis points of shortfall, per block: about what the last fleets were short of. The known cuts
        are not all, so that a fleet which just fulfils them is short again; one with some room is often not. Its bound
        says nothing about the program.
        """
        for row, cut, scale in self._feasibility:
            self.solver.changeRowBounds(row, -INFINITY, (-cut.constant - margin[cut.block]) / scale)
        answer = self._search(self.integer, gap, cpu_s, INFINITY, None)
        for row, cut, scale in self._feasibility:
            self.solver.changeRowBounds(row, -INFINITY, -cut.constant / scale)
        return self._proposal(answer, None, whole=True)

    def near(self, point: np.ndarray, units: float, gap: float, cpu_s: float) -> Proposal:
        """A fleet in whole numbers that differs from a whole point by at most some units in every integer column.

        Its bound says nothing about the program.
        """
        columns = np.flatnonzero(self.integer[: self.count])
        low = np.maximum(self._lower[columns], point[columns] - units)
        high = np.minimum(self._upper[columns], point[columns] + units)
        answer = self._search_within(columns, low, high, gap, cpu_s)
        return self._proposal(answer, None, whole=True)

    def _minor(self, size: float) -> np.ndarray:
        """Integer columns that are cheap against the objective, and those that only count them."""
        if self.objective != "cost" or not np.isfinite(size):
            return np.zeros_like(self.integer)
        price = np.abs(self.cost)
        cheap = self.integer & ~self._counting & (price > 0) & (price <= MINOR_SHARE * abs(size))
        counters = self._counted @ cheap[: self.count].astype(float) > 0
        return cheap | np.append(counters, np.zeros(self.blocks, dtype=bool))

    def _search_within(
        self, columns: np.ndarray, low: np.ndarray, high: np.ndarray, gap: float, cpu_s: float
    ) -> Answer:
        """The best whole fleet while some columns keep to narrower bounds."""
        index = columns.astype(np.int32)
        self.solver.changeColsBounds(len(index), index, low, high)
        answer = self._search(self.integer, gap, cpu_s, INFINITY, None)
        self.solver.changeColsBounds(len(index), index, self._lower[columns], self._upper[columns])
        return answer

    def _search(self, kinds: np.ndarray, gap: float, cpu_s: float, enough: float, start: np.ndarray | None) -> Answer:
        """The best point within a gap, or when a bound is enough; ``cpu_s`` of this process at most.

        CPU and not wall seconds: on a busy machine a search cut off by the clock finds no fleet, and the run that
        would have ended in seconds goes on for minutes.
        """
        set_option(self.solver, "mip_rel_gap", gap)
        set_option(self.solver, "mip_abs_gap", 1e-6 if self.objective == "cost" else PROVEN_SHORT)
        if start is not None:
            self.solver.setSolution(len(start), np.arange(len(start), dtype=np.int32), start)

        begun = time.process_time()

        def stop(event: Any) -> None:
            if self.listener is not None and np.isfinite(enough):
                self.listener(float(event.data_out.mip_dual_bound))
            # Said at every call: HiGHS keeps an interrupt from one run to the next. Without any fleet the bound is
            # infinite, which must end as infeasible and not as enough.
            proven = np.isfinite(enough) and event.data_out.mip_dual_bound >= enough
            over = proven or self.options.left() <= 0
            event.data_in.user_interrupt = bool(over or time.process_time() - begun >= cpu_s)

        self.solver.cbMipInterrupt.subscribe(stop)
        try:
            answer = self._run(kinds, self.options.left(), is_mip=True)
            if start is not None and self._stale(answer):
                self.solver.clearSolver()
                begun = time.process_time()
                answer = self._run(kinds, self.options.left(), is_mip=True)
            return answer
        finally:
            self.solver.cbMipInterrupt.unsubscribe(stop)

    def _stale(self, answer: Answer) -> bool:
        """Whether an answer's values are not those of its objective.

        HiGHS 1.16 can give back the start that it was given, with the objective of the better point to which presolve
        moved it: the fleet of the proven optimum is then never seen.
        """
        if answer.values is None or answer.objective is None:
            return False
        return abs(answer.objective - float(self.cost @ answer.values)) > STALE * max(1.0, abs(answer.objective))

    def _run(self, kinds: np.ndarray, seconds: float, is_mip: bool = False) -> Answer:
        index = np.arange(len(kinds), dtype=np.int32)
        self.solver.changeColsIntegrality(len(kinds), index, kinds.astype(np.uint8))
        return run(self.solver, seconds, is_mip=is_mip)

    def _proposal(self, answer: Answer, bound: float | None, whole: bool) -> Proposal:
        if answer.values is None:
            return Proposal(answer.status, None, None, bound)
        x = answer.values[: self.count].copy()
        if whole:  # the blocks must not see the solver's tolerance
            integer = self.integer[: self.count]
            x[integer] = np.round(x[integer])
        return Proposal(answer.status, x, answer.values[self.count :], bound)


def _counted(part: sparse.csr_matrix, lower: np.ndarray, upper: np.ndarray, counting: np.ndarray) -> sparse.csr_matrix:
    """Which columns each counting column adds up: those that share an equation with it. Shape (columns, columns)."""
    count = part.shape[1]
    equations = (part[np.flatnonzero(lower == upper)] != 0).astype(float)
    counter = sparse.diags(counting.astype(float))
    other = sparse.diags((~counting).astype(float))
    return sparse.csr_matrix(counter @ (equations.T @ equations) @ other, shape=(count, count))
