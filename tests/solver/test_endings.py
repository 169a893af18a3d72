"""However a search ends, the plan that is kept costs what its service needs, and not all that would fit the limits."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from solved_case import built, searched
from tiny_case import budget, fleet, tiny

from procure.plan import Status
from procure.program import build as build_program
from procure.report.sentences.outcome import status_sentence
from procure.solver import NoPlan
from procure.solver.compile import compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options

PEAKS = {"chat": [100.0, 120.0, 130.0, 140.0, 150.0, 160.0]}


def late() -> Any:
    """The first quarter is inside the lead time and short whatever is bought; money and room are left for far more."""
    return tiny(peaks=PEAKS, planned=3, lead=1, sites=({"positions": 60.0},))


def at_the_edge() -> Any:
    """Parts of racks would serve all within the budget, whole ones do not."""
    return tiny(
        peaks=PEAKS, planned=3, sites=({"positions": 60.0},), tables={"budget": budget(1.5e7, 2e6, 2e6, 9e7, 9e7)}
    )


@pytest.fixture(params=[late, at_the_edge])
def case_and_plan(request, solved={}) -> Any:  # noqa: B006 - each case is solved once
    if request.param not in solved:
        case = request.param()
        solved[request.param] = case, searched(case, threads=1, gap=1e-4)
    return solved[request.param]


def capital(plan: Any) -> float:
    return float(plan.purchases["capex_usd"].sum())


@pytest.mark.thorough
def test_the_cases_are_short_and_their_least_cost_is_proven(case_and_plan):
    _, best = case_and_plan
    assert best.status is Status.SHORT
    assert len(best.purchases)


@pytest.mark.parametrize("rounds", [2, 3, 5, 9])
@pytest.mark.thorough
def test_a_search_cut_off_after_some_rounds_of_quarters_keeps_a_plan_whose_money_is_sane(
    case_and_plan, monkeypatch, rounds
):
    case, best = case_and_plan
    asked: list[int] = []
    evaluate, left = Decomposition.evaluate, Options.left

    def counted(self: Any, x: Any, objective: str) -> Any:
        asked.append(1)
        return evaluate(self, x, objective)

    monkeypatch.setattr(Decomposition, "evaluate", counted)
    monkeypatch.setattr(
        Options, "left", lambda self: 0.0 if len(asked) >= rounds and not self._regardless else left(self)
    )
    plan = searched(case, threads=1, gap=1e-4)
    assert plan.tables["checks"]["holds"].all()
    assert plan.status in (Status.LIMIT, Status.SHORT)
    assert plan.summary["shortfall"]["share"] >= best.summary["shortfall"]["share"] - 1e-5
    assert capital(plan) <= 1.1 * capital(best) + 1.0


@pytest.mark.thorough
def test_where_the_cost_of_the_least_shortfall_is_never_searched_for_its_fleet_is_cheap_all_the_same(
    case_and_plan, monkeypatch
):
    case, best = case_and_plan
    solve = Decomposition.solve

    def cut_off(self: Any, objective: str, most_short: float | None) -> Any:
        if objective == "cost" and most_short:
            self.options.time_limit_s = 0.0
        return solve(self, objective, most_short)

    monkeypatch.setattr(Decomposition, "solve", cut_off)
    plan = searched(case, threads=1, gap=1e-4)
    assert plan.status is Status.LIMIT
    assert plan.summary["shortfall"]["share"] == pytest.approx(best.summary["shortfall"]["share"], abs=2e-5)
    assert plan.objective_usd <= best.objective_usd + 0.05 * capital(best)


@pytest.mark.thorough
def test_a_wish_to_stop_keeps_what_stands_once_the_quarters_have_been_asked_about_it():
    told: list[Any] = []
    plan = searched(
        late(), threads=1, progress=told.append, stop=lambda: any(p.phase == "block by block" for p in told)
    )
    assert plan.status is Status.LIMIT
    assert plan.tables["checks"]["holds"].all()
    with pytest.raises(NoPlan, match="Stopped"):
        searched(late(), threads=1, stop=lambda: True)


@pytest.mark.thorough
def test_the_gap_is_told_of_what_decisions_move_in_progress_as_in_the_result():
    """A firm order of which four fifths are due, and old racks with an upkeep and a worth: no decision moves them."""
    names = ["site", "sku", "count", "delivery", "price_usd_per_unit", "paid_share"]
    firm = pd.DataFrame([("a", "gb300-nvl72", 2, "2027Q1", 4e6, 0.2)], columns=names)
    old = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6))
    peaks = {"chat": [2.0 * peak for peak in PEAKS["chat"]]}  # so much that the first fleet is not the cheapest
    case = tiny(peaks=peaks, planned=2, tables={"orders": firm, "fleet": old}, sites=({"positions": 60.0},))
    told: list[Any] = []
    plan = searched(case, threads=1, gap=0.3, progress=told.append)
    stated, last = plan.summary, [p for p in told if p.gap is not None][-1]
    assert stated["gap"] > 1e-4  # a wide gap was asked for: there is something to tell
    moved = plan.objective_usd - stated["standing_usd"]
    assert last.standing * 1e6 == pytest.approx(stated["standing_usd"])
    assert last.gap_of_decided == pytest.approx((plan.objective_usd - stated["bound_usd"]) / abs(moved), rel=1e-6)
    assert f"{last.gap_of_decided:.2%} of what decisions move" in status_sentence(plan)
    bare = tiny(peaks=PEAKS, planned=2, sites=({"positions": 60.0},))
    assert searched(bare, threads=1).summary["standing_usd"] == 0.0


@pytest.mark.thorough
def test_a_shortfall_that_is_near_enough_never_gives_up_a_workload():
    small = {"chat": PEAKS["chat"], "tiny": [0.001] * 6}
    compiled = compile_program(build_program(built(tiny(peaks=small, planned=3))))
    alone = compile_program(build_program(built(tiny(peaks=PEAKS, planned=3))))
    weights = compiled.matrix[compiled.mendable].data
    assert compiled.short_gap < weights[weights > 0].min()
    assert alone.short_gap == pytest.approx(0.2)


@pytest.mark.thorough
def test_a_tiny_demand_without_any_place_to_stand_ends_as_a_short_plan():
    """Five cents at stake: no search proves them to a share, and there is nothing left to choose."""
    plan = searched(tiny(peaks={"chat": [1e-6] * 3}, sites=({"positions": 1.0},)), threads=1)
    assert plan.status is Status.SHORT
    assert plan.objective_usd < 1.0
    assert plan.summary["shortfall"]["share"] == pytest.approx(1.0)
