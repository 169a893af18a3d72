"""What a second plan does otherwise: units paired by hand, costs that add up, premises and loads that differ."""

from __future__ import annotations

import json

import pytest
from solved_case import planned
from tiny_case import tiny

from procure.cli import main
from procure.plan import Plan
from procure.plan.compare import Move, compare, moved_orders
from procure.plan.plan import frame

GB = "gb300-nvl72"
PRICE = f"hardware/{GB}/price_usd"


def ordering(plan, *orders):
    """The plan with other orders of planned quarters: quarter and count of units of one SKU at one site."""
    row = plan.tables["purchases"].iloc[0].to_dict()
    made = type(plan.tables["purchases"])(
        [{**row, "quarter": q, "count": n, "capex_usd": 10.0 * n, "span": "planned"} for q, n in orders],
        columns=plan.tables["purchases"].columns,
    )
    return type(plan)(plan.summary, {**plan.tables, "purchases": made})


def planning(plan, *quarters):
    """The plan with other planned quarters."""
    return type(plan)({**plan.summary, "planned_quarters": list(quarters)}, plan.tables)


@pytest.mark.thorough
def test_units_are_paired_in_the_order_of_their_quarters():
    plan = planning(planned(tiny(peaks={"chat": [60, 80, 90]}), gap=1e-4), "2027Q1", "2027Q2", "2027Q3")
    before, after = ordering(plan, ("2027Q1", 2), ("2027Q3", 2)), ordering(plan, ("2027Q2", 2), ("2027Q3", 1))
    told = [(m.move, m.before, m.after, m.count, m.capex_usd) for m in moved_orders(before, after)]
    assert told == [(Move.PUSHED_OUT, "2027Q1", "2027Q2", 2, 0.0), (Move.DROPPED, "2027Q3", "", 1, -10.0)]
    told = [(m.move, m.before, m.after, m.count, m.capex_usd) for m in moved_orders(after, before)]
    assert told == [(Move.PULLED_IN, "2027Q2", "2027Q1", 2, 0.0), (Move.ADDED, "", "2027Q3", 1, 10.0)]
    assert moved_orders(before, before) == []


def test_a_step_of_a_site_is_an_order_too():
    plans = []
    for quarter in ("2027Q3", "2027Q1"):
        steps = [(quarter, "a", "hall 2", 1, "planned", 1e6, "")]
        tables = {"purchases": frame("purchases", []), "expansions": frame("expansions", steps)}
        plans.append(Plan({"planned_quarters": ["2027Q1", "2027Q3"]}, tables))
    (step,) = moved_orders(*plans)
    assert (step.sku, step.move, step.before, step.after) == ("expansion hall 2", Move.PULLED_IN, "2027Q3", "2027Q1")
    assert moved_orders(plans[0], plans[0]) == []


@pytest.mark.thorough
def test_a_plan_of_a_quarter_later_is_compared_in_the_quarters_that_both_plan():
    """What was ordered in the first quarter is on firm order then: neither dropped nor pushed out."""
    plan = planned(tiny(peaks={"chat": [60, 80, 90]}), gap=1e-4)
    before = planning(ordering(plan, ("2027Q1", 2), ("2027Q2", 1)), "2027Q1", "2027Q2")
    after = planning(ordering(plan, ("2027Q2", 1), ("2027Q3", 4)), "2027Q2", "2027Q3")
    found = compare(before, after)
    assert (found.orders, found.quarters, found.same_quarters) == ([], ["2027Q2"], False)
    assert found.facts()["least_usd"] is None
    more = compare(before, planning(ordering(plan, ("2027Q2", 3)), "2027Q2", "2027Q3"))
    assert [(m.move, m.after, m.count) for m in more.orders] == [(Move.ADDED, "2027Q2", 2)]


@pytest.mark.thorough
def test_costs_by_line_add_up_and_what_differs_is_named():
    case = tiny(peaks={"chat": [60, 80, 90]})
    other = case.with_value(PRICE, "x1.1").with_value("forecast/chat/2027Q1/peak_requests_per_s", 70.0)
    first, second = planned(case, gap=1e-4), planned(other, gap=1e-4)
    found = compare(first, second)
    assert not found.same_case
    assert found.costs["moves_usd"].sum() == pytest.approx(found.cost_usd)
    assert found.cost_usd == pytest.approx(second.objective_usd - first.objective_usd)
    assert found.least_usd <= found.cost_usd <= found.most_usd
    assert not found.is_tie
    (load,) = found.loads.to_dict("records")
    assert (load["workload"], load["quarter"]) == ("chat", "2027Q1")
    assert (load["before_requests_per_s"], load["after_requests_per_s"]) == pytest.approx((60.0, 70.0))
    assert PRICE in found.premises["path"].tolist()
    same = compare(first, first)
    assert same.same_case and same.is_tie  # noqa: PT018
    assert same.orders == [] and same.loads.empty and same.premises.empty  # noqa: PT018


@pytest.mark.thorough
def test_the_verb_holds_each_plan_against_the_first(tmp_path, capsys):
    case = tiny(peaks={"chat": [60, 80, 90]})
    planned(case, gap=1e-4).write(tmp_path / "a plan")
    planned(case.with_value(PRICE, "x1.1"), gap=1e-4).write(tmp_path / "dear")
    folders = [str(tmp_path / "a plan"), str(tmp_path / "dear")]
    assert main(["compare", *folders, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["orders"] == []
    assert row["cost_usd"] > 0
    assert main(["compare", *folders]) == 0
    told = capsys.readouterr().out
    assert "Orders of the quarters that both plan are the same." in told
    assert f"Premise {PRICE}" in told
    assert main(["compare", folders[0]]) == 2


@pytest.mark.thorough
def test_costs_of_plans_that_serve_other_shares_are_not_told_as_least_costs_that_differ(tmp_path, capsys):
    plan = planned(tiny(peaks={"chat": [60, 80, 90]}), gap=1e-4)
    short = {**plan.summary["shortfall"], "share": 0.25}
    other = type(plan)({**plan.summary, "shortfall": short}, plan.tables)
    found = compare(plan, other)
    assert (found.before_short_share, found.after_short_share) == (0.0, 0.25)
    assert found.least_usd != found.least_usd
    assert not found.is_tie
    for name, each in (("whole", plan), ("short", other)):
        each.write(tmp_path / name)
    assert main(["compare", str(tmp_path / "whole"), str(tmp_path / "short")]) == 0
    told = capsys.readouterr().out
    assert "not served, weighted by priority: 0.0000% to 25.0000%" in told
    assert "least costs differ" not in told
