"""Late first tokens are short by what is late beyond the allowance: hand-made shares, and a case over its target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand_instance import W, edit, hand_tables, instance, rows, standing
from solved_case import built, planned
from tiny_case import at, fleet, tiny

from procure.check import check_case
from procure.instance.first_token import at_best
from procure.program import build
from procure.solver.compile import compile_program
from procure.solver.highs import Options
from procure.solver.whole import solve_whole


def answer(late_share: float, *, ttft_share: float = 0.9, racks: int = 14, away: float = 0.0) -> dict[str, float]:
    """Least cost where unserved requests are dear: shares short and late, and the share served of each bucket.

    Bucket 1 is a third of the requests; ``late_share`` of it is late, ``away`` of it out of reach.
    """
    tables = hand_tables()
    standing(tables, "g", racks)
    edit(tables, "skus", {"sku": "g"}, supply_per_quarter=0.0)
    edit(tables, "prefill", {"option": "o1"}, late_share=late_share)
    edit(tables, "workloads", {}, ttft_share=ttft_share)
    edit(tables, "short_prices", {}, usd_per_request=1e3)
    if away:
        rows(tables, "out_of_reach", (1, W, 1, away))
    program = build(instance(tables))
    compiled = compile_program(program)
    values = solve_whole(compiled, Options(gap=0.0, threads=1), "cost", None).values
    m = program.model
    named = {"short": m.short[at(1), W], "late": m.late[at(1), W], "b0": m.serve["p0", "a"], "b1": m.serve["p1", "a"]}
    return {name: float(values[compiled.column(v)]) for name, v in named.items()}


def test_fourteen_per_cent_late_where_ten_may_be_are_four_per_cent_short_and_all_is_served():
    found = answer(3 * 0.14)
    assert found["short"] == pytest.approx(0.04, abs=1e-7)
    assert found["late"] == pytest.approx(0.04, abs=1e-7)
    assert (found["b0"], found["b1"]) == pytest.approx((1.0, 1.0), abs=1e-7)


@pytest.mark.parametrize("late", [0.0001, 0.055, 0.1])
def test_what_may_be_late_costs_nothing(late):
    assert answer(3 * late)["short"] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.thorough
def test_shortfall_follows_the_late_share_without_a_step():
    shares = np.linspace(0.08, 0.3, 12)
    short = [answer(3 * share)["short"] for share in shares]
    assert short == pytest.approx(np.maximum(shares - 0.1, 0.0).tolist(), abs=1e-7)


@pytest.mark.parametrize("ttft_share", [0.88, 0.9, 0.99, 1.0])
def test_shortfall_follows_the_share_asked_for(ttft_share):
    assert answer(3 * 0.14, ttft_share=ttft_share)["short"] == pytest.approx(0.14 - (1 - ttft_share), abs=1e-7)


def test_what_is_out_of_reach_is_not_served_and_counts_once():
    """14% late for any pool: the longest 4% are left out, the rest is served, a tenth of all requests late."""
    found = answer(3 * 0.14, away=3 * 0.04)
    assert found["short"] == pytest.approx(0.04, abs=1e-7)
    assert found["late"] == pytest.approx(0.0, abs=1e-7)
    assert (found["b0"], found["b1"]) == pytest.approx((1.0, 1.0 - 0.12), abs=1e-7)


def test_too_few_racks_drop_all_lengths_alike_however_late_the_longest_are():
    """Ten racks of which half may be busy serve 5 of 6 rack-seconds: calling the long ones late frees none of them."""
    found = answer(3 * 0.14, racks=10)
    assert (found["b0"], found["b1"]) == pytest.approx((5 / 6, 5 / 6))
    assert found["short"] == pytest.approx(1 / 6 + 0.04 * 5 / 6)


def long_prompts(ttft_s: float, **stated: Any) -> Any:
    """Llama on old servers, of which there are enough; nothing returns; a rack may be bought and is hardly faster."""
    chat = {"scenario": "chat", "card": "llama-3.1-70b", "reuse_curve": "none", "ttft_s": ttft_s, **stated}
    return tiny(skus=("vr-nvl72",), peaks={"chat": [4, 4, 4]}, workloads={"chat": chat}, sites=({"positions": 20.0},),
                tables={"fleet": fleet(("a", "hgx-h100", 10, "2025Q1", 2e5))})  # fmt: skip


@pytest.mark.slow
def test_a_plan_moves_with_its_target_by_as_much_as_there_are_requests():
    """From 2.6 to 8.25 s; with buckets judged at their longest prompt a workload 7% late would be dropped.

    Below 3.6 s, where it starts to be short, some 0.5% to 1% of the requests come late for each tenth of a second less:
    the steps are short there.
    """
    short, orders = [], []
    for target in (2.6, 2.8, 3.0, 3.25, 3.5, 3.75, 8.25):
        plan = planned(long_prompts(target))
        sla = plan.tables["sla"].iloc[0]
        assert plan.tables["checks"]["holds"].all()
        assert sla.short_share == pytest.approx(max(0.0, 0.9 - sla.ttft_share), abs=2e-6)
        assert (sla.ttft_reached_s <= target) == (sla.ttft_share >= 0.9)
        short.append(sla.short_share)
        orders.append(plan.purchases["count"].sum())
    assert (np.diff(short) <= 1e-9).all()
    assert max(np.abs(np.diff(short))) < 0.03
    assert short[0] > 0.05
    assert short[-1] == 0.0
    assert max(orders) <= 1


@pytest.mark.parametrize("share", [0.88, 0.9, 0.99])
@pytest.mark.thorough
def test_a_tail_target_is_short_by_its_tail_and_check_says_so(share):
    case = long_prompts(2.7, ttft_share=share)
    sla = planned(case).tables["sla"].iloc[0]
    assert sla.short_share == pytest.approx(share - sla.ttft_share, abs=2e-6)
    assert 0.0 < sla.short_share < 0.3
    assert sla.cause.startswith("out of reach: ")
    finding = check_case(case, built(case)).set_index("finding").loc["First token in time"]
    assert not finding["holds"]
    assert finding["value"] == pytest.approx(sla.ttft_share, abs=1e-6)
    assert finding["limit"] == share
    best = at_best(built(case).tables)[0, "chat"]
    assert best.target_s < best.reached_s <= sla.ttft_reached_s * (1 + 1e-6)
    assert f"{best.reached_s:.3g} s" in finding["detail"]
