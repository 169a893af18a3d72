"""A shortfall is told with its cause: too early for any order, a named limit, no deployment, or whole units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from solved_case import planned, searched
from tiny_case import budget, fleet, tiny

from procure.plan import Plan

GB = "gb300-nvl72"
OLD = fleet(("a", "gb200-nvl72", 1, "2025Q1", 3.3e6))


def causes(case: Any, answer: Callable[..., Plan] = planned) -> dict[str, str]:
    """Cause by quarter of what is short."""
    plan = answer(case)
    return {w["quarter"]: w["cause"] for w in plan.summary["shortfall"]["workloads"]}


def grown(**more: Any) -> Any:
    return tiny(planned=2, **{"peaks": {"chat": [100, 150, 200, 200]}, "sites": ({"positions": 20.0},), **more})


@pytest.mark.parametrize(
    ("site", "word"),
    [
        ({"positions": 2.0}, "positions"),
        ({"power_kw": 200.0}, "power"),
        ({"area_m2": 3.0}, "area"),
        ({"liquid_kw": 150.0}, "liquid cooling"),
        ({"ports": 120.0}, "ports"),
    ],
)
@pytest.mark.thorough
def test_the_site_limit_that_binds_is_named(site, word):
    found = causes(grown(sites=({"positions": 20.0, **site},)))
    assert found == {"2027Q1": f"limit: {word}", "2027Q2": f"limit: {word}"}


@pytest.mark.thorough
def test_the_budget_is_named():
    found = causes(grown(tables={"fleet": OLD, "budget": budget(1e6, 1e6, 1e8, 1e8)}))
    assert found == {"2027Q1": "limit: budget", "2027Q2": "limit: budget"}


@pytest.mark.thorough
def test_the_supplier_is_named():
    found = causes(grown(figures={("gb300-nvl72", "supply_per_quarter"): 1}))
    assert found == {"2027Q1": "limit: supply", "2027Q2": "limit: supply"}


@pytest.mark.thorough
def test_what_no_order_can_reach_is_inside_the_lead_time():
    case = tiny(peaks={"chat": [100, 150, 150, 150, 150]}, planned=2, lead=1, sites=({"positions": 20.0},))
    assert causes(case) == {"2027Q1": "inside lead time"}


@pytest.mark.thorough
def test_a_speed_that_no_deployment_reaches_is_said_to_be_out_of_reach():
    case = tiny(workloads={"chat": {"tps_user": 100_000.0}})
    assert causes(case) == {"2027Q1": "no deployment meets its SLA"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        # no order of four: the supplier sells two, the floor holds two, the budget pays for two
        ({"figures": {(GB, "min_order"): 4, (GB, "supply_per_quarter"): 2}}, "supply, minimum order"),
        ({"figures": {(GB, "min_order"): 4}, "sites": ({"positions": 3.0},)}, "positions, minimum order"),
        ({"figures": {(GB, "min_order"): 4}, "tables": {"budget": budget(1e7, 0, 0, 0)}}, "budget, minimum order"),
    ],
)
@pytest.mark.thorough
def test_a_minimum_order_that_nothing_can_hold_is_named_beside_what_forbids_it(more, told):
    """Never as a lead time: racks could be there at once."""
    found = causes(grown(peaks={"chat": [60, 61, 62, 63]}, **more))
    assert found == {"2027Q1": f"limit: {told}", "2027Q2": f"limit: {told}"}


@pytest.mark.thorough
def test_a_limit_that_half_a_rack_would_fit_is_named():
    """Of two racks the floor holds 1.99, of which parts would serve nearly all."""
    found = causes(grown(peaks={"chat": [100, 100, 100, 100]}, sites=({"positions": 2.89},)))
    assert found == {"2027Q1": "limit: positions", "2027Q2": "limit: positions"}


@pytest.mark.thorough
def test_two_limits_of_which_neither_alone_helps_are_named_together():
    """One rack each: the floor holds no other and the budget pays for no other."""
    tables = {"budget": budget(8e6, 0, 0, 0)}
    found = causes(grown(sites=({"positions": 2.0},), tables=tables))
    assert found == dict.fromkeys(["2027Q1", "2027Q2"], "several limits together: budget, positions")


@pytest.mark.thorough
def test_a_cause_for_which_no_time_is_left_is_said_to_be_unknown(monkeypatch):
    monkeypatch.setattr("procure.solver.questions.SECONDS", 0.0)
    assert set(causes(grown(sites=({"positions": 2.0},)), searched).values()) == {"not known"}


@pytest.mark.parametrize(
    ("usd_per_request", "positions", "told"),
    [(1e-9, 20.0, "not worth its stated price"), (1.0, 2.0, "limit: positions")],
)
@pytest.mark.thorough
def test_work_after_the_planned_quarters_is_not_worth_its_price_only_where_it_could_be_served(
    usd_per_request, positions, told
):
    case = grown(
        peaks={"chat": [40, 40, 300, 300]},
        sites=({"positions": positions},),
        workloads={"chat": {"lookahead_short_usd_per_request": usd_per_request}},
    )
    sla = planned(case).tables["sla"]
    assert sla[sla["quarter"] == "2027Q4"]["cause"].tolist() == [told]


@pytest.mark.slow
def test_asking_of_all_workloads_at_once_says_what_asking_one_by_one_says(monkeypatch):
    """One is short in all quarters, one in the last only, one never; look-ahead beside planned."""
    peaks = {"agent": [20, 25, 30, 35], "chat": [60, 60, 90, 120], "rag": [5, 5, 5, 5]}
    workloads = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}, "rag": {"priority": 50.0}}
    case = grown(
        peaks=peaks,
        workloads=workloads,
        sites=({"positions": 3.5},),
        tables={"fleet": OLD, "budget": budget(7e6, 9e6, 9e6, 9e6)},
    )
    together = planned(case).tables["sla"]
    monkeypatch.setattr("procure.solver.questions.EXACT", -1.0)
    alone = searched(case, threads=1).tables["sla"]
    assert set(together["cause"]) - {""}
    assert together["cause"].tolist() == alone["cause"].tolist()
