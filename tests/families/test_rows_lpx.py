"""Rows of `lpx` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import CARD, SITE, W
from hand_rows import Rows, check, lpx, of

ROWS: Rows = {
    "lpx_time_within_copies": [
        # 100·0.03 and 50·0.06 LPX racks; two racks a copy at 0.75
        (
            of(lpx),
            (SITE, CARD, "l", 1),
            {"serve[x0,a]": 3.0, "serve[x1,a]": 3.0, "copies[a,llm,l,1]": -1.5},
            None,
            0,
        )
    ],
    "lpx_linking": [
        # a copy decodes 1.5/0.03 = 50 of 100 requests/s
        (of(lpx), (SITE, CARD, "l", 1, W, 0), {"serve[x0,a]": 1, "copies[a,llm,l,1]": -0.5}, None, 0)
    ],
    "lpx_copies_within_racks": [(of(lpx), (SITE, "l", 1), {"copies[a,llm,l,1]": 2, "own[a,l,1]": -0.8}, None, 0)],
    "lpx_copies_within_pods": [(of(lpx), (SITE, CARD, "l", 1), {"copies[a,llm,l,1]": 1, "pods[a,1]": -1}, None, 0)],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "lpx")
