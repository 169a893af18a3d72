"""Caches that move down between stores: young ones in HBM, older ones in DRAM and drives, where that pays."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import pytest
from rich.console import Console
from solved_case import Solved, built, planned
from tiny_case import worn_drives

from procure.plan import Plan
from procure.report import print_plan
from procure.report.page import render
from procure.report.sentences import caches

pytestmark = pytest.mark.thorough

VR, KIT = "vr-nvl72", "ssd-kit-vr-nvl72"
HBM, DRAM, SSD = f"hbm:{VR}", f"dram:{VR}", f"ssd:{KIT}"


@cache
def moving(how: str = "exclusive") -> Solved:
    made = worn_drives(how)
    return Solved(made, built(made), planned(made, gap=1e-6))


def placed(plan: Plan, store: str) -> Any:
    table = plan.tables["kv_placement"]
    return table[(table["store"] == store) & (table["quarter"] == "2027Q1")].iloc[0]


def test_moves_pay_where_drives_wear_by_whole_sequences():
    """What returns within seconds never reaches the drives; the survivors do, once."""
    still, plan = moving("none").plan, moving().plan
    assert plan.tables["checks"]["holds"].all()
    assert still.tables["cache_moves"].empty
    assert plan.summary["shortfall"]["share"] < still.summary["shortfall"]["share"] - 1e-3
    moves = plan.tables["cache_moves"].query("quarter == '2027Q1'")
    assert set(zip(moves["store"], moves["to_store"], strict=True)) == {(HBM, DRAM), (HBM, SSD)}
    assert moves["age_s"].min() > 60
    assert placed(plan, HBM)["hits_per_s"] > 1.5 * placed(still, HBM)["hits_per_s"]


def test_what_moves_is_written_where_it_comes_to_and_counts_for_bandwidth_and_wear():
    plan = moving().plan
    moves = plan.tables["cache_moves"].query("quarter == '2027Q1'")
    assert moves["read_bytes_per_s"].tolist() == pytest.approx(moves["write_bytes_per_s"].tolist())
    into = moves[moves["to_store"] == SSD]["write_bytes_per_s"].sum()
    assert 0.5 * placed(plan, SSD)["write_bytes_per_s"] < into <= placed(plan, SSD)["write_bytes_per_s"]
    wear = plan.tables["limits"].query("quarter == '2027Q1' and family == 'store wear'").iloc[0]
    share = built(moving().case)["rates"]["mean_per_peak"].iloc[0]
    assert wear["used"] == pytest.approx(placed(plan, SSD)["write_bytes_per_s"] * share * 86_400, rel=1e-6)
    assert wear["binding"]


def test_drives_that_take_new_tokens_only_and_last_need_no_moves():
    """To move is to write a sequence whole, which a store of blocks never does: moves gain nothing to speak of."""
    still, plan = (
        planned(worn_drives(how, dwpd=3.0, flash_writes="write_once"), gap=1e-6) for how in ("none", "exclusive")
    )
    share = "shortfall"
    assert plan.summary[share]["share"] == pytest.approx(still.summary[share]["share"], abs=2e-5)


@pytest.mark.parametrize("how", ["exclusive", "write_through"])
def test_both_ways_of_solving_agree(how):
    whole = planned(worn_drives(how), gap=1e-6, method="whole")
    plan = moving(how).plan
    assert whole.tables["checks"]["holds"].all()
    assert whole.objective_usd == pytest.approx(plan.objective_usd, rel=1e-5)
    assert whole.summary["shortfall"]["share"] == pytest.approx(plan.summary["shortfall"]["share"], abs=2e-6)


def test_written_through_costs_more_writes_than_a_move():
    """Through to drives goes every sequence that will move; a move writes the survivors alone."""
    exclusive, through = moving().plan, moving("write_through").plan
    assert exclusive.summary["shortfall"]["share"] < through.summary["shortfall"]["share"]
    assert through.summary["shortfall"]["share"] <= moving("none").plan.summary["shortfall"]["share"] + 1e-6


@pytest.mark.parametrize(
    ("table", "column", "factor"),
    [
        ("cache_moves", "requests_per_s", 0.9),
        ("cache_moves", "read_bytes_per_s", 0.9),
        ("cache_moves", "write_bytes_per_s", 0.9),
        ("cache_moves", "age_s", 2.0),
        ("cache_moves", "interval", 2),
        ("moved_retention", "kept_requests_per_s", 1.5),
        ("moved_retention", "interval", 2),
    ],
)
def test_verification_sees_other_moves(table, column, factor):
    changed = moving().plan.tables[table].copy()
    changed.loc[0, column] = changed.loc[0, column] * factor
    plan = Plan(moving().plan.summary, {**moving().plan.tables, table: changed})
    assert moving().seen(plan, "caches that move are as stated")


@pytest.mark.parametrize("column", ["store", "to_store"])
def test_verification_sees_a_move_upwards(column):
    changed = moving().plan.tables["cache_moves"].copy()
    changed.loc[0, column] = SSD if column == "store" else HBM
    plan = Plan(moving().plan.summary, {**moving().plan.tables, "cache_moves": changed})
    assert moving().fails("caches that move are as stated", plan)


def test_a_case_without_moves_allows_none():
    plan = Plan(moving("none").plan.summary, {**moving("none").plan.tables,
                "cache_moves": moving().plan.tables["cache_moves"]})  # fmt: skip
    assert moving("none").fails("caches that move are as stated", plan)


@pytest.mark.usefixtures("unplotted")
def test_terminal_and_page_say_what_moves_where():
    told = caches.move_sentences(moving().plan)
    assert any(f"{HBM} to {SSD}" in sentence for sentence in told)
    console = Console(file=io.StringIO(), width=400)
    print_plan(moving().plan, console)
    assert all(sentence in console.file.getvalue() for sentence in told)
    page = render(moving().plan)
    assert all(sentence in page for sentence in told)
    assert caches.move_sentences(moving("none").plan) == []
