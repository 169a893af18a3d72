"""Rows of `rent` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_rows import Rows, check, leases, of

ROWS: Rows = {
    "rent_cap": [(of(leases), ("o", 2), {"on_rent[o,2]": 1}, None, 3)],
    "rent_begins": [
        # one more than none in the quarter before the first: it runs
        (of(leases), ("o", 0), {"on_rent[o,0]": 1, "rent[o,0]": -1}, None, 1),
        (of(leases), ("o", 1), {"on_rent[o,1]": 1, "on_rent[o,0]": -1, "rent[o,1]": -1}, None, 0),
        (of(leases), ("o", 2), {"on_rent[o,2]": 1, "on_rent[o,1]": -1}, None, 0),
    ],
    "rent_term": [
        (of(leases), ("o", 1), {"on_rent[o,1]": 1, "rent[o,0]": -1, "rent[o,1]": -1}, 1, None),
        (of(leases), ("o", 2), {"on_rent[o,2]": 1, "rent[o,1]": -1}, 0, None),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "rent")
