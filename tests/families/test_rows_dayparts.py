"""Rows of `dayparts` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, W, a_day, batch, edit
from hand_rows import BY_HOUR, Rows, check, made, of, row, ssd
from tiny_case import at


def waits(tables: Any) -> None:
    """All requests may wait, and return to drives."""
    a_day(tables)
    edit(tables, "workloads", {"workload": W}, deferrable=1)
    ssd(tables)


ROWS: Rows = {
    "decode_over_day": [
        # 8 and 16 of 24 hours
        (
            of(a_day, batch, **BY_HOUR),
            ("pv", SITE, 1),
            {"serve[pv,a]": -1, "placed_decode[pv,a,1@09-17]": 1 / 3, "placed_decode[pv,a,1@17-09]": 2 / 3},
            0,
            0,
        )
    ],
    "prefill_in_its_hours": [
        # what reads a store runs evenly
        (
            of(waits, **BY_HOUR),
            ("1@17-09", SITE, W, 0),
            {"placed_prefill[o0,a,1@17-09]": 1, "prefill[o0ssd,a]": 1, "placed_decode[p0,a,1@17-09]": -1},
            0,
            0,
        )
    ],
    "kept_in_every_part": [
        # bucket 0 is 100 of 150 requests/s
        (
            of(waits, **BY_HOUR),
            ("1@09-17", SITE, W),
            {"kept[1,a,w,0,ssd:g]": 1, "placed_decode[p0,a,1@09-17]": -2 / 3, "placed_decode[p1,a,1@09-17]": -1 / 3},
            None,
            0,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "dayparts")


def test_prefill_that_waits_adds_up_over_the_day_and_fits_its_hours():
    whole = {"prefill[ov,a]": -1, "placed_prefill[ov,a,1@09-17]": 1 / 3, "placed_prefill[ov,a,1@17-09]": 2 / 3}
    model = made(a_day, batch, **BY_HOUR)
    assert row(model, "prefill_over_day", ("ov", SITE, 1)) == (pytest.approx(whole), 0, 0)
    assert model.placed_decode["pv", SITE, at(1).within("17-09")].ub == pytest.approx(1.5)  # a day's in 16 hours
