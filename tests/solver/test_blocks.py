"""Blocks are what families declare, and what the program falls apart into; what ties them is refused by name."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from solved_case import built, planned
from tiny_case import at, fleet, rich, tiny

from procure.families import contents
from procure.plan import Status
from procure.program import Program
from procure.program import build as build_program
from procure.program.declare import More, Undeclared, block_rows, first_stage, first_stage_rows, recourse
from procure.program.part import Part
from procure.solver.blocks import Cut, parts_of
from procure.solver.compile import Compiled, compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options

GROWING = [60.0, 120.0, 180.0, 260.0]


def two_sites_and_kits() -> Any:
    return tiny(
        skus=("gb300-nvl72", "ssd-kit-gb300-nvl72"),
        peaks={"chat": GROWING, "agent": [5.0, 6.0, 7.0, 8.0]},
        planned=2,
        workloads={"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}},
        sites=({}, {"site": "b"}),
        tables={"fleet": fleet(("b", "hgx-h200", 2, "2024Q1", 3e5))},
    )


CASES = {
    "tiny": tiny,
    "rich": rich,
    "growing": lambda: tiny(peaks={"chat": GROWING}, planned=2),
    "two sites": two_sites_and_kits,
}


@cache
def made(name: str) -> tuple[Program, Compiled]:
    """The program of a case and its arrays, which nobody changes."""
    program = build_program(built(CASES[name]()))
    return program, compile_program(program)


@pytest.fixture
def adding(monkeypatch):
    def add(*families: Any) -> None:
        known = contents.programs()
        monkeypatch.setattr(contents, "programs", lambda: {**known, "new": Part(families)})

    return add


def components(compiled: Compiled) -> list[tuple[set[int], set[int]]]:
    """Columns and rows of what is connected once the first stage is fixed, found without any declaration of a block."""
    free = np.flatnonzero(~compiled.master)
    incidence = compiled.matrix[:, free] != 0
    graph = sparse.bmat([[None, incidence], [incidence.T, None]])
    _, label = csgraph.connected_components(graph, directed=False)
    of_row, of_column = label[: incidence.shape[0]], label[incidence.shape[0] :]
    return [
        (set(free[of_column == number].tolist()), set(np.flatnonzero(of_row == number).tolist()))
        for number in np.unique(of_column)
    ]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.thorough
def test_declared_blocks_are_the_connected_components_of_the_program(name):
    program, compiled = made(name)
    declared = [(set(part.columns.tolist()), set(part.rows.tolist())) for part in parts_of(compiled)]
    assert sorted(declared, key=str) == sorted(components(compiled), key=str)
    assert [part.at for part in parts_of(compiled)] == program.index.blocks  # one for each quarter
    inside = {row for _, rows in declared for row in rows}
    assert inside == set(np.flatnonzero(compiled.row_block >= 0).tolist())
    assert not {c for columns, _ in declared for c in columns} & set(np.flatnonzero(compiled.master).tolist())


def short_grows_slowly(m: Any, index: Any) -> None:
    keys = [(at(t), w) for t in (1, 2) for w in index.workload]
    m.slow = block_rows(keys, rule=lambda m, b, w: m.short[b, w] - m.short[at(b.t - 1), w] <= 0.1)


def a_tenth_at_most_over_all(m: Any, index: Any) -> None:
    m.overall = first_stage_rows([0], rule=lambda m, _: sum(m.short.values()) <= 0.1)


def undeclared_row(m: Any, index: Any) -> None:
    m.stray = pyo.Constraint([0], rule=lambda m, _: sum(m.buy.values()) <= 5)


def undeclared_variable(m: Any, index: Any) -> None:
    m.loose = pyo.Var([0])


def wrong_sign(m: Any, index: Any) -> None:
    m.wrong = block_rows(index.loads, rule=lambda m, b, w: m.short[b, w] + m.own["a", "gb300-nvl72", b.t] <= 9)


def capacity_in_an_equation(m: Any, index: Any) -> None:
    m.even = block_rows(index.loads, rule=lambda m, b, w: m.short[b, w] == 9 - m.own["a", "gb300-nvl72", b.t])


def orders_in_a_block(m: Any, index: Any) -> None:
    m.bought = block_rows(index.loads, rule=lambda m, b, w: m.short[b, w] <= m.buy["a", "gb300-nvl72", b.t])


def mended_by_nothing(m: Any, index: Any) -> None:
    keys = list(m.quarter_short)
    m.half = block_rows(keys, rule=lambda m, b: m.short[b, "chat"] <= 2 * m.quarter_short[b], mended_by="quarter_short")


@pytest.mark.parametrize(
    ("family", "told"),
    [
        (
            short_grows_slowly,
            "slow[1,chat]: a row of block (base, quarter 1, peak) that ties blocks through recourse, "
            "short[0,chat] of block (base, quarter 0, peak), short[1,chat] of block (base, quarter 1, peak)",
        ),
        (
            a_tenth_at_most_over_all,
            "overall[0]: a row of the first stage with recourse, short[0,chat] of block (base, quarter 0, peak), "
            "short[1,chat] of block (base, quarter 1, peak), short[2,chat] of block (base, quarter 2, peak)",
        ),
        (undeclared_row, "stray: say which stage or block it is of (procure.program.declare)"),
        (undeclared_variable, "loose: say which stage or block it is of (procure.program.declare)"),
        (wrong_sign, "wrong[0,chat]: more of own[a,gb300-nvl72,0] hurts here; own says that it helps"),
        (
            capacity_in_an_equation,
            "even[0,chat]: more of own[a,gb300-nvl72,0] does both here; own says that it helps",
        ),
        (
            orders_in_a_block,
            "bought[0,chat]: buy[a,gb300-nvl72,0] stands in a block; say whether more of buy helps or hurts there",
        ),
        (mended_by_nothing, "half[0]: quarter_short, which mends it, does not stand in it one for one"),
    ],
)
@pytest.mark.thorough
def test_a_family_that_is_not_what_it_declares_is_refused_by_name_when_the_program_is_built(adding, family, told):
    adding(family)
    with pytest.raises(Undeclared) as caught:
        build_program(built(tiny()))
    assert caught.value.lines[0] == told


def test_a_row_over_the_fleet_alone_is_the_masters_of_whatever_block_it_says_to_be(adding):
    def standing(m: Any, index: Any) -> None:
        m.stands = block_rows(index.blocks, rule=lambda m, b: m.own["a", "gb300-nvl72", b.t] >= 1)

    adding(standing)
    parts = Decomposition(compile_program(build_program(built(tiny()))), Options(threads=1))
    names = [parts.compiled.rows[i] for i in parts.rows]
    assert {"stands[0]", "stands[1]", "stands[2]"} <= set(names)


def lent(m: Any, index: Any) -> None:
    """A family of its own: a share lent out at a most that racks raise and staff lowers, and mended by overtime."""
    m.staff = first_stage(index.t, more=More.HURTS, domain=pyo.NonNegativeIntegers, bounds=(0, 3))
    m.overtime = first_stage(index.t, more=More.HELPS, domain=pyo.NonNegativeReals)
    m.lent = recourse(index.blocks, bounds=(0, 1))
    m.lending = block_rows(
        index.blocks,
        rule=lambda m, b: m.lent[b] + m.overtime[b.t] >= 0.5 + 0.2 * m.staff[b.t] - m.own["a", "gb300-nvl72", b.t],
        mended_by="overtime",
    )


def test_what_a_family_declares_is_what_the_decomposition_works_with(adding):
    adding(lent)
    parts = Decomposition(compile_program(build_program(built(tiny()))), Options(threads=1))
    names = np.array([parts.compiled.columns[c] for c in parts.columns])
    assert set(names[parts.hurting]) == {"staff[0]", "staff[1]", "staff[2]"}
    assert {name.split("[")[0] for name in names[parts.helping]} == {"own"}
    assert [set(names[b.short_columns]) for b in parts.blocks] == [
        {"overtime[0]", "quarter_short[0]"}, {"overtime[1]"}, {"overtime[2]"},
    ]  # fmt: skip


def test_a_least_that_a_fleet_breaks_is_mended_upwards(adding):
    """All 0.5 of it short where nothing is lent: the excess that the block asks for is what overtime must make up."""
    adding(lent)
    compiled = compile_program(build_program(built(tiny())))
    parts = Decomposition(compiled, Options(threads=1))
    names = [compiled.columns[c] for c in parts.columns]
    last = parts.blocks[-1]
    last._upper[[compiled.columns[c] == "lent[2]" for c in last.columns] + [False]] = 0.0
    fixed = np.array([compiled.columns[c] == "lent[2]" for c in last.columns])
    place = np.flatnonzero(fixed).astype(np.int32)
    for solver in (last._cheapest, last._least_short):
        solver.changeColsBounds(1, place, np.zeros(1), np.zeros(1))
    x = np.array([2.0 if name == "staff[2]" else 0.0 for name in names])
    assert last.shortfall(x).excess == pytest.approx(0.9, abs=1e-9)
    mended = x + np.array([0.9 if name == "overtime[2]" else 0.0 for name in names])
    assert last.shortfall(mended).excess == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "name", ["tiny", "rich", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("growing", "two sites"))]
)
def test_more_of_what_helps_never_raises_what_a_cut_asks_for_and_more_of_what_hurts_never_lowers_it(name):
    compiled = made(name)[1]
    parts = Decomposition(compiled, Options(threads=1))
    helps = compiled.helps[parts.columns]
    draw = np.random.default_rng(1)
    seen = 0
    for _ in range(3):
        fleet_of = np.where(compiled.integer[parts.columns], draw.integers(0, 8, len(parts.columns)), 0.0)
        for objective in ("cost", "shortfall"):
            for outcome in parts.evaluate(fleet_of.astype(float), objective):
                slope = outcome.cut.slope
                seen += int(np.count_nonzero(slope))
                assert (slope[helps == More.HELPS] <= 0.0).all()
                assert (slope[helps == More.HURTS] >= 0.0).all()
                assert (slope[helps == More.APART] == 0.0).all()
    assert seen > 0


@pytest.mark.parametrize("positions", [6.0, 1.0])
@pytest.mark.thorough
def test_a_unit_that_is_many_times_the_demand_is_bought_all_the_same_and_nothing_where_none_fits(positions):
    """A rack for 0.01 requests/s: a fleet without any broke its cut by what counted as rounding of so steep a slope."""
    case = tiny(peaks={"chat": [0.01] * 3}, sites=({"positions": positions},))
    plan, whole = (planned(case, gap=1e-6, method=method) for method in ("decomposed", "whole"))
    assert plan.status == whole.status == (Status.OPTIMAL if positions > 1.5 else Status.SHORT)
    assert plan.objective_usd == pytest.approx(whole.objective_usd, rel=1e-9)
    assert plan.purchases["count"].sum() == (positions > 1.5)


def test_a_tight_cut_turns_down_the_same_whole_fleets_and_leaves_continuous_columns_alone():
    """5 short: one of the first column mends 1e12, of the second 2, of the third, which is not whole, 100."""
    cut = Cut(0, 5.0, np.array([-1e12, -2.0, -100.0]), True, 5.0, np.array([True, True, False]), np.zeros(1))
    assert cut.tight.tolist() == [-5.0, -2.0, -100.0]
    assert cut.scale == 100.0
    assert cut.moved(1.0).tight.tolist() == [-6.0, -2.0, -100.0]
    for x in itertools.product(range(3), range(4), (0.0, 0.01, 0.05)):
        raw = cut.constant + float(cut.slope @ np.array(x))
        assert (cut.value(np.array(x)) <= 1e-9) == (raw <= 1e-9), x
