"""Ctrl-C and SIGTERM end the search and keep what was found; a time limit covers every step."""

from __future__ import annotations

import os
import signal
import threading
from importlib import import_module
from typing import Any

import pytest
from solved_case import searched
from tiny_case import tiny

import procure
from procure.cli import main
from procure.cli._stopping import Stopping
from procure.plan import Plan, Status
from procure.solver import NoPlan, Progress
from procure.solver.explain import UNKNOWN
from procure.study import sweep


def wide(**more: Any) -> Any:
    return tiny(peaks={"chat": [110.0, 140.0, 150.0, 160.0]}, planned=2, sites=({"positions": 8.0},), **more)


def short_of_places() -> Any:
    return tiny(peaks={"chat": [100, 120, 130, 140]}, planned=2, sites=({"positions": 2.0},))


@pytest.fixture
def signalled(monkeypatch):
    """Send a signal to this process as soon as the search tells an incumbent."""

    def arm(number: int, when: Any = lambda p: p.incumbent is not None and p.phase == "cost") -> None:
        original = procure.solver.highs.Options.report
        sent: list[int] = []

        def report(self: Any, phase: str, incumbent: float | None, bound: float | None) -> None:
            original(self, phase, incumbent, bound)
            if not sent and when(Progress(phase, 0.0, incumbent, bound)):
                sent.append(number)
                os.kill(os.getpid(), number)

        monkeypatch.setattr(procure.solver.highs.Options, "report", report)

    return arm


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.thorough
def test_a_signal_keeps_the_best_plan_verified_and_labelled(signalled, tmp_path, number, capsys):
    case, out = tmp_path / "case", tmp_path / "plan"
    wide().write(case)
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    signalled(number)
    assert main(["solve", str(case), "-o", str(out), "--gap", "0"]) == 5
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
    assert "best plan so far is kept" in capsys.readouterr().err
    plan = Plan.read(out)
    assert plan.status is Status.LIMIT
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.thorough
def test_a_signal_before_any_plan_ends_with_exit_code_4(signalled, tmp_path, capsys):
    wide().write(tmp_path / "case")
    signalled(signal.SIGINT, lambda p: p.phase == "building the program")
    assert main(["solve", str(tmp_path / "case"), "-o", str(tmp_path / "plan")]) == 4
    assert "Stopped before any plan was found." in capsys.readouterr().err
    assert not (tmp_path / "plan").exists()


def test_the_second_signal_acts_as_ever():
    with Stopping() as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping.asked()
        assert signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGINT) == signal.SIG_DFL


def test_no_signal_is_touched_outside_the_main_thread():
    seen: list[Any] = []

    def enter() -> None:
        with Stopping() as stopping:
            seen.append((signal.getsignal(signal.SIGINT), stopping.asked()))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [(before, False)]


@pytest.mark.thorough
def test_a_sweep_that_is_stopped_keeps_the_points_that_are_done():
    done: list[Any] = []
    frame = sweep(
        wide(), {"sites.a.positions": [6.0, 7.0, 8.0]}, progress=done.append, stop=lambda: bool(done), threads=1
    )
    assert len(frame) == 1
    assert frame["status"].tolist() == ["optimal"]


@pytest.mark.parametrize("method", ["decomposed", "whole"])
@pytest.mark.thorough
def test_a_wish_to_stop_is_asked_about_inside_the_runs_of_highs(method):
    """True from the second question of the first long run on: nothing is found, and nothing hangs."""
    asked: list[int] = []
    with pytest.raises(NoPlan, match="Stopped"):
        searched(wide(), method=method, stop=lambda: asked.append(1) or len(asked) > 2, threads=1)


@pytest.mark.thorough
def test_causes_that_time_did_not_reach_are_said_to_be_unknown(monkeypatch):
    over: list[bool] = []
    solving = import_module("procure.solver.solve")
    tables_of = solving.tables_of
    monkeypatch.setattr(solving, "tables_of", lambda *a: over.append(True) or tables_of(*a))
    plan = searched(short_of_places(), stop=lambda: bool(over), threads=1)
    assert plan.tables["checks"]["holds"].all()
    causes = {w["cause"] for w in plan.summary["shortfall"]["workloads"]}
    assert causes == {UNKNOWN}


@pytest.mark.thorough
def test_progress_tells_its_phase_from_sizing_on():
    told: list[Progress] = []
    procure.solve(wide(), progress=told.append, threads=1)
    phases = list(dict.fromkeys(p.phase for p in told))
    assert phases[:3] == ["sizing", "building the program", "block by block"]
    assert phases[-2:] == ["tables and causes", "verification"]
    assert {"cost relaxation", "cost"} <= set(phases)
    assert told[-1].incumbent is not None
    assert [p.seconds for p in told] == sorted(p.seconds for p in told)


@pytest.mark.slow
def test_another_number_of_threads_in_one_process_is_no_lack_of_time():
    """HiGHS refuses to run with other threads than its scheduler was started with."""
    found = [procure.solve(wide(), threads=threads).objective_usd for threads in (2, 1, 0, 2)]
    assert found == pytest.approx([found[0]] * 4, rel=0.006)
