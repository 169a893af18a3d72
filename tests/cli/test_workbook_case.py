"""A workbook as a case for every verb, from the check to next quarter's case."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tiny_case import quarter_names, tiny

from procure.case import Case
from procure.case.template import write_workbook
from procure.cli import main
from procure.plan import Plan


def run(*words: Any) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with a workbook, the same case as CSV, and the results of both."""
    folder = tmp_path_factory.mktemp("desk")
    case = tiny(peaks={"chat": [60, 80, 90]})
    case.write(folder / "case")
    write_workbook(folder / "case.xlsx", case)
    with pytest.MonkeyPatch.context() as there:
        there.chdir(folder)
        there.setattr("procure.report.write_reports", lambda plan, folder, *, pictures=False: [])  # not looked at here
        for name in ("case", "case.xlsx"):
            assert run("solve", name, "-o", f"of-{name}", "--threads", 1) == 0
    return folder


@pytest.mark.thorough
def test_a_workbook_and_its_csv_files_are_one_case_with_one_plan(desk):
    first, second = (Plan.read(desk / f"of-{name}") for name in ("case", "case.xlsx"))
    assert first.summary["input_hash"] == second.summary["input_hash"]
    pd.testing.assert_frame_equal(first.tables["purchases"], second.tables["purchases"])


@pytest.mark.slow
def test_check_and_sweep_take_a_workbook(desk, tmp_path):
    assert run("check", desk / "case.xlsx") == 0
    words = ("--vary", "isl_growth_per_year=0,0.5", "--threads", 1)
    assert run("sweep", desk / "case.xlsx", *words, "-o", tmp_path / "sweep") == 0
    assert len(pd.read_csv(tmp_path / "sweep" / "sweep.csv")) == 2


@pytest.mark.thorough
def test_the_workbook_of_a_plan_is_found_from_any_folder(desk, tmp_path, monkeypatch, capsys):
    """plan.json names it as seen from where the plan was made."""
    monkeypatch.chdir(tmp_path)
    assert Plan.read(desk / "of-case.xlsx").summary["case_folder"] == "case.xlsx"
    assert run("verify", desk / "of-case.xlsx") == 0
    assert "holds" in capsys.readouterr().out


@pytest.mark.slow
def test_the_workbook_of_a_plan_rolls_to_a_case_that_solves(desk, tmp_path):
    quarters = quarter_names(4)[1:]
    rows = [(quarter, "chat", 90.0) for quarter in quarters]
    new = tmp_path / "new.csv"
    pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"]).to_csv(new, index=False)
    assert run("roll", desk / "of-case.xlsx", "--forecast", new, "-o", tmp_path / "next") == 0
    case = Case.read(tmp_path / "next")
    plan = Plan.read(desk / "of-case.xlsx")
    assert str(case.quarters[0]) == quarters[0]
    bought = plan.purchases.query("quarter == '2027Q1'")["count"].sum()
    assert case.tables["fleet"]["count"].sum() == bought > 0
    assert run("solve", tmp_path / "next", "-o", tmp_path / "plan", "--threads", 1) == 0


@pytest.mark.thorough
def test_a_workbook_that_changed_since_its_plan_is_not_rolled(desk, tmp_path, capsys):
    moved = tmp_path / "desk"
    shutil.copytree(desk, moved)
    (moved / "case.xlsx").unlink()
    write_workbook(moved / "case.xlsx", tiny(peaks={"chat": [61, 80, 90]}))
    assert run("roll", moved / "of-case.xlsx", "--forecast", Path("any.csv"), "-o", tmp_path / "next") == 2
    assert "its inputs differ" in capsys.readouterr().err
