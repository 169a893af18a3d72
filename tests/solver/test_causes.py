"""A shortfall is told with its cause: too early for any order, a named limit, no deployment, or whole units."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_case import budget, fleet, tiny

import procure

OLD = fleet(("a", "gb200-nvl72", 1, "2025Q1", 3.3e6))


def causes(case: Any) -> dict[str, str]:
    """Cause by quarter of what is short."""
    plan = procure.solve(case, threads=1)
    return {w["quarter"]: w["cause"] for w in plan.summary["shortfall"]["workloads"]}


def grown(**more: Any) -> Any:
    return tiny(peaks={"chat": [100, 150, 200, 200]}, planned=2, **{"sites": ({"positions": 20.0},), **more})


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
def test_the_site_limit_that_binds_is_named(site, word):
    found = causes(grown(sites=({"positions": 20.0, **site},)))
    assert found == {"2027Q1": f"limit: {word}", "2027Q2": f"limit: {word}"}


def test_the_budget_is_named():
    found = causes(grown(tables={"fleet": OLD, "budget": budget(1e6, 1e6, 1e8, 1e8)}))
    assert found == {"2027Q1": "limit: budget", "2027Q2": "limit: budget"}


def test_the_supplier_is_named():
    found = causes(grown(figures={("gb300-nvl72", "supply_per_quarter"): 1}))
    assert found == {"2027Q1": "limit: supply", "2027Q2": "limit: supply"}


def test_what_no_order_can_reach_is_inside_the_lead_time():
    case = tiny(peaks={"chat": [100, 150, 150, 150, 150]}, planned=2, lead=1, sites=({"positions": 20.0},))
    assert causes(case) == {"2027Q1": "inside lead time"}


def test_a_speed_that_no_deployment_reaches_is_said_to_be_out_of_reach():
    case = tiny(workloads={"chat": {"tps_user": 100_000.0}})
    assert causes(case) == {"2027Q1": "no deployment meets its SLA"}
