"""A study is worked out side by side, goes on after a kill, and holds a row for whatever went wrong."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import tiny

from procure.errors import InputError
from procure.plan import Plan
from procure.study import Effort, Outcome, Step, Study, is_bug, sweep
from procure.study.outcome import DIED, Solver
from procure.study.store import Store, read_outcomes, record_of
from procure.study.workers import _Pool

CAPS = [{"utilisation_cap": cap} for cap in (0.6, 0.7, 0.75)]
EFFORT = Effort(gap=0.01, threads=1)


def case(**more: Any) -> Any:
    return tiny(peaks={"chat": [60, 80, 90]}, **more)


def study(changes: list[dict[str, Any]] = CAPS, effort: Effort = EFFORT) -> Study:
    return Study("sweep", case(), changes, effort)


def of(other: Any) -> Study:
    return Study("sweep", other, CAPS, EFFORT)


@pytest.fixture
def known(monkeypatch: Any) -> None:
    """Points whose case was solved before are not searched for again: for tests of what a study does around them.

    Instances are built as ever, in stages. :func:`whole` and what is about the search itself do without.
    """

    def plan_of(case: Any, instance: Any, options: Any, method: Any, **more: Any) -> Plan:
        return planned(case, gap=options.gap, method=method)

    monkeypatch.setattr("procure.study.outcome.plan_of", plan_of)


def facts(outcomes: list[Outcome]) -> list[tuple[Any, ...]]:
    return [(o.number, o.change, o.status, o.facts) for o in outcomes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Outcome]]:
    """The study worked out in one go, here."""
    folder = tmp_path_factory.mktemp("whole") / "study"
    return folder, study().run(folder)


@pytest.mark.thorough
def test_a_study_states_what_was_asked_and_what_it_rests_on(whole: tuple[Path, list[Outcome]]) -> None:
    record = json.loads((whole[0] / "study.json").read_text())
    assert record["changes"] == CAPS
    assert record["options"] == {"gap": 0.01, "time_limit_s": None, "threads": 1, "seed": 0, "method": "decomposed"}
    assert record["input_hash"] == case().input_hash == record["provenance"]["hashes"]["inputs"]
    assert {"settings", "tables/forecast", "tables/workloads", "cards/deepseek-v3.2"} <= set(
        record["provenance"]["hashes"]
    )
    assert {"procure", "python", "highspy", "pyomo"} <= set(record["versions"])


@pytest.mark.thorough
def test_stages_that_a_change_leaves_alone_are_not_run_for_it(whole: tuple[Path, list[Outcome]]) -> None:
    first, *others = whole[1]
    assert "serve chat" in first.stages
    assert all("serve chat" not in outcome.stages and "skus" in outcome.stages for outcome in others)


@pytest.mark.thorough
def test_outcomes_are_plans_stored_under_their_numbers(whole: tuple[Path, list[Outcome]]) -> None:
    for outcome in whole[1]:
        plan = Plan.read(whole[0] / "points" / f"{outcome.number:03d}")
        assert outcome.facts["objective_usd"] == plan.objective_usd
        assert outcome.facts["purchases"] == plan.summary["purchases"]
        assert sum(outcome.facts["costs"].values()) == pytest.approx(plan.objective_usd)


@pytest.mark.thorough
def test_the_same_study_again_works_nothing_out(whole: tuple[Path, list[Outcome]], monkeypatch: Any) -> None:
    monkeypatch.setattr(Solver, "outcome", lambda *_: pytest.fail("worked out again"))
    assert facts(study().run(whole[0])) == facts(whole[1])


@pytest.mark.usefixtures("known")
@pytest.mark.thorough
def test_what_was_stopped_lost_or_half_written_is_worked_out_again(tmp_path: Path) -> None:
    asked: list[Step] = []
    begun = study().run(tmp_path / "s", progress=asked.append, stop=lambda: bool(asked))
    assert [o.number for o in begun] == [1]
    store = Store(tmp_path / "s", record_of("sweep", case(), CAPS, EFFORT))
    store.add(replace(begun[0], number=2, change=CAPS[1], status="failed", reason="ended", error=DIED, facts={}))
    store.close()
    with (tmp_path / "s" / "outcomes.jsonl").open("a") as file:
        file.write('{"number": 3, "chan')
    steps: list[Step] = []
    found = study().run(tmp_path / "s", progress=steps.append)
    assert [s.outcome.number for s in steps] == [2, 3]
    assert [(s.done, s.total) for s in steps] == [(2, 3), (3, 3)]
    assert [o.status for o in found] == ["optimal"] * 3
    assert sorted(read_outcomes(tmp_path / "s")) == [1, 2, 3]


@pytest.mark.thorough
def test_a_point_that_was_cut_short_by_the_wish_to_stop_is_not_final(tmp_path: Path) -> None:
    (outcome,) = study().run(tmp_path / "s", stop=iter([False, *[True] * 10_000]).__next__)
    assert (outcome.status, outcome.error, outcome.stopped) == ("failed", "NoPlan", True)
    assert [o.status for o in study().run(tmp_path / "s")] == ["optimal"] * 3


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (lambda: Study("sweep", case().with_value("discount_rate_per_year", 0.2), CAPS, EFFORT), "other settings"),
        (
            lambda: Study("sweep", case().with_value("forecast.peak_requests_per_s", "x2"), CAPS, EFFORT),
            "tables/forecast",
        ),
        (lambda: study(effort=Effort(gap=0.02, threads=1)), "gap 0.01"),
        (lambda: study(CAPS[:2]), "3 changes"),
        (lambda: study([CAPS[0], {"utilisation_cap": 0.8}]), "change 2"),
        (lambda: Study("tornado", case(), CAPS, EFFORT), "tornado"),
    ],
)
@pytest.mark.thorough
def test_another_study_in_its_folder_is_refused_with_what_differs(
    whole: tuple[Path, list[Outcome]], other: Any, named: str
) -> None:
    before = (whole[0] / "outcomes.jsonl").read_bytes()
    with pytest.raises(InputError, match=named):
        other().run(whole[0])
    assert (whole[0] / "outcomes.jsonl").read_bytes() == before


@pytest.mark.usefixtures("known")
@pytest.mark.thorough
def test_a_bug_is_a_row_with_its_class_and_place_and_the_others_go_on(monkeypatch: Any) -> None:
    build = Solver._plan

    def broken(self: Solver, change: Any, stop: Any) -> Plan:
        if change["utilisation_cap"] == 0.7:
            raise KeyError("no such site")
        return build(self, change, stop)

    monkeypatch.setattr(Solver, "_plan", broken)
    found = study().run()
    assert [o.status for o in found] == ["optimal", "failed", "optimal"]
    assert found[1].error == "KeyError"
    assert found[1].reason.startswith("This is a bug in procure: KeyError: 'no such site' at test_run.py:")
    assert is_bug(found[1].error)
    assert not is_bug("InputError")
    assert not is_bug("")


@pytest.mark.usefixtures("known")
@pytest.mark.thorough
def test_two_runs_are_not_at_work_in_one_folder(tmp_path: Path) -> None:
    def again(_: Step) -> None:
        with pytest.raises(InputError, match="no other run"):
            study().run(tmp_path / "s")

    assert len(study().run(tmp_path / "s", progress=again)) == 3
    assert len(study().run(tmp_path / "s")) == 3


@pytest.mark.usefixtures("known")
@pytest.mark.thorough
def test_a_full_disk_ends_the_study_which_goes_on_from_there(tmp_path: Path, monkeypatch: Any) -> None:
    write = Plan.write

    def full(self: Plan, folder: Path, *more: Any) -> Any:
        if folder.name == "002":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        return write(self, folder, *more)

    monkeypatch.setattr(Plan, "write", full)
    with pytest.raises(InputError, match=r"002: No space left on device\..*goes on from here"):
        study().run(tmp_path / "s")
    monkeypatch.undo()
    assert sorted(read_outcomes(tmp_path / "s")) == [1]
    steps: list[Step] = []
    assert [o.status for o in study().run(tmp_path / "s", progress=steps.append)] == ["optimal"] * 3
    assert [step.outcome.number for step in steps] == [2, 3]


@pytest.mark.parametrize("effort", [{"gap": -1.0}, {"seed": -1}, {"time_limit_s": -5.0}])
def test_an_effort_that_no_search_can_follow_is_refused_at_once(effort: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sweep(case(), {"utilisation_cap": [0.75]}, **effort)


def test_less_than_one_job_is_refused() -> None:
    with pytest.raises(InputError, match="jobs"):
        study().run(jobs=0)


@pytest.mark.thorough
def test_values_of_numpy_and_no_limit_are_stored_as_json_knows_them(tmp_path: Path) -> None:
    changes = [{"hardware.gb300-nvl72.supply_per_quarter": float("inf"), "utilisation_cap": pd.Series([0.75])[0]}]
    (outcome,) = study(changes).run(tmp_path / "s")
    assert outcome.status == "optimal"
    assert json.loads((tmp_path / "s" / "study.json").read_text())["changes"] == [
        {"hardware.gb300-nvl72.supply_per_quarter": "inf", "utilisation_cap": 0.75}
    ]


@pytest.mark.slow
def test_processes_find_what_one_finds(whole: tuple[Path, list[Outcome]], tmp_path: Path) -> None:
    steps: list[Step] = []
    found = study().run(tmp_path / "s", jobs=2, progress=steps.append)
    assert [(o.number, o.change, o.status) for o in found] == [(o.number, o.change, o.status) for o in whole[1]]
    for there, here in zip(found, whole[1], strict=True):  # a search that begins from a point before may end elsewhere
        assert there.facts["bound_usd"] <= here.facts["objective_usd"] * (1 + 1e-9)
        assert here.facts["bound_usd"] <= there.facts["objective_usd"] * (1 + 1e-9)
    assert [s.done for s in steps] == [1, 2, 3]
    assert Plan.read(tmp_path / "s" / "points" / "003").objective_usd == found[2].facts["objective_usd"]


@pytest.mark.slow
def test_a_worker_that_dies_loses_its_change_alone(monkeypatch: Any, tmp_path: Path) -> None:
    assign, killed = _Pool._assign, []

    def shoot(self: Any, waiting: Any) -> None:
        assign(self, waiting)
        for worker in self._workers:
            if worker.task and worker.task[0] == 2 and not killed:
                killed.append(worker)
                os.kill(worker.process.pid, signal.SIGKILL)

    monkeypatch.setattr(_Pool, "_assign", shoot)
    found = study().run(tmp_path / "s", jobs=2)
    assert [o.status for o in found] == ["optimal", "failed", "optimal"]
    assert found[1].error == DIED
    assert "SIGKILL" in found[1].reason
    assert not is_bug(DIED)
    assert [o.status for o in study().run(tmp_path / "s")] == ["optimal"] * 3


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    """The command line itself, killed as soon as its first point is on disk."""
    case().write(tmp_path / "case")
    vary = "utilisation_cap=0.55,0.65,0.75"
    words = ["sweep", "case", "--vary", vary, "-o", "out", "--gap", "0.01", "--threads", "1"]
    program = [sys.executable, "-c", "import sys; from procure.cli import main; sys.exit(main())", *words]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    lines = tmp_path / "out" / "outcomes.jsonl"
    with subprocess.Popen(program, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as run:
        while not lines.exists() and run.poll() is None:
            time.sleep(0.02)
        run.kill()
    before = lines.read_text().splitlines()
    assert 1 <= len(before) < 3
    again = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert lines.read_text().splitlines()[: len(before)] == before
    assert len(lines.read_text().splitlines()) == 3
    table = pd.read_csv(tmp_path / "out" / "sweep.csv")
    assert table["utilisation_cap"].tolist() == [0.55, 0.65, 0.75]
    assert (table["status"] == "optimal").all()
