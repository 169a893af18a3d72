"""Rows of `stores` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, rows, store
from hand_rows import Rows, check, cmx, dram, made, of, old_racks, reserved, row, ssd


def peers(tables: Any) -> None:
    rows(tables, "peer_readers", (store(tables, "dram"), "g", 5e11))


ROWS: Rows = {
    "store_reads": [
        # 0.6 GB a hit; 0.8 of the racks are up
        (
            of(dram),
            (1, SITE, "dram:g"),
            {"prefill[o0dram,a]": 0.06, "prefill[o1dram,a]": 0.03, "own[a,g,1]": -0.8 * 3},
            None,
            0,
        ),
        # two of them for others
        (
            of(old_racks, reserved, dram),
            (1, SITE, "dram:g"),
            {"prefill[o0dram,a]": 0.06, "prefill[o1dram,a]": 0.03, "own[a,g,1]": -0.8 * 3},
            None,
            -0.8 * 3 * 2,
        ),
    ],
    "peer_reads": [
        # 100 and 50 reads/s of 600 MB; 0.5 TB/s of each rack that is up and that no decode keeps: 0.8/0.5 for each busy
        (
            of(peers, read_ports="prefill"),
            (1, SITE, "dram:g", "g"),
            {
                "prefill[o0dram,a]": 0.06,
                "prefill[o1dram,a]": 0.03,
                "own[a,g,1]": -0.4,
                "serve[p0,a]": 0.8,
                "serve[p1,a]": 0.8,
            },
            None,
            0,
        )
    ],
    "reader_limit": [
        (
            of(cmx),
            (1, SITE, "g"),
            {"prefill[o0cmx,a]": 0.06, "prefill[o1cmx,a]": 0.03, "own[a,g,1]": -0.8 * 0.9},
            None,
            0,
        )
    ],
    "store_writes": [
        # whole sequences parked, 1 GB · 150/s, less the 0.5 GB of each hit that stay valid
        (
            of(dram),
            (1, SITE, "dram:g"),
            {
                "kept[1,a,w,0,dram:g]": 0.15,
                "prefill[o0dram,a]": -0.05,
                "prefill[o1dram,a]": -0.025,
                "own[a,g,1]": -0.8 * 4,
            },
            None,
            0,
        )
    ],
    "store_wear": [
        # the mean is half the peak; 8.64e16 B a day are 1 TB/s
        (
            of(ssd),
            (1, SITE, "ssd:g"),
            {
                "kept[1,a,w,0,ssd:g]": 0.075,
                "prefill[o0ssd,a]": -0.025,
                "prefill[o1ssd,a]": -0.0125,
                "own[a,k,1]": -0.8,
            },
            None,
            0,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "stores")


def test_only_kits_that_are_fitted_wear():
    found = row(made(old_racks, reserved, ssd), "store_wear", (1, SITE, "ssd:g"))[0]
    assert found["fitted[a,k,1]"] == pytest.approx(-0.8)
