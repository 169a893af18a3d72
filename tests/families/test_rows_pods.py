"""Rows of `pods` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE
from hand_rows import Rows, check, of

ROWS: Rows = {
    "places_in_pods": [
        (of(), (SITE, 1, "nvl72_per_pod"), {"own[a,g,1]": 1, "pods[a,1]": -4}, None, 0),
        (of(), (SITE, 1, "lpx_per_pod"), {"own[a,l,1]": 1, "pods[a,1]": -3}, None, 0),
        (of(), (SITE, 1, "cmx_racks_per_pod"), {"own[a,r,1]": 1, "pods[a,1]": -1}, None, 0),
    ],
    "pods_stay": [(of(), (SITE, 2), {"pods[a,1]": 1, "pods[a,2]": -1}, None, 0)],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "pods")
