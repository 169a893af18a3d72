"""A family that is new to the decomposition: rows that a fleet breaks give cuts, and what nothing mends is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solved_case import built, planned, searched
from tiny_case import tiny, token_worth

from procure.families import contents
from procure.program import build as build_program
from procure.program.declare import block_rows
from procure.program.part import Part
from procure.solver import Infeasible
from procure.solver.blocks import Block
from procure.solver.compile import compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options
from procure.study import sweep
from procure.timekey import TimeKey

GB = "gb300-nvl72"
METHODS = ("decomposed", "whole")


def at_most_a_tenth_short(m: Any, index: Any) -> None:
    m.served_share = block_rows(index.loads, rule=lambda m, at, w: m.short[at, w] <= 0.1)


def at_most_a_tenth_short_by_bound(m: Any, index: Any) -> None:
    for key in index.loads:
        m.short[key].setub(0.1)


def one_rack_spare(m: Any, index: Any) -> None:
    """N+1: a pool serves a quarter of the load with each of its racks but one, and there always is one."""

    def rule(m: Any, site: str, sku: str, at: TimeKey) -> Any:
        points = index.serve_by_pool[site, sku, at]
        served = [p.rate / index.load_rate[at, p.workload] * m.serve[p.point, s] for p, s in points]
        return sum(served) <= 0.25 * (m.own[site, sku, at.t] - 1)

    m.one_spare = block_rows(index.serve_by_pool, rule=rule)


def half_of_each_served_twice(m: Any, index: Any) -> None:
    """An equation that no fleet meets: shares short are at most 1."""
    m.twice = block_rows(index.loads, rule=lambda m, at, w: m.short[at, w] == 1.5)


def crowded(m: Any, index: Any) -> None:
    """More racks serve less: beyond three at a site, each takes a tenth of all service away."""

    def rule(m: Any, at: TimeKey, workload: str) -> Any:
        served = [m.serve[p.point, s] for p, s in index.serve if (p.at, p.workload) == (at, workload)]
        return sum(served) + 0.1 * sum(m.own[k] for k in index.stock if k[2] == at.t) <= 1.3

    m.crowded = block_rows(index.loads, rule=rule, against=["own"])


@pytest.fixture
def adding(monkeypatch):
    def add(*families: Any) -> None:
        known = contents.programs()
        monkeypatch.setattr(contents, "programs", lambda: {**known, "new": Part(families)})

    return add


def growing(positions: float = 20.0) -> Any:
    """Look-ahead quarters may go short for nothing, so that only a family makes them buy."""
    free = token_worth(0.0)
    return tiny(peaks={"chat": [60, 120, 180, 260]}, planned=2, sites=({"positions": positions},), settings=free)


def agree(make: Any) -> list[Any]:
    plans = [searched(make(), method=method, gap=1e-6, threads=1) for method in METHODS]
    assert plans[0].objective_usd == pytest.approx(plans[1].objective_usd, rel=1e-5)
    assert plans[0].status == plans[1].status
    assert plans[0].summary["shortfall"]["share"] == pytest.approx(plans[1].summary["shortfall"]["share"], abs=2e-6)
    return plans


@pytest.mark.slow
@pytest.mark.parametrize("family", [at_most_a_tenth_short, at_most_a_tenth_short_by_bound, one_rack_spare, crowded])
def test_rows_that_a_fleet_breaks_give_cuts_and_the_answer_of_the_whole_program(adding, family):
    free = planned(growing(), gap=1e-6)  # before the family is there
    adding(family)
    plans = agree(growing)
    assert abs(plans[0].objective_usd - free.objective_usd) > 1_000.0  # the family binds


@pytest.mark.thorough
def test_the_quarters_broken_by_a_family_are_cut_off_and_not_an_error(adding, monkeypatch):
    adding(at_most_a_tenth_short)
    breaches: list[Any] = []
    breach = Block.breach
    monkeypatch.setattr(Block, "breach", lambda self, x: breaches.append(breach(self, x)) or breaches[-1])
    plan = searched(growing(), threads=1)
    assert breaches
    assert all(o.cut.feasibility and o.cost is None and np.isinf(o.excess) for o in breaches)
    assert plan.tables["sla"]["short_share"].max() <= 0.1 + 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("family", "told"),
    [
        (at_most_a_tenth_short, "served_share"),
        (at_most_a_tenth_short_by_bound, "positions"),
        (one_rack_spare, "one_spare"),
        (half_of_each_served_twice, "twice[1, chat] exceeded by 0.5"),
    ],
)
@pytest.mark.thorough
def test_what_no_fleet_can_mend_is_infeasible_and_the_row_is_told(adding, method, family, told):
    adding(family)
    with pytest.raises(Infeasible) as caught:
        searched(growing(0.5), method=method, threads=1)
    assert any(told in line for line in caught.value.lines)


@pytest.mark.thorough
def test_a_sweep_goes_on_beside_a_point_that_nothing_mends(adding):
    adding(at_most_a_tenth_short)
    frame = sweep(growing(), {"sites.a.positions": [0.5, 20.0]}, threads=1)
    assert frame["status"].tolist() == ["failed", "optimal"]
    assert "served_share" in frame["reason"].iloc[0]


@pytest.mark.thorough
def test_a_column_of_which_more_serves_less_is_not_taken_for_capacity(adding):
    compiled = compile_program(build_program(built(growing())))
    plain = Decomposition(compiled, Options(threads=1))
    names = np.array(compiled.columns)[plain.columns]
    assert {n for n in names if n.startswith("own")} == set(names[plain.helping])
    assert len(plain.hurting) == 0
    adding(crowded)
    compiled = compile_program(build_program(built(growing())))
    mixed = Decomposition(compiled, Options(threads=1))
    assert not {n for n in names[mixed.helping] if n.startswith("own")}
    assert not {n for n in names[mixed.hurting] if n.startswith("own")}
