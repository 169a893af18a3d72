"""What is held for others or is down stores nothing: the share served where every request must be a hit."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, edit, hand_tables, instance, rows, standing, store
from tiny_case import at

from procure.program import build
from procure.solver.compile import compile_program
from procure.solver.highs import Options
from procure.solver.whole import solve_whole

NEEDED = 150.0 * (1e9 * 10.0 + 0.5e9 * 11.0)
"""Bytes that 150 hits/s take: 1 GB kept for 10 s, and half of it for 11 s more while its reader runs."""


def served(tier: str, fleet: dict[str, int], held: dict[str, int], **limits: float) -> float:
    """Share served where nothing can be bought, all returns reach their copy, and nothing can be prefilled in full."""
    tables = hand_tables()
    edit(tables, "skus", {}, first_order_t=0, last_order_t=-1)
    edit(tables, "site_limits", {}, limit=400.0)
    edit(tables, "pods", {}, pods_max=20)
    for sku, count in fleet.items():
        standing(tables, sku, count)
    for sku, count in held.items():
        rows(tables, "reserved", (1, SITE, sku, count))
    tables["prefill"] = tables["prefill"].iloc[:0]
    store(tables, tier, **limits)
    edit(tables, "return_shares", {}, return_share=1.0)
    tables["ages"] = tables["ages"].iloc[:1]
    edit(tables, "ages", {}, return_share=1.0, mean_released=0.0)
    program = build(instance(tables))
    compiled = compile_program(program)
    answer: Any = solve_whole(compiled, Options(gap=0.0, threads=1), "cost", None)
    return 1.0 - float(answer.values[compiled.column(program.model.short[at(1), "w"])])


@pytest.mark.parametrize(("held", "share"), [(0, 0.8 * 40 / 40), (20, 0.8 * 20 / 40), (30, 0.8 * 10 / 40)])
def test_host_memory_of_reserved_and_failed_racks_is_not_there(held, share):
    """40 racks of which 0.8 are up hold just 0.8 of what all requests need; those of others hold nothing."""
    assert served("dram", {"g": 40}, {"g": held}, bytes=NEEDED / 40) == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("limit", ["bytes", "read_bytes_per_s", "write_bytes_per_s", "write_bytes_per_day"])
def test_all_that_a_drive_does_is_done_by_those_that_are_up_and_free(limit):
    # reads 0.6 GB a hit, writes 1 − 0.5 GB, at half the rate in the mean of a day
    needed = {
        "bytes": NEEDED,
        "read_bytes_per_s": 100 * 0.6e9 + 50 * 0.6e9,
        "write_bytes_per_s": 150 * 0.5e9,
        "write_bytes_per_day": 150 * 0.5e9 * 0.5 * 86_400,
    }[limit]
    fleet = {"g": 40, "k": 20}
    ways = (({"g": 25, "k": 12}, 8), ({}, 20), ({"k": 8}, 12), ({"g": 25}, 15))
    for held, free in ways if limit == "bytes" else ways[:1]:
        share = served("ssd", fleet, held, **{limit: needed / 40})
        assert share == pytest.approx(0.8 * free / 40, rel=1e-6), (limit, held)


def test_enclosures_in_frames_of_others_serve_nobody_here():
    fleet = {"g": 40, "r": 2, "e": 20}
    for held, free in (({"e": 12}, 8), ({"r": 1}, 16), ({"r": 1, "e": 6}, 14)):
        assert served("cmx", fleet, held, bytes=NEEDED / 40) == pytest.approx(0.8 * free / 40, rel=1e-6)


def test_ports_of_reserved_readers_read_nothing_here():
    fleet = {"g": 40, "r": 1, "e": 1}
    share = served("cmx", fleet, {"g": 30}, reader_bytes_per_s=150 * 0.6e9 / 40)
    assert share == pytest.approx(0.8 * 10 / 40, rel=1e-6)
