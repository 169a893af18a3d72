"""A sweep: a row on disk as soon as its point is solved, failures as rows with their reason, plans that verify."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import fleet, tiny, worn_drives

from procure.errors import InputError
from procure.plan import Plan
from procure.plan.verify import verify
from procure.study import sweep
from procure.study.outcome import facts_of
from procure.study.sweep import FACTS, columns, unread
from procure.study.vary import grid, pairs, parse_vary

GB = "gb300-nvl72"


def case() -> Any:
    return tiny(peaks={"chat": [60, 80, 90]})


def lines(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.slow
def test_rows_are_on_disk_one_by_one(tmp_path):
    seen: list[int] = []
    steps: list[Any] = []

    def look(step: Any) -> None:
        seen.append(len(lines(tmp_path / "out" / "sweep.csv")) - 1)
        steps.append(step)

    sweep(case(), {"utilisation_cap": [0.6, 0.75, 0.9]}, out=tmp_path / "out", progress=look, gap=0.01, threads=1)
    assert seen == [1, 2, 3]
    assert [(s.done, s.total) for s in steps] == [(1, 3), (2, 3), (3, 3)]
    assert steps[0].seconds_left > 0
    assert steps[-1].seconds_left == 0


@pytest.mark.slow
def test_every_point_is_a_plan_that_verifies_against_its_own_case(tmp_path):
    growths = [0.0, 0.8]
    frame = sweep(case(), {"isl_growth_per_year": growths}, out=tmp_path / "out", gap=0.01, threads=1)
    assert frame["status"].tolist() == ["optimal", "optimal"]
    for number, growth in enumerate(growths, start=1):
        plan = Plan.read(tmp_path / "out" / "points" / f"{number:03d}")
        assert verify(plan, case().grow(isl_growth_per_year=growth))["holds"].all()
        row = frame.iloc[number - 1]
        assert row["objective_usd"] == plan.objective_usd
        assert row[f"ordered {GB}"] == plan.purchases["count"].sum()
        assert row["planned_capex_usd"] == pytest.approx(plan.purchases["capex_usd"].sum())


@pytest.mark.thorough
def test_the_file_says_what_the_frame_says(tmp_path):
    frame = sweep(case(), {"isl_growth_per_year": [0.0, 0.5]}, out=tmp_path / "out", gap=0.01, threads=1)
    stored = pd.read_csv(tmp_path / "out" / "sweep.csv", keep_default_na=False)
    assert list(stored.columns) == ["isl_growth_per_year", *FACTS, *columns(case(), {})] == list(frame.columns)
    assert stored["objective_usd"].tolist() == frame["objective_usd"].tolist()
    costs = [name for name in stored if name.startswith("cost ")]
    assert stored[costs].sum(axis=1).tolist() == pytest.approx(stored["objective_usd"].tolist())
    by_quarter = [name for name in stored if name.startswith(f"ordered {GB} ")]
    assert stored[by_quarter].sum(axis=1).tolist() == stored[f"ordered {GB}"].tolist()
    assert (stored["objective_usd"] - stored["bound_usd"]).tolist() == stored["gap_usd"].tolist()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "sweep.csv",
        "points",
        "study.json",
        "outcomes.jsonl",
    }


@pytest.mark.thorough
def test_a_point_that_fails_is_a_row_with_its_reason_and_the_others_go_on(tmp_path):
    standing = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6)).assign(retirable=False)
    held = tiny(peaks={"chat": [60, 80, 90]}, tables={"fleet": standing})
    vary = {"sites.power_kw": [100.0, 5_000.0], "availability": [0.97, 7.0]}
    frame = sweep(held, vary, out=tmp_path / "out", gap=0.01, threads=1)
    assert frame["status"].tolist() == ["failed", "failed", "optimal", "failed"]
    assert "power at a exceeded" in frame["reason"][0]
    assert "availability" in frame["reason"][1]
    assert "availability" in frame["reason"][3]
    assert frame["reason"][2] == ""
    stored = pd.read_csv(tmp_path / "out" / "sweep.csv", keep_default_na=False)
    assert stored["reason"].tolist() == frame["reason"].tolist()
    assert stored["objective_usd"][0] == ""


@pytest.mark.thorough
def test_running_out_of_time_is_a_reason():
    frame = sweep(case(), {"utilisation_cap": [0.75]}, time_limit_s=0.0)
    assert frame["status"].tolist() == ["failed"]
    assert "time" in frame["reason"][0]


def test_a_folder_that_holds_something_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="new or empty"):
        sweep(case(), {"utilisation_cap": [0.75]}, out=tmp_path)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0:0.3:0.1", [0.0, 0.1, 0.2, 0.3]),
        ("0:1.5:0.5", [0.0, 0.5, 1.0, 1.5]),
        ("2:1:-0.5", [2.0, 1.5, 1.0]),
        ("0:1:0.4", [0.0, 0.4, 0.8]),
        ("1,5,x1.2", [1.0, 5.0, "x1.2"]),
        ("none,within_year", ["none", "within_year"]),
    ],
)
def test_a_range_holds_its_stop_and_a_list_its_words(text, values):
    assert parse_vary([f"name={text}"]) == {"name": values}


@pytest.mark.parametrize(
    "text",
    ["", "name", "name=", "=1:2:1", "name=1:2", "name=1:2:0", "name=1:2:-1", "name=1:nan:1", "name=1,,2", "n=0:1:1e-9"],
)
def test_a_wrong_vary_is_an_input_error(text):
    with pytest.raises(InputError):
        parse_vary([text])


def test_a_name_given_twice_is_refused_and_a_grid_is_every_combination():
    with pytest.raises(InputError, match="twice"):
        parse_vary(["a=1", "a=2"])
    with pytest.raises(InputError, match="case/a is varied twice"):
        parse_vary(["a=1", "case/a=2"])
    with pytest.raises(InputError, match="utilisation_cap, case/utilisation_cap"):
        sweep(tiny(), {"utilisation_cap": [0.7], "case/utilisation_cap": [0.8]})
    assert grid({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_names_and_values_may_hold_an_equals_sign():
    assert parse_vary(["workloads/=x/ttft_s=1,2"]) == {"workloads/=x/ttft_s": [1.0, 2.0]}
    assert parse_vary(["workloads/a/kv_format=fp8+rope=bf16,fp8"]) == {
        "workloads/a/kv_format": ["fp8+rope=bf16", "fp8"]
    }
    assert parse_vary(["workloads/a/card=b/c.json"]) == {"workloads/a/card": ["b/c.json"]}


def test_pairs_go_together_and_are_equally_many():
    assert pairs({"a": [1, 2], "b": ["x", "y"]}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    with pytest.raises(InputError, match="a: 2, b: 1"):
        pairs({"a": [1, 2], "b": ["x"]})


@pytest.mark.thorough
def test_a_point_tells_who_is_short():
    tight = tiny(peaks={"chat": [60, 300, 300]}, sites=({"positions": 1.0},))
    frame = sweep(tight, {"utilisation_cap": [0.75], "availability": [0.97]}, paired=True, gap=0.01, threads=1)
    assert len(frame) == 1
    assert frame["short chat"][0] > 0.2


@pytest.mark.thorough
def test_facts_tell_what_each_tier_keeps_in_its_fullest_quarter():
    plan = planned(worn_drives("none"))
    placed = plan.tables["kv_placement"]
    kept = {tier: dict.fromkeys(set(placed["quarter"]), 0.0) for tier in set(placed["tier"])}
    for row in placed.itertuples():
        kept[row.tier][row.quarter] += row.parked_bytes
    fullest = {str(tier): max(by_quarter.values()) for tier, by_quarter in kept.items()}
    assert facts_of(plan)["kv_bytes"] == pytest.approx(fullest)
    assert max(facts_of(plan)["kv_bytes"].values()) > 0


@pytest.mark.thorough
def test_a_name_that_the_case_does_not_read_is_in_doubt():
    vary = {
        "hardware/hgx-a100/power_kw": ["x1.1", "x2"],
        "scenario/voice/input_p50_tokens": [500.0, 900.0],
        "utilisation_cap": [0.75, 0.8],
        "case/vintage": ["base"],
        "forecast.peak_requests_per_s": ["x1", "x2"],
    }
    assert [doubt.value for doubt in unread(case(), vary)] == list(vary)[:2]
