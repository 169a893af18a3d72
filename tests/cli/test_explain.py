"""``explain`` as a script calls it: what it prints, JSON, files beside the plan, exit codes."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import fleet, tiny

from procure.cli import main
from procure.plan import Plan
from procure.why import serve


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A case of which one rack fits, and its plan."""
    place = tmp_path_factory.mktemp("desk")
    case = tiny(peaks={"chat": [100, 120, 130]}, sites=({"positions": 2.0},))
    case.write(place / "case")
    planned(case).write(place / "out")
    return place


@pytest.mark.thorough
def test_it_names_what_binds_and_writes_the_answers_beside_the_plan(desk, capsys):
    words = ["explain", str(desk / "out"), "--case", str(desk / "case"), "--limits", "--threads", "1"]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "binds  positions at a (2 positions), 2027Q1 to 2027Q3: +1.5 positions serves" in told.out
    assert "1/1  positions at a" in told.err
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == json.loads((desk / "out" / "explain.json").read_text())
    assert facts["answers"][0]["verdict"] == "serves more"
    rows = pd.read_csv(desk / "out" / "tables" / "explain.csv")
    assert rows["change"].tolist() == ["sites/a/2027Q1/positions=3.5"]
    assert Plan.changed_files(desk / "out") == []


@pytest.mark.thorough
def test_questions_without_time_are_named_and_the_verb_exits_5(desk, capsys):
    words = ["explain", str(desk / "out"), "--case", str(desk / "case"), "--time-limit", "0"]
    assert main([*words, "--gap", "0.001"]) == 5  # finer than what may be answered already
    told = capsys.readouterr().out
    assert "not asked yet: chat (what else would, alone or together), positions at a" in told


@pytest.mark.thorough
def test_a_name_that_is_none_exits_2(desk, capsys):
    words = ["explain", str(desk / "out"), "--case", str(desk / "case")]
    assert main([*words, "--why-not", "cmy"]) == 2
    assert "Groups: cmx, lpx, ssd, gpu" in capsys.readouterr().err


def move_power_and_positions_alone(monkeypatch):
    """For tests of what is printed, not of how much can be moved."""
    every = serve.levers
    few = ("power at a", "positions at a")
    monkeypatch.setattr(serve, "levers", lambda *asked: [lever for lever in every(*asked) if lever.name in few])
    monkeypatch.setattr(serve, "choices", lambda case, short: [])


@pytest.mark.thorough
def test_what_serves_a_workload_is_told_with_its_cost(desk, capsys, monkeypatch):
    move_power_and_positions_alone(monkeypatch)
    words = ["explain", str(desk / "out"), "--case", str(desk / "case"), "--to-serve", "chat", "--threads", "1"]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "serve  chat: positions at a 2 → 4.5 positions, at" in told
    assert "serve  chat, not alone by: power at a up to 50,000 kW." in told


@pytest.mark.thorough
def test_a_case_without_a_plan_is_explained_by_what_lets_it_have_one(tmp_path, capsys, monkeypatch):
    move_power_and_positions_alone(monkeypatch)
    racks = fleet(("a", "gb200-nvl72", 4, "2025Q1", 3.3e6)).assign(retirable=False)
    tiny(sites=({"power_kw": 300.0},), tables={"fleet": racks}).write(tmp_path / "case")
    assert main(["explain", str(tmp_path / "case")]) == 0
    assert "needs  a plan: power at a 300 → 50" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_case_that_has_a_plan_is_to_be_solved_first(desk, capsys):
    assert main(["explain", str(desk / "case")]) == 2
    assert "Solve it, and explain its result." in capsys.readouterr().err
