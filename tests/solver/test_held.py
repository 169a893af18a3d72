"""Orders held between a least and a most, against the same bound put on the program itself and solved in one piece."""

from __future__ import annotations

import numpy as np
import pytest
from solved_case import built, planned
from tiny_case import fleet, tiny

from procure.errors import InputError
from procure.families.scales import USD_PER_UNIT
from procure.program import build as build_program
from procure.solver import Infeasible
from procure.solver.compile import compile_program
from procure.solver.highs import Options
from procure.solver.solve import plan_of
from procure.solver.whole import solve_whole
from procure.study.change import hold_of, holds_of

GB = "gb300-nvl72"
OLD = fleet(("a", "gb200-nvl72", 1, "2025Q1", 3.3e6))


@pytest.fixture(scope="module")
def case():
    return tiny(peaks={"chat": [60, 100, 120, 120]}, planned=2, sites=({"positions": 20.0},), tables={"fleet": OLD})


def held_plan(case, change, method="decomposed"):
    options = Options(gap=1e-6, threads=1)
    return plan_of(case, built(case), options, method, holds=holds_of(case, change))


def units(plan, quarter):
    return sum(order["count"] for order in plan.summary["purchases"] if order["quarter"] == quarter)


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["decomposed", "whole"])
@pytest.mark.parametrize(("sign", "held"), [("<=", 0), (">=", 3)])
def test_a_held_order_costs_what_the_program_with_that_bound_costs(case, method, sign, held):
    plan = held_plan(case, {f"buy/a/{GB}/2027Q2": f"{sign}{held}"}, method)
    program = build_program(built(case))
    bought = program.model.buy["a", GB, 1]
    (bought.setub if sign == "<=" else bought.setlb)(held)
    compiled = compile_program(program)
    short = solve_whole(compiled, Options(gap=1e-6, threads=1), "shortfall", None)
    most = 0.0 if short.objective < 1e-6 else short.objective + compiled.short_tolerance
    whole = solve_whole(compiled, Options(gap=1e-6, threads=1), "cost", most)
    assert plan.objective_usd == pytest.approx(whole.objective * USD_PER_UNIT, rel=1e-5)
    assert plan.summary["shortfall"]["share"] == pytest.approx(short.objective * 1e-4, abs=2e-6)
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.thorough
def test_what_the_plan_orders_anyway_may_be_held_for_nothing(case):
    free = planned(case, gap=1e-6)
    change = {f"buy/{o['site']}/{o['sku']}/{o['quarter']}": o["count"] for o in free.summary["purchases"]}
    assert held_plan(case, change).objective_usd == pytest.approx(free.objective_usd, rel=1e-6)


@pytest.mark.thorough
def test_orders_of_several_quarters_are_held_together(case):
    """At least so many within two quarters, at the cost of the cheapest split."""
    together = held_plan(case, {f"buy/*/{GB}/2027Q1..2027Q2": ">=4"})
    assert units(together, "2027Q1") + units(together, "2027Q2") >= 4
    apart = [
        held_plan(case, {f"buy/a/{GB}/2027Q1": f">={first}", f"buy/a/{GB}/2027Q2": f">={4 - first}"}).objective_usd
        for first in range(5)
    ]
    assert together.objective_usd == pytest.approx(min(apart), rel=1e-5)


@pytest.mark.thorough
def test_orders_that_cannot_be_placed_leave_no_plan():
    case = tiny(sites=({"positions": 3.0},))
    with pytest.raises(Infeasible, match="positions"):
        held_plan(case, {f"buy/a/{GB}/2027Q1": 9})


@pytest.mark.thorough
def test_without_a_plan_the_limits_of_the_case_are_named_and_not_what_is_held():
    case = tiny(sites=({"positions": 3.0},))
    with pytest.raises(Infeasible, match="positions") as told:
        held_plan(case, {f"buy/*/{GB}/2027Q1..2027Q2": ">=9"})
    assert "held" not in str(told.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"buy/b/{GB}/2027Q1", 1),
        ("buy/a/gb301/2027Q1", 1),
        (f"buy/a/{GB}/2035Q1", 1),
        (f"buy/a/{GB}/2027Q1", "few"),
        (f"buy/{GB}/2027Q1", 1),
    ],
)
def test_a_hold_that_says_nothing_of_the_case_is_refused(case, path, value):
    with pytest.raises(InputError, match="buy/SITE/SKU/QUARTER"):
        hold_of(case, path, value)


@pytest.mark.thorough
def test_a_hold_reads_as_it_is_written(case):
    hold = hold_of(case, f"buy/*/{GB}+lpx/2027Q1..2027Q2", "<=3")
    assert (hold.site, hold.skus, hold.quarters) == ("*", {GB, "lpx"}, {"2027Q1", "2027Q2"})
    assert (hold.least, hold.most) == (0.0, 3.0)
    every = hold_of(case, f"buy/a/{GB}/*", 2)
    assert every.quarters == {str(quarter) for quarter in case.quarters}
    assert np.isclose([every.least, every.most], 2.0).all()
