"""Plans beside a plan: what another fleet could serve of one block, while all others are served as they are."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_case import at, tiny

from procure.instance import build
from procure.program import build as build_program
from procure.solver.beside import Beside, Rules
from procure.solver.compile import compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options

SHORT = at(1), "chat"


@pytest.fixture(scope="module")
def solved():
    """Demand of the second quarter asks for more racks than the floor holds: program, arrays, values."""
    case = tiny(planned=2, peaks={"chat": [60, 150, 150, 150]}, sites=({"positions": 2.5},))
    program = build_program(build(case))
    compiled, options = compile_program(program), Options(threads=1)
    least = Decomposition(compiled, options).solve("shortfall", None)
    found = Decomposition(compiled, options).solve("cost", least.objective + compiled.short_tolerance)
    return program, compiled, found.values, options


def beside(solved, lifted=()):
    _, compiled, values, options = solved
    upper = compiled.row_upper.copy()
    upper[[i for i, key in enumerate(compiled.keys) if key[0] in lifted]] = np.inf
    rules = Rules(compiled.matrix, (compiled.row_lower, upper), (compiled.col_lower, compiled.col_upper))
    block = compiled.blocks.index(SHORT[0])
    return Beside(compiled, rules, values, block, options)


def short(solved):
    program, compiled, values, _ = solved
    column = compiled.column(program.model.short[SHORT])
    return column, float(values[column])


@pytest.mark.thorough
def test_the_plan_s_own_fleet_serves_what_the_plan_serves_and_no_more(solved):
    _, compiled, values, _ = solved
    column, share = short(solved)
    assert share > 0.1
    assert beside(solved).serves(values[compiled.master], column, share + 1e-6, 10.0)
    assert not beside(solved).serves(values[compiled.master], column, 0.95 * share, 10.0)


def test_no_fleet_serves_more_within_the_limits_and_one_does_without_the_limit_that_binds(solved):
    column, share = short(solved)
    assert beside(solved).fleet(column, 0.95 * share, 10.0) is None
    free = beside(solved, lifted=("site_limit",))
    fleet = free.fleet(column, 0.95 * share, 10.0)
    assert fleet is not None
    assert free.serves(fleet, column, 0.95 * share, 10.0)
    _, compiled, _, _ = solved
    whole = fleet[compiled.integer[compiled.master]]
    assert (whole == np.round(whole)).all()


def test_parts_of_units_serve_more_where_the_floor_holds_part_of_one(solved):
    column, share = short(solved)
    assert beside(solved).serves(None, column, 0.95 * share, 10.0)


def test_without_time_nothing_is_known(solved):
    column, share = short(solved)
    assert not beside(solved).serves(None, column, share + 1e-6, 0.0)
    assert beside(solved, lifted=("site_limit",)).fleet(column, 0.95 * share, 0.0) is None
