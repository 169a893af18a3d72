"""What is rolled is all that there is: nothing sold, delivered, built or let go comes back with the old tables."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solved_case import planned
from tiny_case import quarter_names, tiny

from procure.case import Case
from procure.catalogue import packaged_path
from procure.plan.plan import Plan
from procure.plan.roll import roll
from procure.plan.summary import EARLIER
from procure.plan.tables import TABLES
from procure.quarter import Quarter

FIRST = "2027Q1"
CASES = int(os.environ.get("PROCURE_CASES", "12"))
"""Rolled cases that are drawn."""
HALL = ["site", "expansion", "power_kw", "positions", "area_m2", "capex_usd", "lead_quarters", "max_count"]


def later_forecast() -> pd.DataFrame:
    rows = [(quarter, "chat", 60.0) for quarter in quarter_names(4)[1:]]
    return pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"])


def case_with(old: int, due: list[int], halls: int, reserved: list[int], **more) -> Case:
    """Old servers, firm orders by quarter of delivery, halls on offer, and servers reserved by quarter."""
    quarters = quarter_names(3)
    tables = {
        "fleet": pd.DataFrame(
            [("a", "hgx-h200", old, "2023Q1", 3e5)] if old else [],
            columns=["site", "sku", "count", "in_service", "paid_usd_per_unit"],
        ),
        "orders": pd.DataFrame(
            [("a", "gb300-nvl72", n, q, 4e6) for q, n in zip(quarters, due, strict=True) if n],
            columns=["site", "sku", "count", "delivery", "price_usd_per_unit"],
        ),
        "expansions": pd.DataFrame([("a", "hall", 900.0, 4, 30.0, 4e5, 1, halls)] if halls else [], columns=HALL),
        "reserved": pd.DataFrame(
            [("a", "hgx-h200", q, n, "training") for q, n in zip(quarters, reserved, strict=True) if n],
            columns=["site", "sku", "quarter", "count", "purpose"],
        ),
    }
    return tiny(tables=tables, **more)


def plan_with(old: int, due: list[int], sold: int, built: int, bought: int) -> Plan:
    """A plan whose first quarter sells old servers, builds halls and orders racks that come a quarter later."""
    fleet = [(FIRST, "a", "hgx-h200", "fleet", "2023Q1", old, 0, sold, old - sold)] if old else []
    fleet += [(FIRST, "a", "gb300-nvl72", "order", FIRST, 0, due[0], 0, due[0])] if due[0] else []
    made = {
        "fleet": fleet,
        "purchases": [(FIRST, "a", "gb300-nvl72", bought, "planned", "2027Q2", 4e6, 1e5, 1e5, bought * 4.2e6)]
        if bought
        else [],
        "expansions": [(FIRST, "a", "hall", built, "planned", built * 4e5, "")] if built else [],
    }
    frames = {name: pd.DataFrame(made.get(name, []), columns=list(table.by_column)) for name, table in TABLES.items()}
    served = {"share": 0.0, "bound": 0.0, "workloads": [], "lookahead_workloads": []}
    facts = {"status": "optimal", "objective_usd": 1e8, "bound_usd": 1e8, "gap": 0.0, "shortfall": served}
    spans = {"planned_quarters": [FIRST], "lookahead_quarters": quarter_names(3)[1:]}
    return Plan({**EARLIER, **facts, **spans, "purchases": [], "input_hash": ""}, frames)


def counted(frame: pd.DataFrame, key: str) -> dict[str, int]:
    return {str(k): int(n) for k, n in frame.groupby(key)["count"].sum().items()} if len(frame) else {}


@pytest.mark.slow
@settings(max_examples=CASES, deadline=None)
@given(data=st.data())
def test_nothing_comes_back_and_nothing_is_lost(tmp_path_factory, data):
    few = st.integers(0, 3)
    old, due = data.draw(few), [data.draw(few) for _ in range(3)]
    halls, bought = data.draw(few), data.draw(few)
    sold, built = data.draw(st.integers(0, old)), data.draw(st.integers(0, halls))
    held = [data.draw(st.integers(0, old - sold)) for _ in range(3)]
    case = case_with(old, due, halls, held)
    rolled = roll(case, plan_with(old, due, sold, built, bought), later_forecast()).case
    stands = {"hgx-h200": old - sold, "gb300-nvl72": due[0]}
    assert counted(rolled.tables["fleet"], "sku") == {k: n for k, n in stands.items() if n}
    on_the_way = {"2027Q2": due[1] + bought, "2027Q3": due[2]}
    assert counted(rolled.tables["orders"], "delivery") == {k: n for k, n in on_the_way.items() if n}
    assert rolled.tables["expansions"]["max_count"].tolist() == ([halls - built] if halls > built else [])
    limits = rolled.tables["sites"].set_index("from_quarter")["positions"]
    assert limits.iloc[-1] == 6.0 + 4 * built
    repeated = {"2027Q2": held[1], "2027Q3": held[2], "2027Q4": held[2]}
    assert counted(rolled.tables["reserved"], "quarter") == {k: n for k, n in repeated.items() if n}
    again = Case.read(rolled.write(tmp_path_factory.mktemp("rolled") / "case"))
    assert again.input_hash == rolled.input_hash
    for name, frame in rolled.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], frame, check_dtype=False)


def test_a_fleet_of_nothing_and_no_orders_stay_nothing():
    case = case_with(2, [1, 0, 0], 0, [0, 0, 0])
    nothing = case.tables["fleet"].iloc[:0][["site", "sku", "count", "in_service", "paid_usd_per_unit"]]
    rolled = roll(case, plan_with(2, [1, 0, 0], 0, 0, 0), later_forecast(), actual_fleet=nothing)
    assert not len(rolled.case.tables["fleet"])
    assert not len(rolled.case.tables["orders"])
    assert set(rolled.differences.query("topic == 'fleet'")["actual"]) == {"0"}


@pytest.mark.thorough
def test_tables_that_roll_does_not_move_are_kept_as_they_are():
    more = {"figures": {("gb300-nvl72", "price_usd"): 3.9e6}}
    case = case_with(1, [0, 0, 0], 0, [0, 0, 0], **more)
    before = {name: frame for name, frame in case.given_tables.items() if name not in ("forecast", "fleet", "orders")}
    rolled = roll(case, plan_with(1, [0, 0, 0], 0, 0, 0), later_forecast()).case
    assert set(rolled.given_tables) == set(case.given_tables)
    for name, frame in before.items():
        pd.testing.assert_frame_equal(rolled.given_tables[name], frame, check_dtype=False)


def card_at(path: Path, base: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if base is None:
        shutil.copyfile(packaged_path("models/deepseek-v3.2.json"), path)
    else:
        path.write_text(json.dumps({"base": base, "max_context_tokens": 100_000}))
    return path


def case_with_card(folder: Path, card: str) -> Case:
    if folder.exists():
        tiny().write(folder / "made")
        for path in (folder / "made").iterdir():
            path.rename(folder / path.name)
        (folder / "made").rmdir()
    else:
        tiny().write(folder)
    rows = pd.read_csv(folder / "workloads.csv")
    rows.assign(card=card, context_cap_tokens=60_000).to_csv(folder / "workloads.csv", index=False)
    return Case.read(folder)


@pytest.mark.parametrize("kind", ["inside", "absolute", "above", "with its base", "released folder"])
@pytest.mark.thorough
def test_cards_move_with_the_case(tmp_path, kind):
    folder, away = tmp_path / "case", tmp_path / "elsewhere"
    card, place = card_at(away / "mine.json"), "cards/mine.json"
    name = str(card)
    if kind == "inside":
        card_at(folder / "own" / "mine.json")
        name = place = "own/mine.json"
    elif kind == "above":
        name = "../elsewhere/mine.json"
    elif kind == "with its base":
        name, place = str(card_at(away / "deep" / "own.json", base="../mine.json")), "cards/deep/own.json"
    elif kind == "released folder":
        (away / "mine").mkdir()
        (away / "mine" / "config.json").write_text(json.dumps(json.loads(card.read_text())["config"]))
        name, place = str(away / "mine"), "cards/mine"
    case = case_with_card(folder, name)
    rolled = roll(case, plan_with(0, [0, 0, 0], 0, 0, 0), later_forecast()).case
    before = sorted(p for p in tmp_path.rglob("*"))
    target = rolled.write(tmp_path / "next" / "case")
    written = pd.read_csv(target / "workloads.csv")["card"].tolist()
    assert written == [place]
    assert (target / place).exists()
    outside = [p for p in tmp_path.rglob("*") if not p.is_relative_to(tmp_path / "next")]
    assert sorted(outside) == before
    shutil.rmtree(away, ignore_errors=True)
    shutil.rmtree(folder)
    again = Case.read(target)
    assert [c.max_context_tokens for c in again.cards.values()] == [c.max_context_tokens for c in rolled.cards.values()]


@pytest.mark.thorough
def test_a_base_that_changes_changes_the_inputs(tmp_path):
    base = card_at(tmp_path / "cards" / "base.json")
    card_at(tmp_path / "cards" / "mine.json", base="base.json")
    first = case_with_card(tmp_path / "case", "../cards/mine.json").input_hash
    base.write_text(base.read_text().replace("\n", "\n ", 1))
    assert Case.read(tmp_path / "case").input_hash != first


@pytest.mark.slow
def test_a_solved_plan_rolls_until_its_last_firm_order_has_come():
    case = case_with(0, [1, 0, 0], 0, [0, 0, 0])
    plan = planned(case)
    rolled = roll(case, plan, later_forecast())
    assert {Quarter(q) for q in rolled.case.tables["orders"]["delivery"]} <= set(rolled.case.quarters)
    assert planned(rolled.case).tables["checks"]["holds"].all()
