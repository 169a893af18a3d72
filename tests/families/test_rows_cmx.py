"""Rows of `cmx` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, edit
from hand_rows import Rows, check, cmx, frames, made, of, old_racks, reserved, row


def own_pod(tables: Any) -> None:
    edit(tables, "pods", {}, cmx_crosses_pods=0)


ROWS: Rows = {
    "cmx_reads_in_pods": [
        # 0.6 GB a hit through 0.9 TB/s of a rack, of which 0.8 are up; four places beside each CMX rack
        (
            of(cmx, own_pod),
            (SITE, 1),
            {"prefill[o0cmx,a]": 0.06 / 0.72, "prefill[o1cmx,a]": 0.03 / 0.72, "own[a,r,1]": -4},
            None,
            0,
        ),
        (
            of(frames, cmx, own_pod),
            (SITE, 1),
            {"prefill[o0cmx,a]": 0.06 / 0.72, "prefill[o1cmx,a]": 0.03 / 0.72, "own[a,r,1]": -4},
            None,
            -4,
        ),
    ],
    "cmx_sessions_in_pods": [
        # 100·(0.01 + 0.02) + 50·(0.02 + 0.04) racks for all; a hit spares 0.015 and 0.03; 0.5 busy in each place
        (
            of(cmx, own_pod),
            (SITE, 1),
            {"kept[1,a,w,0,cmx]": 12, "prefill[o0cmx,a]": -3, "prefill[o1cmx,a]": -3, "own[a,r,1]": -4},
            None,
            0,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "cmx")


def test_sessions_need_as_many_readers():
    model = made(old_racks, reserved, cmx)
    assert row(model, "cmx_sessions_on_readers", (SITE, 1)) == (
        {"kept[1,a,w,0,cmx]": 6, "prefill[o0cmx,a]": -1.5, "prefill[o1cmx,a]": -1.5, "own[a,g,1]": -0.5}, None, -1.0,
    )  # fmt: skip
