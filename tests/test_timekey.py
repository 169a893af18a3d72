"""Nothing of several scenarios or parts of the day adds up unasked, in any sheet, chart, check or statistic."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from copy import copy
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from solved_case import Solved, built, solved
from tiny_case import fleet, tiny, token_worth

from procure.errors import InputError
from procure.plan import Plan
from procure.plan.first_token import first_tokens
from procure.plan.limits import limits_table
from procure.plan.money import cash_table
from procure.plan.premises import evidence_shares
from procure.plan.tables import TABLES
from procure.plan.unit_costs import cost_warnings, unit_costs_summary, unit_costs_table
from procure.plan.verify import faults_by_check, verify
from procure.program import build as build_program
from procure.report import page
from procure.report.charts import charts
from procure.report.layout import Timeline, over_time
from procure.report.sentences import limits, outcome, trades
from procure.report.workbook import build as workbook
from procure.solver.blocks import parts_of
from procure.solver.compile import compile_program
from procure.solver.highs import Options
from procure.solver.whole import solve_whole
from procure.timekey import BESIDE_QUARTER, TimeKey, grouped, one_block, summed, time_keys, totals, unmixed

ROOT = Path(__file__).parents[1]


def table(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["scenario", "quarter", "daypart", "sku", "racks"])


TWO = table(("base", "2027Q1", "peak", "g", 3.0), ("base", "2027Q1", "night", "g", 1.0))


def test_rows_of_two_parts_of_the_day_do_not_add_up():
    with pytest.raises(InputError, match="column daypart: read 'night, peak'"):
        summed(TWO, "racks")
    with pytest.raises(InputError, match="rows by sku would mix several"):
        grouped(TWO, ["sku"])
    with pytest.raises(InputError, match="rows by sku would mix several"):
        totals(TWO, ["sku"], "racks")
    with pytest.raises(InputError):
        one_block({"serving": TWO})
    with pytest.raises(InputError):
        over_time(TWO, ["sku"], "racks", Timeline(("2027Q1",), frozenset()))


def test_rows_that_are_told_apart_or_meant_to_be_added_are():
    assert grouped(TWO, ["daypart"])["racks"].sum().to_dict() == {"night": 1.0, "peak": 3.0}
    assert summed(TWO, "racks", across=["daypart"]) == 4.0
    apart = table(("base", "2027Q1", "peak", "g", 3.0), ("base", "2027Q2", "night", "g", 1.0))
    assert grouped(apart, ["quarter"])["racks"].sum().tolist() == [3.0, 1.0]  # no key holds both
    with pytest.raises(InputError):
        grouped(apart, ["sku"])
    everywhere = table(("", "2027Q1", "", "g", 3.0), ("base", "2027Q1", "peak", "g", 1.0))
    assert summed(everywhere, "racks") == 4.0
    assert summed(TWO[["quarter", "racks"]], "racks") == 4.0  # a table that carries no part of the day


def test_totals_are_the_sums_of_pandas_to_the_last_bit():
    numbers = [0.1, 1e16, -1e16, 0.7, math.nan, 3.3, 1e-9, 0.2, 5.0]
    rows = pd.DataFrame({"sku": list("babbaabba"), "site": list("xyxxyxxyx"), "racks": numbers, "units": range(9)})
    for by in (["sku"], ["sku", "site"]):
        for value in ("racks", "units"):
            wanted = grouped(rows, by)[value].sum().to_dict()
            assert list(totals(rows, by, value).items()) == list(wanted.items())
    tenths = pd.DataFrame({"sku": ["a"] * 10, "racks": [0.1] * 10})
    assert totals(tenths, ["sku"], "racks") == {"a": 1.0} != {"a": sum([0.1] * 10)}
    assert totals(rows[:0], ["sku"], "racks") == {}


def test_time_keys_are_read_from_whatever_columns_a_table_has():
    assert time_keys(pd.DataFrame({"t": [0, 2]})) == [TimeKey("base", 0, "peak"), TimeKey("base", 2, "peak")]
    both = pd.DataFrame({"t": [1, 1], "daypart": ["peak", "night"], "scenario": ["base", "high"]})
    assert [str(at) for at in time_keys(both)] == ["1", "high/1/night"]
    assert [at.among(["2027Q1", "2027Q2"]) for at in time_keys(both)] == ["2027Q2", "2027Q2 high night"]


@pytest.fixture(scope="module")
def plenty() -> Solved:
    """Two workloads, one of them short, caches kept, old servers sold, a limit that binds: every table has rows."""
    return solved(
        tiny(
            peaks={"chat": [60, 120, 180, 260], "agent": [5, 6, 7, 8]},
            planned=2,
            workloads={"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}},
            sites=({"positions": 2.0},),
            settings={**token_worth(0.0), "resale": "existing"},
            tables={"fleet": fleet(("a", "hgx-h200", 2, "2024Q1", 3e5))},
        )
    )


def night(instance: Any, share: float) -> Any:
    """The instance with a part of the day of its own, in which a share of the peak is asked for."""
    tables = dict(instance.tables)
    for name, asked in tables.items():
        if {"t", "workload"} <= set(asked.columns):
            later = asked.assign(daypart="night")
            for key in {"point", "option"} & set(later.columns):
                later[key] = later[key] + " at night"
            if name == "rates":
                later["requests_per_s"] *= share
            tables[name] = pd.concat([asked.assign(daypart="peak"), later], ignore_index=True)
    twice = copy(instance)
    twice.__dict__.pop("blocks", None)
    object.__setattr__(twice, "tables", tables)
    return twice


@pytest.mark.parametrize(("share", "served"), [(0.5, True), (1.5, False)])
@pytest.mark.thorough
def test_a_second_part_of_the_day_is_a_second_block_of_each_quarter_that_the_fleet_must_serve(share, served):
    """The fleet of the peak serves a night of half of it; for a night of more it buys more."""
    asked = built(tiny(peaks={"chat": [60, 120, 180]}, settings=token_worth(1e3)))
    single, double = (compile_program(build_program(i)) for i in (asked, night(asked, share)))
    assert [len(parts_of(c)) for c in (single, double)] == [3, 6]
    assert [str(part.at) for part in parts_of(double)][:3] == ["base/0/night", "0", "base/1/night"]
    owned = []
    for compiled in (single, double):
        values = solve_whole(compiled, Options(gap=1e-6, threads=1), "cost", 0.0).values
        assert values is not None
        names = ["own[a,gb300-nvl72,0]", "own[a,gb300-nvl72,1]", "own[a,gb300-nvl72,2]"]
        owned.append([round(values[compiled.columns.index(name)]) for name in names])
    assert (owned[0] == owned[1]) is served
    assert owned[0] <= owned[1]


STATISTICS: dict[str, Callable[[Solved, Plan], Any]] = {
    "headline": lambda s, p: page.headline(p),
    "facts": lambda s, p: page.facts(p),
    "orders": lambda s, p: page.orders(p),
    "costs": lambda s, p: page.costs(p),
    "binding": lambda s, p: limits.binding_sentences(p),
    "causes": lambda s, p: (outcome.causes(p, "planned"), outcome.causes(p, "lookahead")),
    "sales": lambda s, p: trades.sales(p, "planned"),
    "unit costs": lambda s, p: outcome.unit_costs(p),
    "warnings": lambda s, p: cost_warnings(p.tables["unit_costs"]),
    "unit costs of plan.json": lambda s, p: unit_costs_summary(p.tables["unit_costs"]),
    "evidence": lambda s, p: evidence_shares(p.tables, s.case),
    "first tokens": lambda s, p: first_tokens(s.instance, p.tables["prefill"], p.tables["shipments"]),
    "limits": lambda s, p: limits_table(s.instance, p.tables),
    "cash": lambda s, p: cash_table(s.instance, p.tables),
    "costs of tokens": lambda s, p: unit_costs_table(s.instance, p.tables),
    "workbook": lambda s, p: workbook(p),
}
READS = {
    "headline": {"purchases", "sales"}, "orders": {"purchases"}, "facts": {"cash", "costs"}, "costs": {"costs"},
    "binding": {"limits"}, "causes": {"sla"}, "sales": {"sales"}, "unit costs": {"unit_costs"},
    "warnings": {"unit_costs"}, "unit costs of plan.json": {"unit_costs"}, "first tokens": {"prefill"},
    "evidence": {"purchases", "serving", "prefill"},
    "workbook": {"purchases", "fleet", "serving", "prefill", "kv_placement", "limits", "cash", "sla", "demand",
                 "unit_costs"},
}  # fmt: skip
"""Tables whose rows a statistic adds up or reads by key; those that start from all tables are not listed."""


def planted(plan: Plan, name: str, column: str) -> Plan:
    """The plan with the rows of a table once more, of a second scenario or part of the day."""
    rows = plan.tables[name]
    first, second = {"scenario": ("base", "high"), "daypart": ("peak", "night")}[column]
    twice = pd.concat([rows.assign(**{column: first}), rows.assign(**{column: second})], ignore_index=True)
    return Plan(plan.summary, {**plan.tables, name: twice})


def timed(plan: Plan) -> list[str]:
    """Tables with rows that a second scenario could have more of."""
    return [n for n, t in plan.tables.items() if len(t) and n not in ("premises", "checks")]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_statistic_refuses_rows_of_a_second_scenario_or_part_of_the_day(plenty, statistic):
    STATISTICS[statistic](plenty, plenty.plan)  # as it is, it can be worked out
    names = [n for n in timed(plenty.plan) if n in READS.get(statistic, plenty.plan.tables) and _read(statistic, n)]
    assert names
    for name, column in zip(names, cycle(BESIDE_QUARTER), strict=False):
        with pytest.raises(InputError, match=f"One {column} at a time"):
            STATISTICS[statistic](plenty, planted(plenty.plan, name, column))


def _read(statistic: str, name: str) -> bool:
    """Whether a statistic without a list of its own starts from a table: all do but from those without a quarter."""
    return statistic in READS or name not in ("costs", "unit_costs")


@pytest.mark.parametrize("column", BESIDE_QUARTER)
def test_verification_says_which_table_has_rows_of_what_the_case_does_not_have(plenty, column):
    assert plenty.plan.tables["checks"]["holds"].all()
    faults = faults_by_check(planted(plenty.plan, "serving", column), plenty.case, plenty.instance)
    name = "every row is of the one scenario and part of the day"
    other = {"scenario": "high, not base", "daypart": "night, not peak"}[column]
    assert list(faults[name]) == [f"serving: {column} {other}"]
    with pytest.raises(InputError, match=f"One {column} at a time"):
        list(faults["every limit holds"])


@pytest.mark.thorough
def test_a_result_of_an_earlier_release_is_of_the_one_block_that_it_knew(plenty, tmp_path):
    stored = plenty.plan.write(tmp_path / "out")
    timed_tables = [name for name, table in TABLES.items() if set(BESIDE_QUARTER) <= set(table.by_column)]
    assert timed_tables == [
        "serving", "prefill", "shipments", "kv_placement", "retention", "cache_moves", "moved_retention", "instances",
        "deferred", "day", "survival", "fallback", "limits",
        "sla", "demand",
    ]  # fmt: skip
    for name in timed_tables:
        path = stored / "tables" / f"{name}.csv"
        pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns=list(BESIDE_QUARTER)).to_csv(path, index=False)
    checks = verify(Plan.read(stored), plenty.case, plenty.instance)
    assert checks["holds"].all()


@pytest.mark.parametrize("column", BESIDE_QUARTER)
def test_every_chart_refuses_rows_of_a_second_scenario_or_part_of_the_day(plenty, column):
    reads = {"fleet": "fleet", "power": "limits", "money": "cash", "kv": "kv_placement", "service": "sla"}
    assert set(charts(plenty.plan)) == set(reads)
    for name, source in reads.items():
        *_, draw = charts(planted(plenty.plan, source, column))[name]
        with pytest.raises(InputError, match=f"One {column} at a time"):
            draw()


def calls(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, name and receiver of every method call of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.lineno, node.func.attr, ast.unparse(node.func.value)


def readers() -> list[Path]:
    folders = [ROOT / "procure" / name for name in ("report", "plan", "study")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    return [*files, *(ROOT / "procure" / "families").glob("*/check.py"),
            *(ROOT / "procure" / "families").glob("*/check/*.py")]  # fmt: skip


def test_readers_of_a_plan_add_up_through_one_place_alone():
    """``grouped`` and ``summed`` refuse what pandas would add; the sum of what was grouped so is safe."""
    assert len(readers()) > 30
    past = [
        f"{path.relative_to(ROOT)}:{line}: {receiver}.{name}()"
        for path in readers()
        for line, name, receiver in calls(path)
        if name in ("groupby", "pivot", "pivot_table") or (name == "sum" and "grouped(" not in receiver)
    ]
    assert past == ["procure/plan/premises.py:52: amounts.sum()"]  # of shares by kind, grouped before


def test_the_test_of_readers_sees_what_it_forbids(tmp_path):
    path = tmp_path / "reader.py"
    path.write_text('a = cash["usd"].sum()\nb = grouped(cash, ["sku"])["usd"].sum()\nc = cash.groupby("sku")\n')
    assert [(line, name) for line, name, receiver in calls(path) if "grouped(" not in receiver] == [
        (1, "sum"), (3, "groupby"),
    ]  # fmt: skip


def test_a_table_that_is_read_row_by_row_is_given_back_as_it_is():
    assert unmixed(TWO, ["daypart"]) is TWO
