"""Rows of `retention` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, W, edit, store
from hand_rows import POINTS, TB, Rows, check, kept, of, old_racks, reserved, ssd


def hbm(tables: Any) -> None:
    store(tables, "hbm", bytes=0.0)


def full_of_weights(tables: Any) -> None:
    edit(tables, "idle_hbm", {}, bytes=0.0)


ROWS: Rows = {
    "kept_at_most_served": [
        # shares of the workload's 150 requests/s
        (
            of(ssd),
            (1, SITE, W),
            {"kept[1,a,w,0,ssd:g]": 1, "serve[p0,a]": -100 / 150, "serve[p1,a]": -50 / 150},
            None,
            0,
        )
    ],
    "kept_only_falls": [(of(ssd), (1, SITE, W, 1, "ssd:g"), kept("ssd:g", -1, 1), None, 0)],
    "hits_from_kept": [
        # α = 0.5; 0.4 return in the first interval, 0.2 in the second
        (of(ssd), (1, SITE, W, 0, "ssd:g"), {"prefill[o0ssd,a]": 1, **kept("ssd:g", -0.2, -0.1)}, None, 0)
    ],
    "parked_within_store": [
        # 1 GB · 150/s · seconds: 10·(1 − 0.5·0.1) = 9.5 and 90·(1 − 0.5·0.5) = 67.5
        # 0.5 GB of a copy that is read, held for 1 s to the first token and 10 s of output
        (
            of(ssd),
            (1, SITE, "ssd:g"),
            {
                **kept("ssd:g", 1.425, 10.125),
                "prefill[o0ssd,a]": 5e8 * 11 * 100 / TB,
                "prefill[o1ssd,a]": 5e8 * 11 * 50 / TB,
                "own[a,k,1]": -0.8 * 1e15 / TB,
            },
            None,
            0,
        ),
        # HBM: 1 TB beside each rack that decodes, 2 TB in each other one of 0.8·(own − reserved), but for prompts of
        # 1 GB that wait 1 s for their first token
        (
            of(old_racks, reserved, hbm),
            (1, SITE, "hbm:g"),
            {
                **kept("hbm:g", 1.425, 10.125),
                **{name: 2 * work - work for name, work in POINTS.items()},
                **{f"prefill[o0{way},a]": 1e9 * 100 / TB for way in ("", "hbm")},
                **{f"prefill[o1{way},a]": 1e9 * 50 / TB for way in ("", "hbm")},
                "own[a,g,1]": -2 * 0.8,
            },
            None,
            -2 * 0.8 * 2,
        ),
        # weights that leave nothing: prompts take no room that there is not, and 1 TB is beside each decode rack
        (
            of(old_racks, hbm, full_of_weights),
            (1, SITE, "hbm:g"),
            {**kept("hbm:g", 1.425, 10.125), **{name: -work for name, work in POINTS.items()}},
            None,
            0,
        ),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "retention")
