"""Placement that stays: the least that moves between quarters, within a stated part of the cost."""

from __future__ import annotations

import io
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from solved_case import Solved, built, planned, searched
from tiny_case import fleet, tiny

from procure.errors import InputError
from procure.plan import Plan
from procure.plan.placement import moved_share
from procure.plan.roll import roll
from procure.program import build as build_program
from procure.report import print_plan
from procure.report.page import render
from procure.report.sentences import placement
from procure.solver.compile import Compiled, compile_program
from procure.solver.highs import Options
from procure.solver.whole import solve_whole

pytestmark = pytest.mark.thorough

OLD, NEW = "gb200-nvl72", "gb300-nvl72"


def case(tolerance: float = 0.0) -> Any:
    """Racks of two generations stand, and every second quarter asks for half: the cheapest service changes each time.

    What moves is 1.0 → 0.2 → 1.0 of the chat on the newer racks.
    """
    standing = fleet(("a", NEW, 3, "2026Q4", 4e6), ("a", OLD, 3, "2025Q1", 3e6)).assign(retirable=False)
    return tiny(skus=(), planned=2, peaks={"chat": [200, 100, 200, 100]}, sites=({"positions": 60.0},),
                tables={"fleet": standing}, settings={"placement_tolerance": tolerance})  # fmt: skip


@cache
def steadied(tolerance: float = 5e-4) -> Solved:
    made = case(tolerance)
    return Solved(made, built(made), planned(made, gap=1e-6))


def on_new(plan: Plan) -> list[float]:
    table = plan.tables["serving"]
    return [float(table[(table["quarter"] == q) & (table["sku"] == NEW)]["requests_per_s"].sum() / rate)
            for q, rate in zip(sorted(set(table["quarter"])), [200, 100, 200, 100], strict=True)]  # fmt: skip


def test_without_a_tolerance_the_cheapest_service_is_shown_and_nothing_said():
    plan = planned(case(), gap=1e-6)
    assert "placement" not in plan.summary
    shares = on_new(plan)
    assert shares[:3:2] == pytest.approx([1.0, 1.0], abs=1e-4)
    assert shares[1] < 0.5
    assert moved_share(built(case()), plan.tables) > 2.0
    assert placement.placement_sentence(plan) == ""


def test_within_a_small_part_of_the_cost_nothing_moves():
    plan, cheapest = steadied().plan, planned(case(), gap=1e-6)
    told = plan.summary["placement"]
    assert moved_share(built(case()), plan.tables) == pytest.approx(0.0, abs=1e-5)
    assert max(on_new(plan)) - min(on_new(plan)) < 1e-5
    assert told["moved_cheapest"] == pytest.approx(moved_share(built(case()), cheapest.tables), abs=1e-3)
    given_up = plan.objective_usd - cheapest.objective_usd
    assert told["given_up_usd"] == pytest.approx(given_up, abs=1.0)
    assert 0 < given_up <= 5e-4 * abs(cheapest.objective_usd)
    assert plan.status == "optimal"
    assert plan.summary["gap"] == pytest.approx(given_up / abs(plan.objective_usd), rel=1e-3)
    assert plan.tables["checks"]["holds"].all()


def test_of_services_that_move_as_little_the_cheapest_is_shown():
    plans = [steadied(tolerance).plan for tolerance in (5e-4, 5e-3)]
    assert plans[0].objective_usd == pytest.approx(plans[1].objective_usd, abs=1.0)


def test_a_tolerance_too_small_for_all_leaves_part_of_it_moving():
    """A hundredth of what keeping everything in place costs: something stays, and the cost is spent."""
    least = steadied().plan.summary["placement"]
    share = least["given_up_usd"] / abs(steadied().plan.objective_usd - least["given_up_usd"])
    told = steadied(share / 2).plan.summary["placement"]
    assert 1e-3 < told["moved"] < least["moved_cheapest"] - 1e-3
    assert told["given_up_usd"] == pytest.approx(least["given_up_usd"] / 2, rel=1e-3)


def test_both_ways_of_solving_give_the_same_plan():
    whole = planned(case(5e-4), gap=1e-6, method="whole")
    assert whole.objective_usd == pytest.approx(steadied().plan.objective_usd, abs=5.0)
    assert whole.summary["placement"]["moved"] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(("field", "value"), [("moved", 0.3), ("moved_cheapest", -0.1), ("given_up_usd", 1e6)])
def test_verification_sees_another_claim(field, value):
    plan = steadied().plan
    other = {**plan.summary["placement"], field: value}
    changed = Plan({**plan.summary, "placement": other}, plan.tables)  # type: ignore[typeddict-item]
    assert steadied().fails("plan.json agrees with the tables", changed)


@pytest.mark.thorough
def test_where_no_time_is_left_for_it_the_cheapest_is_shown_and_said_to_be(monkeypatch):
    monkeypatch.setattr(import_module("procure.solver.solve"), "steady", lambda *given: None)
    plan = searched(case(5e-4), gap=1e-6, threads=1)
    told = plan.summary["placement"]
    assert told["moved"] == told["moved_cheapest"] > 2.0
    assert told["given_up_usd"] == 0.0
    assert placement.placement_sentence(plan).endswith("no service that moves less was found within what may be given "
                                                       "up, in the time that the search itself took.")  # fmt: skip
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.usefixtures("unplotted")
def test_terminal_and_page_say_what_moves_and_what_that_costs():
    plan = steadied().plan
    told = placement.placement_sentence(plan)
    assert told.startswith("Between quarters 0.00 of a workload moves")
    console = Console(file=io.StringIO(), width=400)
    print_plan(plan, console)
    assert told in console.file.getvalue()
    assert told in render(plan)


STEADY = import_module("procure.solver.steady")


@pytest.fixture(scope="module")
def cheapest() -> tuple[Any, Compiled, np.ndarray]:
    """The program of the case, and its cheapest service."""
    program = build_program(built(case()))
    compiled = compile_program(program)
    found = solve_whole(compiled, Options(gap=1e-6, threads=1), "cost", 0.0).values
    assert found is not None
    return program, compiled, found


def off_by(compiled: Compiled, values: np.ndarray) -> float:
    """By how much a row or a bound is broken at most."""
    used = compiled.matrix @ values
    rows = np.maximum(compiled.row_lower - used, used - compiled.row_upper)
    return float(max(rows.max(), (compiled.col_lower - values).max(), (values - compiled.col_upper).max()))


def test_a_point_that_breaks_rows_and_costs_too_much_ends_as_a_service_that_does_neither(cheapest, monkeypatch):
    """What an interior point may leave on a large case, made worse: everything is off by up to two fifths."""
    program, compiled, values = cheapest
    inside, points = STEADY.run_inside, []

    def rough(solver: Any, seconds: float) -> np.ndarray:
        point = inside(solver, seconds)
        points.append(point * np.random.default_rng(1).uniform(0.9, 1.4, len(point)))
        return points[-1]

    monkeypatch.setattr(STEADY, "run_inside", rough)
    services = STEADY._Services(program, compiled, values, 5e-4)
    out, again = (STEADY.steady(program, compiled, values, Options(threads=1), 5e-4) for _ in range(2))
    target = values.copy()
    target[services.columns] = points[0][: len(services.columns)]
    assert compiled.cost @ target > compiled.cost @ values + services.allowed
    assert off_by(compiled, target) > 1e-2
    assert off_by(compiled, out) < 1e-8
    assert compiled.cost @ out <= compiled.cost @ values + services.allowed + 1e-8
    assert services.moved(out[services.columns]) < services.moved(services.plan) - 0.1
    assert (out[compiled.master] == values[compiled.master]).all()
    assert (out == again).all()


def test_without_an_interior_point_blocks_alone_move_less(cheapest, monkeypatch):
    """Block by block from the cheapest service on: not the least that moves, but less, and all of it holds."""
    monkeypatch.setattr(STEADY, "run_inside", lambda *given: None)
    program, compiled, values = cheapest
    out = STEADY.steady(program, compiled, values, Options(threads=1), 5e-4)
    services = STEADY._Services(program, compiled, values, 5e-4)
    assert services.moved(out[services.columns]) < services.moved(services.plan) - 0.1
    assert off_by(compiled, out) < 1e-8
    assert compiled.cost @ out <= compiled.cost @ values + services.allowed + 1e-8


def test_a_little_of_everything_everywhere_is_not_aimed_at(cheapest, monkeypatch):
    """An interior point leaves dust, which blocks would keep: a plan with a millionth of a workload in each place."""
    inside = STEADY.run_inside
    monkeypatch.setattr(STEADY, "run_inside", lambda *given: inside(*given) + 1e-5)
    program, compiled, values = cheapest
    services = STEADY._Services(program, compiled, values, 5e-4)
    target = services.inside(Options(threads=1))
    assert not ((target > services.least) & (target < 1e-4)).any()
    assert (target > 0.1).any()


def test_a_plan_that_is_off_by_rounding_is_one_of_the_services_to_choose_from(cheapest):
    """Rows and bounds alike: where only rows gave way, no service of a quarter of the example was left."""
    program, compiled, values = cheapest
    dusty = np.where(compiled.column_block >= 0, values - 1e-8, values)
    services = STEADY._Services(program, compiled, dusty, 5e-4)
    assert off_by(compiled, dusty) > 5e-9
    assert (services.least <= services.plan).all()
    assert (services.plan <= services.largest).all()
    used = services.matrix @ services.plan
    assert (services.lower <= used).all()
    assert (used <= services.upper).all()


def test_where_nothing_moves_or_no_time_is_left_there_is_none_that_moves_less(cheapest):
    program, compiled, values = cheapest
    still = STEADY.steady(program, compiled, values, Options(threads=1), 5e-4)
    assert STEADY.steady(program, compiled, still, Options(threads=1), 5e-4) is None
    assert STEADY.steady(program, compiled, values, Options(threads=1, time_limit_s=0.0), 5e-4) is None


def test_where_the_cheapest_moves_nothing_no_search_for_less_is_told():
    plan = steadied().plan
    told = {"moved": 1e-9, "moved_cheapest": 1e-9, "given_up_usd": 0.0}
    still = Plan({**plan.summary, "placement": told}, plan.tables)  # type: ignore[typeddict-item]
    sentence = "Between quarters the cheapest service moves nothing to other hardware: nothing is given up for it."
    assert placement.placement_sentence(still) == sentence


def before(work: str, sku: str, share: float = 1.0) -> tuple[Any, ...]:
    return (work, "chat", "a", sku, share)


def test_what_served_before_the_first_quarter_is_where_the_service_stays():
    """Half of the chat was decoded by racks of either generation: so it stays, where the cheapest is on the newer."""
    rows = pd.DataFrame([before("decode", sku, 0.5) for sku in (NEW, OLD)],
                        columns=["work", "workload", "site", "deployment", "share"])  # fmt: skip
    made = case(5e-3).replace(tables={"placement": rows})
    plan = planned(made, gap=1e-6)
    assert plan.tables["checks"]["holds"].all()
    assert on_new(plan) == pytest.approx([0.5] * 4, abs=1e-4)
    assert plan.summary["placement"]["moved"] == pytest.approx(0.0, abs=1e-4)
    assert on_new(steadied(5e-3).plan)[0] > 0.9


def test_a_deployment_that_no_catalogue_knows_is_refused():
    rows = pd.DataFrame([before("decode", "gb300")], columns=["work", "workload", "site", "deployment", "share"])
    with pytest.raises(InputError) as caught:
        case(5e-3).replace(tables={"placement": rows})
    (fault,) = caught.value.faults
    assert (fault.file, fault.column, fault.value) == ("placement.csv", "deployment", "gb300")


def test_a_rolled_case_knows_where_its_service_was():
    made = steadied().case
    following = made.tables["forecast"].assign(quarter=["2027Q2", "2027Q3", "2027Q4", "2028Q1"])
    rolled = roll(made, steadied().plan, following).case
    table = rolled.tables["placement"]
    shares = {(r.work, r.deployment): r.share for r in table.itertuples()}
    assert shares["decode", NEW] == pytest.approx(on_new(steadied().plan)[0], abs=1e-6)
    assert table.groupby("work")["share"].sum().tolist() == pytest.approx([1.0, 1.0])
    assert "placement" not in roll(case(), planned(case(), gap=1e-6), following).case.given_tables
