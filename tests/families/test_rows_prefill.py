"""Rows of `prefill` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE, W
from hand_rows import Rows, check, of, other_site, ssd

ROWS: Rows = {
    "prefill_where_decoded": [
        (of(ssd), (1, SITE, W, 0), {"prefill[o0,a]": 1, "prefill[o0ssd,a]": 1, "serve[p0,a]": -1}, 0, 0),
        (of(other_site), (1, SITE, W, 0), {"prefill[o0,a]": 1, "ship[o0,a,b]": -1}, 0, 0),
        (of(other_site), (1, "b", W, 0), {"ship[o0,a,b]": 1, "serve[p0,b]": -1}, 0, 0),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "prefill")
