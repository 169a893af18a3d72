"""Price tags: what a workload alone makes the plan buy, against plans solved without it."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import tiny

from procure.cli import main
from procure.study import NothingToCompare, price_tags, sweep
from procure.study.stored import stored

IDLE = "=nothing [/x]"
"""A name that a spreadsheet takes for a formula and a terminal for markup."""
PEAKS = {"chat": [60, 80, 90], IDLE: [0.0, 0.0, 0.0]}


def two_workloads():
    return tiny(peaks=PEAKS, sites=({"positions": 8.0},))


@pytest.fixture(scope="module")
def tags(tmp_path_factory):
    """The tags, and the folder of the study."""
    folder = tmp_path_factory.mktemp("tags") / "out"
    return price_tags(two_workloads(), out=folder, gap=1e-6, threads=1).set_index("workload"), folder


@pytest.mark.thorough
def test_a_tag_is_the_cost_of_the_plan_less_that_without_the_workload(tags):
    """All racks are bought for chat; without it the plan costs what stands, which is nothing."""
    frame, _ = tags
    whole = planned(two_workloads(), gap=1e-6)
    chat = frame.loc["chat"]
    assert chat["tag_usd"] == pytest.approx(whole.objective_usd, rel=1e-6)
    assert chat["least_usd"] <= chat["tag_usd"] + 1.0
    assert chat["tag_usd"] <= chat["most_usd"] + 1.0
    costs = whole.tables["unit_costs"].query("workload == 'chat' and tokens == 'blended'").iloc[0]
    assert chat["million_tokens"] == pytest.approx(costs["million_tokens"], rel=1e-6)
    assert chat["tag_usd_per_million_tokens"] == pytest.approx(costs["usd_per_million_tokens"], rel=1e-4)
    assert chat["average_usd_per_million_tokens"] == pytest.approx(costs["usd_per_million_tokens"], rel=1e-6)
    assert chat["status"] == "optimal"


def test_a_workload_that_asks_for_nothing_costs_nothing(tags):
    frame, folder = tags
    nothing = frame.loc[IDLE]
    assert nothing["tag_usd"] == pytest.approx(0.0, abs=1.0)
    assert nothing["million_tokens"] == 0
    assert math.isnan(nothing["tag_usd_per_million_tokens"])
    written = pd.read_csv(folder / "tags.csv").set_index("workload")
    assert written.index.tolist() == ["chat", f"'{IDLE}"]
    assert written["tag_usd"].tolist() == pytest.approx(frame["tag_usd"].tolist())


def test_a_list_shows_what_the_case_costs_as_it_stands_and_not_what_it_costs_without_anything(tags):
    (row,) = stored(tags[1])[0].to_dict("records")
    assert row["objective_usd"] == pytest.approx(planned(two_workloads(), gap=1e-6).objective_usd, rel=1e-6)
    assert row["objective_usd"] > 0


def test_a_study_that_was_stopped_at_once_has_nothing_to_compare_with():
    with pytest.raises(NothingToCompare, match="It was not solved"):
        price_tags(two_workloads(), stop=lambda: True, gap=1e-3, threads=1)


@pytest.mark.thorough
def test_a_case_without_a_plan_ends_the_verb_as_it_ends_a_search(tmp_path, capsys):
    case = str(two_workloads().write(tmp_path / "case"))
    assert main(["tags", case, "-o", str(tmp_path / "out"), "--time-limit", "0"]) == 4
    told = capsys.readouterr().err
    assert "The whole case has no plan to compare with. The time limit came before" in told
    assert "in the input" not in told


@pytest.mark.thorough
def test_measures_other_than_requests_are_set_to_nothing_too():
    case = two_workloads()
    rows = case.given_tables["forecast"].drop(columns="peak_requests_per_s")
    rows = rows.assign(open_sessions=[9_000.0 if name == "chat" else 0.0 for name in rows["workload"]])
    frame = price_tags(case.replace(tables={"forecast": rows}), gap=1e-3, threads=1)
    assert frame["status"].tolist() == ["optimal", "optimal"]
    assert (frame["tag_usd"] > 1e5).tolist() == [True, False]


@pytest.mark.thorough
def test_the_verb_goes_on_with_the_study_and_shows_the_tags(tags, tmp_path, capsys):
    frame, folder = tags
    case = str(two_workloads().write(tmp_path / "case"))
    asked = ["tags", case, "-o", str(folder), "--gap", "1e-6", "--threads", "1"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert "chat" in shown
    assert f"{IDLE}: below the resolution of the gap" in shown
    assert main([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["workload"] for row in told] == ["chat", IDLE]
    assert told[0]["tag_usd"] == pytest.approx(frame.loc["chat", "tag_usd"])


@pytest.mark.thorough
def test_tags_and_a_sweep_of_the_best_margin(tmp_path, capsys):
    """Chats pay for a rack: the plan earns, so that the tag is below zero; the less a rack does, the less it earns."""
    chat = {"input_mean_tokens": 2_000, "output_visible_tokens": 1_200}
    case = tiny(peaks={"chat": [120, 120, 120], IDLE: [0.0, 0.0, 0.0]}, workloads={"chat": chat},
                sites=({"positions": 3.0},), settings={"objective": "max_margin"})  # fmt: skip
    asked = ["tags", str(case.write(tmp_path / "case")), "-o", str(tmp_path / "out"), "--gap", "1e-6", "--threads", "1"]
    assert main([*asked, "--json"]) == 0
    chat_row, idle_row = json.loads(capsys.readouterr().out)
    best = planned(case, gap=1e-6)
    assert chat_row["status"] == idle_row["status"] == "optimal"
    assert chat_row["tag_usd"] == pytest.approx(best.objective_usd, rel=1e-6)
    assert chat_row["tag_usd"] < -1e6
    assert idle_row["tag_usd"] == pytest.approx(0.0, abs=abs(best.objective_usd) * 2e-6)
    swept = sweep(case, {"utilisation_cap": [0.5, case.settings.utilisation_cap]}, gap=1e-6, threads=1)
    assert swept["status"].tolist() == ["optimal", "optimal"]
    assert swept["objective_usd"][1] == pytest.approx(best.objective_usd, rel=1e-6)
    assert swept["objective_usd"][0] > swept["objective_usd"][1] + 1e5
