"""What a caller of ``solve`` may rely on: options, limits, bounds, the MPS file, and the same plan again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import highspy
import numpy as np
import pandas as pd
import pytest
from solved_case import built, planned, searched
from tiny_case import budget, fleet, quarter_names, tiny, token_worth

import procure
from procure.errors import InputError
from procure.plan import Status
from procure.program import build as build_program
from procure.report import write_reports
from procure.solver import NoPlan
from procure.solver import whole as whole_module
from procure.solver.compile import compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options, new_solver, set_option
from procure.solver.whole import solve_whole

GB = "gb300-nvl72"
METHODS = ("decomposed", "whole")
OLD = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6))
QUARTERS = quarter_names(6)


def buying(**more: Any) -> Any:
    """Old racks that carry the first quarter, and demand that outgrows them."""
    usual = {"peaks": {"chat": [110.0, 140.0, 150.0, 160.0]}, "sites": ({"positions": 8.0},), "tables": {"fleet": OLD}}
    return tiny(planned=2, **{**usual, **more})


def short_of_places() -> Any:
    return tiny(peaks={"chat": [100, 120, 130, 140]}, planned=2, sites=({"positions": 2.0},))


@pytest.mark.thorough
def test_that_no_fleet_serves_everything_is_proven_and_not_a_limit():
    parts = Decomposition(compile_program(build_program(built(short_of_places()))), Options(threads=1))
    assert parts.solve("cost", 0.0).status == "infeasible"
    assert planned(short_of_places()).status is Status.SHORT


@pytest.fixture
def runs(monkeypatch):
    """Options of every HiGHS run."""
    seen: list[dict[str, Any]] = []
    original = highspy.Highs.run

    def run(self):
        names = ("mip_rel_gap", "time_limit", "threads", "random_seed")
        seen.append({name: self.getOptionValue(name)[1] for name in names})
        return original(self)

    monkeypatch.setattr(highspy.Highs, "run", run)
    return seen


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thorough
def test_seed_and_threads_reach_every_run_of_highs(runs, method):
    searched(buying(), method=method, seed=11, threads=1)
    assert runs
    assert {r["random_seed"] for r in runs} == {11}
    assert {r["threads"] for r in runs} == {1}


@pytest.mark.thorough
def test_gap_reaches_highs_and_the_plan_says_what_was_asked(runs):
    plan = searched(buying(), method="whole", gap=0.017, threads=1)
    assert 0.017 in {r["mip_rel_gap"] for r in runs}
    assert plan.summary["gap_asked"] == 0.017
    assert plan.summary["gap"] <= 0.017


@pytest.mark.parametrize("gap", [0.05, 1e-4])
@pytest.mark.thorough
def test_the_decomposition_stops_within_the_gap_asked_for(runs, gap):
    plan = searched(buying(), gap=gap, threads=1)
    assert plan.summary["gap"] <= gap
    assert plan.summary["gap"] == pytest.approx(
        (plan.objective_usd - plan.summary["bound_usd"]) / abs(plan.objective_usd), abs=1e-9
    )


@pytest.mark.thorough
def test_the_time_limit_reaches_highs(runs):
    procure.solve(buying(), method="whole", time_limit_s=321.0, threads=1)
    assert 0 < min(r["time_limit"] for r in runs) <= 321.0


def test_an_option_that_highs_does_not_take_is_an_error():
    with pytest.raises(ValueError, match="threads"):
        set_option(new_solver(Options()), "threads", -1)


@pytest.mark.thorough
def test_no_time_gives_no_plan():
    for method in METHODS:
        with pytest.raises(NoPlan, match="more time"):
            procure.solve(buying(), method=method, time_limit_s=0.0)


@pytest.mark.thorough
def test_a_limit_keeps_the_best_plan_and_labels_it(monkeypatch):
    """Time runs out when the first incumbent has been told."""
    told: list[Any] = []
    original = Options.left
    monkeypatch.setattr(Options, "left", lambda self: 0.0 if told else original(self))
    plan = searched(
        buying(), gap=0.0, threads=1, progress=lambda p: told.append(p) if p.incumbent is not None else None
    )
    assert plan.status is Status.LIMIT
    assert plan.status.exit_code == 5
    assert plan.tables["checks"]["holds"].all()
    assert plan.summary["bound_usd"] <= plan.objective_usd


@pytest.mark.slow
def test_a_limit_of_the_whole_program_keeps_its_plan(monkeypatch):
    def hasty(options: Options) -> Any:
        solver = new_solver(options)
        set_option(solver, "mip_max_improving_sols", 1)
        set_option(solver, "presolve", "off")
        return solver

    monkeypatch.setattr(whole_module, "new_solver", hasty)
    skus = GB, "vr-nvl72"  # with one of them the first plan that HiGHS finds is the optimum
    more = buying(skus=skus, peaks={"chat": [110.0, 260.0, 380.0, 480.0]}, sites=({"positions": 20.0},))
    plan = searched(more, method="whole", gap=0.0, threads=1)
    assert plan.status is Status.LIMIT
    assert plan.summary["gap"] > 1e-3
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.thorough
def test_a_shortfall_that_is_not_proven_least_is_a_limit_however_good_the_cost(monkeypatch):
    original = Decomposition.solve

    def solve(self: Decomposition, objective: str, most_short: float | None) -> Any:
        found = original(self, objective, most_short)
        return replace(found, status="limit", bound=0.0) if objective == "shortfall" else found

    monkeypatch.setattr(Decomposition, "solve", solve)
    assert searched(short_of_places(), threads=1).status is Status.LIMIT


@pytest.mark.slow
def test_a_plan_whose_cost_was_not_searched_is_kept_with_what_the_cuts_say(monkeypatch, tmp_path):
    """Time may end between the stages: the fleet of the first is a plan, and the cuts at hand bound its cost."""
    optimum = planned(short_of_places())
    solve_stage = Decomposition.solve

    def cut_off(self: Any, objective: str, most_short: float | None) -> Any:
        found = solve_stage(self, objective, most_short)
        if objective == "cost" and found.status != "infeasible":
            return replace(found, status="limit", values=None, objective=None, bound=-np.inf)
        return found

    monkeypatch.setattr(Decomposition, "solve", cut_off)
    plan = searched(short_of_places())
    assert plan.status == Status.LIMIT
    assert 0 < plan.summary["bound_usd"] <= optimum.objective_usd * (1 + 1e-9)
    assert plan.objective_usd >= optimum.summary["bound_usd"] * (1 - 1e-9)
    assert plan.tables["checks"]["holds"].all()
    again = procure.Plan.read(plan.write(tmp_path / "plan", write_reports))
    assert again.summary["bound_usd"] == plan.summary["bound_usd"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thorough
def test_the_least_shortfall_is_held_and_has_its_own_bound(method):
    plan = planned(short_of_places(), method=method)
    short = plan.summary["shortfall"]
    assert plan.status is Status.SHORT
    assert plan.status.exit_code == 6
    assert 0.1 < short["share"] < 1.0
    assert short["bound"] == pytest.approx(short["share"], abs=2.1e-6)
    assert short["bound"] <= short["share"] + 1e-9
    assert {w["cause"] for w in short["workloads"]} == {"limit: positions"}


@pytest.mark.slow
def test_both_methods_find_the_same_least_shortfall_and_cost():
    plans = [planned(short_of_places(), method=method, gap=1e-6) for method in METHODS]
    assert plans[0].summary["shortfall"]["share"] == pytest.approx(plans[1].summary["shortfall"]["share"], abs=2e-6)
    assert plans[0].objective_usd == pytest.approx(plans[1].objective_usd, rel=1e-5)


@pytest.mark.parametrize("make", [buying, short_of_places])
@pytest.mark.thorough
def test_the_mps_file_confirms_the_optimum_in_another_solver_run(tmp_path, make):
    path = tmp_path / "final.mps"
    plan = procure.solve(make(), gap=1e-6, threads=1, mps=path)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("mip_rel_gap", 1e-6)
    assert other.readModel(str(path)) == highspy.HighsStatus.kOk
    other.run()
    assert other.getModelStatus() == highspy.HighsModelStatus.kOptimal
    found = other.getInfo().objective_function_value * plan.summary["mps_scale"]
    assert found == pytest.approx(plan.objective_usd, rel=1e-5)


def rich_in_old_racks() -> Any:
    """What exists is worth more than its upkeep, so that the constant of the cost is negative."""
    return buying(tables={"fleet": fleet(("a", "gb200-nvl72", 2, "2026Q4", 2e7))})


@pytest.mark.slow
@pytest.mark.parametrize("make", [buying, rich_in_old_racks, short_of_places])
@pytest.mark.parametrize("gap", [0.02, 1e-6])
def test_the_bound_of_the_decomposition_never_exceeds_the_optimum(make, gap):
    optimum = planned(make(), method="whole", gap=1e-7).objective_usd
    told: list[Any] = []
    plan = searched(make(), gap=gap, threads=1, progress=told.append)
    if plan.status is Status.OPTIMAL:  # the shortfall's stage runs without a limit on cost
        bounds = [p.bound * 1e6 for p in told if p.phase.startswith("cost")]
        assert bounds
        assert max(bounds) <= optimum + 1e-6 * abs(optimum) + 1.0
    assert plan.summary["bound_usd"] <= optimum + 1e-6 * abs(optimum) + 1.0
    assert plan.objective_usd >= optimum - 1e-6 * abs(optimum) - 1.0
    assert plan.objective_usd - optimum <= gap * abs(plan.objective_usd) + 1.0


@pytest.mark.thorough
def test_one_seed_gives_one_plan():
    first, second = (procure.solve(buying(), seed=5, threads=1) for _ in range(2))
    timeless = [{k: v for k, v in p.summary.items() if k not in ("seconds", "provenance")} for p in (first, second)]
    assert timeless[0] == timeless[1]
    made = [{k: v for k, v in p.summary["provenance"].items() if k != "made"} for p in (first, second)]
    assert made[0] == made[1]
    for name, table in first.tables.items():
        pd.testing.assert_frame_equal(table, second.tables[name])


@pytest.mark.parametrize(
    ("option", "value"),
    [("gap", float("nan")), ("gap", -0.1), ("gap", 1.5), ("time_limit_s", float("nan")), ("time_limit_s", -1.0),
     ("threads", -1), ("seed", -1), ("seed", 2**31)],
)  # fmt: skip
def test_an_option_that_no_search_can_follow_is_refused(option, value):
    with pytest.raises(InputError):
        procure.solve(tiny(), **{option: value})


@pytest.mark.thorough
def test_a_gap_of_zero_is_reached_and_not_searched_for_until_the_time_limit():
    plan = planned(tiny(), gap=0.0)
    assert plan.status == "optimal"
    assert plan.summary["gap"] <= plan.summary["gap_asked"] == 1e-6


@pytest.mark.thorough
def test_a_start_that_presolve_improves_is_not_given_back_in_place_of_the_optimum():
    """HiGHS had the optimum's objective beside the values of the start: a rack was bought that nobody needed."""
    agent = {"scenario": "coding-agentic", "context_cap_tokens": 131_072}
    case = tiny(
        skus=("vr-nvl72",),
        peaks={"chat": [120, 150, 180], "agent": [30, 37, 45]},
        workloads={"agent": agent},
        sites=({"positions": 3.0, "power_kw": 900.0},),
        figures={("vr-nvl72", "supply_per_quarter"): 1},
        tables={
            "fleet": fleet(("a", "hgx-h200", 4, "2024Q2", 3e5), ("a", "vr-nvl72", 1, "2026Q4", 7e6)),
            "budget": budget(2e7, 2e7, 2e7),
        },
        settings={**token_worth(20.0), "nvl72_per_pod": 1, "budget_carry": "unlimited"},
    )
    compiled = compile_program(build_program(built(case)))
    options = Options(gap=1e-5, threads=1)
    parts = Decomposition(compiled, options)
    least = parts.solve("shortfall", None)
    held = least.objective + compiled.short_tolerance
    found, reference = parts.solve("cost", held), solve_whole(compiled, options, "cost", held)
    assert found.status == reference.status == "optimal"
    assert found.objective == pytest.approx(reference.objective, rel=2e-5)
