"""The program solved as a master over the fleet with one cost-to-serve per quarter.

Given the integers and the few columns that tie quarters together, the service of each quarter is its own LP. The
master holds the fleet, the money and cuts from the quarters' duals: θ_b ≥ cost of serving quarter b, and cuts that
forbid fleets which cannot serve. The LP phase collects cuts for the relaxation at points between the master's answer
and one known to be servable (in-out); then the master is solved in integers and the quarters answer its fleets until
incumbent and bound meet. The bound is the master's: every cut is valid, so it bounds the whole program.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from procure.solver.blocks import Block, Cut, Outcome, find_blocks
from procure.solver.compile import Compiled
from procure.solver.highs import INFINITY, Answer, Options, load, new_solver, relative_gap, run, set_option

SHORT_TOLERANCE = 1e-2
"""Basis points of the weighted planned demand within which two shortfalls are the same."""
NO_EXCESS = 1e-5
"""Basis points of shortfall that are the solver's tolerance."""

ROUGH_GAP = 0.03
"""Relative gap of the first masters in integers."""
ROUGH_SECONDS = 10.0
"""Wall seconds that a master which need not be close may take."""


@dataclass(frozen=True)
class Solution:
    """The outcome of a stage: ``values`` of all columns (None without an incumbent), objective and bound in the
    stage's own unit; ``status`` is optimal, limit or infeasible."""

    status: str
    values: np.ndarray | None
    objective: float | None
    bound: float | None
    iterations: int = 0


class Decomposition:
    """A compiled program split into a master and blocks; cuts are kept between solves."""

    def __init__(self, compiled: Compiled, options: Options) -> None:
        self.compiled = compiled
        self.options = options
        self.columns = np.flatnonzero(compiled.master)
        parts = find_blocks(compiled)
        self.blocks = [Block(i, compiled, c, r, compiled.cost, options) for i, (c, r) in enumerate(parts)]
        taken = np.zeros(compiled.matrix.shape[0], dtype=bool)
        for _, rows in parts:
            taken[rows] = True
        self._rows = np.flatnonzero(~taken)
        self.cuts: list[Cut] = []
        self._workers = ThreadPoolExecutor(2)
        shorts = compiled.shortfall[self.columns] != 0.0
        self._shorts = np.flatnonzero(shorts)

    def solve(self, objective: str, most_short: float | None) -> Solution:
        """Least ``cost`` or least ``shortfall``, with a total shortfall of at most ``most_short`` where given."""
        return _Run(self, objective, most_short).solve()

    def evaluate(self, x: np.ndarray, objective: str) -> list[Outcome]:
        """What every block says at a fleet."""
        act = (lambda b: b.serve(x)) if objective == "cost" else (lambda b: b.shortfall(x))
        return list(self._workers.map(act, self.blocks))


class _Run:
    """One stage: a master for one objective."""

    def __init__(self, parent: Decomposition, objective: str, most_short: float | None) -> None:
        self.parent, self.objective, self.most_short = parent, objective, most_short
        compiled, options = parent.compiled, parent.options
        self.options = options
        count, blocks = len(parent.columns), len(parent.blocks)
        cost = compiled.cost if objective == "cost" else compiled.shortfall
        self.cost = np.append(cost[parent.columns], np.full(blocks, 1.0 if objective == "cost" else 0.0))
        rows = compiled.matrix[parent._rows][:, parent.columns]
        matrix = sparse.hstack([rows, sparse.csr_matrix((rows.shape[0], blocks))])
        lower, upper = compiled.row_lower[parent._rows], compiled.row_upper[parent._rows]
        if most_short is not None:
            total = np.zeros(count + blocks)
            total[parent._shorts] = 1.0
            matrix = sparse.vstack([matrix, sparse.csr_matrix(total)])
            lower, upper = np.append(lower, -np.inf), np.append(upper, most_short)
        self._load(sparse.csr_matrix(matrix), lower, upper, count, blocks)
        self.best: np.ndarray | None = None
        self.best_cost = float("inf")
        self.best_outcomes: list[Outcome] = []
        self.bound = -float("inf")
        for cut in parent.cuts:
            self._add(cut)

    def _load(self, matrix: sparse.csr_matrix, lower: np.ndarray, upper: np.ndarray, count: int, blocks: int) -> None:
        compiled, columns = self.parent.compiled, self.parent.columns
        self.solver = new_solver(self.options)
        floors = [block.floor if self.objective == "cost" else 0.0 for block in self.parent.blocks]
        low = np.append(compiled.col_lower[columns], floors)
        high = np.append(compiled.col_upper[columns], np.full(blocks, INFINITY))
        load(self.solver, matrix, self.cost, (lower, upper), (low, high))
        self.integer = np.append(compiled.integer[columns], np.zeros(blocks, dtype=bool))
        self.count = count
        self.blocks = blocks

    def _add(self, cut: Cut) -> None:
        index = np.flatnonzero(cut.slope)
        value = cut.slope[index]
        if not cut.feasibility:
            index, value = np.append(index, self.count + cut.block), np.append(value, -1.0)
        scale = np.abs(value).max() if len(value) else 1.0
        self.solver.addRow(-INFINITY, -cut.constant / scale, len(index), index.astype(np.int32), value / scale)

    def _learn(self, outcomes: list[Outcome], x: np.ndarray, theta: np.ndarray) -> int:
        """Keep the cuts that the master's own point breaks; the number of them."""
        new = 0
        for outcome in outcomes:
            cut = outcome.cut
            limit = 0.0 if cut.feasibility else theta[cut.block]
            tolerance = NO_EXCESS if cut.feasibility else 1e-6 * max(1.0, abs(limit))
            if cut.value(x) > limit + tolerance:
                self.parent.cuts.append(cut)
                self._add(cut)
                new += 1
        return new

    def _with_excess(self, x: np.ndarray, outcomes: list[Outcome]) -> np.ndarray:
        """The same fleet with the shortfall that its quarters turn out to need."""
        served = x.copy()
        for block, outcome in zip(self.parent.blocks, outcomes, strict=True):
            served[block.short_columns] += outcome.excess
        return served

    def _offer(self, x: np.ndarray, outcomes: list[Outcome]) -> None:
        """Take a fleet as incumbent if it can be served within the shortfall allowed."""
        served = self._with_excess(x, outcomes)
        if any(o.excess > NO_EXCESS for o in outcomes) and self.objective == "cost":
            if self.most_short is None or served[self.parent._shorts].sum() > self.most_short:
                return
            outcomes = self.parent.evaluate(served, "cost")
            if any(o.cost is None for o in outcomes):
                return
        total = float(self.cost[: self.count] @ served)
        if self.objective == "cost":
            total += sum(o.cost or 0.0 for o in outcomes)
        if total < self.best_cost:
            self.best, self.best_cost, self.best_outcomes = served, total, outcomes

    def _master(self, mip: bool, seconds: float, gap: float = 0.0) -> Answer:
        kinds = self.integer if mip else np.zeros_like(self.integer)
        index = np.arange(len(kinds), dtype=np.int32)
        self.solver.changeColsIntegrality(len(kinds), index, kinds.astype(np.uint8))
        if mip:
            set_option(self.solver, "mip_rel_gap", gap)
            set_option(self.solver, "mip_abs_gap", 1e-6 if self.objective == "cost" else NO_EXCESS)
            if self.best is not None:
                self._start_from_best()
        return run(self.solver, seconds, is_mip=mip)

    def _start_from_best(self) -> None:
        """Offer the incumbent to the master, with what its quarters cost."""
        assert self.best is not None
        costs = np.array([o.cost or 0.0 for o in self.best_outcomes])
        values = np.append(self.best, costs if self.objective == "cost" else np.zeros(self.blocks))
        self.solver.setSolution(len(values), np.arange(len(values), dtype=np.int32), values)

    def _gap(self) -> float:
        if self.best is None:
            return float("inf")
        if self.objective == "shortfall":
            return max(0.0, self.best_cost - self.bound)
        return relative_gap(self.best_cost, self.bound)

    def _target(self) -> float:
        return SHORT_TOLERANCE if self.objective == "shortfall" else self.options.gap

    def solve(self) -> Solution:
        """LP phase, then integers.

        The master is first solved roughly: its fleets need not be the best to show which cuts are missing. It is solved
        more closely each time its fleet turns out to be what the quarters say.
        """
        outcome = self._relaxation()
        if outcome is not None:
            return outcome
        iterations = 0
        aim = ROUGH_GAP
        while self._gap() > self._target() and self.options.left() > 0:
            iterations += 1
            rough = aim > self._closest()
            answer = self._master(True, min(self.options.left(), ROUGH_SECONDS if rough else INFINITY), aim)
            if answer.values is None and answer.status == "limit":
                answer = self._master(True, self.options.left(), 1.0)
            if answer.status == "infeasible":
                return Solution("infeasible", None, None, None, iterations)
            if answer.bound is not None:
                self.bound = max(self.bound, answer.bound)
            if answer.values is None:
                break
            x, theta = self._integral(answer.values[: self.count]), answer.values[self.count :]
            new = self._visit(x, theta)
            self.options.report(self.objective, self._incumbent(), self.bound)
            if self._gap() <= self._target():
                break
            if self.best is not None and new:
                self._visit(x, theta, 0.5 * (x + self.best))
            elif not new:
                if aim <= self._closest():
                    break
                aim = max(aim / 4, self._closest())
        return self._finish(iterations)

    def _closest(self) -> float:
        """The relative gap of the master that leaves room for the cuts' own tolerance."""
        return 0.0 if self.objective == "shortfall" else self.options.gap / 3

    def _visit(self, x: np.ndarray, theta: np.ndarray, point: np.ndarray | None = None) -> int:
        """Ask the blocks about a fleet of the master, or about a point beside it for deeper cuts; cuts learnt."""
        outcomes = self.parent.evaluate(x if point is None else point, self.objective)
        new = self._learn(outcomes, x, theta)
        if point is None:
            self._offer(x, outcomes)
        return new

    def _integral(self, x: np.ndarray) -> np.ndarray:
        """The master's fleet with integers made whole, so that blocks see no tolerance."""
        whole = x.copy()
        whole[self.integer[: self.count]] = np.round(whole[self.integer[: self.count]])
        return whole

    def _relaxation(self) -> Solution | None:
        """Collect cuts for the relaxation, between the master's point and one that can be served."""
        inside: np.ndarray | None = None
        weight = 0.5
        while self.options.left() > 0:
            answer = self._master(False, self.options.left())
            if answer.status == "infeasible":
                return Solution("infeasible", None, None, None)
            if answer.values is None:
                return None
            self.bound = max(self.bound, float(answer.objective or 0.0))
            outside, theta = answer.values[: self.count], answer.values[self.count :]
            point = outside if inside is None else weight * outside + (1 - weight) * inside
            outcomes = self.parent.evaluate(point, self.objective)
            new = self._learn(outcomes, outside, theta)
            self.options.report(f"{self.objective} relaxation", self._incumbent(), self.bound)
            if self.objective == "shortfall":
                point = self._with_excess(point, outcomes)
            if self.objective == "shortfall" or all(o.excess <= NO_EXCESS for o in outcomes):
                inside = point
                reached = float(self.cost[: self.count] @ point) + sum(o.cost or 0.0 for o in outcomes)
                near = self.options.gap / 20 * abs(reached) if self.objective == "cost" else SHORT_TOLERANCE / 10
                if reached - self.bound <= near:
                    return None
            if not new and (inside is None or weight >= 1.0):
                return None
            weight = 0.5 if new else 1.0
        return None

    def _incumbent(self) -> float | None:
        return self.best_cost if self.best is not None else None

    def _finish(self, iterations: int) -> Solution:
        if self.best is None:
            return Solution("limit", None, None, self.bound, iterations)
        compiled = self.parent.compiled
        values = np.zeros(len(compiled.columns))
        x = self.best.copy()
        values[self.parent.columns] = x
        for block, outcome in zip(self.parent.blocks, self.best_outcomes, strict=True):
            values[block.columns] = outcome.values
        status = "optimal" if self._gap() <= self._target() else "limit"
        return Solution(status, values, self.best_cost, min(self.bound, self.best_cost), iterations)
