"""Rows of `reservations` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_rows import Rows, check, hall, of, rented_early

ROWS: Rows = {
    "exercised_at_most": [
        (of(hall, rented_early), "early", {"exercise[early,0]": 1, "exercise[early,1]": 1}, None, 2),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "reservations")
