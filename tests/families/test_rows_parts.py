"""Rows of `parts` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE
from hand_rows import Rows, caps, check, cmx, frames, leases, made, of, old_racks, reserved, row, ssd

ROWS: Rows = {
    "kits_within_hosts": [
        (of(), (SITE, "g", 1), {"own[a,k,1]": 1, "own[a,g,1]": -1}, None, 0),
        (of(leases), (SITE, "g", 1), {"own[a,k,1]": 1, "own[a,g,1]": -1, "on_rent[o,1]": 1}, None, 0),
    ],
    "enclosures_in_racks": [(of(), (SITE, 1), {"own[a,e,1]": 1, "own[a,r,1]": -16}, None, 0)],
    "parts_in_free_hosts": [
        # two of the racks that kits could stand in are for others; the kits of the plan are those fitted elsewhere
        (of(old_racks, reserved, ssd), (SITE, 1, "g"), {"fitted[a,k,1]": 1, "own[a,g,1]": -1}, None, -2),
        (
            of(old_racks, reserved, ssd, leases),
            (SITE, 1, "g"),
            {"fitted[a,k,1]": 1, "own[a,g,1]": -1, "on_rent[o,1]": 1},
            None,
            -2,
        ),
        (of(frames, cmx), (SITE, 1, "r"), {"fitted[a,e,1]": 1, "own[a,r,1]": -16}, None, -16),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "parts")


def test_kits_are_fitted_where_they_are_owned_and_a_cmx_rack_holds_an_enclosure():
    model = made(old_racks, reserved, ssd)
    assert row(model, "fitted_within_own", (SITE, "k", 1)) == ({"fitted[a,k,1]": 1, "own[a,k,1]": -1}, None, 0)
    assert row(made(caps), "no_empty_cmx_rack", (SITE, 1)) == ({"own[a,e,1]": -1, "own[a,r,1]": 1}, None, 0)
