"""``solve``, ``sweep`` and ``verify`` as a script calls them: exit codes, clean JSON, files, plain messages."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from openpyxl import load_workbook
from tiny_case import fleet, tiny

from procure.cli import main
from procure.plan import Plan


def write_case(folder: Path) -> Path:
    return tiny(peaks={"chat": [60, 80, 90]}).write(folder)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_case(tmp_path_factory.mktemp("written") / "case")


@pytest.fixture
def case(written, tmp_path):
    """A copy of the case, which a test may spoil."""
    return shutil.copytree(written, tmp_path / "case")


@pytest.fixture
def short_case(tmp_path):
    """One rack fits; more is asked for."""
    tiny(peaks={"chat": [100, 120, 130]}, sites=({"positions": 2.0},)).write(tmp_path / "short")
    return tmp_path / "short"


def run(*words: Any) -> int:
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A desk with the case and its result in ``out``, everything written; and what was said meanwhile."""
    desk = tmp_path_factory.mktemp("desk")
    write_case(desk / "case")
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        assert run("solve", desk / "case", "-o", desk / "out", "--threads", 1) == 0
    return desk, said.getvalue()


@pytest.mark.thorough
def test_solve_writes_the_result_and_exits_0(solved):
    desk, said = solved
    assert "Written to" in said
    assert "Traceback" not in said
    assert {"plan.json", "plan.xlsx", "plan.html", "tables"} <= {p.name for p in (desk / "out").iterdir()}
    plan = Plan.read(desk / "out")
    assert plan.summary["seconds"]["load"] > 0
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.slow
def test_what_is_in_doubt_is_said_before_the_search_and_stays_with_the_plan(tmp_path, capsys):
    """80 USD/kWh is allowed; USD/MWh may have been meant."""
    tiny(peaks={"chat": [60, 80, 90]}, sites=({"electricity_usd_per_kwh": 80.0},)).write(tmp_path / "case")
    assert run("solve", tmp_path / "case", "-o", tmp_path / "out", "--gap", 0.01, "--threads", 1) == 0
    told = capsys.readouterr().err
    assert "Write 0.08 if 80 USD per MWh were meant" in told
    assert told.index("1 in doubt") < told.index("best")
    (doubt,) = Plan.read(tmp_path / "out").summary["doubts"]
    assert doubt.startswith("sites.csv, row 2, column electricity_usd_per_kwh: read '80'")
    assert "80 USD per MWh" in (tmp_path / "out" / "plan.html").read_text()
    texts = [
        c for row in load_workbook(tmp_path / "out" / "plan.xlsx")["About"].iter_rows(values_only=True) for c in row
    ]
    assert doubt in texts


@pytest.mark.usefixtures("undrawn")
@pytest.mark.thorough
def test_json_is_alone_on_stdout_and_is_the_stored_summary(case, tmp_path, capsys):
    assert run("solve", case, "-o", tmp_path / "out", "--gap", 0.01, "--threads", 1, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads((tmp_path / "out" / "plan.json").read_text())
    assert "best" in told.err  # progress goes to stderr


@pytest.mark.usefixtures("undrawn")
@pytest.mark.thorough
def test_the_low_end_of_the_points_costs_more_and_is_verified_as_it_was_solved(solved, case, tmp_path):
    """The case itself states no end: plan.json says which one the plan answers."""
    low = tmp_path / "low"
    assert main(["solve", str(case), "--points", "low", "-o", str(low)]) == 0
    plans = [Plan.read(folder) for folder in (solved[0] / "out", low)]
    assert [plan.summary["points"] for plan in plans] == ["base", "low"]
    assert plans[1].objective_usd > plans[0].objective_usd
    for plan in plans:
        shares = {name: share for name, share in plan.summary["extrapolation"].items() if "not be reached" not in name}
        assert sum(shares.values()) == pytest.approx(1.0)
    assert main(["verify", str(low), "--case", str(case)]) == 0


@pytest.mark.usefixtures("undrawn")
@pytest.mark.thorough
def test_a_shortfall_exits_6_unless_it_is_allowed(short_case, tmp_path, monkeypatch):
    assert run("solve", short_case, "-o", tmp_path / "out", "--threads", 1) == 6
    found = Plan.read(tmp_path / "out")
    monkeypatch.setattr("procure.solver.solve", lambda case, **options: found)
    assert run("solve", short_case, "-o", tmp_path / "out", "--threads", 1, "--allow-short") == 0
    assert Plan.read(tmp_path / "out").summary["status"] == "short"


@pytest.mark.thorough
def test_no_time_exits_4_and_writes_nothing(case, tmp_path, capsys):
    assert run("solve", case, "-o", tmp_path / "out", "--time-limit", 0) == 4
    assert "more time" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_an_infeasible_case_exits_3_and_names_the_limit(tmp_path, capsys):
    standing = fleet(("a", "gb200-nvl72", 4, "2025Q1", 3.3e6)).assign(retirable=False)
    tiny(sites=({"power_kw": 300.0},), tables={"fleet": standing}).write(tmp_path / "case")
    assert run("solve", tmp_path / "case", "-o", tmp_path / "out") == 3
    told = capsys.readouterr().err
    assert "2027Q1 to 2027Q3: power at a exceeded by 206.8 kW" in told
    assert f"procure explain {tmp_path / 'case'}" in told
    assert not (tmp_path / "out").exists()


def test_wrong_input_exits_2_and_names_the_cell(case, tmp_path, capsys):
    table = pd.read_csv(case / "sites.csv")
    table.assign(power_kw=-4).to_csv(case / "sites.csv", index=False)
    assert run("solve", case, "-o", tmp_path / "out") == 2
    told = capsys.readouterr().err
    assert "sites.csv" in told
    assert "power_kw" in told
    assert "-4" in told
    assert "Traceback" not in told


@pytest.mark.usefixtures("undrawn")
@pytest.mark.thorough
def test_a_limit_with_a_plan_exits_5_and_keeps_the_plan(case, tmp_path, monkeypatch):
    from procure import solver
    from procure.plan import Status

    original = solver.solve

    def at_limit(*args, **options):
        plan = original(*args, **options)
        return replace(plan, summary={**plan.summary, "status": str(Status.LIMIT)})

    monkeypatch.setattr(solver, "solve", at_limit)
    assert run("solve", case, "-o", tmp_path / "out", "--threads", 1) == 5
    assert Plan.read(tmp_path / "out").summary["status"] == "limit_with_plan"


def test_a_foreign_folder_is_refused_before_anything_is_solved(case, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("")
    assert run("solve", case, "-o", tmp_path / "out") == 2
    assert "holds a result" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["program.lp", "nowhere/program.mps"])
def test_a_wrong_mps_name_is_refused(case, tmp_path, name):
    assert run("solve", case, "-o", tmp_path / "out", "--write-mps", tmp_path / name) == 2


@pytest.mark.usefixtures("undrawn")
@pytest.mark.thorough
def test_the_mps_file_is_written_with_its_scale(case, tmp_path):
    assert run("solve", case, "-o", tmp_path / "out", "--write-mps", tmp_path / "p.mps", "--threads", 1) == 0
    assert (tmp_path / "p.mps").read_text().startswith("NAME")
    assert json.loads((tmp_path / "out" / "plan.json").read_text())["mps_scale"] == 1e6


@pytest.mark.parametrize("words", [("--gap", "two"), ("--gap", "-1"), ("--method", "magic"), ("--speed", "9")])
def test_a_wrong_option_exits_2(case, words):
    assert run("solve", case, *words) == 2


@pytest.mark.thorough
def test_verify_passes_a_stored_plan_and_finds_a_changed_one(solved, tmp_path, capsys):
    shutil.copytree(solved[0] / "out", tmp_path / "out")
    assert run("verify", tmp_path / "out") == 0
    assert "FAILS" not in capsys.readouterr().out
    table = tmp_path / "out" / "tables" / "purchases.csv"
    rows = pd.read_csv(table)
    rows.assign(count=rows["count"] + 1).to_csv(table, index=False)
    assert run("verify", tmp_path / "out", "--json") == 7
    checks = json.loads(capsys.readouterr().out)
    assert {c["check"] for c in checks if not c["holds"]} >= {
        "orders arrive when they can",
        "fleet balances by vintage",
    }


@pytest.mark.thorough
def test_verify_against_another_case_says_so(solved, short_case, capsys):
    assert run("verify", solved[0] / "out", "--case", short_case) == 7
    assert "FAILS  the plan answers this case" in capsys.readouterr().out


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_verify_of_a_case_that_is_gone_or_no_result_is_wrong_input(case, tmp_path, capsys):
    assert run("verify", tmp_path) == 2
    assert run("solve", case, "-o", tmp_path / "out", "--threads", 1) == 0
    case.rename(tmp_path / "moved")
    capsys.readouterr()
    assert run("verify", tmp_path / "out") == 2
    assert "--case" in capsys.readouterr().err
    assert run("verify", tmp_path / "out", "--case", tmp_path / "moved") == 0


@pytest.mark.thorough
def test_sweep_shows_its_table_and_writes_its_files(case, tmp_path, capsys):
    vary = "isl_growth_per_year=0:0.5:0.5"
    assert run("sweep", case, "--vary", vary, "-o", tmp_path / "out", "--threads", 1) == 0
    told = capsys.readouterr()
    assert "1/2" in told.err
    assert "left" in told.err
    assert "gb300-nvl72" in told.out
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "sweep.csv", "sweep.png", "sweep.svg", "points", "study.json", "outcomes.jsonl",
    }  # fmt: skip
    assert (tmp_path / "out" / "sweep.png").stat().st_size > 1_000
    assert "sweep.csv, sweep.png, sweep.svg, points/, study.json" in told.out


@pytest.mark.slow
def test_sweep_json_is_alone_on_stdout(case, tmp_path, capsys):
    vary = "utilisation_cap=0.6,0.75"
    assert run("sweep", case, "--vary", vary, "-o", tmp_path / "out", "--threads", 1, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["utilisation_cap"] for row in rows] == [0.6, 0.75]
    assert all(row["status"] == "optimal" for row in rows)


@pytest.mark.thorough
def test_a_sweep_without_any_plan_exits_4(case, tmp_path):
    words = ("sweep", case, "--vary", "utilisation_cap=0.75", "-o", tmp_path / "out", "--time-limit", 0)
    assert run(*words) == 4


@pytest.mark.parametrize("vary", ["isl_growth_per_year=1:0:1", "isl_growht_per_year=0,1", "sites.powr_kw=1"])
def test_a_wrong_vary_exits_2(case, tmp_path, vary):
    assert run("sweep", case, "--vary", vary, "-o", tmp_path / "out", "--threads", 1) == 2
    assert not (tmp_path / "out").exists()
