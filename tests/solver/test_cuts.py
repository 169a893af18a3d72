"""A cut from any prices of a quarter's rows is valid: it never asks for more than a fleet that can serve costs."""

from __future__ import annotations

import numpy as np
import pytest
from solved_case import built
from tiny_case import tiny

from procure.program import build as build_program
from procure.solver.compile import compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options


@pytest.mark.thorough
def test_cuts_from_any_multipliers_hold_and_those_of_the_optimum_are_tight():
    compiled = compile_program(build_program(built(tiny(peaks={"chat": [100.0, 120.0, 130.0, 140.0]}, planned=2))))
    parts = Decomposition(compiled, Options(threads=1))
    fleet = np.array([4.0 * compiled.columns[c].startswith("own") for c in parts.columns])
    outcomes = parts.evaluate(fleet, "cost")
    assert all(outcome.cost is not None for outcome in outcomes)
    draw = np.random.default_rng(0)
    for block, outcome in zip(parts.blocks, outcomes, strict=True):
        assert outcome.cost is not None
        assert abs(outcome.cut.value(fleet) - outcome.cost) <= 1e-6 * max(1.0, outcome.cost)
        for _ in range(50):
            multipliers = draw.normal(size=len(block.rows)) * 10.0 ** draw.uniform(-4, 1)
            priced, breach = block.cut(multipliers, feasibility=False), block.cut(multipliers, feasibility=True)
            assert priced is not None
            assert breach is not None
            assert priced.value(fleet) <= outcome.cost + 1e-9
            assert breach.value(fleet) <= 1e-9


@pytest.mark.thorough
def test_a_column_without_a_bound_gives_no_cut_where_its_price_is_wrong():
    compiled = compile_program(build_program(built(tiny(peaks={"chat": [100.0, 120.0, 130.0, 140.0]}, planned=2))))
    block = Decomposition(compiled, Options(threads=1)).blocks[0]
    block._upper[:-1] = np.inf
    assert block.cut(np.zeros(len(block.rows)), feasibility=False) is not None
    draw = np.random.default_rng(0)
    assert block.cut(draw.normal(size=len(block.rows)), feasibility=False) is None
