"""What a program too large for a quick relaxation does before it, and what a relaxation without any plan ends."""

from __future__ import annotations

from typing import Any

import pytest
from solved_case import built
from tiny_case import fleet, tiny

from procure.program import build as build_program
from procure.solver import search
from procure.solver.compile import Compiled, compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options, Progress
from procure.solver.split import Split


def compiled(positions: float) -> Compiled:
    old = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6))
    peaks = {"chat": [110.0, 140.0, 150.0, 160.0]}
    case = tiny(planned=2, peaks=peaks, sites=({"positions": positions},), tables={"fleet": old})
    return compile_program(build_program(built(case)))


@pytest.mark.thorough
def test_a_large_program_has_a_plan_before_its_relaxation_and_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Decomposition(compiled(8.0), Options(1e-4, threads=1)).solve("cost", 0.0)
    told: list[Progress] = []
    monkeypatch.setattr(search, "MANY_COLUMNS", 0)
    found = Decomposition(compiled(8.0), Options(1e-4, threads=1, progress=told.append)).solve("cost", 0.0)
    phases = [progress.phase for progress in told]
    assert "block by block" in phases
    before = told[: phases.index("whole relaxation")]
    assert any(progress.incumbent is not None for progress in before)
    assert plain.objective is not None
    assert plain.bound is not None
    assert found.objective == pytest.approx(plain.objective, rel=2e-4)
    assert plain.bound <= found.objective + 1e-6


@pytest.mark.thorough
def test_a_relaxation_that_serves_nothing_ends_the_stage_without_more_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(search, "MANY_COLUMNS", 0)
    original = Split.evaluate
    monkeypatch.setattr(Split, "evaluate", lambda self, *a: (asked.append(a), original(self, *a))[1])
    assert Decomposition(compiled(2.0), Options(threads=1)).solve("cost", 0.0).status == "infeasible"
    assert len(asked) <= 1  # what stands, if anything may: a plan, however short
