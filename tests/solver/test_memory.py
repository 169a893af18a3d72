"""What a search leaves for cases alike: cuts that hold at other coefficients, and the same answer with less work."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from solved_case import built
from tiny_case import budget, fleet, tiny

import procure
from procure.program import build as build_program
from procure.solver import search
from procure.solver.compile import Compiled, compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options
from procure.solver.memory import Memory
from procure.solver.search import Search

pytestmark = pytest.mark.thorough

GAP = 1e-4
GB, VR = "gb300-nvl72", "vr-nvl72"
OLD = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6))
ASKED: dict[str, Any] = {
    "skus": (GB, VR),
    "peaks": {"chat": [110.0, 140.0, 150.0, 160.0], "code": [10.0, 20.0, 30.0, 30.0]},
    "workloads": {"code": {"scenario": "reasoning-chat"}},
    "planned": 2,
    "sites": ({"positions": 12.0},),
}


def changed(**more: Any) -> Any:
    tables = {"fleet": OLD, **more.pop("tables", {})}
    return tiny(**{**ASKED, "tables": tables, **more})


CHANGES: dict[str, Any] = {
    "nothing": {},
    "a price": {"figures": {(GB, "price_usd"): 6.5e6}},
    "a limit that leaves it short": {"sites": ({"positions": 4.0},)},
    "a budget": {"tables": {"budget": budget(4e7, 3e7, 3e7, 3e7)}},
    "growth": {"settings": {"isl_growth_per_year": 0.3}},
    "a load": {"peaks": {"chat": [110.0, 170.0, 150.0, 190.0], "code": [10.0, 20.0, 30.0, 30.0]}},
    "a workload less": {"peaks": {"chat": [110.0, 140.0, 150.0, 160.0]}, "workloads": {}},
    "a SKU less": {"skus": (GB,)},
}


@cache
def compiled(change: str) -> Compiled:
    return compile_program(build_program(built(changed(**CHANGES[change]))))


@cache
def _learnt() -> Memory:
    memory = Memory()
    assert Decomposition(compiled("nothing"), Options(GAP, threads=1), memory).solve("cost", 0.0).status == "optimal"
    return memory


def memory() -> Memory:
    """What the case without any change leaves, to be renewed at will."""
    return replace(_learnt())


def solved(change: str, known: Memory | None) -> tuple[float, float, float]:
    """Least shortfall, cost and bound, as the stages of a case ask for them."""
    program = compiled(change)
    parts = Decomposition(program, Options(GAP, threads=1), known)
    found, short = parts.solve("cost", 0.0), 0.0
    if found.values is None:
        least = parts.solve("shortfall", None)
        assert least.objective is not None
        short = least.objective
        found = parts.solve("cost", short + program.short_tolerance)
    assert found.objective is not None
    assert found.bound is not None
    return short, found.objective, found.bound


@pytest.mark.parametrize("change", CHANGES)
def test_the_answer_is_the_same_with_a_memory_of_another_case_and_bounds_never_cross(change):
    short, cost, bound = solved(change, None)
    again, warm, warm_bound = solved(change, memory())
    assert abs(short - again) <= 2 * compiled(change).short_tolerance
    assert cost - bound <= GAP * cost + 1e-9
    assert warm - warm_bound <= GAP * warm + 1e-9
    if short == 0.0:  # what is tolerated of a least shortfall is money too
        assert max(bound, warm_bound) <= min(cost, warm) + 1e-6


@pytest.mark.parametrize("change", CHANGES)
def test_a_recalled_cut_never_asks_for_more_than_a_fleet_costs(change):
    parts = Decomposition(compiled(change), Options(threads=1))
    parts.regime(0.0)
    cuts = _learnt().cuts(parts)
    assert cuts
    draw = np.random.default_rng(0)
    fleet_now = _learnt().point(parts)
    assert fleet_now is not None
    for extra in (0, 1, 3):
        x = fleet_now + extra * (parts.compiled.helps[parts.columns] > 0) * draw.integers(0, 2, len(parts.columns))
        for outcome in parts.evaluate(x, "cost"):
            for cut in cuts:
                if cut.block == outcome.cut.block and outcome.cost is not None:
                    assert cut.value(x) <= (1e-7 * cut.scale if cut.feasibility else outcome.cost + 1e-7)


def test_cuts_of_a_basis_are_tight_at_a_load_that_has_grown():
    """Multipliers as they were say almost nothing of a block whose coefficients have moved; its basis does."""
    parts = Decomposition(compiled("growth"), Options(threads=1))
    parts.regime(0.0)
    for cut in _learnt().cuts(parts):
        parts.cuts.append(cut)
    warm = Search(parts, "cost", 0.0).master.relaxed()
    cold = Search(Decomposition(compiled("growth"), Options(GAP, threads=1)), "cost", 0.0)
    assert cold._relax()
    assert warm.bound is not None
    assert 0.9 * cold.bound <= warm.bound <= cold.solve().objective + 1e-6


def test_with_a_memory_quarters_are_not_asked_what_they_want_alone(monkeypatch):
    asked: list[str] = []
    original = search.ask_alone
    monkeypatch.setattr(search, "ask_alone", lambda *a: (asked.append("alone"), original(*a))[1])
    solved("a price", memory())
    assert asked == []
    solved("a price", None)
    assert asked == ["alone"]


def test_solve_renews_the_memory_that_it_is_given():
    known = procure.Memory()
    first = procure.solve(changed(), threads=1, memory=known)
    assert known.fleet
    before = dict(known.fleet)
    second = procure.solve(changed(**CHANGES["a load"]), threads=1, memory=known)
    assert known.fleet != before
    assert second.objective_usd > first.objective_usd
