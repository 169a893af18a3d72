"""The relaxation of a stage, never solved whole: cuts from the quarters until the master's bound is as high.

They begin with what each quarter would want alone. Then the quarters are asked about the master's points, which are too
cheap, and once a point is known that fits all limits and can be served, about points between (in-out): their cuts are
deeper.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from procure.solver.blocks import Block, Cut, Outcome
from procure.solver.compile import limited
from procure.solver.highs import Answer, be_exact, load, new_solver, run, set_option
from procure.solver.master import Master
from procure.solver.split import Split

Learn = Callable[[list[Outcome], np.ndarray, np.ndarray], int]
WEIGHT = 0.5
"""How far from the point inside towards the master's point the relaxation looks for cuts."""
PATIENCE_OUTSIDE = 8
"""Masters of the relaxation that may pass without the bound moving much while no point inside is known."""


def ask_alone(split: Split, most_short: float | None) -> tuple[list[Cut], bool]:
    """Cuts from what quarters would want, each alone, and whether every one can be served by some fleet.

    They are the optima of the relaxations that have the first stage and the service of one quarter alone. What a
    quarter wants at one most shortfall serves it at a greater one as well: only the others are asked again.
    """
    asked = split.each(lambda block: None if block.number in split.wants else _alone(split, block, most_short))
    cuts, servable = [], True
    for block, answer in zip(split.blocks, asked, strict=True):
        if answer is None:
            continue
        servable &= answer.status != "infeasible"
        if answer.values is not None:
            split.wants[block.number] = answer.values[: len(split.columns)]
        if answer.row_dual is not None:
            cut = block.cut(answer.row_dual[: len(block.rows)], feasibility=False)
            cuts += [] if cut is None else [cut]
    return cuts, servable


def wanted(split: Split) -> np.ndarray | None:
    """The most that any quarter wants of what helps, and the least of what hurts; None where some are not known."""
    if len(split.wants) < len(split.blocks):
        return None
    mine = split.columns
    helps = split.compiled.helps[mine]
    point = np.where(helps < 0, split.compiled.col_upper[mine], split.compiled.col_lower[mine])
    for block in split.blocks:
        met, x = block.met, split.wants[block.number]
        point[met] = np.where(helps[met] < 0, np.minimum(point[met], x[met]), np.maximum(point[met], x[met]))
    return point


def _alone(split: Split, block: Block, most_short: float | None) -> Answer:
    """By interior point without crossover, since no cut needs exact duals; that there is no point, by the simplex."""
    compiled = split.compiled
    stage = limited(compiled, most_short)
    held = np.arange(len(compiled.rows), len(stage.row_upper))
    rows, columns = np.concatenate([block.rows, split.rows, held]), np.concatenate([split.columns, block.columns])
    matrix = sparse.csr_matrix(stage.matrix[rows][:, columns])

    def ask(method: str) -> Answer:
        solver = new_solver(split.options)
        set_option(solver, "solver", method)
        set_option(solver, "run_crossover", "off")
        if method == "simplex":
            be_exact(solver)
        bounds = compiled.col_lower[columns], stage.col_upper[columns]
        load(solver, matrix, compiled.cost[columns], (stage.row_lower[rows], stage.row_upper[rows]), bounds)
        return run(solver, split.options.left())

    answer = ask("ipx")
    return ask("simplex") if answer.status == "infeasible" else answer


class Relaxation:
    """A run of it for one master: its bound, and a point ``inside`` that can be served, at ``value``."""

    def __init__(self, split: Split, master: Master, learn: Learn, tell: Callable[[float], None]) -> None:
        """``learn`` is told what quarters say and counts the cuts that were missing, ``tell`` the bound as it rises."""
        self.split, self.master, self.learn, self.tell = split, master, learn, tell
        self.counts = master.objective == "shortfall"
        self.bound = -float("inf")
        self.inside: np.ndarray | None = None
        self.value = float("inf")

    def solve(self, near: float, little: float, patience: int, reserve: float = 0.0) -> bool:
        """Collect cuts until the bound is near the value of the point inside, or stalls; False if there is no point.

        A bound stalls that moves by ``little`` or less in ``patience`` masters, more while no point inside is
        known and perhaps there is none: masters in whole numbers find missing cuts faster than the relaxation's tail.
        ``near`` and ``little`` are relative to cost, or in basis points of shortfall. It ends as well with no more than
        ``reserve`` wall seconds left.
        """
        weight = WEIGHT
        bounds: list[float] = []
        while self.split.options.left() > reserve:
            found = self.master.relaxed()
            if found.status == "infeasible":
                return False
            if found.x is None or found.theta is None:
                return True
            self.bound = max(self.bound, -float("inf") if found.bound is None else found.bound)
            self.tell(self.bound)
            bounds.append(self.bound)
            size = 1.0 if self.counts else abs(self.bound)
            last = patience if self.inside is not None else PATIENCE_OUTSIDE
            stalled = len(bounds) > last and bounds[-1] - bounds[-1 - last] <= little * size
            if stalled or self.value - self.bound <= near * size:
                return True
            known = self.inside is not None
            new = self._ask(found.x, found.theta, weight)
            if not new and (weight >= 1.0 or not known):
                return True
            weight = WEIGHT if new else 1.0
        return True

    def _ask(self, outside: np.ndarray, theta: np.ndarray, weight: float) -> int:
        """Ask the quarters about a point between the master's and the one inside; cuts learnt."""
        point = outside if self.inside is None else weight * outside + (1.0 - weight) * self.inside
        outcomes = self.split.evaluate(point, self.master.objective)
        new = self.learn(outcomes, outside, theta)
        counted = self.counts and all(np.isfinite(o.excess) for o in outcomes)
        if counted:
            point = self.split.with_excess(point, outcomes)
        if counted or all(o.cost is not None for o in outcomes):
            self.inside = point
            self.value = float(self.master.cost[: len(point)] @ point) + sum(o.cost or 0.0 for o in outcomes)
        return new
