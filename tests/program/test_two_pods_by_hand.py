"""CMX belongs to its pod: four racks in two pods, 0.9 of them up and 0.6 busy at most, worked out by pencil.

200 size units/s take 0.01 rack-seconds of decode each, 0.02 of a full prefill, 0.005 of a hit: 6 racks in full, 3 where
everything hits. Every request returns. s is the share served, k the share kept in CMX, h that hits, of each bucket.
"""

from __future__ import annotations

import pytest
from hand_instance import SITE, W, edit, hand_tables, instance, rows, standing, store
from tiny_case import at

from procure.program import build
from procure.solver.compile import compile_program
from procure.solver.highs import Options
from procure.solver.whole import solve_whole


def served(cmx_racks: int, *, crosses: int = 0, reader_bytes_per_s: float = 1e13, reserved: int = 0) -> float:
    tables = hand_tables()
    edit(tables, "skus", {}, first_order_t=0, last_order_t=-1)
    edit(tables, "skus", {"sku": "g"}, present_share=0.9, usable_share=0.6)
    edit(tables, "site_limits", {}, limit=400.0)
    edit(tables, "pods", {}, pods_max=3, nvl72_per_pod=2, cmx_racks_per_pod=1, cmx_crosses_pods=crosses)
    for sku, count in (("g", 4), ("r", cmx_racks), ("e", 16 * cmx_racks)):
        standing(tables, sku, count)
    if reserved:
        rows(tables, "reserved", (1, SITE, "r", reserved))
    store(tables, "cmx", reader_bytes_per_s=reader_bytes_per_s)
    edit(tables, "return_shares", {}, return_share=1.0)
    tables["ages"] = tables["ages"].iloc[:1]
    edit(tables, "ages", {}, return_share=1.0, mean_released=0.0)
    edit(tables, "short_prices", {}, usd_per_request=1e3)
    program = build(instance(tables))
    compiled = compile_program(program)
    values = solve_whole(compiled, Options(gap=0.0, threads=1), "cost", None).values
    return 1.0 - float(values[compiled.column(program.model.short[at(1), W])])


def test_reads_that_cross_pods_need_no_pod():
    """All hits: 3 s = 4 · 0.6."""
    assert served(1, crosses=1) == pytest.approx(0.8, abs=1e-7)


@pytest.mark.parametrize(("cmx_racks", "reserved"), [(1, 0), (2, 1)])
def test_one_pod_with_cmx_works_on_what_it_keeps(cmx_racks, reserved):
    """Two places do 1.2 racks of work: 3 h = 1.2. The rest in full: 6 (s − h) = 2.4 − 1.2."""
    assert served(cmx_racks, reserved=reserved) == pytest.approx(0.4 + 0.2, abs=1e-7)


def test_cmx_in_both_pods_is_as_good_as_crossing():
    assert served(2) == pytest.approx(0.8, abs=1e-7)


def test_ports_read_for_the_longer_prompts_first():
    """Four ports at 0.9 · 15 = 54 GB/s; all hits of bucket 1 take 30 and save as much work as the 60 of bucket 0.

    h₁ = s and 30 s + 60 h₀ = 54, so 6 s − 1.5 s − 1.5 (0.9 − s/2) = 2.4.
    """
    assert served(1, crosses=1, reader_bytes_per_s=15e9) == pytest.approx(3.75 / 5.25, abs=1e-7)


@pytest.mark.slow
def test_ports_and_sessions_of_one_pod():
    """Two ports read 18 GB/s: 30 h₁ + 60 h₀. What is kept is worked on there: 6 k − 1.5 h₁ − 1.5 h₀ = 1.2 with h₁ = k.

    So k = 1.65 / 5.25, h₀ = 0.3 − k/2, and 6 s = 2.4 + 1.5 (h₁ + h₀).
    """
    kept = 1.65 / 5.25
    assert served(1, reader_bytes_per_s=10e9) == pytest.approx((2.4 + 1.5 * (0.3 + kept / 2)) / 6, abs=1e-7)
