"""Rent in a solved plan: what it costs, its sheet, what is said of it, and the case of the next quarter."""

from __future__ import annotations

import pandas as pd
import pytest
from solved_case import Solved, built, planned
from tiny_case import quarter_names, tiny

from procure.plan.roll import roll
from procure.report.page import headline
from procure.report.sentences.trades import rent_sentences
from procure.report.workbook import build as workbook
from procure.schema import Span

QUARTERS = quarter_names(4)


@pytest.fixture(scope="module")
def bridged() -> Solved:
    """Servers past their last order, for rent by the quarter until racks come; one runs when the plan begins."""
    rent = pd.DataFrame(
        [("bridge", "provider", "hgx-h200", 6, 1.5, 2)],
        columns=["offer", "site", "sku", "most_units", "usd_per_gpu_hour", "min_term_quarters"],
    )
    rented = pd.DataFrame(
        [("bridge", 1, "2026Q4", QUARTERS[2])], columns=["offer", "count", "from_quarter", "until_quarter"]
    )
    made = tiny(peaks={"chat": [20, 20, 20, 20]}, lead=1, tables={"rent": rent, "rented": rented},
                figures={("hgx-h200", "last_order"): "2026Q1"})  # fmt: skip
    return Solved(made, built(made), planned(made, gap=1e-6))


@pytest.mark.thorough
def test_rent_is_paid_quarter_by_quarter_and_owed_to_the_end_of_its_term(bridged):
    unit = 1.5 * 8 * 2190
    rents, cash = bridged.plan.tables["rents"], bridged.plan.tables["cash"]
    running = rents[~rents["decided"].astype(bool)].iloc[0]
    assert running["first_quarter"] == "2026Q4"
    quarters = QUARTERS.index(running["paid_until_quarter"]) + 1
    assert quarters >= 3
    assert running["rent_usd"] == pytest.approx(quarters * running["count"] * unit)
    assert (rents["sku"] == "hgx-h200").all()
    paid = cash[cash["line"] == "rent"]["cash_usd"].sum()
    assert paid == pytest.approx(rents["rent_usd"].sum(), rel=0.05)  # what is owed after the horizon is discounted
    assert bridged.plan.tables["costs"]["npv_usd"].sum() == pytest.approx(bridged.plan.objective_usd)
    assert bridged.plan.tables["checks"]["holds"].all()
    power = cash[(cash["site"] == "provider") & cash["line"].isin(["power", "space", "support", "residual value"])]
    assert power.empty


@pytest.mark.thorough
def test_the_plan_says_what_to_rent(bridged):
    said = rent_sentences(bridged.plan, Span.PLANNED)
    assert any(s.startswith("already rented: 1 hgx-h200 at provider from 2026Q4") for s in said)
    decided = [r for r in bridged.plan.summary["rents"] if r["quarter"] == QUARTERS[0]]
    assert decided
    for r in decided:
        assert f"{r['count']} hgx-h200 {r['first_quarter']}-{r['last_quarter']}" in headline(bridged.plan)


@pytest.mark.thorough
def test_the_workbook_holds_with_rent(bridged):
    sheets = {sheet.name: sheet for sheet in workbook(bridged.plan)}
    checks = sheets["Checks"]
    names = {cell.content: row for (row, column), cell in checks.cells.items() if column == 0}
    row = names["rent of Purchases = rent of Money within the quarters"]
    assert checks.cells[row, 1].value > 0
    assert checks.cells[2, 1].value == "PASS"


@pytest.mark.thorough
def test_what_is_rented_runs_on_in_the_next_case(bridged):
    rows = [(q, "chat", 20.0) for q in [*QUARTERS[1:], "2028Q1"]]
    forecast = pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"])
    following = roll(bridged.case, bridged.plan, forecast).case
    rents = bridged.plan.tables["rents"]
    stays = rents[(rents["last_quarter"] > QUARTERS[0]) & (rents["quarter"] <= QUARTERS[0])]
    rented = following.tables["rented"]
    assert rented["count"].sum() == stays["count"].sum() > 1
    assert set(rented["until_quarter"]) == {QUARTERS[2], QUARTERS[1]}  # two quarters from the first; the one that ran
    assert not len(following.tables["fleet"])
    ended = bridged.case.with_value("rent/to_quarter", QUARTERS[2])
    assert len(roll(ended, bridged.plan, forecast).case.tables["rent"]) == 1
