"""Which of several services of a fleet a plan shows: the one that moves least to other hardware between quarters.

Given the fleet, many services cost nearly the same, and the cheapest may take a pool out of use for a quarter and back.
With whole numbers, shortfall and, but for a stated part, cost held, what is left is one linear program over all blocks.
A dual simplex has no service before it has the best one, which on a case of many workloads takes it many times as long
as the search. An interior point comes near the best in a fraction of that, but keeps rows only nearly: each block then
is made exact by a linear program of its own, which keeps to what the blocks beside it are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from procure.instance.tables import PlacedBefore
from procure.program import Program
from procure.schema import Role
from procure.solver.blocks import Part, parts_of
from procure.solver.compile import Compiled
from procure.solver.highs import Options, be_exact, load, new_solver, run, run_inside, set_option
from procure.timekey import TimeKey

WHOLE_MOVE = 100.0
"""How many times the most that may be given up a whole workload that moves counts as: what moves in the end is within a
hundredth of a workload of the least, and of services that move as little the cheapest is taken."""
SHARE_INSIDE = 0.7
"""Of the time, what the interior point may take: the rest is for the blocks, of which each is quick."""
SWEEPS = 2
"""Times that all blocks are asked again once they are exact, from the last to the first and back."""
DUST = 1e-3
"""Shares below this in what an interior point says are none: it leaves a little of everything everywhere, and blocks
would keep it, since what is there a quarter before moves nothing."""
SAME_MOVED = 1e-6
"""Workloads by which two services move alike; ten times what rows may be off by."""

Place = tuple[str, str, str, str]
"""Decode or prefill, workload, site, and the deployment or SKU that does it."""
Terms = list[tuple[float, int]]
"""Coefficient and column."""


def steady(
    program: Program, compiled: Compiled, values: np.ndarray, options: Options, tolerance: float
) -> np.ndarray | None:
    """The service of the same fleet that moves least, at no more shortfall; None where none was found that moves less.

        min Σ_{t>0,w,p} moved[t,w,p] + cost / (WHOLE_MOVE · tolerance · |the plan's|)
        moved[t,w,p] ≥ y[t,w,p] − y[t−1,w,p],  moved ≥ 0
        rows of every block,  short, late and tolerated ≤ the plan's,  cost ≤ the plan's + tolerance · |the plan's|

    y[t,w,p] is the share of a workload's requests that place p decodes, or prefills; y[−1,w,p] is what the case says of
    the quarter before the first, where it does. An interior point says about which service that is. Then block by block
    the same is asked with the other blocks held, first as the interior point has them, then as they have become: no
    block costs more than there, the first time, or than is left of what may be given up. Whenever time is over the
    blocks as they are make a plan.
    """
    services = _Services(program, compiled, values, tolerance)
    if services.allowed <= 0.0:
        return None
    with options.share(SHARE_INSIDE):
        target = services.inside(options)
    blocks = [_Block(services, part, options) for part in parts_of(compiled)]
    found = services.plan if target is None else _made_exact(services, blocks, target)
    for sweep in range(SWEEPS):
        for block in blocks[:: 1 if sweep % 2 else -1]:
            left = services.most - services.cost @ found
            found = block.asked(found, services.cost_of(block.columns, found) + max(left, 0.0), found)
    if services.moved(found) > services.moved(services.plan) - SAME_MOVED:
        return None
    out = values.copy()
    out[services.columns] = found
    return out


class _Services:
    """The services of a plan's fleet within the cost allowed, and what moves in them: arrays over the blocks' columns.

    ``moves @ y − known`` is the share that a place serves beyond what it served a quarter before.
    """

    def __init__(self, program: Program, compiled: Compiled, values: np.ndarray, tolerance: float) -> None:
        self.columns = np.flatnonzero(compiled.column_block >= 0)
        self.rows = np.flatnonzero(compiled.row_block >= 0)
        self.plan = values[self.columns]
        self.cost = compiled.cost[self.columns]
        self.allowed = tolerance * abs(float(compiled.cost @ values))
        self.most = float(self.cost @ self.plan) + self.allowed
        self.weight = self.cost / (WHOLE_MOVE * self.allowed) if self.allowed > 0.0 else np.zeros(len(self.cost))
        matrix = compiled.matrix[self.rows]
        self.matrix = sparse.csr_matrix(matrix[:, self.columns])
        present = self.matrix @ self.plan
        taken = matrix @ values - present
        # The plan's own service may be off its rows and bounds by rounding: it must be one of those to choose from.
        upper = np.maximum(compiled.row_upper[self.rows] - taken, present)
        self.lower = np.minimum(compiled.row_lower[self.rows] - taken, present)
        self.upper = np.where(compiled.mendable[self.rows], present, upper)
        self.least = np.minimum(compiled.col_lower[self.columns], self.plan)
        self.largest = np.maximum(_upper(program, compiled, values)[self.columns], self.plan)
        moves = _moves(program, compiled)
        place = {int(column): number for number, column in enumerate(self.columns)}
        terms = [
            (number, place[column], sign * coef)
            for number, (after, before, _) in enumerate(moves)
            for sign, some in ((1.0, after), (-1.0, before))
            for coef, column in some
        ]
        at, of, coefs = zip(*terms, strict=True) if terms else ((), (), ())
        self.moves = sparse.csr_matrix((coefs, (at, of)), shape=(len(moves), len(self.columns)))
        self.known = np.array([known for _, _, known in moves], dtype=float)

    def moved(self, y: np.ndarray) -> float:
        """Workloads that move."""
        return float(np.maximum(self.moves @ y - self.known, 0.0).sum())

    def cost_of(self, columns: np.ndarray, y: np.ndarray) -> float:
        """M USD of some columns, by their positions."""
        return float(self.cost[columns] @ y[columns])

    def inside(self, options: Options) -> np.ndarray | None:
        """About the service that is sought, which keeps rows only nearly; None where none was found in time."""
        count = len(self.known)
        solver = new_solver(options)
        set_option(solver, "solver", "ipm")
        set_option(solver, "run_crossover", "off")
        load(
            solver,
            _with_moves(self.matrix, self.moves, self.cost),
            np.append(self.weight, np.ones(count)),
            (
                np.append(self.lower, np.full(count + 1, -np.inf)),
                np.concatenate([self.upper, self.known, [self.most]]),
            ),
            (np.append(self.least, np.zeros(count)), np.append(self.largest, np.full(count, np.inf))),
        )
        found = run_inside(solver, options.left())
        if found is None:
            return None
        target = found[: len(self.columns)]
        return np.where(target < DUST, self.least, target)


def _with_moves(matrix: sparse.csr_matrix, moves: sparse.csr_matrix, cost: np.ndarray) -> sparse.csr_matrix:
    """Rows of service, then of what moves, with a column for each, then the one of cost."""
    return sparse.csr_matrix(
        sparse.bmat([[matrix, None], [moves, -sparse.identity(moves.shape[0])], [sparse.csr_matrix(cost), None]])
    )


class _Block:
    """One block with what moves into and out of it, kept ready in the solver for whatever the others are."""

    def __init__(self, services: _Services, part: Part, options: Options) -> None:
        self._services, self._options = services, options
        self.columns = np.searchsorted(services.columns, part.columns)
        rows = np.searchsorted(services.rows, part.rows)
        moves = services.moves[:, self.columns]
        self._moves = np.flatnonzero(np.diff(moves.indptr))
        self._first, count = len(rows), len(self._moves)
        self._solver = new_solver(options)
        be_exact(self._solver)  # what it finds is the plan
        set_option(self._solver, "solver", "simplex")
        price = WHOLE_MOVE * services.allowed
        load(
            self._solver,
            _with_moves(services.matrix[rows][:, self.columns], moves[self._moves], services.cost[self.columns]),
            np.append(services.cost[self.columns], np.full(count, price)),
            (
                np.append(services.lower[rows], np.full(count + 1, -np.inf)),
                np.append(services.upper[rows], np.full(count + 1, np.inf)),
            ),
            (
                np.append(services.least[self.columns], np.zeros(count)),
                np.append(services.largest[self.columns], np.full(count, np.inf)),
            ),
        )

    def asked(self, y: np.ndarray, most: float, otherwise: np.ndarray) -> np.ndarray:
        """The service with the best of this block at a cost of at most ``most``; or else the block as ``otherwise``."""
        out = y.copy()
        out[self.columns] = 0.0
        beside = self._services.known[self._moves] - self._services.moves[self._moves] @ out
        out[self.columns] = otherwise[self.columns]
        rows = np.arange(self._first, self._first + len(self._moves) + 1, dtype=np.int32)
        self._solver.changeRowsBounds(len(rows), rows, np.full(len(rows), -np.inf), np.append(beside, most))
        answer = run(self._solver, self._options.left())
        if answer.status != "optimal" and self._options.left() > 0:
            # A warm start can leave the simplex stuck on tolerances: once more from nothing.
            self._solver.clearSolver()
            set_option(self._solver, "presolve", "off")
            answer = run(self._solver, self._options.left())
            set_option(self._solver, "presolve", "choose")
        if answer.status == "optimal" and answer.values is not None:
            out[self.columns] = answer.values[: len(self.columns)]
        return out


def _made_exact(services: _Services, blocks: Sequence[_Block], target: np.ndarray) -> np.ndarray:
    """The service near one that keeps rows only nearly: block by block, at no more cost than there, or as in the plan.

    What the blocks cost more than in the plan adds up to no more than is allowed, whatever the target says.
    """
    found = target
    extra = [max(services.cost_of(b.columns, target) - services.cost_of(b.columns, services.plan), 0.0) for b in blocks]
    part = services.allowed / max(sum(extra), services.allowed)
    for block, more in zip(blocks, extra, strict=True):
        most = services.cost_of(block.columns, services.plan) + part * more
        found = block.asked(found, most, services.plan)
    return found


def _upper(program: Program, compiled: Compiled, values: np.ndarray) -> np.ndarray:
    """Upper bounds of the columns: what is short, late or tolerated is no more than in the plan."""
    upper = np.where(compiled.tolerated, np.maximum(values, compiled.col_lower), compiled.col_upper).astype(float)
    for variable in (*program.model.short.values(), *program.model.late.values()):
        column = compiled.column(variable)
        if column >= 0:
            upper[column] = max(values[column], compiled.col_lower[column])
    return upper


def _moves(program: Program, compiled: Compiled) -> list[tuple[Terms, Terms, float]]:
    """The share of a workload that a place serves in a block, and in the block of the quarter before.

    Before the first quarter it is a known share, where the case states what served the workload.
    """
    shares = _shares(program, compiled)
    loads = program.index.load_rate
    stated = program.index.instance.rows(PlacedBefore)
    known = {(r.work, r.workload, r.site, r.deployment): r.share for r in stated}
    told = {(r.work, r.workload) for r in stated}
    found = []
    for (key, at), after in sorted(shares.items()):
        before = replace(at, t=at.t - 1)
        if loads.get((before, key[1]), 0.0) > 0:
            found.append((after, shares.get((key, before), []), 0.0))
        elif at.t == 0 and key[:2] in told:
            found.append((after, [], known.get(key, 0.0)))
    return found


def _shares(program: Program, compiled: Compiled) -> dict[tuple[Place, TimeKey], Terms]:
    """The share of a workload's requests that each place decodes, and prefills, by block."""
    m, index = program.model, program.index
    found: dict[tuple[Place, TimeKey], Terms] = {}

    def add(key: Place, at: TimeKey, coef: float, variable: Any) -> None:
        column = compiled.column(variable)
        if column >= 0:
            found.setdefault((key, at), []).append((coef, column))

    for p, site in index.serve:
        key = (Role.DECODE, p.workload, site, p.deployment)
        add(key, p.at, p.rate / index.load_rate[p.at, p.workload], m.serve[p.point, site])
    for o, site in index.prefill:
        key = (Role.PREFILL, o.workload, site, o.sku)
        add(key, o.at, o.rate / index.load_rate[o.at, o.workload], m.prefill[o.option, site])
    return found
