"""Steps of a site that are offered for a time: built early at their price, or left to lapse for a dearer retrofit."""

from __future__ import annotations

import pandas as pd
import pytest
from oracle_brute import BruteForce
from solved_case import planned, solved
from tiny_case import quarter_names, tiny

from procure.case import Case
from procure.plan import Plan

QUARTERS = quarter_names(3)
COLUMNS = ["site", "expansion", "power_kw", "positions", "area_m2", "capex_usd", "lead_quarters", "max_count",
           "order_until"]  # fmt: skip


def room_needed_later(retrofit_usd: float, until: str | None = QUARTERS[0]) -> Case:
    """A site for one rack, and a firm order of another for the third quarter; interest is 20% a year, space is free."""
    steps = [
        ("a", "at-build", 200.0, 2, 20.0, 4e5, 0, 1, until),
        ("a", "retrofit", 200.0, 2, 20.0, retrofit_usd, 0, 1, None),
    ]
    racks = [("a", "gb300-nvl72", 1, q, 4.4e6) for q in (QUARTERS[0], QUARTERS[2])]
    tables = {
        "expansions": pd.DataFrame(steps, columns=COLUMNS),
        "orders": pd.DataFrame(racks, columns=["site", "sku", "count", "delivery", "price_usd_per_unit"]),
    }
    site = {"positions": 2.0, "space_usd_per_kw_month": 0.0}
    settings = {"discount_rate_per_year": 0.2}
    return tiny(skus=(), peaks={"chat": [30, 30, 30]}, sites=(site,), tables=tables, settings=settings)


@pytest.mark.parametrize(
    ("retrofit_usd", "until", "built"),
    [
        (9e5, QUARTERS[0], ("at-build", QUARTERS[0])),
        (4.1e5, QUARTERS[0], ("retrofit", QUARTERS[2])),
        (9e5, None, ("at-build", QUARTERS[2])),
    ],
    ids=["taken while it is offered", "lapses", "offered without end"],
)
@pytest.mark.thorough
def test_a_step_is_taken_while_it_is_offered_where_a_retrofit_is_dearer_by_more_than_waiting_saves(
    retrofit_usd, until, built
):
    case = room_needed_later(retrofit_usd, until)
    _, cost, _ = BruteForce(case, {}).best()
    for method in ("decomposed", "whole"):
        plan = planned(case, gap=1e-6, method=method)
        assert plan.objective_usd == pytest.approx(cost, rel=1e-5, abs=1.0)
        assert plan.tables["expansions"][["expansion", "quarter"]].values.tolist() == [list(built)]


@pytest.mark.thorough
def test_an_order_after_the_end_of_the_offer_is_seen():
    found = solved(room_needed_later(9e5))
    assert found.plan.tables["checks"]["holds"].all()
    late = found.plan.tables["expansions"].assign(quarter=QUARTERS[1])
    assert found.seen(Plan(found.plan.summary, {**found.plan.tables, "expansions": late}),
                      "pods, LPX copies and expansions are ones that can be")  # fmt: skip
