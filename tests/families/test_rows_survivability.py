"""Rows of `survivability` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import CARD, SITE, W, asks, second_site
from hand_rows import WORK, Rows, check, cmx, frames, lpx, made, of, old_racks, reserved, row, ssd, two_roles


def rack_down(tables: Any) -> None:
    asks(tables)


def rack_down_cold(tables: Any) -> None:
    asks(tables, units_down=2, cache_loss="cold_start")


def store_lost(tables: Any) -> None:
    asks(tables, units_down=0, cache_loss="store")


def cmx_rack_lost(tables: Any) -> None:
    asks(tables, units_down=0, cache_loss="cmx_rack")


def pod_down(tables: Any) -> None:
    """Of four pods one, over which units are spread evenly; a CMX rack in each."""
    asks(tables, pod_down=1)


def hits(loss: str, holder: str, most: int = 4) -> list[str]:
    """What hits spare in two parts, in three, and so on."""
    return [f"spared[{loss},a,g,,,{holder},1,{n}]" for n in range(2, most + 1)]


def site_down(tables: Any) -> None:
    second_site(tables)
    asks(tables, units_down=0, site_down=1)


ROWS: Rows = {
    "units_left": [
        (
            of(old_racks, reserved, rack_down),
            ("n+1", SITE, "g", 1),
            {"left[n+1,a,g,1]": 1, "own[a,g,1]": -1, "used[n+1,a,g,1]": 1},
            None,
            -2,
        ),
        # both halves of a rack are instances: nothing fluid is left, and two racks may be down
        (
            of(two_roles, rack_down_cold),
            ("n+2", SITE, "g", 1),
            {
                "left[n+2,a,g,1]": 1,
                "instances_left[n+2,a,g,llm,decode,1]": 0.5,
                "instances_left[n+2,a,g,llm,prefill,1]": 0.5,
                "own[a,g,1]": -1,
                "used[n+2,a,g,1]": 2,
            },
            None,
            0,
        ),
        # of two LPX racks a copy, all that are left are up
        (
            of(lpx, rack_down),
            ("n+1", SITE, "l", 1),
            {"copies_left[n+1,a,llm,l,1]": 2, "own[a,l,1]": -1, "used[n+1,a,l,1]": 1},
            None,
            0,
        ),
        # without a site LPX racks are up as they were
        (
            of(lpx, site_down),
            ("site b", SITE, "l", 1),
            {"copies_left[site b,a,llm,l,1]": 2, "own[a,l,1]": -0.8},
            None,
            0,
        ),
        (of(ssd, pod_down), ("pod", SITE, "g", 1), {"left[pod,a,g,1]": 1, "left_in_pods[a,g,1]": -1}, None, 0),
        (of(ssd, store_lost), ("store ssd:g", SITE, "g", 1), {"left[store ssd:g,a,g,1]": 1, "own[a,g,1]": -1}, None, 0),
    ],
    "caches_in_parts": [
        # four CMX racks at most, one of two that stand is for others; a pool lies in as many pods as it has racks
        (
            of(frames, cmx, cmx_rack_lost),
            (SITE, "cmx", 1),
            {"parts[a,cmx,2,1]": 2, "parts[a,cmx,3,1]": 1, "parts[a,cmx,4,1]": 1, "own[a,r,1]": -1},
            None,
            -1,
        ),
        (
            of(ssd, pod_down),
            (SITE, "g", 1),
            {"parts[a,g,2,1]": 2, "parts[a,g,3,1]": 1, "parts[a,g,4,1]": 1, "own[a,g,1]": -1},
            None,
            0,
        ),
    ],
    "spared_by_hits": [
        # a hit spares 0.015 and 0.03 rack-seconds
        (
            of(cmx, cmx_rack_lost),
            ("cmx rack", SITE, "g", "", "", "cmx", 1, 3),
            {hits("cmx rack", "cmx")[1]: 1, "prefill[o0cmx,a]": -1.5, "prefill[o1cmx,a]": -1.5},
            None,
            0,
        )
    ],
    "copies_left_in_pods": [
        # three of four copies
        (
            of(lpx, pod_down),
            ("pod", SITE, CARD, "l", 1),
            {"copies_left[pod,a,llm,l,1]": 1, "copies[a,llm,l,1]": -0.75},
            None,
            0,
        ),
        (of(lpx, rack_down), ("n+1", SITE, CARD, "l", 1), {"copies_left[n+1,a,llm,l,1]": 1, "pods[a,1]": -1}, None, 0),
    ],
    "work_after_loss": [
        # all racks that are left are up and none is a spare: 0.75 of each busy
        (of(old_racks, rack_down), ("n+1", SITE, "g", 1), {**WORK, "left[n+1,a,g,1]": -0.75}, None, 0),
        # hits as before, or computed in full as 0.02 and 0.04 rack-seconds instead of 0.005 and 0.01
        (
            of(ssd, rack_down),
            ("n+1", SITE, "g", 1),
            {**WORK, "prefill[o0ssd,a]": 0.5, "prefill[o1ssd,a]": 0.5, "left[n+1,a,g,1]": -0.75},
            None,
            0,
        ),
        (
            of(ssd, rack_down_cold),
            ("n+1", SITE, "g", 1),
            {**WORK, "prefill[o0ssd,a]": 2, "prefill[o1ssd,a]": 2, "left[n+1,a,g,1]": -0.75},
            None,
            0,
        ),
        *(
            (
                of(ssd, change),
                (name, SITE, "g", 1),
                {**WORK, "prefill[o0ssd,a]": 2, "prefill[o1ssd,a]": 2, f"left[{name},a,g,1]": -0.5},
                None,
                0,
            )
            for change, name in ((store_lost, "store ssd:g"), (rack_down_cold, "cold start"))
        ),
        # all hits of CMX in full, but for 1/2, 2/3, 3/4 of them in two, three or four CMX racks
        (
            of(cmx, cmx_rack_lost),
            ("cmx rack", SITE, "g", 1),
            {
                **WORK,
                "prefill[o0cmx,a]": 2,
                "prefill[o1cmx,a]": 2,
                **dict(zip(hits("cmx rack", "cmx"), (-1 / 2, -1 / 6, -1 / 12), strict=True)),
                "left[cmx rack,a,g,1]": -0.5,
            },
            None,
            0,
        ),
        # everything in full at the other site
        (
            of(ssd, site_down),
            ("site a", "b", "g", 1),
            {
                "serve_elsewhere[p0,b,a]": 1,
                "serve_elsewhere[p1,b,a]": 1,
                "prefill_elsewhere[o0,b,a]": 2,
                "prefill_elsewhere[o1,b,a]": 2,
                "left[site a,b,g,1]": -0.5,
            },
            None,
            0,
        ),
    ],
    "instances_after_loss": [
        # 100·0.01 and 50·0.02/0.8 racks; half a rack at 0.75
        (
            of(two_roles, rack_down),
            ("n+1", SITE, "g", CARD, "decode", 1),
            {"serve[p0,a]": 1 / 0.375, "serve[p1,a]": 1.25 / 0.375, "instances_left[n+1,a,g,llm,decode,1]": -1},
            None,
            0,
        ),
        (
            of(two_roles, site_down),
            ("site b", SITE, "g", CARD, "prefill", 1),
            {
                "prefill_elsewhere[o0,a,b]": 8.0,
                "prefill_elsewhere[o1,a,b]": 8.0,
                "instances_left[site b,a,g,llm,prefill,1]": -1,
            },
            None,
            0,
        ),
    ],
    "copies_after_loss": [
        (
            of(lpx, rack_down),
            ("n+1", SITE, CARD, "l", 1),
            {"serve[x0,a]": 3.0, "serve[x1,a]": 3.0, "copies_left[n+1,a,llm,l,1]": -1.5},
            None,
            0,
        )
    ],
    "used_where_served": [
        (
            of(ssd, rack_down),
            ("n+1", SITE, 1, W, 0, "prefill", "g"),
            {"prefill[o0,a]": 1, "prefill[o0ssd,a]": 1, "used[n+1,a,g,1]": -1},
            None,
            0,
        ),
        (of(lpx, rack_down), ("n+1", SITE, 1, W, 1, "decode", "l"), {"serve[x1,a]": 1, "used[n+1,a,l,1]": -1}, None, 0),
    ],
    "served_elsewhere": [
        (
            of(site_down),
            ("site a", 1, W, 0),
            {"serve[p0,a]": 1, "serve[p0,b]": 1, "serve_elsewhere[p0,b,a]": -1},
            0,
            0,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "survivability")


def test_of_four_pods_three_are_left_and_hits_spare_no_more_than_returns_in_parts_that_are():
    left = {"left_in_pods[a,g,1]": 1, "own[a,g,1]": -0.75}
    assert row(made(old_racks, reserved, pod_down), "outside_the_fullest_pod", (SITE, "g", 1)) == (left, None, -1.5)
    model = made(cmx, cmx_rack_lost)
    # 0.4 and 0.2 return, all find their copy: of 3 racks 1.8
    spared = {hits("cmx rack", "cmx")[0]: 1, "parts[a,cmx,2,1]": pytest.approx(-1.8)}
    key = ("cmx rack", SITE, "g", "", "", "cmx", 1, 2)
    assert row(model, "spared_in_parts", key) == (spared, None, 0)
    in_order = {"parts[a,cmx,3,1]": 1, "parts[a,cmx,2,1]": -1}
    assert row(model, "parts_in_order", (SITE, "cmx", 3, 1)) == (in_order, None, 0)


def test_what_is_served_elsewhere_is_prefilled_there():
    filled = {"prefill_elsewhere[o1,b,a]": 1, "serve_elsewhere[p1,b,a]": -1}
    assert row(made(ssd, site_down), "prefilled_elsewhere", ("site a", 1, W, 1, "b")) == (filled, 0, 0)
