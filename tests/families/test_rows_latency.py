"""Rows of `latency` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import W
from hand_rows import Rows, a_quarter_late, check, half_out_of_reach, of, other_site

ROWS: Rows = {
    "late_prefill_share": [
        # three in ten of bucket 1 are late over the link, none where they were prefilled
        (
            of(other_site),
            (1, W),
            {
                "ship[o1,a,b]": 0.3 * 50 / 150,
                "serve[p0,b]": -0.1 * 100 / 150,
                "serve[p1,b]": -0.1 * 50 / 150,
                "late[1,w]": -1,
            },
            None,
            0,
        ),
        # a tenth of the requests may be late, the rest of them are short
        (
            of(a_quarter_late),
            (1, W),
            {
                "prefill[o1,a]": 0.25 * 50 / 150,
                "serve[p0,a]": -0.1 * 100 / 150,
                "serve[p1,a]": -0.1 * 50 / 150,
                "late[1,w]": -1,
            },
            None,
            0,
        ),
        # a tenth of all, of which 5/6 can be served: 0.12 of those
        (
            of(half_out_of_reach),
            (1, W),
            {
                "prefill[o1,a]": 0.5 * 50 / 150,
                "serve[p0,a]": -0.12 * 100 / 150,
                "serve[p1,a]": -0.12 * 50 / 150,
                "late[1,w]": -1,
            },
            None,
            0,
        ),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "latency")
