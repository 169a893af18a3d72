"""Orders that slip together, and the case that follows from a solved plan."""

from __future__ import annotations

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import quarter_names, tiny

from procure.plan.roll import roll

FIRM = ["site", "sku", "count", "delivery", "price_usd_per_unit"]


@pytest.fixture(scope="module")
def solved():
    firm = pd.DataFrame([("a", "gb300-nvl72", 1, "2027Q2", 4e6), ("a", "gb300-nvl72", 2, "2027Q3", 4e6)], columns=FIRM)
    case = tiny(peaks={"chat": [40, 60, 80]}, tables={"orders": firm})
    return case, planned(case)


def forecast():
    rows = [(quarter, "chat", 80.0) for quarter in quarter_names(4)[1:]]
    return pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"])


@pytest.mark.thorough
def test_orders_that_slip_into_one_delivery_are_one_order(solved):
    actual = pd.DataFrame(
        [("a", "gb300-nvl72", 1, "2027Q3", 4e6), ("a", "gb300-nvl72", 2, "2027Q3", 4e6)], columns=FIRM
    )
    rolled = roll(*solved, forecast(), actual_orders=actual)
    assert rolled.case.tables["orders"][["count", "delivery"]].to_numpy().tolist() == [[3, "2027Q3"]]
    (slip,) = rolled.differences.query("topic == 'orders'").itertuples(index=False)
    assert (slip.planned, slip.actual) == ("1 in 2027Q2, 2 in 2027Q3", "3 in 2027Q3")


@pytest.mark.thorough
def test_orders_at_different_prices_stay_apart(solved):
    actual = pd.DataFrame(
        [("a", "gb300-nvl72", 1, "2027Q3", 4e6), ("a", "gb300-nvl72", 2, "2027Q3", 5e6)], columns=FIRM
    )
    assert len(roll(*solved, forecast(), actual_orders=actual).case.tables["orders"]) == 2


@pytest.mark.slow
def test_a_rolled_case_has_a_plan_that_holds(solved):
    plan = planned(roll(*solved, forecast()).case)
    assert plan.tables["checks"]["holds"].all()
    assert plan.summary["status"] == "optimal"
