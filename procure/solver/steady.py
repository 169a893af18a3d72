"""Which of several services of a fleet a plan shows: the one that moves least to other hardware between quarters.

Given the fleet, many services cost nearly the same, and the cheapest may take a pool out of use for a quarter and back.
With whole numbers, shortfall and, but for a stated part, cost held, what is left is one linear program over all blocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from procure.instance.tables import PlacedBefore
from procure.program import Program
from procure.schema import Role
from procure.solver.compile import Compiled
from procure.solver.highs import INFINITY, Options, be_exact, load, new_solver, run
from procure.timekey import TimeKey

SAME_MOVED = 1e-6
"""Shares that move by less than this more are the same; ten times what rows may be off by."""

Place = tuple[str, str, str, str]
"""Decode or prefill, workload, site, and the deployment or SKU that does it."""
Terms = list[tuple[float, int]]
"""Coefficient and column."""


def steady(
    program: Program, compiled: Compiled, values: np.ndarray, options: Options, tolerance: float
) -> np.ndarray | None:
    """The service of the same fleet that moves least, at no more shortfall; None where no time was left to find it.

        min Σ_{t>0,w,p} moved[t,w,p]
        moved[t,w,p] ≥ y[t,w,p] − y[t−1,w,p],  moved ≥ 0
        rows of every block,  short, late and tolerated ≤ the plan's,  cost ≤ the plan's + tolerance · |the plan's|

    y[t,w,p] is the share of a workload's requests that place p decodes, or prefills; y[−1,w,p] is what the case says of
    the quarter before the first, where it does. Of services that move as little
    the cheapest is taken.
    """
    own = np.flatnonzero(compiled.column_block >= 0)
    rows = np.flatnonzero(compiled.row_block >= 0)
    place = np.full(len(values), -1)
    place[own] = np.arange(len(own))
    matrix = compiled.matrix[rows]
    present = matrix[:, own] @ values[own]
    taken = matrix @ values - present
    # The plan's own service may be off its rows by rounding: it must be one of those to choose from.
    lower = np.minimum(compiled.row_lower[rows] - taken, present)
    upper = np.maximum(compiled.row_upper[rows] - taken, present)
    upper = np.where(compiled.mendable[rows], present, upper)
    total = float(compiled.cost @ values)
    budget = float(compiled.cost[own] @ values[own]) + tolerance * abs(total)
    moves = _moves(program, compiled)
    width = len(own) + len(moves)
    coupling = sparse.lil_matrix((len(moves), width))
    for number, (after, before, _) in enumerate(moves):
        for sign, terms in ((1.0, after), (-1.0, before)):
            for coef, column in terms:
                coupling[number, place[column]] += sign * coef
        coupling[number, len(own) + number] = -1.0
    weights = np.append(np.zeros(len(own)), np.ones(len(moves)))
    wide = sparse.hstack([matrix[:, own], sparse.csr_matrix((len(rows), len(moves)))])
    money = sparse.csr_matrix(np.append(compiled.cost[own], np.zeros(len(moves))))
    solver = new_solver(options)
    be_exact(solver)
    load(
        solver,
        sparse.csr_matrix(sparse.vstack([wide, coupling, money, sparse.csr_matrix(weights)])),
        weights,
        (
            np.concatenate([lower, np.full(len(moves) + 2, -np.inf)]),
            np.concatenate([upper, [known for _, _, known in moves], [budget, np.inf]]),
        ),
        (np.append(compiled.col_lower[own], np.zeros(len(moves))), _upper(program, compiled, values, own, len(moves))),
    )
    least = run(solver, options.left())
    if least.status != "optimal" or least.values is None:
        return None
    solver.changeRowBounds(len(rows) + len(moves) + 1, -INFINITY, float(weights @ least.values) + SAME_MOVED)
    solver.changeColsCost(
        width, np.arange(width, dtype=np.int32), np.append(compiled.cost[own], np.zeros(len(moves))).astype(float)
    )
    cheapest = run(solver, options.left())
    answer = cheapest if cheapest.status == "optimal" and cheapest.values is not None else least
    assert answer.values is not None
    out = values.copy()
    out[own] = answer.values[: len(own)]
    return out


def _upper(program: Program, compiled: Compiled, values: np.ndarray, own: np.ndarray, moves: int) -> np.ndarray:
    """Upper bounds of the columns: what is short, late or tolerated is no more than in the plan."""
    upper = np.where(compiled.tolerated, np.maximum(values, compiled.col_lower), compiled.col_upper).astype(float)
    for variable in (*program.model.short.values(), *program.model.late.values()):
        column = compiled.column(variable)
        if column >= 0:
            upper[column] = max(values[column], compiled.col_lower[column])
    return np.append(upper[own], np.full(moves, np.inf))


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
