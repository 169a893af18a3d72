"""Chains of columns that only fall, told by their steps: the same program with fewer rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from solved_case import built
from tiny_case import tiny

from procure.program import build as build_program
from procure.solver.chains import _links, chained
from procure.solver.compile import Compiled, compile_program
from procure.solver.highs import Options, load, new_solver, run


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_program(build_program(built(tiny(peaks={"chat": [60.0, 120.0, 180.0]}))))


def least(compiled: Compiled, cost: np.ndarray) -> np.ndarray:
    """Where a cost is least in the relaxation."""
    solver = new_solver(Options(threads=1))
    rows, columns = (compiled.row_lower, compiled.row_upper), (compiled.col_lower, compiled.col_upper)
    load(solver, compiled.matrix, cost, rows, columns)
    answer = run(solver)
    assert answer.status == "optimal"
    return answer.values


def test_every_link_but_one_of_a_chain_falls_away_and_nothing_else(compiled):
    told = chained(compiled).compiled
    links = [key[1][:3] + key[1][4:] for key in compiled.keys if key[0] == "kept_only_falls"]
    assert len(links) > len(set(links)) > 0
    assert len(compiled.rows) - len(told.rows) == len(links) - len(set(links))
    assert told.columns == compiled.columns


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_same_program(compiled, seed):
    """Caches are worth a random amount by age, so that chains end anywhere; the least is the same."""
    told, steps = chained(compiled)
    draw = np.random.default_rng(seed)
    worth = np.array([draw.normal() if name.startswith("kept") else 0.0 for name in compiled.columns])
    cost = compiled.cost - 10.0 * worth
    x, d = least(compiled, cost), least(told, steps.T @ cost)
    assert cost @ x == pytest.approx(cost @ (steps @ d), rel=1e-9)
    values, rows = steps @ d, compiled.matrix @ (steps @ d)
    assert (rows <= compiled.row_upper + 1e-6).all()
    assert (rows >= compiled.row_lower - 1e-6).all()
    assert (values <= compiled.col_upper + 1e-6).all()


def test_the_bound_of_the_first_stays(compiled):
    """Where nothing else bounds the first of a chain, its own bound does: not every step may reach it at once."""
    falls = np.array([key[0] == "kept_only_falls" for key in compiled.keys])
    nothing = np.full(len(falls), -np.inf)
    alone = replace(compiled, row_lower=nothing, row_upper=np.where(falls, 0.0, np.inf))
    told, steps = chained(alone)
    worth = np.array([-1.0 if name.startswith("kept") else 0.0 for name in compiled.columns])
    assert (steps @ least(told, steps.T @ worth))[worth < 0].max() == pytest.approx(1.0)


def test_a_row_with_anything_else_in_it_is_no_link(compiled):
    """What moves away leaves the chain in that row: it stays as it is, and the chain ends before it."""
    row = next(i for i, key in enumerate(compiled.keys) if key[0] == "kept_only_falls")
    changed = compiled.matrix.tolil(copy=True)
    changed[row, next(i for i, name in enumerate(compiled.columns) if name.startswith("serve"))] = 0.1
    told = chained(replace(compiled, matrix=sparse.csr_matrix(changed))).compiled
    assert compiled.rows[row] in told.rows
    assert told.row_upper[told.rows.index(compiled.rows[row])] == 0.0


def test_a_column_with_a_lower_bound_than_the_one_before_begins_a_chain_of_its_own(compiled):
    """Its steps would else be held to that bound each, and together to the first one's: more of it could be kept."""
    after, _ = _links(compiled)
    head = next(i for i in np.flatnonzero(after >= 0) if after[after[i]] >= 0)
    second, third = after[head], after[after[head]]
    upper = compiled.col_upper.copy()
    upper[[second, third]] = 0.25
    falls = np.array([key[0] == "kept_only_falls" for key in compiled.keys])
    nothing = np.full(len(falls), -np.inf)
    narrow = replace(compiled, col_upper=upper, row_lower=nothing, row_upper=np.where(falls, 0.0, np.inf))
    worth = np.zeros(len(upper))
    worth[second] = -1.0
    told, steps = chained(narrow)
    assert (steps @ least(told, steps.T @ worth))[second] == pytest.approx(0.25)
