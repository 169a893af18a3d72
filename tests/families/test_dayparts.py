"""Parts of the day: batch work fills the night, and peaks at different hours are not added up."""

from __future__ import annotations

import io
import math
from functools import cache
from typing import Any

import pandas as pd
import pytest
from rich.console import Console
from solved_case import Solved, built, checked, planned
from tiny_case import by_hours, fleet

import procure
from procure.report import print_plan
from procure.report.page import render
from procure.report.sentences.day import day_sentences
from procure.report.sentences.losses import loss_sentences
from procure.report.words import share
from procure.report.workbook import build as sheets_of

GB = "gb300-nvl72"
SLOW_NIC = 2e8
"""Bytes/s of a GPU, so few that racks are bought for them."""


def busy(plan: procure.Plan, workload: str) -> float:
    """Racks that a workload keeps busy in the first quarter: at its peak, or in the mean of the day."""
    tables = (plan.tables["serving"], plan.tables["prefill"])
    return sum(t[(t["quarter"] == "2027Q1") & (t["workload"] == workload)]["racks"].sum() for t in tables)


def racks(plan: procure.Plan) -> int:
    assert plan.status == "optimal"
    assert plan.tables["checks"]["holds"].all()
    return int(plan.purchases["count"].sum())


def usable(case: procure.Case) -> float:
    return float(built(case)["skus"].set_index("sku").loc[GB, "usable_share"])


@pytest.mark.parametrize("requests_per_day", [1.7e6, 12e6])
@pytest.mark.thorough
def test_a_batch_fills_the_night_and_buys_only_what_the_night_does_not_hold(requests_per_day):
    case = by_hours(requests_per_day)
    plan = planned(case, gap=1e-6)
    peak, mean = busy(plan, "day"), busy(plan, "batch")
    free = 16 * 0.75 * peak  # rack-hours left free at night below the peak
    level = peak if 24 * mean <= free else (24 * mean + 8 * peak + 16 * 0.25 * peak) / 24
    assert racks(plan) == math.ceil(level / usable(case))
    on_top = planned(by_hours(requests_per_day, dayparts="peak"), gap=1e-6)
    assert racks(on_top) == math.ceil((peak + mean) / usable(case)) > racks(plan)
    placed = plan.tables["deferred"].query("quarter == '2027Q1' and work == 'decode'")
    hours = placed["hours"].map({"09-17": 8, "17-09": 16})
    assert (placed["requests_per_s"] * hours * 3_600).sum() == pytest.approx(requests_per_day, rel=1e-5)
    assert on_top.tables["deferred"].empty
    assert on_top.tables["day"].empty


@pytest.mark.thorough
def test_batch_that_fits_the_night_leaves_the_fleet_of_the_peak():
    assert racks(planned(by_hours(1.7e6), gap=1e-6)) == racks(planned(by_hours(), gap=1e-6))


@pytest.mark.thorough
@pytest.mark.parametrize(("requests_per_day", "fits"), [(4e6, True), (12e6, False)])
def test_what_may_wait_is_shown_in_the_valleys(requests_per_day, fits):
    """None of it beside the peak while the night has room; where it is more, every hour is as full as the others."""
    plan = planned(by_hours(requests_per_day), gap=1e-6)
    day = plan.tables["day"].set_index(["quarter", "hours"])
    for quarter in ("2027Q1", "2027Q2", "2027Q3"):
        busy_at = day.loc[quarter]["racks"] + day.loc[quarter]["deferrable_racks"]
        assert (day.loc[quarter, "09-17"]["deferrable_racks"] == 0.0) == fits
        level = max(day.loc[quarter, "09-17"]["racks"], float((busy_at * [8, 16]).sum()) / 24)
        assert busy_at.max() == pytest.approx(level, rel=1e-6)


@pytest.mark.thorough
def test_peaks_at_different_hours_are_not_added_up():
    """Peak and a quarter of another: 1.25, where one peak counts both: 2."""
    apart, together, at_once = (
        planned(by_hours(later=hours, dayparts=mode), gap=1e-6)
        for hours, mode in ((10, "clock"), (0, "clock"), (10, "peak"))
    )
    each = busy(apart, "day")
    assert racks(apart) == math.ceil(1.25 * each / usable(by_hours(later=10)))
    assert racks(together) == racks(at_once) == math.ceil(2 * each / usable(by_hours(later=10)))


@pytest.mark.thorough
def test_energy_follows_the_requests_of_the_day_wherever_they_run():
    """The same fleet stands; what work draws above idle is that of as many requests."""
    standing = {"fleet": fleet(("a", GB, 4, "2026Q1", 4e6)).assign(retirable=False)}
    power = []
    for mode in ("clock", "peak"):
        cash = planned(by_hours(4e6, dayparts=mode).replace(tables=standing), gap=1e-6).tables["cash"]
        power.append(cash[(cash["line"] == "power") & (cash["quarter"] == "2027Q1")]["cash_usd"].sum())
    assert power[0] == pytest.approx(power[1], rel=1e-6)


def test_the_table_of_the_day_adds_up():
    plan = planned(by_hours(4e6), gap=1e-6)
    day = plan.tables["day"].query("quarter == '2027Q1'").set_index("hours")
    assert day.loc["17-09", "racks"] == pytest.approx(0.25 * day.loc["09-17", "racks"])
    assert (day["racks"] + day["deferrable_racks"] <= day["usable_racks"] + 1e-6).all()
    mean = (day["deferrable_racks"] * day["hours_per_day"]).sum() / 24
    assert mean == pytest.approx(busy(plan, "batch"), rel=1e-5)


def fails(case: procure.Case, plan: procure.Plan, check: str) -> bool:
    return Solved(case, built(case), plan).fails(check, plan)


WAITS, TOLD = "work that may wait has its requests of the day", "the day is as its tables say"
CHANGES: list[tuple[str, str, Any, str]] = [
    ("deferred", "requests_per_s", 1.1, WAITS),
    ("deferred", "racks", 1.1, WAITS),
    ("deferred", "lpx_racks", "0.5", WAITS),
    ("deferred", "hours", "10-12", WAITS),
    ("deferred", "workload", "day", WAITS),
    ("deferred", "bucket", "9", WAITS),
    ("deferred", "work", "prefill", WAITS),
    ("deferred", "point", "", WAITS),
    ("deferred", "sku", "hgx-b300", WAITS),
    ("deferred", "quarter", "2027Q3", WAITS),
    ("deferred", "site", "b", WAITS),
    ("day", "racks", 1.1, TOLD),
    ("day", "deferrable_racks", 1.1, TOLD),
    ("day", "usable_racks", 1.1, TOLD),
    ("day", "hours_per_day", 2, TOLD),
    ("day", "hours", "10-12", TOLD),
    ("day", "sku", "hgx-b300", TOLD),
    ("day", "site", "b", TOLD),
    ("day", "quarter", "2026Q4", TOLD),
]


@cache
def waiting() -> Solved:
    """The batch in the night, solved once; nobody changes it."""
    case = by_hours(4e6)
    return Solved(case, built(case), planned(case, gap=1e-6))


def with_table(name: str, frame: pd.DataFrame) -> procure.Plan:
    """Its plan with another table."""
    plan = waiting().plan
    return procure.Plan(plan.summary, {**plan.tables, name: frame})


@pytest.mark.parametrize(("table", "column", "change", "check"), CHANGES)
def test_each_column_is_held_against_the_others(table, column, change, check):
    frame = waiting().plan.tables[table].copy()
    row = frame.index[frame["quarter"] == "2027Q1"][-1 if table == "day" else 0]
    was = frame.loc[row, column]
    frame.loc[row, column] = was * change if isinstance(change, float | int) else type(was)(change)
    assert waiting().fails(check, with_table(table, frame))


@pytest.mark.parametrize(("table", "check"), [("deferred", WAITS), ("day", TOLD)])
def test_a_row_that_is_left_out_is_named(table, check):
    assert waiting().fails(check, with_table(table, waiting().plan.tables[table].iloc[1:]))


def test_prefill_away_from_its_decode_is_named():
    frame = waiting().plan.tables["deferred"].copy()
    moved = frame[(frame["work"] == "prefill") & (frame["quarter"] == "2027Q1") & (frame["hours"] == "17-09")].index[0]
    frame.loc[moved, "hours"] = "09-17"
    frame.loc[moved, ["requests_per_s", "racks"]] *= 2.0  # the same requests of the day in half the hours
    assert waiting().fails("prefill happens where decode does", with_table("deferred", frame))


@pytest.mark.parametrize("requests_per_day", [1.7e6, 12e6])
@pytest.mark.thorough
def test_nics_carry_what_is_placed_in_each_part_of_the_day(requests_per_day):
    """A batch of the night is no dearer than its bytes there; one that is dense moves more than in its mean."""
    case = by_hours(requests_per_day, ttft_s=60.0, figures={(GB, "scale_out_bytes_per_s_per_gpu"): SLOW_NIC})
    plan = planned(case, gap=1e-6)
    made = built(case)
    sizes = made["handovers"].query("t == 0").set_index(["workload", "bucket"])["bytes"]
    served = plan.tables["serving"].query("quarter == '2027Q1'")
    moved = [float(r.requests_per_s * sizes[r.workload, r.bucket]) for r in served.itertuples()]
    by = pd.Series(moved).groupby(served["workload"].to_numpy()).sum()
    level = max(by["day"], (24 * by["batch"] + 8 * by["day"] + 16 * 0.25 * by["day"]) / 24)
    each = float(made["nics"].set_index("sku").loc[GB, "bytes_per_s"] * made["skus"]["present_share"].iloc[0])
    assert racks(plan) == math.ceil(level / each)
    found = plan.tables["limits"].query("quarter == '2027Q1' and family == 'scale-out sent'").iloc[0]
    assert level - 1 <= found["used"] <= found["limit"]


@pytest.mark.thorough
def test_decomposition_and_the_whole_program_agree():
    case = by_hours(12e6, later=10)
    parts, whole = (planned(case, gap=1e-6, method=method) for method in ("decomposed", "whole"))
    assert parts.objective_usd == pytest.approx(whole.objective_usd, rel=2e-6)


@pytest.mark.thorough
def test_check_counts_by_the_clock_and_says_what_that_saves():
    peak, clock = (checked(by_hours(4e6, dayparts=mode)) for mode in ("peak", "clock"))
    told = [found[found["unit"] == "kW"].iloc[0] for found in (peak, clock)]
    assert told[1]["value"] < 0.9 * told[0]["value"]
    saved = 1 - told[1]["value"] / told[0]["value"]
    assert f"Up to {saved:.0%} less if capacity were sized by clock hour" in " ".join(map(str, told[0]))
    assert "clock hour" not in " ".join(map(str, told[1]))


def shown(plan: procure.Plan) -> tuple[str, str]:
    """Terminal and page."""
    console = Console(file=io.StringIO(), width=600)
    print_plan(plan, console)
    return console.file.getvalue(), render(plan)


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_a_plan_says_how_full_the_hours_are_and_what_waits_for_which():
    plan = planned(by_hours(4e6), gap=1e-6)
    full = plan.tables["day"].query("quarter == '2027Q1'").set_index("hours")
    rate = plan.tables["deferred"].query("quarter == '2027Q1' and work == 'decode'").groupby("hours")["requests_per_s"]
    night = 16 * 3_600 * rate.sum()["17-09"] / 4e6
    pool, batch = day_sentences(plan)
    hours = (full["racks"] + full["deferrable_racks"]).idxmax()
    most, usable_racks = (full["racks"] + full["deferrable_racks"]).max(), full["usable_racks"].max()
    together = busy(plan, "day") + busy(plan, "batch")
    wanted = f"{GB} at a: fullest at {hours} in 2027Q1, with {most:,.1f} racks busy of {usable_racks:,.1f} that may be"
    assert pool.startswith(wanted)
    assert pool.endswith(f"; {together:,.1f} if all peaks fell together.")
    assert f"{share(night)} at 17-09" in batch
    texts = shown(plan)
    assert all(sentence in text for sentence in (pool, batch) for text in texts)
    (lost,) = (sentence for group in loss_sentences(plan) for sentence in group if f"one {GB} fewer" in sentence)
    assert ", all at their own peaks: " in lost  # which the fleet of the busiest hour need not carry
    sheet = next(sheet for sheet in sheets_of(plan) if sheet.name == "Day")
    sums = [row for (row, _), cell in sheet.cells.items() if cell.content == "busy racks"]
    assert max(sheet.cells[row, 8].value for row in sums) == pytest.approx(most)
    assert {cell.content for cell in sheet.cells.values()} >= {"batch", "17-09"}


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_a_plan_at_one_peak_says_what_the_clock_could_spare_and_is_held_to_it():
    case = by_hours(4e6, dayparts="peak")
    plan = planned(case, gap=1e-6)
    told = plan.summary["coincident_peak"]
    kw = [checked(by_hours(4e6, dayparts=mode)).query("unit == 'kW'")["value"].iloc[0] for mode in ("peak", "clock")]
    assert told["spared_share"] == pytest.approx(1 - kw[1] / kw[0])
    assert not any("own peaks" in sentence for group in loss_sentences(plan) for sentence in group)
    (sentence,) = day_sentences(plan)
    assert sentence.startswith("Sized at one coincident peak")
    assert f"up to {share(told['spared_share'])} less power" in sentence
    assert all(sentence.split("(")[0] in text for text in shown(plan))
    for wrong in ({"spared_share": told["spared_share"] + 0.01}, {"quarter": "2027Q2"}):
        plan.summary["coincident_peak"] = {**told, **wrong}  # type: ignore[typeddict-item]
        assert fails(case, plan, "plan.json agrees with the tables")
    clock = planned(by_hours(4e6), gap=1e-6)
    assert "coincident_peak" not in clock.summary
    clock.summary["coincident_peak"] = told
    assert fails(by_hours(4e6), clock, "plan.json agrees with the tables")


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_where_nothing_waits_and_peaks_fall_together_nothing_is_said():
    plan = planned(by_hours(later=0, dayparts="peak"), gap=1e-6)
    assert day_sentences(plan) == []
    assert "Parts of the day" not in render(plan)
