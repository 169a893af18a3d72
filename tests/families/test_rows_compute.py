"""Rows of `compute` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE, a_day, batch
from hand_rows import BY_HOUR, WORK, Rows, check, made, of, old_racks, reserved, saving

ROWS: Rows = {
    "work_within_racks": [
        # 0.5 busy racks of each that is not reserved: −0.5·2 on the right
        (of(old_racks, reserved), (SITE, "g", 1), {**WORK, "own[a,g,1]": -0.5}, None, -1.0),
        (
            of(old_racks, reserved, saving),
            (SITE, "g", 1),
            {**WORK, "own[a,g,1]": -0.5, "maxq[a,g,1]": 0.05},
            None,
            -1.0,
        ),
        # a quarter of it at night, beside 30·0.02 and 30·0.04 for all that may wait
        (
            of(a_day, batch, **BY_HOUR),
            (SITE, "g", "1@17-09"),
            {
                **{name: coef / 4 for name, coef in WORK.items()},
                "placed_decode[pv,a,1@17-09]": 0.6,
                "placed_prefill[ov,a,1@17-09]": 1.2,
                "own[a,g,1]": -0.5,
            },
            None,
            0,
        ),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "compute")


def test_without_work_that_may_wait_the_night_is_never_tightest():
    assert [str(key[2]) for key in made(a_day, **BY_HOUR).work_within_racks] == ["1@09-17"]
