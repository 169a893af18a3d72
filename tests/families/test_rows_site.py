"""Rows of `site` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_instance import SITE
from hand_rows import Rows, check, hall, of, rented_early, saving

ROWS: Rows = {
    "site_limit": [
        # MW
        (
            of(hall),
            (1, SITE, "power_kw"),
            {
                "own[a,e,1]": 0.001,
                "own[a,g,1]": 0.1,
                "own[a,k,1]": 0.002,
                "own[a,l,1]": 0.08,
                "own[a,r,1]": 0.005,
                "expand[a,hall,0]": -0.5,
            },
            None,
            3.0,
        ),
        (
            of(saving, hall, rented_early),
            (1, SITE, "power_kw"),
            {
                "own[a,e,1]": 0.001,
                "own[a,g,1]": 0.1,
                "own[a,k,1]": 0.002,
                "own[a,l,1]": 0.08,
                "own[a,r,1]": 0.005,
                "maxq[a,g,1]": -0.04,
                "expand[a,hall,0]": -0.5,
                "exercise[early,0]": -0.5,
            },
            None,
            3.0,
        ),
    ],
    "expansions_at_most": [
        (of(hall), (SITE, "hall"), {"expand[a,hall,0]": 1, "expand[a,hall,1]": 1}, None, 2),
        (
            of(hall, rented_early),
            (SITE, "hall"),
            {"expand[a,hall,0]": 1, "expand[a,hall,1]": 1, "exercise[early,0]": 1, "exercise[early,1]": 1},
            None,
            2,
        ),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "site")
