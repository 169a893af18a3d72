"""Rows of `modes` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE
from hand_rows import Rows, check, lpx, of, old_racks, reserved, saving

ROWS: Rows = {
    "maxq_within_own": [
        (of(old_racks, reserved, saving), (SITE, "g", 1), {"maxq[a,g,1]": 1, "own[a,g,1]": -1}, None, -2)
    ],
    "full_power_work": [
        # 50·0.04 busy racks of prefill; decode beside LPX, 100·0.002 and 50·0.004
        (
            of(old_racks, reserved, lpx, saving),
            (SITE, "g", 1),
            {"serve[x0,a]": 0.2, "serve[x1,a]": 0.2, "prefill[o1,a]": 2.0, "own[a,g,1]": -0.5, "maxq[a,g,1]": 0.5},
            None,
            -1.0,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "modes")
