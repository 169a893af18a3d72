"""No program is relaxed whole, however large: quarters one by one give a plan and its bound."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from solved_case import built
from tiny_case import fleet, tiny

from procure.program import build as build_program
from procure.solver.blocks import Cut
from procure.solver.compile import Compiled, compile_program, limited
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options, Progress, load, new_solver, run
from procure.solver.least_short import LeastShort
from procure.solver.relaxation import ask_alone, wanted
from procure.solver.search import Search
from procure.solver.whole import solve_whole


@cache
def compiled(positions: float, lead: int = 0) -> Compiled:
    old = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6))
    peaks = {"chat": [110.0, 140.0, 150.0, 160.0, 160.0][: 4 + lead]}
    case = tiny(planned=2, lead=lead, peaks=peaks, sites=({"positions": positions},), tables={"fleet": old})
    return compile_program(build_program(built(case)))


def whole_relaxation(program: Compiled) -> float:
    """The optimum of the relaxation that serves everything, in one linear program."""
    solver, stage = new_solver(Options(threads=1)), limited(program, 0.0)
    rows, columns = (stage.row_lower, stage.row_upper), (program.col_lower, stage.col_upper)
    load(solver, stage.matrix, program.cost, rows, columns)
    answer = run(solver)
    assert answer.objective is not None
    return answer.objective


@pytest.mark.thorough
def test_a_plan_comes_from_what_each_quarter_wants_alone_before_anything_is_known_of_all_together() -> None:
    told: list[Progress] = []
    Decomposition(compiled(8.0), Options(1e-3, threads=1, progress=told.append)).solve("cost", 0.0)
    phases = [progress.phase for progress in told]
    before = told[: phases.index("cost relaxation")]
    assert any(progress.incumbent is not None for progress in before)


@pytest.mark.thorough
def test_the_bound_of_the_parts_is_as_high_as_that_of_the_whole_relaxation() -> None:
    """At least as high: a cut asks no more of one unit than it can mend, which fractional fleets feel."""
    stage = Search(Decomposition(compiled(8.0), Options(1e-5, threads=1)), "cost", 0.0)
    assert stage._relax()
    assert stage.bound >= whole_relaxation(compiled(8.0)) * (1.0 - 1e-5)
    assert stage.bound <= stage.solve().objective + 1e-6


def test_what_each_quarter_wants_alone_together_serves_every_quarter() -> None:
    parts = Decomposition(compiled(8.0), Options(threads=1))
    cuts, servable = ask_alone(parts, 0.0)
    point = wanted(parts)
    assert servable
    assert point is not None
    outcomes = parts.evaluate(point, "cost")
    assert all(outcome.cost is not None for outcome in outcomes)
    assert len(cuts) == len(parts.blocks)
    for cut in cuts:
        assert cut.value(point) <= outcomes[cut.block].cost + 1e-6
    assert ask_alone(parts, 0.0) == ([], True)


def test_a_quarter_that_no_fleet_serves_ends_the_stage_without_more_questions() -> None:
    parts = Decomposition(compiled(2.0), Options(threads=1))
    assert not ask_alone(parts, 0.0)[1]
    assert wanted(parts) is None
    assert parts.solve("cost", 0.0).status == "infeasible"
    assert not any(cut.feasibility for cut in parts.cuts[1:])


def test_what_service_costs_is_known_of_a_fleet_that_cannot_serve() -> None:
    """Of nothing at all: the cut of cost beside the one of shortfall is valid where everything is served."""
    parts = Decomposition(compiled(8.0), Options(threads=1))
    ask_alone(parts, 0.0)
    point = wanted(parts)
    served = parts.evaluate(point, "cost")
    beside = [outcome.beside for outcome in parts.evaluate(np.zeros(len(parts.columns)), "cost")]
    assert any(cut is not None for cut in beside)
    for cut, outcome in zip(beside, served, strict=True):
        assert cut is None or cut.value(point) <= outcome.cost + 1e-6


@pytest.mark.thorough
def test_the_answer_is_that_of_the_whole_program() -> None:
    found = Decomposition(compiled(8.0), Options(1e-5, threads=1)).solve("cost", 0.0)
    reference = solve_whole(compiled(8.0), Options(1e-5, threads=1), "cost", 0.0)
    assert found.objective == pytest.approx(reference.objective, rel=2e-5)


@pytest.mark.thorough
def test_what_each_quarter_wants_alone_is_as_little_short_as_any_where_nothing_comes_in_time() -> None:
    """No round of least shortfall is needed, though what stands is three times as short and serves no other quarter."""
    late = compiled(20.0, lead=1)
    parts = Decomposition(late, Options(threads=1))
    assert parts.solve("cost", 0.0).status == "infeasible"
    assert parts.nearest is not None
    parts.regime(None)
    stage = LeastShort(parts)
    stage._take_over(parts.nearest)
    stands = stage.best_cost
    stage._first_fleet()
    least = solve_whole(late, Options(threads=1), "shortfall", None).objective
    assert least is not None
    assert stage.best_cost == pytest.approx(least, abs=1.1 * late.short_tolerance)
    assert stage.bound == pytest.approx(least, abs=late.short_tolerance)
    assert stands > 3.0 * least


def test_of_fleets_equally_short_the_one_is_kept_that_is_cheaper_with_its_service() -> None:
    parts = Decomposition(compiled(8.0), Options(threads=1))
    money = parts.compiled.cost[parts.columns]
    costly = int(np.argmax(money))
    nothing = np.zeros(len(money))
    unit = nothing.copy()
    unit[costly] = 1.0
    parts.remember(unit)
    parts.remember(nothing)
    assert parts.nearest is not None
    assert not parts.nearest.any()
    dear = 2.0 * money[costly]
    needed = Cut(0, dear, -dear * unit, False, dear, np.zeros(len(money), dtype=bool), nothing)
    parts.cuts.append(needed)
    parts.remember(unit)
    assert parts.nearest[costly] == 1.0


@pytest.mark.thorough
def test_where_not_all_fits_that_quarters_want_a_share_of_each_is_asked_about_which_is_hardly_short() -> None:
    narrow = compiled(5.0)
    parts = Decomposition(narrow, Options(threads=1))
    parts.regime(0.0)
    stage = Search(parts, "cost", 0.0)
    assert stage._ask_alone(0.0)
    stage._first_plan(stage.master)
    assert stage.best is None
    assert parts.nearest is not None
    least = solve_whole(narrow, Options(threads=1), "shortfall", None).objective
    assert least is not None
    assert parts.nearest[parts.shorts].sum() == pytest.approx(least, rel=0.01)
