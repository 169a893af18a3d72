"""Rows of `links` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE
from hand_rows import Rows, check, of, other_site, rented

ROWS: Rows = {
    "shipped_was_prefilled": [(of(other_site), (1, "o0", SITE), {"ship[o0,a,b]": 1, "prefill[o0,a]": -1}, None, 0)],
    "shipped_within_link": [
        # 100 requests/s of 1 GB and 50 of 4 GB, over 200 GB/s
        (of(other_site), (1, SITE, "b"), {"ship[o0,a,b]": 0.5, "ship[o1,a,b]": 1.0}, None, 1),
        (of(rented), (1, SITE, "b"), {"ship[o0,a,b]": 0.5, "ship[o1,a,b]": 1.0, "link_rented[a,b,1]": -1}, None, 0),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "links")
