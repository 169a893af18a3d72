"""Rows of `scale_out` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, handed, linked, rows
from hand_rows import Rows, check, of


def narrow(tables: Any) -> None:
    """A unit that stands carries 20 GB/s · 0.8; two of the racks at the first site are held for others."""
    linked(tables, 2e11)
    handed(tables, 2e10)
    rows(tables, "reserved", (1, SITE, "g", 2))


ROWS: Rows = {
    "sent_within_scale_out": [
        (of(narrow), (1, SITE, "g"), {"prefill[o0,a]": 6.25, "prefill[o1,a]": 12.5, "own[a,g,1]": -1}, None, -2)
    ],
    "received_within_scale_out": [
        (of(narrow), (1, "b", "g"), {"serve[p0,b]": 6.25, "serve[p1,b]": 12.5, "own[b,g,1]": -1}, None, 0)
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "scale_out")
