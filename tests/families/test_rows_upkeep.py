"""Rows of `upkeep` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, rows
from hand_rows import SUPPORT, Rows, check, hall, of, old_racks, rented_early


def contract(tables: Any) -> None:
    rows(tables, "space", (1, SITE, 30.0, 250.0))
    rows(tables, "built_kw", (SITE, "hall", 50.0))


ROWS: Rows = {
    "space_rented": [
        # 3,000 USD a unit at 30 USD a kW are 100 kW; a hall adds 50 kW, one that
        # is rented early 80; 250 kW are contracted
        (
            of(old_racks, hall, contract, rented_early),
            (SITE, 1),
            {
                **{f"own[a,{name},1]": 0.1 for name in SUPPORT},
                "expand[a,hall,0]": -0.05,
                "exercise[early,0]": -0.08,
                "rented[a,1]": -1,
            },
            None,
            0.25,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "upkeep")
