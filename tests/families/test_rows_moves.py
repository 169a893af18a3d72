"""Rows of `moves` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, W, edit, store
from hand_rows import TB, Rows, check, made, of, row


def memory_and_drives(tables: Any) -> None:
    store(tables, "dram")
    store(tables, "ssd")


MOVE, MOVED = "move[1,a,w,1,dram:g,ssd:g]", "moved[1,a,w,1,ssd:g]"


ROWS: Rows = {
    "moved_only_falls": [
        (
            of(memory_and_drives, cache_moves="exclusive"),
            (1, SITE, W, 1, "ssd:g"),
            {"moved[1,a,w,1,ssd:g]": 1, "move[1,a,w,1,dram:g,ssd:g]": -1},
            None,
            0,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "moves")


def test_what_moves_is_read_at_one_store_and_written_to_the_other():
    """150 requests/s of 1 GB; the first interval lasts 10 s, α is 0.5: half of the 0.1 released by then is gone."""
    model = made(memory_and_drives, cache_moves="exclusive")
    sent = 150 * 1e9 * (1 - 0.5 * 0.1) / TB
    fall = row(model, "kept_only_falls", (1, SITE, W, 1, "dram:g"))
    assert fall == ({"kept[1,a,w,1,dram:g]": 1, "kept[1,a,w,0,dram:g]": -1, MOVE: 1}, None, 0)
    assert row(model, "store_reads", (1, SITE, "dram:g"))[0][MOVE] == pytest.approx(sent)
    writes = row(model, "store_writes", (1, SITE, "ssd:g"))[0]
    assert writes[MOVE] == pytest.approx(sent)
    # a return to a moved copy is credited 0.5 GB that it does not spare: α·r of 150 requests/s
    assert writes[MOVED] == pytest.approx(150 * 0.5 * 0.2 * 5e8 / TB)
    assert row(model, "hits_from_kept", (1, SITE, W, 0, "ssd:g"))[0][MOVED] == pytest.approx(-0.5 * 0.2)
    held = row(model, "parked_within_store", (1, SITE, "ssd:g"))[0]
    assert held[MOVED] == pytest.approx(150 * 1e9 * 90 * (1 - 0.5 * 0.5) / TB)
    assert MOVE not in held


def test_what_is_written_through_holds_both_stores_until_it_moves():
    model = made(memory_and_drives, cache_moves="write_through")
    assert MOVE not in row(model, "store_reads", (1, SITE, "dram:g"))[0]
    writes = row(model, "store_writes", (1, SITE, "ssd:g"))[0]
    # of what returns to memory in the first interval, α·0.4, only new tokens are written: 0.5 GB are there
    assert writes[MOVE] == pytest.approx(150 * (1e9 - 0.5 * 0.4 * 5e8) / TB)
    assert MOVED not in writes
    held = row(model, "parked_within_store", (1, SITE, "ssd:g"))[0]
    assert held[MOVE] == pytest.approx(150 * 1e9 * 10 * (1 - 0.5 * 0.1) / TB)


def test_stale_bytes_move_and_stay():
    """Fewer returns reach memory, 0.3 of them: more of what moves is stale, and stays so among drives of 0.5."""

    def rarely_found(tables: Any) -> None:
        edit(tables, "return_shares", {"store": "dram:g"}, return_share=0.3)

    model = made(memory_and_drives, rarely_found, cache_moves="exclusive")
    assert row(model, "store_writes", (1, SITE, "ssd:g"))[0][MOVE] == pytest.approx(150 * 1e9 * (1 - 0.3 * 0.1) / TB)
    held = row(model, "parked_within_store", (1, SITE, "ssd:g"))[0]
    assert held[MOVED] == pytest.approx(150 * 1e9 * 90 * (1 - 0.3 * 0.5) / TB)
    assert held["kept[1,a,w,1,ssd:g]"] == pytest.approx(150 * 1e9 * 90 * (1 - 0.5 * 0.5) / TB)


def test_sessions_that_move_to_cmx_are_counted_in_its_pods():
    def memory_and_cmx(tables: Any) -> None:
        store(tables, "dram")
        store(tables, "cmx")

    model = made(memory_and_cmx, cache_moves="exclusive")
    found = row(model, "cmx_sessions_on_readers", (SITE, 1))[0]
    assert found["move[1,a,w,1,dram:g,cmx]"] == found["kept[1,a,w,0,cmx]"] == pytest.approx(6)
