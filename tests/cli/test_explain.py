"""``explain`` as a script calls it: what it prints, JSON, files beside the plan, exit codes."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import tiny

from procure.cli import main
from procure.plan import Plan


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A case of which one rack fits, and its plan."""
    place = tmp_path_factory.mktemp("desk")
    case = tiny(peaks={"chat": [100, 120, 130]}, sites=({"positions": 2.0},))
    case.write(place / "case")
    planned(case).write(place / "out")
    return place


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


def test_questions_without_time_are_named_and_the_verb_exits_5(desk, capsys):
    assert main(["explain", str(desk / "out"), "--case", str(desk / "case"), "--time-limit", "0"]) == 5
    assert "not asked for want of time: positions at a" in capsys.readouterr().out


def test_a_name_that_is_none_exits_2(desk, capsys):
    words = ["explain", str(desk / "out"), "--case", str(desk / "case")]
    assert main([*words, "--why-not", "cmy"]) == 2
    assert "Groups: cmx, lpx, ssd, gpu" in capsys.readouterr().err
