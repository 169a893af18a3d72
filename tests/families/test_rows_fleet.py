"""Rows of `fleet` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE
from hand_rows import Rows, check, leases, of, old_racks, order_terms, reserved, slow_exit

ROWS: Rows = {
    "fleet_balance": [
        # own = 4 − retired by then + ordered a quarter ago
        (
            of(old_racks),
            (SITE, "g", 1),
            {"own[a,g,1]": 1, "retire[fleet-0,0]": 1, "retire[fleet-0,1]": 1, "buy[a,g,0]": -1},
            4,
            4,
        ),
        (of(leases), (SITE, "g", 1), {"own[a,g,1]": 1, "buy[a,g,0]": -1, "on_rent[o,1]": -1}, 0, 0),
        # of three racks on order for quarter 1 those deferred by one are there in quarter 2
        (
            of(order_terms),
            (SITE, "g", 1),
            {"own[a,g,1]": 1, "buy[a,g,0]": -1, "cancel[order-0]": 1, "defer[order-0,1]": 1},
            3,
            3,
        ),
        (
            of(order_terms),
            (SITE, "g", 2),
            {"own[a,g,2]": 1, "buy[a,g,0]": -1, "buy[a,g,1]": -1, "cancel[order-0]": 1},
            3,
            3,
        ),
    ],
    "retire_within_group": [
        (of(old_racks), "fleet-0", {f"retire[fleet-0,{t}]": 1 for t in range(3)}, None, 4),
    ],
    "resell_within_order": [
        # ordered in quarter 0, delivered in 1, a quarter of lock-up: only in quarter 2
        (of(slow_exit, resale="all"), (SITE, "g", 0), {"resell[a,g,0,2]": 1, "buy[a,g,0]": -1}, None, 0),
    ],
    "resale_cap": [
        (of(slow_exit), ("g", 1), {"retire[fleet-0,1]": 1, "selling[g,1]": -2}, None, 0),
        (of(slow_exit, resale="all"), ("g", 2), {"retire[fleet-0,2]": 1, "resell[a,g,0,2]": 1}, None, 2),
    ],
    "reserved_stands": [
        (of(old_racks, reserved), (SITE, "g", 1), {"own[a,g,1]": 1}, 2, None),
        (of(old_racks, reserved, leases), (SITE, "g", 1), {"own[a,g,1]": 1, "on_rent[o,1]": -1}, 2, None),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "fleet")
