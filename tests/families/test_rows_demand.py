"""Rows of `demand` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import W, edit, rows, workload
from hand_rows import Rows, a_quarter_late, check, half_out_of_reach, of


def planned_demand(tables: Any) -> None:
    """40 requests/s at a priority of 3 beside 120 at 1, in the planned quarter, at half their peak in the mean."""
    tables["rates"] = tables["rates"].iloc[:0]
    rows(tables, "rates", (0, W, 0, 120.0, 0.5), (0, "v", 0, 40.0, 0.5))
    rows(tables, "workloads", workload("v", priority=3.0))


def three_quarters(tables: Any) -> None:
    edit(tables, "workloads", {"workload": W}, min_served_share=0.75)


ROWS: Rows = {
    "demand_met": [
        (of(), (1, W, 1), {"serve[p1,a]": 1, "short[1,w]": 1}, 1, 1),
        (of(a_quarter_late), (1, W, 1), {"serve[p1,a]": 1, "short[1,w]": 1, "late[1,w]": -1}, 1, 1),
        # 5/6 of the requests are within reach: all of bucket 0, half of bucket 1
        (of(half_out_of_reach), (1, W, 0), {"serve[p0,a]": 1, "short[1,w]": 1.2, "late[1,w]": -1.2}, 1.2, 1.2),
        (of(half_out_of_reach), (1, W, 1), {"serve[p1,a]": 1, "short[1,w]": 0.6, "late[1,w]": -0.6}, 0.6, 0.6),
    ],
    "short_counts_late": [
        (of(a_quarter_late), (1, W), {"late[1,w]": 1, "short[1,w]": -1}, None, 0),
        (of(half_out_of_reach), (1, W), {"late[1,w]": 1, "short[1,w]": -1}, None, -1 / 6),
    ],
    # three quarters of what is asked for at least: a quarter may be short
    "least_share_served": [(of(planned_demand, three_quarters), (0, W), {"short[0,w]": 1}, None, 0.25)],
    "shortfall_of_quarter": [
        # weights 120·0.5·1 and 40·0.5·3: 60 and 60 of 120, in basis points
        (of(planned_demand), 0, {"short[0,w]": 5_000, "short[0,v]": 5_000, "quarter_short[0]": -1}, None, 0)
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "demand")
