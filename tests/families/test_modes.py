"""Racks at Max-Q: where power is short, by quarter; none where it is not."""

from __future__ import annotations

import io
from functools import cache

import pytest
from rich.console import Console
from solved_case import Solved, built, planned
from tiny_case import at, fleet, racks_short_of_power, tiny

from procure.check import check_case
from procure.plan import Plan
from procure.program import build
from procure.report import print_plan
from procure.report.page import render
from procure.report.sentences import modes
from procure.report.workbook import build as workbook

VR = "vr-nvl72"
KW, ATTACH, SAVED = 227.0, 15.33, 40.0


@cache
def saving() -> Solved:
    return Solved(racks_short_of_power(), built(racks_short_of_power()), planned(racks_short_of_power(), gap=1e-4))


def at_maxq(plan: Plan) -> list[tuple[int, int]]:
    return list(plan.tables["power_modes"][["max_p", "maxq"]].itertuples(index=False, name=None))


def test_racks_save_where_power_is_short_and_are_set_back_where_it_comes():
    plan = saving().plan
    assert plan.status == "optimal"
    assert plan.tables["checks"]["holds"].all()
    assert at_maxq(plan) == [(2, 4), (2, 4), (6, 0)]
    power = plan.tables["limits"].query("family == 'power'")["used"].tolist()
    assert power == pytest.approx([6 * (KW + ATTACH) - n * SAVED for n in (4, 4, 0)])
    busy = plan.tables["limits"].query("family == 'busy racks'")["limit"].tolist()
    assert busy == pytest.approx([0.97 * 0.97 * 0.75 * n for n in (2 + 4 * 0.9, 2 + 4 * 0.9, 6)])


@pytest.mark.thorough
def test_without_the_choice_the_same_power_leaves_requests_unserved():
    plan = planned(racks_short_of_power("max_p"), gap=1e-4)
    assert plan.status == "short"
    assert plan.tables["power_modes"].empty
    assert set(plan.purchases["count"]) == {5}


@pytest.mark.thorough
def test_with_power_enough_nobody_saves_and_the_plan_is_that_of_full_power():
    chosen, full = (planned(racks_short_of_power(mode, power_kw=5_000.0), gap=1e-4) for mode in ("by_quarter", "max_p"))
    assert at_maxq(chosen) == [(6, 0)] * 3
    assert chosen.objective_usd == pytest.approx(full.objective_usd, rel=1e-6)


@pytest.mark.thorough
def test_both_ways_of_solving_agree():
    whole = planned(racks_short_of_power(), gap=1e-4, method="whole")
    assert whole.objective_usd == pytest.approx(saving().plan.objective_usd, rel=1e-4)
    assert at_maxq(whole) == at_maxq(saving().plan)


@pytest.mark.thorough
def test_prefill_that_would_be_late_at_maxq_is_held_at_full_power():
    """The longest prompts of chat are late at any power; more of them would be at nine tenths of it."""
    held = built(racks_short_of_power())["full_power_prefill"]["option"].tolist()
    assert held != []
    late = built(racks_short_of_power())["prefill"].set_index("option")["late_share"]
    assert (late[held] > 0).all()
    free = built(racks_short_of_power(ttft_s=60.0))
    assert free["full_power_prefill"].empty


@pytest.mark.thorough
def test_no_hardware_without_a_second_mode_has_one():
    made = built(tiny(settings={"power_modes": "by_quarter"}))
    assert all(made[name].empty for name in ("power_modes", "maxq_savings", "full_power_prefill"))
    assert "case/power_modes" not in tiny().rests_on


@pytest.mark.parametrize("path", ["power_maxq_kw", "maxq_throughput_factor"])
@pytest.mark.thorough
def test_the_figures_of_the_mode_are_premises_where_a_plan_may_choose(path):
    at_choice, fixed = racks_short_of_power(), racks_short_of_power("max_p")
    assert f"hardware/{VR}/{path}" in at_choice.rests_on
    assert f"hardware/{VR}/{path}" not in fixed.rests_on
    assert built(at_choice.with_value(f"hardware/{VR}/{path}", "high")).hash != built(at_choice).hash


@pytest.mark.parametrize(("column", "value"), [("max_p", 3), ("maxq", 3), ("saved_kw", 10.0)])
def test_verification_sees_another_mode(column, value):
    table = saving().plan.tables["power_modes"].copy()
    table.loc[0, column] = value
    plan = Plan(saving().plan.summary, {**saving().plan.tables, "power_modes": table})
    assert saving().fails("units of both power modes are those that stand", plan)


def test_verification_sees_racks_that_stand_in_no_mode():
    table = saving().plan.tables["power_modes"].iloc[1:]
    plan = Plan(saving().plan.summary, {**saving().plan.tables, "power_modes": table})
    assert saving().fails("units of both power modes are those that stand", plan)


def test_more_racks_at_maxq_would_not_do_the_work():
    table = saving().plan.tables["power_modes"].copy()
    table.loc[0, ["max_p", "maxq", "saved_kw"]] = [0, 6, 240.0]
    plan = Plan(saving().plan.summary, {**saving().plan.tables, "power_modes": table})
    assert saving().fails("every limit holds", plan)


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_terminal_page_and_workbook_say_how_many_save():
    plan = saving().plan
    (told,) = modes.mode_sentences(plan)
    assert told.startswith("4 of 6 vr-nvl72 at a run at Max-Q in 2027Q1, which leaves 160 kW")
    console = Console(file=io.StringIO(), width=400)
    print_plan(plan, console)
    assert told in console.file.getvalue()
    assert told in render(plan)
    assert workbook(plan) is not None
    assert modes.mode_sentences(planned(racks_short_of_power("max_p"), gap=1e-4)) == []


@pytest.mark.thorough
def test_check_counts_a_fleet_at_maxq_where_the_plan_may_choose():
    """Six racks stand in the power of five."""
    table = fleet(("a", VR, 6, "2026Q4", 7e6)).assign(retirable=False)
    for mode, fits in (("max_p", False), ("by_quarter", True)):
        made = racks_short_of_power(mode).replace(tables={"fleet": table})
        found = check_case(made, built(made)).set_index(["finding", "item"])["holds"]
        assert found["Room for the fleet and firm orders", "a power_kw"].all() == fits


def test_the_rows_of_a_pool_know_its_modes():
    model = build(built(racks_short_of_power())).model
    assert sorted({key[2] for key in model.maxq}) == [0, 1, 2]
    assert ("a", VR, at(1)) in model.full_power_work
