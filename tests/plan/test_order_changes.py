"""Firm orders that a plan cancels or defers: money, words, sheet, the case of the next quarter, and what is wrong."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest
from oracle_brute import BruteForce
from solved_case import Solved, checked, planned, solved
from tiny_case import budget, order_to_change, quarter_names

from procure.case import Case
from procure.errors import InputError
from procure.plan.roll import roll
from procure.report.page import headline
from procure.report.sentences.trades import change_sentences
from procure.report.workbook import build as workbook

QUARTERS = quarter_names(5)
PRICE, PAID, FEE, LATER = 4.4e6, 0.1, 0.15, 0.02


@pytest.fixture(scope="module")
def changed() -> Solved:
    return solved(order_to_change())


def stated(case: Case, **cells: object) -> Case:
    """The case with other cells in its one order."""
    return case.replace(tables={"orders": case.given_tables["orders"].assign(**cells)})


def best_of_all_changes(case: Case) -> tuple[float, float]:
    """Least shortfall in basis points and cost: every way to change the one order, as a case with other orders."""
    order = case.given_tables["orders"].drop(columns=["cancel_fee_share", "defer_quarters_most",
                                                      "defer_fee_share_per_quarter"])  # fmt: skip
    found = []
    for gone, *late in itertools.product(range(5), repeat=3):
        left = 4 - gone - sum(late)
        if left < 0:
            continue
        kept = [(left, QUARTERS[1]), *zip(late, QUARTERS[2:4], strict=True)]
        orders = pd.concat([order.assign(count=n, delivery=q) for n, q in kept if n] or [order.iloc[:0]])
        fees = PRICE * (gone * (FEE - PAID) + LATER * (late[0] + 2 * late[1]))
        tables = {"orders": orders}
        if "budget" in case.given_tables:
            purse = case.given_tables["budget"].copy()
            purse.loc[0, "budget_usd"] -= fees
            if purse.loc[0, "budget_usd"] < 0:
                continue
            tables["budget"] = purse
        try:
            short, cost, _ = BruteForce(case.replace(tables=tables), {}).best()
        except AssertionError:  # payments beyond the budget
            continue
        found.append((round(short, 3), cost + fees))
    return min(found)


def in_a_budget() -> Case:
    """Two racks can be paid for at their delivery and two more later; the first quarter pays the fees."""
    case = order_to_change(budget_carry="none")
    return case.replace(tables={"budget": budget(4e5, 2.1 * PRICE, 0.0, 1.1 * PRICE, 0.0)})


@pytest.mark.slow
@pytest.mark.parametrize("make", [order_to_change, in_a_budget])
def test_trying_every_change_finds_the_same_optimum(make):
    case = make()
    short_bp, cost = best_of_all_changes(case)
    for method in ("decomposed", "whole"):
        plan = planned(case, gap=1e-6, method=method)
        assert plan.summary["shortfall"]["share"] * 1e4 == pytest.approx(short_bp, abs=1.1e-2)
        assert plan.objective_usd == pytest.approx(cost, rel=1e-5, abs=1.0)


def test_cancelled_units_cost_their_fee_and_what_was_paid_deferred_ones_their_price_later(changed):
    rows = changed.plan.tables["order_changes"][["change", "deferred_quarters", "count", "fee_usd", "due_usd"]]
    due = PRICE * (1 - PAID)
    assert rows.values.tolist() == [
        ["cancel", 0, 1, pytest.approx(PRICE * (FEE - PAID)), pytest.approx(due)],
        ["defer", 2, 1, pytest.approx(2 * LATER * PRICE), pytest.approx(due)],
    ]
    cash = changed.plan.tables["cash"]
    paid = cash[cash["line"] == "firm orders"].groupby("quarter")["cash_usd"].sum()
    assert paid.to_dict() == {QUARTERS[1]: pytest.approx(2 * due), QUARTERS[3]: pytest.approx(due)}
    fees = cash[cash["line"] == "changes of firm orders"]
    assert fees["quarter"].tolist() == [QUARTERS[0]]
    assert fees["cash_usd"].sum() == pytest.approx(PRICE * (FEE - PAID + 2 * LATER))
    fleet = changed.plan.tables["fleet"]
    arrived = fleet[fleet["delivered"] > 0][["vintage", "origin", "delivered"]]
    assert arrived.values.tolist() == [[QUARTERS[1], "order", 2], [QUARTERS[3], "deferred", 1]]
    assert changed.plan.tables["costs"]["npv_usd"].sum() == pytest.approx(changed.plan.objective_usd)
    assert changed.plan.tables["checks"]["holds"].all()


def test_the_plan_says_what_to_cancel_and_to_defer(changed):
    assert "Cancel 1 of 4 gb300-nvl72 ordered for 2027Q2 and defer 1 of 4" in headline(changed.plan)
    cancel, defer = change_sentences(changed.plan)
    assert cancel.startswith("2027Q1: cancel 1 of 4 gb300-nvl72 ordered for 2027Q2 at a (fee 220.0 k USD; ")
    assert "2027Q2 to 2027Q4 at a" in defer
    listed = changed.plan.summary["order_changes"]
    assert [(c["change"], c["count"], c["ordered"], c["deferred_quarters"]) for c in listed] == [
        ("cancel", 1, 4, 0), ("defer", 1, 4, 2),
    ]  # fmt: skip


def test_the_workbook_holds_with_changed_orders(changed):
    sheets = {sheet.name: sheet for sheet in workbook(changed.plan)}
    assert sheets["Checks"].cells[2, 1].value == "PASS"
    assert any(cell.content == "Changes of firm orders" for cell in sheets["Purchases"].cells.values())


def test_what_is_cancelled_is_gone_in_the_next_case_and_what_is_deferred_is_on_order_on_no_terms(changed):
    rows = [(q, "chat", 80.0) for q in [*QUARTERS[1:], "2028Q2"]]
    forecast = pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"])
    following = roll(changed.case, changed.plan, forecast).case
    orders = following.tables["orders"].sort_values("delivery")
    assert orders[["count", "delivery"]].values.tolist() == [[2, QUARTERS[1]], [1, QUARTERS[3]]]
    assert orders["cancel_fee_share"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "cells",
    [
        {"cancel_fee_share": None, "defer_quarters_most": None, "defer_fee_share_per_quarter": None},
        {"notice_until": "2026Q4"},
        {"cancel_fee_share": 1.0, "defer_fee_share_per_quarter": 1.0},
    ],
    ids=["no terms", "too late", "too dear"],
)
@pytest.mark.thorough
def test_orders_arrive_as_agreed_without_terms_after_notice_or_where_changes_are_too_dear(cells):
    found = solved(stated(order_to_change(), **cells))
    assert found.plan.tables["order_changes"].empty
    assert found.plan.tables["fleet"].iloc[0]["delivered"] == 4
    assert found.plan.tables["checks"]["holds"].all()


@pytest.mark.thorough
def test_what_was_paid_counts_towards_the_fee_and_what_was_paid_beyond_is_lost():
    found = solved(stated(order_to_change(), paid_share=0.2))
    cancelled = found.plan.tables["order_changes"].query("change == 'cancel'")
    assert cancelled["fee_usd"].tolist() == [0.0]
    assert cancelled["due_usd"].sum() == pytest.approx(0.8 * PRICE * cancelled["count"].sum())


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ({"defer_fee_share_per_quarter": None}, "defer_fee_share_per_quarter"),
        ({"defer_quarters_most": None}, "defer_quarters_most"),
        ({"notice_until": "2027Q2"}, "notice_until"),
        ({"delivery": ["2027Q2", "2027Q2"], "price_usd_per_unit": [1e6, 2e6]}, "delivery"),
    ],
)
def test_terms_that_do_not_fit_are_told_with_their_cell(cells, column):
    case = order_to_change()
    table = case.given_tables["orders"]
    if column == "delivery":
        table = pd.concat([table, table])
    with pytest.raises(InputError) as caught:
        case.replace(tables={"orders": table.assign(**cells)})
    assert {(f.file, f.column) for f in caught.value.faults} == {("orders.csv", column)}


@pytest.mark.thorough
def test_check_tells_that_orders_without_room_can_be_changed():
    found = checked(order_to_change().with_value("sites/positions", 3.0))
    assert "cancelled or deferred" in " ".join(found["todo"])
