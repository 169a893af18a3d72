"""Room kept on offer beyond its offer: exercised by the cheapest way that is counted on, or left to lapse."""

from __future__ import annotations

import pandas as pd
import pytest
from oracle_brute import BruteForce
from solved_case import planned, solved
from tiny_case import quarter_names, room_kept

from procure.case import Case
from procure.errors import InputError
from procure.plan import Plan
from procure.plan.roll import roll
from procure.report.sentences.trades import expansion_sentences
from procure.report.workbook import build as workbook
from procure.schema import Span

NAME = "reservations are kept as they are offered"
RENT = 150.0
"""USD/kW/month of the site, as in every tiny case."""


def row_of(plan: Plan, name: str):
    (row,) = plan.tables["reservations"].query("reservation == @name").to_dict("records")
    return row


CASES = {
    # a retrofit costs 900 kUSD; building at once 400, two quarters later 365 and 18 of fees
    "hold": (room_kept(hold=15.0), "hold", 2 * 3 * 15.0 * 200.0),
    "hold too dear": (room_kept(hold=60.0), "", 0.0),
    "hold lapses where a retrofit costs little more": (room_kept(hold=15.0, retrofit_usd=4.1e5), "", 0.0),
    # free, where the plan may count on it
    "first offer": (room_kept(hold=15.0, offer=True), "offer", 0.0),
    "first offer that is not counted on": (room_kept(hold=15.0, offer=False), "hold", 2 * 3 * 15.0 * 200.0),
    # 200 kW at 40 from the second quarter on, in place of the site's 150 once it is ready
    "early rent": (room_kept(hold=15.0, early=40.0), "early", 2 * 3 * 40.0 * 200.0),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.thorough if n in ("hold", "early rent") else pytest.mark.slow) for n in CASES],
)
def test_the_cheapest_way_to_keep_room_is_taken_as_by_trying_every_plan(name):
    case, taken, usd = CASES[name]
    _, cost, _ = BruteForce(case, {}).best()
    for method in ("decomposed", "whole"):
        plan = planned(case, gap=1e-6, method=method)
        assert plan.objective_usd == pytest.approx(cost, rel=1e-6, abs=1.0)
    (built,) = plan.tables["expansions"].to_dict("records")
    assert built["reservation"] == taken
    paid = plan.tables["cash"].query("line == 'reservations'")["cash_usd"].sum()
    assert paid == pytest.approx(usd)
    if taken:
        row = row_of(plan, taken)
        assert (row["outcome"], row["fee_usd"], row["kept_capex_usd"]) == ("exercised", pytest.approx(usd), 4e5)


@pytest.mark.thorough
def test_a_changed_row_of_what_is_kept_is_seen():
    found = solved(room_kept(hold=15.0, offer=False))
    assert not found.failing(found.plan)
    assert row_of(found.plan, "offer")["outcome"] == "not_counted"
    for table, change in (
        ("reservations", {"fee_usd": 1.0}),
        ("reservations", {"paid_until_quarter": "2027Q2"}),
        ("expansions", {"reservation": "offer"}),
    ):
        changed = {**found.plan.tables, table: found.plan.tables[table].assign(**change)}
        assert found.seen(Plan(found.plan.summary, changed), NAME)


def bad(**columns) -> Case:
    case = room_kept(hold=15.0)
    return case.replace(tables={"reservations": case.given_tables["reservations"].assign(**columns)})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"expansion": "at-bild"}, "A step of expansions.csv at a"),
        ({"expansion": "retrofit"}, "one on offer without an end needs no keeping"),
        ({"until_quarter": "2027Q1"}, "After 2027Q1: until then the step is on offer anyway"),
        ({"instrument": "first_offer"}, "a first offer is free"),
        ({"instrument": "firm"}, "Did you mean 'firm_hold'"),
        ({"usd_per_step_month": 1.0}, "a fee by kW or by step"),
    ],
)
def test_what_keeps_nothing_is_refused(columns, said):
    with pytest.raises(InputError, match=said):
        bad(**columns)


def test_a_hold_without_a_fee_has_the_packaged_one_and_early_rent_that_of_the_site():
    given = pd.DataFrame(
        [("hold", "a", "at-build", "firm_hold", "2027Q3"), ("early", "a", "at-build", "early_rent", "2027Q3")],
        columns=["reservation", "site", "expansion", "instrument", "until_quarter"],
    )
    case = room_kept(hold=15.0).replace(tables={"reservations": given})
    assert case.tables["reservations"]["usd_per_kw_month"].tolist() == [30.0, RENT]
    assert case.rests_on["reservation/firm_hold/usd_per_kw_month"].number == 30.0


@pytest.mark.thorough
def test_sentences_and_workbook_say_what_is_kept_open_and_what_that_costs():
    plan = planned(room_kept(hold=15.0, offer=False), gap=1e-6)
    kept, gone = expansion_sentences(plan, Span.LOOKAHEAD)
    assert kept == (
        "2027Q3: order 1 of expansion at-build at a (400.0 k USD), kept from 2027Q2 by reservation hold "
        "(firm hold) for 18.0 k USD, paid until 2027Q3"
    )
    assert "reservation offer (first offer)" in gone
    assert "is not counted on, since it is not firm" in gone
    sheets = {sheet.name: sheet for sheet in workbook(plan)}
    assert sheets["Checks"].cells[2, 1].value == "PASS"
    told = {cell.content for cell in sheets["Purchases"].cells.values()}
    assert {"hold", "offer", "exercised", "not counted on"} <= told


@pytest.mark.slow
def test_rent_that_began_is_paid_once_when_the_plan_is_made_again():
    """A step of 200 kW beside two racks of 150.5 kW: rent of what is contracted, and of what stands beyond it."""
    case = room_kept(hold=400.0, early=RENT, retrofit_usd=9e6)
    steps = case.given_tables["expansions"].assign(order_until=["2026Q4", None], capex_usd=[4e6, 9e6])
    case = case.replace(tables={"expansions": steps})
    plan = planned(case, gap=1e-6)
    assert row_of(plan, "early")["quarter"] == "2027Q3"
    forecast = pd.DataFrame([(q, "chat", 30.0) for q in quarter_names(4)[1:]],
                            columns=["quarter", "workload", "peak_requests_per_s"])  # fmt: skip
    again = planned(roll(case, plan, forecast).case, gap=1e-6)
    kept = row_of(again, "early")
    assert (kept["outcome"], kept["quarter"], kept["fee_usd"]) == ("exercised", "2027Q3", 0.0)
    rent = again.tables["cash"].query("line == 'space'").groupby("quarter")["cash_usd"].sum()
    assert rent.to_dict() == pytest.approx({"2027Q2": 200.0 * 3 * RENT, "2027Q3": 135_450.0, "2027Q4": 135_450.0})
