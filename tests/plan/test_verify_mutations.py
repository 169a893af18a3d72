"""Nothing that a plan shows can be changed unseen: every cell's column, every row, every field of plan.json, alone."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from solved_case import Solved, solved, solved_rich
from tiny_case import by_hours, linked_sites, order_to_change, racks_short_of_power, room_kept, tiny, worn_drives

from procure.plan import Plan
from procure.plan.claims import NOT_CHECKED
from procure.plan.tables import TABLES
from procure.quarter import Quarter

ABOUT_SUMMARY = "plan.json agrees with the tables"
"""Name of the check of ``plan.json``; asked first where ``plan.json`` was changed."""
ROWS_IN = {"order_changes": "changed", "shipments": "linked", "link_rents": "linked", "fallback": "doubled",
           "power_modes": "saving", "cache_moves": "moving", "moved_retention": "moving", "day": "waiting",
           "deferred": "waiting", "reservations": "kept"}  # fmt: skip
"""Fixture whose plan has rows of a table; the full one for all others."""
SEEN_BY: dict[str, str] = {}
"""By table the check that saw its last change: asked first of the next one, which it is likely to see too."""
QUARTERS = {
    "kept_from_quarter",
    "paid_until_quarter",
    "quarter",
    "delivery_quarter",
    "vintage",
    "received_quarter",
    "freed_quarter",
}


@pytest.fixture(scope="module")
def full() -> Solved:
    return solved_rich()


@pytest.fixture(scope="module")
def kept() -> Solved:
    """Room kept by a firm hold, a first offer that the plan does not count on, and rent that is not begun early."""
    return solved(room_kept(hold=15.0, offer=False, early=140.0))


@pytest.fixture(scope="module")
def short() -> Solved:
    """Short in planned and in look-ahead quarters; one workload has no deployment at all."""
    workloads = {"fast": {"scenario": "chat", "card": "deepseek-v3.2", "tps_user": 5_000.0, "priority": 0.1}}
    peaks = {"chat": [100, 120, 130, 140], "fast": [1.0, 1.0, 1.0, 1.0]}
    return solved(tiny(peaks=peaks, planned=2, sites=({"positions": 2.0},), workloads=workloads))


@pytest.mark.thorough
def test_nothing_is_seen_in_a_plan_as_it_was_solved(full, short):
    for these in (full, short):
        assert not these.seen(these.plan)
        assert not these.seen(these.plan, ABOUT_SUMMARY)


def other(column: str, value: Any, frame: pd.DataFrame) -> Any:
    """Another value that the column might hold: one that it holds elsewhere, if there is any."""
    if column in QUARTERS:
        return str(Quarter(value) + 1)
    if isinstance(value, bool) or frame[column].dtype == bool:
        return not value
    if isinstance(value, str) or value is None:
        return next((held for held in frame[column] if held != value), f"{value}x")
    return 1.0 if math.isnan(value) or math.isinf(value) else value * 1.1 + 2.0


def put(plan: Plan, table: str, column: str, row: int) -> Plan:
    frame = plan.tables[table].copy()
    value = other(column, frame[column].iloc[row], frame)
    if not isinstance(value, str | bool):
        frame[column] = frame[column].astype(float)
    frame.iloc[row, frame.columns.get_loc(column)] = value
    return Plan(plan.summary, {**plan.tables, table: frame})


@pytest.fixture(scope="module")
def linked() -> Solved:
    return solved(linked_sites(usd_per_month=1_000.0))


@pytest.fixture(scope="module")
def doubled() -> Solved:
    """Two sites, each able to carry the load."""
    sites = ({"site": "a", "positions": 4.0}, {"site": "b", "positions": 4.0})
    return solved(tiny(sites=sites, settings={"resilience": "two_sites"}))


@pytest.fixture(scope="module")
def changed() -> Solved:
    return solved(order_to_change())


@pytest.fixture(scope="module")
def saving() -> Solved:
    return solved(racks_short_of_power())


@pytest.fixture(scope="module")
def moving() -> Solved:
    return solved(worn_drives("exclusive"))


@pytest.fixture(scope="module")
def waiting() -> Solved:
    return solved(by_hours(6e6))


@pytest.fixture
def of_table(table, full, request) -> Solved:
    """A plan in which the table has rows."""
    fixture = ROWS_IN.get(table)
    return request.getfixturevalue(fixture) if fixture else full


def is_seen(these: Solved, table: str, plan: Plan) -> bool:
    """Whether any check fails for a plan with a changed table."""
    SEEN_BY[table] = these.seen(plan, SEEN_BY.get(table, ""))
    return bool(SEEN_BY[table])


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), [(t, c) for t, table in TABLES.items() for c in table.by_column])
def test_no_column_can_be_changed_unseen(of_table, table, column):
    frame = of_table.plan.tables[table]
    assert len(frame), "a case for every table"
    for row in {0, len(frame) - 1}:
        assert is_seen(of_table, table, put(of_table.plan, table, column, row)), (table, column, row)


@pytest.mark.slow
@pytest.mark.parametrize("table", list(TABLES))
@pytest.mark.parametrize("change", ["lost", "doubled", "split", "added"])
def test_no_row_can_be_changed_unseen(of_table, table, change):
    frame = of_table.plan.tables[table]
    numbers = [c for c in frame.columns if pd.api.types.is_float_dtype(frame[c]) or c in ("count", "copies", "racks")]
    last = frame.iloc[[-1]]
    if change == "lost":
        changed = frame.iloc[:-1]
    elif change == "doubled":
        changed = pd.concat([frame, last])
    elif change == "split":
        if not numbers or table in ("costs",):
            pytest.skip("holds no amounts that could be split")
        half = last.assign(**{c: last[c] / 2 for c in numbers})
        changed = pd.concat([frame.iloc[:-1], half, half])
    else:
        column = TABLES[table].key[0 if table in ("premises", "checks", "costs") else 1]
        changed = pd.concat([frame, last.assign(**{column: "elsewhere", **dict.fromkeys(numbers, 0.0)})])
    plan = Plan(of_table.plan.summary, {**of_table.plan.tables, table: changed.reset_index(drop=True)})
    assert is_seen(of_table, table, plan)


def fields(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to every value in plan.json that is no object; of a list the whole, its first and its last."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from fields(inner, (*path, key))
    elif isinstance(value, list):
        for place in sorted({0, len(value) - 1}) if value else ():
            yield from fields(value[place], (*path, place))


def changed_value(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [{}]
    if isinstance(value, list):
        return [value[:-1], [*value, value[-1]]] if value else [["something"]]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1] if isinstance(value, int) else [value * 1.1 + 1, value * 0.9 - 1]
    return [f"{value}x"]


def unseen(these: Solved, path: tuple[Any, ...]) -> list[Any]:
    """Changed values of one field that no check names."""
    found = []
    value = these.plan.summary
    for key in path:
        value = value[key]
    for wrong in changed_value(value):
        summary = copy.deepcopy(these.plan.summary)
        place = summary
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        if path[0] == "status":
            continue
        if not these.seen(Plan(summary, these.plan.tables), ABOUT_SUMMARY):
            found.append(wrong)
    return found


@pytest.mark.slow
def test_no_field_of_plan_json_can_be_changed_unseen(full, short):
    for these in (full, short):
        paths = [path for path in fields(these.plan.summary) if path[0] not in NOT_CHECKED]
        assert {path: wrong for path in paths if (wrong := unseen(these, path))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("status", ["optimal", "short", "limit_with_plan", "verification_failed"])
def test_no_status_can_be_claimed_that_the_plan_does_not_have(full, short, status):
    for these in (full, short):
        claimed = Plan({**these.plan.summary, "status": status}, these.plan.tables)
        assert bool(these.failing(claimed)) == (status != these.plan.status)


def test_what_cannot_be_checked_is_said_with_a_reason_and_is_all_that_is_left(full):
    assert all(len(reason) > 20 for reason in NOT_CHECKED.values())
    unknown = {path[0] for path in fields(full.plan.summary)} | {"files"}
    assert set(NOT_CHECKED) <= unknown


def test_bounds_that_contradict_each_other_are_named(full):
    stated = full.plan.summary
    above = stated["objective_usd"] * 1.01
    for claim in (
        {"bound_usd": above, "gap": 0.0},  # a bound above the cost, the gap made to fit
        {"bound_usd": None, "gap": 0.0},
        {"bound_usd": stated["bound_usd"] - 1e8},
        {"gap_asked": stated["gap"] / 2 - 1e-6},
        {"standing_usd": stated["standing_usd"] + 1.0},
        {"standing_usd": stated["standing_usd"] - 1.0},
        {"shortfall": {**stated["shortfall"], "bound": 0.5}},
    ):
        assert full.seen(Plan({**stated, **claim}, full.plan.tables), ABOUT_SUMMARY), claim


@pytest.mark.thorough
def test_causes_are_named_where_they_are_wrong(short):
    sla = short.plan.tables["sla"]
    assert sla["cause"].str.startswith("no deployment").any()
    assert (sla.query("quarter > '2027Q2'")["cause"] != "").any()
    for row in range(len(sla)):
        assert short.seen(put(short.plan, "sla", "cause", row), "causes stand where something is short"), row
