"""What counts as served is one share of a workload's own demand, for the decomposition as for the whole program."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from oracle_brute import BruteForce
from oracle_quarter import Units
from solved_case import built, found, planned, searched
from tiny_case import SITE_COLUMNS, budget, hardware, quarter_names, tiny

from procure.case import Case
from procure.families.scales import BASIS_POINTS
from procure.plan.status import SERVED
from procure.program import build as build_program
from procure.solver import master as master_module
from procure.solver.compile import compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options
from procure.solver.solve import Method

GB = "gb300-nvl72"
RACK_USD = 6e6
FREE = {
    "attach_kw": 0, "attach_positions": 0, "attach_usd": 0, "install_usd": 0, "support_per_year": 0, "haircut": 0,
    "power_idle_kw": 0, "power_kw": 100, "power_typical_kw": 0, "min_order": 1, "supply_per_quarter": "inf",
    "available_from": "2020Q1", "last_order": "2040Q4", "milestone_order": 1, "milestone_delivery": 0,
    "milestone_acceptance": 0, "lead_quarters": 0,
}  # fmt: skip
WORKLOAD = {
    "workload": "w", "scenario": "chat", "card": "gpt-oss-120b", "input_mean_tokens": 1_000.0,
    "input_p50_tokens": 1_000.0, "input_p90_tokens": 1_000.0, "input_p99_tokens": 1_000.0, "context_cap_tokens": 8_000,
    "output_thinking_tokens": 0.0, "output_visible_tokens": 1_000.0, "shared_prefix_tokens": 999.0,
    "reuse_curve": "none", "ttft_s": 1e6, "tps_user": 50.0, "mean_to_peak": 1.0, "deferrable": False,
    "lookahead_short_usd_per_request": 0.0, "weight_precision": "mxfp4",
}  # fmt: skip
SETTINGS = {
    "name": "full", "first_quarter": "2027Q1", "planned_quarters": 2, "lookahead_quarters": 2, "may_buy": [GB],
    "availability": 1.0, "spare_share": 0.0, "utilisation_cap": 1.0, "store_utilisation_cap": 1.0, "vintage": "none",
    "discount_rate_per_year": 0.0, "ttft_share": 0.5, "rack_local_return_share": 1.0, "pod_return_share": 1.0,
}  # fmt: skip
SITE = {
    "power_kw": 1e6, "pue": 1.0, "positions": 1e5, "area_m2": 1e7, "pods_max": 1_000, "electricity_usd_per_kwh": 0.0,
    "space_usd_per_kw_month": 0.0,
}  # fmt: skip


def full_racks(excess: float, racks: int = 1, held: bool = False) -> Case:
    """Demand of two planned quarters that is ``excess`` (relative) above what so many whole racks carry.

    ``held`` leaves no budget for one more.
    """
    return loaded(racks * (1.0 + excess) * one_rack_carries(), racks if held else None)


@cache
def one_rack_carries() -> float:
    """Requests/s, from what one rack leaves short of twice about its load."""
    case = loaded(2.0, None)
    compiled = compile_program(build_program(built(case)))
    parts = Decomposition(compiled, Options(threads=1))
    fleet = np.array([float(compiled.columns[c].startswith("own")) for c in parts.columns])
    for block in parts.blocks:
        block.tolerate(False)
    missing_bp = max(outcome.excess for outcome in parts.evaluate(fleet, "shortfall"))
    return 2.0 * (1.0 - missing_bp / (BASIS_POINTS / 2))  # each of two planned quarters is half of the demand


def loaded(asked: float, affordable: int | None) -> Case:
    """Racks that cost their price and nothing else, and decode about one request/s by the user's own curve."""
    quarters = quarter_names(4)
    curve = (GB, "gpt-oss-120b", "mxfp4", 3_500 / 3, 1_000.0, 50.0, 1_000 / 72, 0, "2027-01", "test")
    tables = {
        "forecast": pd.DataFrame(
            {"quarter": quarters, "workload": "w", "peak_requests_per_s": [asked, asked, 0.0, 0.0]}
        ),
        "hardware": hardware({(GB, name): value for name, value in FREE.items()}),
        "prices": pd.DataFrame({"sku": GB, "quarter": quarters, "price_usd": RACK_USD}),
        "sites": pd.DataFrame([{**SITE_COLUMNS, **SITE}]),
        "throughput": pd.DataFrame(
            [curve],
            columns=["sku", "card", "weight_precision", "isl", "osl", "tps_user", "tokens_per_s_per_gpu", "all_gpus",
                     "date", "source"],
        ),
        "workloads": pd.DataFrame([WORKLOAD]),
    }  # fmt: skip
    if affordable is not None:
        tables["budget"] = budget(affordable * RACK_USD, 0.0, 0.0, 0.0)
    return Case.from_tables(SETTINGS, tables)


def outcome(case: Case, method: Method) -> tuple[str, int, float]:
    """Status, racks and the larger of the two shares unserved."""
    plan = planned(case, method=method, gap=1e-4)
    assert plan.tables["checks"]["holds"].all()
    racks = plan.objective_usd / RACK_USD
    assert racks == pytest.approx(round(racks), abs=1e-9)
    return str(plan.status), round(racks), float(plan.tables["sla"]["short_share"].max())


@pytest.mark.slow
@pytest.mark.parametrize("held", [False, True], ids=["free", "no budget for one more"])
@pytest.mark.parametrize("excess", [0.0, 1e-9, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4])
def test_demand_a_little_above_whole_racks_is_answered_as_by_the_whole_program(excess, held):
    case = full_racks(excess, held=held)
    parts, whole = outcome(case, "decomposed"), outcome(case, "whole")
    assert parts[:2] == whole[:2]
    assert parts[2] == pytest.approx(whole[2], abs=2.1e-6)  # what the held shortfall may be above the least
    served = excess < SERVED
    assert parts[:2] == (("optimal", 1) if served else ("short", 1) if held else ("optimal", 2))
    if served or held:
        assert parts[2] == pytest.approx(excess, abs=2.1e-6)


@pytest.mark.parametrize("racks", [7, 300])
@pytest.mark.parametrize("excess", [1e-7, 1.9e-5, 2.1e-5])
@pytest.mark.thorough
def test_the_tolerance_is_relative_to_the_demand(racks, excess):
    case = full_racks(excess, racks)
    for found_by in (outcome(case, "decomposed"), outcome(case, "whole")):
        assert found_by[:2] == ("optimal", racks + (excess > SERVED))


def chat(requests_per_s: float) -> Case:
    """One planned quarter of chat on racks that drop in value, and nothing to serve after it."""
    return tiny(peaks={"chat": [requests_per_s, 0.0, 0.0]}, sites=({"positions": 6.0},))


@pytest.mark.slow
@pytest.mark.parametrize("excess", [-1e-4, 1e-6, 1.9e-5, 1e-4])
def test_trying_every_plan_tolerates_the_same(excess):
    """What one rack can carry is read off the shortfall of twice its load."""
    asked = 400.0
    short_bp, _ = BruteForce(chat(asked), {GB: 2}).serve(0, Units({("a", GB): 1}), math.inf)
    assert 1.0 < short_bp < 1e4
    case = chat(asked * (1.0 - short_bp / 1e4) * (1.0 + excess))
    brute = BruteForce(case, {GB: 2})
    least, cost, _ = brute.best()
    assert least == 0.0
    alone, _ = brute.serve(0, Units({("a", GB): 1}), math.inf)
    assert (alone > 0.0) == (excess > SERVED)
    plan, whole = planned(case, gap=1e-6), found(case, "whole", 1e-6)
    assert plan.objective_usd == pytest.approx(cost, rel=2e-5)
    assert whole.cost_usd == pytest.approx(cost, rel=2e-5)
    assert plan.purchases["count"].sum() == (2 if excess > SERVED else 1)


@pytest.mark.thorough
def test_a_fleet_that_the_master_takes_for_servable_by_its_rounding_ends_the_search(monkeypatch):
    """HiGHS's own tolerance lets the master propose the one rack again and again though every quarter turns it down."""
    monkeypatch.setattr(master_module, "be_exact", lambda solver: None)
    proposed: list[int] = []
    evaluate = Decomposition.evaluate
    monkeypatch.setattr(
        Decomposition, "evaluate", lambda self, x, objective: proposed.append(1) or evaluate(self, x, objective)
    )
    excess = SERVED / (1 - SERVED) + 1e-7
    plan = searched(full_racks(excess), gap=1e-4, threads=1, time_limit_s=120)
    assert (str(plan.status), plan.objective_usd) == ("optimal", pytest.approx(2 * RACK_USD))
    assert len(proposed) < 100
