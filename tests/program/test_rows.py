"""One raw row of every family against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from hand_instance import (
    CARD,
    SITE,
    W,
    a_day,
    asks,
    batch,
    edit,
    hand_tables,
    handed,
    instance,
    instances,
    linked,
    lpx_points,
    rows,
    second_site,
    standing,
    store,
    workload,
)
from pyomo.repn import generate_standard_repn
from tiny_case import at

from procure.families.contents import programs
from procure.program import build

TB, MUSD = 1e12, 1e6


def row(model: Any, component: str, key: Any) -> tuple[dict[str, float], float | None, float | None]:
    """Coefficients by variable name, lower and upper limit, with the constant moved to the limits.

    A block is named by its quarter, as in the names of rows.
    """
    rows_of = getattr(model, component)
    constraint = next(r for k, r in rows_of.items() if _text(k) == _text(key))
    repn = generate_standard_repn(constraint.body)
    coefs = {v.name.replace("'", ""): c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)}
    lower, upper = (None if b is None else b - repn.constant for b in (constraint.lower, constraint.upper))
    return coefs, lower, upper


def _text(key: Any) -> str:
    return ",".join(map(str, key if isinstance(key, tuple) else (key,)))


@cache
def made(*edits: Any, **settings: Any) -> Any:
    """The model of the instance by hand with edits and settings: built once, and changed by nobody."""
    tables = hand_tables()
    for change in edits:
        change(tables)
    return build(instance(tables, **settings)).model


def of(*edits: Any, **settings: Any) -> Callable[[], Any]:
    """That model, built when a test asks for it: not when tests are collected, in every process."""
    return partial(made, *edits, **settings)


def old_racks(tables: Any) -> None:
    standing(tables, "g", 4, retirable=1)


def slow_exit(tables: Any) -> None:
    """Four racks, of which two can be sold in a quarter; they stay in their places for a quarter more."""
    old_racks(tables)
    edit(tables, "skus", {"sku": "g"}, resale_delay_quarters=2, resale_per_quarter=2, removal_usd=6e4,
         removal_quarters=1, resale_lockup_quarters=1)  # fmt: skip


def reserved(tables: Any) -> None:
    rows(tables, "reserved", (1, SITE, "g", 2))


def memory_and_drives(tables: Any) -> None:
    store(tables, "dram")
    store(tables, "ssd")


def saving(tables: Any) -> None:
    """A rack at Max-Q leaves 40 of its 100 kW and does nine tenths of the work; bucket 1 would be late there."""
    rows(tables, "power_modes", ("g", 0.9))
    rows(tables, "maxq_savings", (SITE, "g", "power_kw", 40.0))
    rows(tables, "full_power_prefill", ("o1",))


def two_roles(tables: Any) -> None:
    """Halves of a rack, which decode bucket 1 at 0.8 of the best throughput; one does 0.25 racks of work."""
    instances(tables, "decode", "prefill", gpus=4, units=0.5, busy_units=0.25)
    rows(tables, "instance_rates", (1, W, 1, "g", 0.8))


def prefill_only(tables: Any) -> None:
    instances(tables, "prefill")


def frames(tables: Any) -> None:
    standing(tables, "r", 2)
    rows(tables, "reserved", (1, SITE, "r", 1))


def own_pod(tables: Any) -> None:
    edit(tables, "pods", {}, cmx_crosses_pods=0)


def ssd(tables: Any) -> None:
    store(tables, "ssd", write_bytes_per_day=8.64e16)


def dram(tables: Any) -> None:
    store(tables, "dram", bytes=2e12, read_bytes_per_s=3e12, write_bytes_per_s=4e12)


def hbm(tables: Any) -> None:
    store(tables, "hbm", bytes=0.0)


def full_of_weights(tables: Any) -> None:
    edit(tables, "idle_hbm", {}, bytes=0.0)


def cmx(tables: Any) -> None:
    store(tables, "cmx", reader_bytes_per_s=9e11)


def lpx(tables: Any) -> None:
    lpx_points(tables)


def a_quarter_late(tables: Any) -> None:
    edit(tables, "prefill", {"option": "o1"}, late_share=0.25)


def half_out_of_reach(tables: Any) -> None:
    """The longest half of bucket 1, a sixth of all requests; of the other half one in two is late."""
    edit(tables, "prefill", {"option": "o1"}, late_share=0.75)
    rows(tables, "out_of_reach", (1, W, 1, 0.5))


def hall(tables: Any) -> None:
    rows(tables, "expansions", (SITE, "hall", 1, 2, 7e6, 1))
    rows(tables, "expansion_adds", (SITE, "hall", "power_kw", 500.0))
    rows(tables, "site_limits", (1, SITE, "power_kw", 3_000.0))


def purse(tables: Any) -> None:
    rows(tables, "budget", (0, 3e6), (1, 4e6), (2, 5e6))


def firm_order(tables: Any) -> None:
    rows(tables, "fixed", ("order-0", "order", SITE, "g", 3, 1, 0, 9e5, 6e5, 1, 9e3))


def order_terms(tables: Any) -> None:
    """0.2 M USD for a rack that is cancelled, 50 kUSD for one that comes a quarter later."""
    firm_order(tables)
    rows(tables, "order_terms", ("order-0", 1, 2e5, 1, 5e4))


def leases(tables: Any) -> None:
    """Up to three racks, for two quarters at least, 7 kUSD a quarter from the budget of capital; one runs until 1."""
    rows(tables, "rent_offers", ("o", SITE, "g", 3, 7e3, 0, 2, 0, 1, 2, 1))
    rows(tables, "rented", ("o", -1, 1, 1))


def caps(tables: Any) -> None:
    edit(tables, "skus", {"sku": "g"}, supply_per_quarter=7.0, min_order=3)


def two_sites(tables: Any) -> None:
    for name in ("resource_use", "upkeep", "pods"):
        rows(tables, name, *tables[name].assign(site="b").itertuples(index=False))
    rows(tables, "site_limits", (1, "b", "positions", 4.0))


def other_site(tables: Any) -> None:
    """A link of 200 GB/s; of the longer bucket three in ten are late over it."""
    linked(tables, 2e11, 0.3)


def rack_down(tables: Any) -> None:
    asks(tables)


def rack_down_cold(tables: Any) -> None:
    asks(tables, units_down=2, cache_loss="cold_start")


def store_lost(tables: Any) -> None:
    asks(tables, units_down=0, cache_loss="store")


def site_down(tables: Any) -> None:
    second_site(tables)
    asks(tables, units_down=0, site_down=1)


def narrow(tables: Any) -> None:
    """A unit that stands carries 20 GB/s · 0.8; two of the racks at the first site are held for others."""
    linked(tables, 2e11)
    handed(tables, 2e10)
    rows(tables, "reserved", (1, SITE, "g", 2))


def peers(tables: Any) -> None:
    rows(tables, "peer_readers", (store(tables, "dram"), "g", 5e11))


def rented(tables: Any) -> None:
    linked(tables, 2e11, rent=5e4)


def planned_demand(tables: Any) -> None:
    """40 requests/s at a priority of 3 beside 120 at 1, in the planned quarter, at half their peak in the mean."""
    tables["rates"] = tables["rates"].iloc[:0]
    rows(tables, "rates", (0, W, 0, 120.0, 0.5), (0, "v", 0, 40.0, 0.5))
    rows(tables, "workloads", workload("v", priority=3.0))


def three_quarters(tables: Any) -> None:
    edit(tables, "workloads", {"workload": W}, min_served_share=0.75)


def contract(tables: Any) -> None:
    rows(tables, "space", (1, SITE, 30.0, 250.0))
    rows(tables, "built_kw", (SITE, "hall", 50.0))


def capped(tables: Any) -> None:
    """200,000 USD for running in the quarter of the demand."""
    rows(tables, "opex", (1, 2e5))


SUPPORT = {"e": 1.5e-3, "g": 1e-2, "k": 1e-3, "l": 8e-3, "r": 5e-4}
"""M USD of a quarter for one unit: a hundredth of its price."""


def waits(tables: Any) -> None:
    """All requests may wait, and return to drives."""
    a_day(tables)
    edit(tables, "workloads", {"workload": W}, deferrable=1)
    ssd(tables)


BY_HOUR = {"dayparts": "clock"}
POINTS = {"serve[p0,a]": 100 * 0.01, "serve[p1,a]": 50 * 0.02}
FULL = {"prefill[o0,a]": 100 * 0.02, "prefill[o1,a]": 50 * 0.04}
WORK = {**POINTS, **FULL}


def kept(store_name: str, *coefs: float) -> dict[str, float]:
    return {f"kept[1,a,w,{i},{store_name}]": c for i, c in enumerate(coefs)}


ROWS: dict[str, list[tuple[Any, Any, dict[str, float], float | None, float | None]]] = {
    # family: model, key, coefficients, lower, upper
    "fleet_balance": [
        # own = 4 − retired by then + ordered a quarter ago
        (
            of(old_racks),
            (SITE, "g", 1),
            {"own[a,g,1]": 1, "retire[fleet-0,0]": 1, "retire[fleet-0,1]": 1, "buy[a,g,0]": -1},
            4,
            4,
        ),
        (of(leases), (SITE, "g", 1), {"own[a,g,1]": 1, "buy[a,g,0]": -1, "on_rent[o,1]": -1}, 0, 0),
        # of three racks on order for quarter 1 those deferred by one are there in quarter 2
        (
            of(order_terms),
            (SITE, "g", 1),
            {"own[a,g,1]": 1, "buy[a,g,0]": -1, "cancel[order-0]": 1, "defer[order-0,1]": 1},
            3,
            3,
        ),
        (
            of(order_terms),
            (SITE, "g", 2),
            {"own[a,g,2]": 1, "buy[a,g,0]": -1, "buy[a,g,1]": -1, "cancel[order-0]": 1},
            3,
            3,
        ),
    ],
    "changes_within_order": [
        (of(order_terms), "order-0", {"cancel[order-0]": 1, "defer[order-0,1]": 1}, None, 3),
    ],
    "rent_cap": [(of(leases), ("o", 2), {"on_rent[o,2]": 1}, None, 3)],
    "rent_begins": [
        # one more than none in the quarter before the first: it runs
        (of(leases), ("o", 0), {"on_rent[o,0]": 1, "rent[o,0]": -1}, None, 1),
        (of(leases), ("o", 1), {"on_rent[o,1]": 1, "on_rent[o,0]": -1, "rent[o,1]": -1}, None, 0),
        (of(leases), ("o", 2), {"on_rent[o,2]": 1, "on_rent[o,1]": -1}, None, 0),
    ],
    "rent_term": [
        (of(leases), ("o", 1), {"on_rent[o,1]": 1, "rent[o,0]": -1, "rent[o,1]": -1}, 1, None),
        (of(leases), ("o", 2), {"on_rent[o,2]": 1, "rent[o,1]": -1}, 0, None),
    ],
    "resell_within_order": [
        # ordered in quarter 0, delivered in 1, a quarter of lock-up: only in quarter 2
        (of(slow_exit, resale="all"), (SITE, "g", 0), {"resell[a,g,0,2]": 1, "buy[a,g,0]": -1}, None, 0),
    ],
    "resale_cap": [
        (of(slow_exit), ("g", 1), {"retire[fleet-0,1]": 1, "selling[g,1]": -2}, None, 0),
        (of(slow_exit, resale="all"), ("g", 2), {"retire[fleet-0,2]": 1, "resell[a,g,0,2]": 1}, None, 2),
    ],
    "bought_or_sold": [(of(slow_exit), ("g", 1), {"ordered[g,1]": 1, "selling[g,1]": 1}, None, 1)],
    "retire_within_group": [
        (of(old_racks), "fleet-0", {f"retire[fleet-0,{t}]": 1 for t in range(3)}, None, 4),
    ],
    "reserved_stands": [
        (of(old_racks, reserved), (SITE, "g", 1), {"own[a,g,1]": 1}, 2, None),
        (of(old_racks, reserved, leases), (SITE, "g", 1), {"own[a,g,1]": 1, "on_rent[o,1]": -1}, 2, None),
    ],
    "demand_met": [
        (of(), (1, W, 1), {"serve[p1,a]": 1, "short[1,w]": 1}, 1, 1),
        (of(a_quarter_late), (1, W, 1), {"serve[p1,a]": 1, "short[1,w]": 1, "late[1,w]": -1}, 1, 1),
        # 5/6 of the requests are within reach: all of bucket 0, half of bucket 1
        (of(half_out_of_reach), (1, W, 0), {"serve[p0,a]": 1, "short[1,w]": 1.2, "late[1,w]": -1.2}, 1.2, 1.2),
        (of(half_out_of_reach), (1, W, 1), {"serve[p1,a]": 1, "short[1,w]": 0.6, "late[1,w]": -0.6}, 0.6, 0.6),
    ],
    "short_counts_late": [
        (of(a_quarter_late), (1, W), {"late[1,w]": 1, "short[1,w]": -1}, None, 0),
        (of(half_out_of_reach), (1, W), {"late[1,w]": 1, "short[1,w]": -1}, None, -1 / 6),
    ],
    # three quarters of what is asked for at least: a quarter may be short
    "least_share_served": [(of(planned_demand, three_quarters), (0, W), {"short[0,w]": 1}, None, 0.25)],
    "shortfall_of_quarter": [
        # weights 120·0.5·1 and 40·0.5·3: 60 and 60 of 120, in basis points
        (of(planned_demand), 0, {"short[0,w]": 5_000, "short[0,v]": 5_000, "quarter_short[0]": -1}, None, 0)
    ],
    "prefill_where_decoded": [
        (of(ssd), (1, SITE, W, 0), {"prefill[o0,a]": 1, "prefill[o0ssd,a]": 1, "serve[p0,a]": -1}, 0, 0),
        (of(other_site), (1, SITE, W, 0), {"prefill[o0,a]": 1, "ship[o0,a,b]": -1}, 0, 0),
        (of(other_site), (1, "b", W, 0), {"ship[o0,a,b]": 1, "serve[p0,b]": -1}, 0, 0),
    ],
    "shipped_was_prefilled": [(of(other_site), (1, "o0", SITE), {"ship[o0,a,b]": 1, "prefill[o0,a]": -1}, None, 0)],
    "sent_within_scale_out": [
        (of(narrow), (1, SITE, "g"), {"prefill[o0,a]": 6.25, "prefill[o1,a]": 12.5, "own[a,g,1]": -1}, None, -2)
    ],
    "received_within_scale_out": [
        (of(narrow), (1, "b", "g"), {"serve[p0,b]": 6.25, "serve[p1,b]": 12.5, "own[b,g,1]": -1}, None, 0)
    ],
    "shipped_within_link": [
        # 100 requests/s of 1 GB and 50 of 4 GB, over 200 GB/s
        (of(other_site), (1, SITE, "b"), {"ship[o0,a,b]": 0.5, "ship[o1,a,b]": 1.0}, None, 1),
        (of(rented), (1, SITE, "b"), {"ship[o0,a,b]": 0.5, "ship[o1,a,b]": 1.0, "link_rented[a,b,1]": -1}, None, 0),
    ],
    "work_within_racks": [
        # 0.5 busy racks of each that is not reserved: −0.5·2 on the right
        (of(old_racks, reserved), (SITE, "g", 1), {**WORK, "own[a,g,1]": -0.5}, None, -1.0),
        (
            of(old_racks, reserved, saving),
            (SITE, "g", 1),
            {**WORK, "own[a,g,1]": -0.5, "maxq[a,g,1]": 0.05},
            None,
            -1.0,
        ),
        # a quarter of it at night, beside 30·0.02 and 30·0.04 for all that may wait
        (
            of(a_day, batch, **BY_HOUR),
            (SITE, "g", "1@17-09"),
            {
                **{name: coef / 4 for name, coef in WORK.items()},
                "placed_decode[pv,a,1@17-09]": 0.6,
                "placed_prefill[ov,a,1@17-09]": 1.2,
                "own[a,g,1]": -0.5,
            },
            None,
            0,
        ),
    ],
    "moved_only_falls": [
        (
            of(memory_and_drives, cache_moves="exclusive"),
            (1, SITE, W, 1, "ssd:g"),
            {"moved[1,a,w,1,ssd:g]": 1, "move[1,a,w,1,dram:g,ssd:g]": -1},
            None,
            0,
        )
    ],
    "maxq_within_own": [
        (of(old_racks, reserved, saving), (SITE, "g", 1), {"maxq[a,g,1]": 1, "own[a,g,1]": -1}, None, -2)
    ],
    "full_power_work": [
        # 50·0.04 busy racks of prefill; decode beside LPX, 100·0.002 and 50·0.004
        (
            of(old_racks, reserved, lpx, saving),
            (SITE, "g", 1),
            {"serve[x0,a]": 0.2, "serve[x1,a]": 0.2, "prefill[o1,a]": 2.0, "own[a,g,1]": -0.5, "maxq[a,g,1]": 0.5},
            None,
            -1.0,
        )
    ],
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
    "work_within_instances": [
        # 100·0.01 and 50·0.02/0.8 racks, 0.25 an instance
        (
            of(two_roles),
            (SITE, "g", CARD, "decode", 1),
            {"serve[p0,a]": 4.0, "serve[p1,a]": 5.0, "instances[a,g,llm,decode,1]": -1},
            None,
            0,
        ),
        (
            of(two_roles),
            (SITE, "g", CARD, "prefill", 1),
            {"prefill[o0,a]": 8.0, "prefill[o1,a]": 8.0, "instances[a,g,llm,prefill,1]": -1},
            None,
            0,
        ),
    ],
    "instance_linking": [
        # one instance decodes a fifth of the bucket: 0.25 of 1.25 racks
        (
            of(two_roles),
            (SITE, "g", CARD, "decode", 1, W, 1, "decode"),
            {"serve[p1,a]": 1, "instances[a,g,llm,decode,1]": -0.2},
            None,
            0,
        )
    ],
    "instances_take_units": [
        (
            of(two_roles),
            (SITE, "g", 1),
            {
                "instances[a,g,llm,decode,1]": 0.5,
                "instances[a,g,llm,prefill,1]": 0.5,
                "instance_units[a,g,1]": -1,
            },
            None,
            0,
        )
    ],
    "work_beside_instances": [
        # decode is fluid: 1 and 1 racks of work, 0.5 of a rack busy
        (
            of(prefill_only, reserved, old_racks),
            (SITE, "g", 1),
            {"serve[p0,a]": 2.0, "serve[p1,a]": 2.0, "own[a,g,1]": -1, "instance_units[a,g,1]": 1},
            None,
            -2,
        )
    ],
    "lpx_time_within_copies": [
        # 100·0.03 and 50·0.06 LPX racks; two racks a copy at 0.75
        (
            of(lpx),
            (SITE, CARD, "l", 1),
            {"serve[x0,a]": 3.0, "serve[x1,a]": 3.0, "copies[a,llm,l,1]": -1.5},
            None,
            0,
        )
    ],
    "lpx_linking": [
        # a copy decodes 1.5/0.03 = 50 of 100 requests/s
        (of(lpx), (SITE, CARD, "l", 1, W, 0), {"serve[x0,a]": 1, "copies[a,llm,l,1]": -0.5}, None, 0)
    ],
    "lpx_copies_within_racks": [(of(lpx), (SITE, "l", 1), {"copies[a,llm,l,1]": 2, "own[a,l,1]": -0.8}, None, 0)],
    "lpx_copies_within_pods": [(of(lpx), (SITE, CARD, "l", 1), {"copies[a,llm,l,1]": 1, "pods[a,1]": -1}, None, 0)],
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
        (of(ssd, store_lost), ("store ssd:g", SITE, "g", 1), {"left[store ssd:g,a,g,1]": 1, "own[a,g,1]": -1}, None, 0),
    ],
    "copies_left_in_pods": [
        (of(lpx, rack_down), ("n+1", SITE, CARD, "l", 1), {"copies_left[n+1,a,llm,l,1]": 1, "pods[a,1]": -1}, None, 0)
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
    "late_prefill_share": [
        # three in ten of bucket 1 are late over the link, none where they were prefilled
        (
            of(other_site),
            (1, W),
            {
                "ship[o1,a,b]": 0.3 * 50 / 150,
                "serve[p0,b]": -0.1 * 100 / 150,
                "serve[p1,b]": -0.1 * 50 / 150,
                "late[1,w]": -1,
            },
            None,
            0,
        ),
        # a tenth of the requests may be late, the rest of them are short
        (
            of(a_quarter_late),
            (1, W),
            {
                "prefill[o1,a]": 0.25 * 50 / 150,
                "serve[p0,a]": -0.1 * 100 / 150,
                "serve[p1,a]": -0.1 * 50 / 150,
                "late[1,w]": -1,
            },
            None,
            0,
        ),
        # a tenth of all, of which 5/6 can be served: 0.12 of those
        (
            of(half_out_of_reach),
            (1, W),
            {
                "prefill[o1,a]": 0.5 * 50 / 150,
                "serve[p0,a]": -0.12 * 100 / 150,
                "serve[p1,a]": -0.12 * 50 / 150,
                "late[1,w]": -1,
            },
            None,
            0,
        ),
    ],
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
            of(saving, hall),
            (1, SITE, "power_kw"),
            {
                "own[a,e,1]": 0.001,
                "own[a,g,1]": 0.1,
                "own[a,k,1]": 0.002,
                "own[a,l,1]": 0.08,
                "own[a,r,1]": 0.005,
                "maxq[a,g,1]": -0.04,
                "expand[a,hall,0]": -0.5,
            },
            None,
            3.0,
        ),
    ],
    "expansions_at_most": [
        (of(hall), (SITE, "hall"), {"expand[a,hall,0]": 1, "expand[a,hall,1]": 1}, None, 2),
    ],
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
    "places_in_pods": [
        (of(), (SITE, 1, "nvl72_per_pod"), {"own[a,g,1]": 1, "pods[a,1]": -4}, None, 0),
        (of(), (SITE, 1, "lpx_per_pod"), {"own[a,l,1]": 1, "pods[a,1]": -3}, None, 0),
        (of(), (SITE, 1, "cmx_racks_per_pod"), {"own[a,r,1]": 1, "pods[a,1]": -1}, None, 0),
    ],
    "pods_stay": [(of(), (SITE, 2), {"pods[a,1]": 1, "pods[a,2]": -1}, None, 0)],
    "supply_cap": [(of(caps), ("g", 1), {"buy[a,g,1]": 1}, None, 7)],
    "minimum_order": [
        # one order to the supplier, whatever sites its racks go to
        (of(caps, two_sites), ("g", 1), {"ordered[g,1]": 3, "buy[a,g,1]": -1, "buy[b,g,1]": -1}, None, 0)
    ],
    "space_rented": [
        # 3,000 USD a unit at 30 USD a kW are 100 kW; a hall adds 50 kW; 250 kW are contracted
        (
            of(old_racks, hall, contract),
            (SITE, 1),
            {
                **{f"own[a,{name},1]": 0.1 for name in SUPPORT},
                "expand[a,hall,0]": -0.05,
                "rented[a,1]": -1,
            },
            None,
            0.25,
        )
    ],
    "opex_limit": [
        # a rack idles and rents for 5,000 USD, its order's support is 10,000; of four old racks the support is firm
        (
            of(old_racks, capped),
            1,
            {
                **{f"own[a,{name},1]": 0.005 for name in ("e", "g", "k", "l", "r")},
                **{f"buy[a,{name},0]": support for name, support in SUPPORT.items()},
                **{f"retire[fleet-0,{t}]": -0.01 for t in (0, 1)},
                "load_opex[1]": 1,
            },
            None,
            0.2 - 4 * 0.01,
        )
    ],
    "budget_limit": [
        # a quarter of 1.01 M USD with the order; 0.75 · 1.01 M and 5,000 USD on delivery; 3 · 0.6 M of the firm order
        (
            of(purse, firm_order, hall, leases),
            1,
            {
                "on_rent[o,1]": 0.007,
                "buy[a,g,1]": 0.25 * 1.01,
                "buy[a,g,0]": 0.75 * 1.01 + 0.005,
                "buy[a,e,1]": 0.2 * 0.15,
                "buy[a,e,0]": 0.8 * 0.15,
                "buy[a,k,1]": 0.2 * 0.1,
                "buy[a,k,0]": 0.8 * 0.1,
                "buy[a,l,1]": 0.25 * 0.8,
                "buy[a,l,0]": 0.75 * 0.8,
                "buy[a,r,1]": 0.2 * 0.05,
                "buy[a,r,0]": 0.8 * 0.05,
                "expand[a,hall,1]": 7.0,
                "carry[1]": 1,
                "carry[0]": -1,
            },
            None,
            4 - 1.8,
        ),
        # the whole of it with the order, firm orders committed before
        (
            of(purse, firm_order, budget_basis="commitment"),
            1,
            {
                "buy[a,g,1]": 1.015,
                "buy[a,e,1]": 0.15,
                "buy[a,k,1]": 0.1,
                "buy[a,l,1]": 0.8,
                "buy[a,r,1]": 0.05,
                "carry[1]": 1,
                "carry[0]": -1,
            },
            None,
            4,
        ),
    ],
}


@pytest.mark.parametrize(
    ("basis", "moved"),
    [
        ("payment", {0: (0.2, 0.05), 1: (-0.6, -0.6), 2: (0, 0.6)}),
        ("commitment", {0: (0.2, 0.05), 1: (0, 0), 2: (0, 0)}),
    ],
)
def test_changed_orders_move_what_is_due_and_fees_are_charged_at_once(basis, moved):
    model = of(purse, order_terms, budget_basis=basis)()
    for t, (cancelled, deferred) in moved.items():
        found, _, _ = row(model, "budget_limit", t)
        assert found.get("cancel[order-0]", 0) == pytest.approx(cancelled)
        assert found.get("defer[order-0,1]", 0) == pytest.approx(deferred)


@pytest.mark.parametrize("family", ROWS)
@pytest.mark.thorough
def test_the_row_has_the_numbers_of_its_mathematics(family):
    for model, key, coefs, lower, upper in ROWS[family]:
        found, low, high = row(model(), family, key)
        assert found == pytest.approx(coefs, rel=1e-12)
        for bound, wanted in ((low, lower), (high, upper)):
            assert bound == (None if wanted is None else pytest.approx(wanted, rel=1e-12))


MOVE, MOVED = "move[1,a,w,1,dram:g,ssd:g]", "moved[1,a,w,1,ssd:g]"


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


def test_the_second_rows_of_a_family():
    whole = {"prefill[ov,a]": -1, "placed_prefill[ov,a,1@09-17]": 1 / 3, "placed_prefill[ov,a,1@17-09]": 2 / 3}
    model = made(a_day, batch, **BY_HOUR)
    assert row(model, "prefill_over_day", ("ov", SITE, 1)) == (pytest.approx(whole), 0, 0)
    assert model.placed_decode["pv", SITE, at(1).within("17-09")].ub == pytest.approx(1.5)  # a day's in 16 hours
    # without work that may wait the night is never tightest
    assert [str(key[2]) for key in made(a_day, **BY_HOUR).work_within_racks] == ["1@09-17"]
    model = made(old_racks, reserved, cmx)
    assert row(model, "cmx_sessions_on_readers", (SITE, 1)) == (
        {"kept[1,a,w,0,cmx]": 6, "prefill[o0cmx,a]": -1.5, "prefill[o1cmx,a]": -1.5, "own[a,g,1]": -0.5}, None, -1.0,
    )  # fmt: skip
    model = made(old_racks, reserved, ssd)
    assert row(model, "fitted_within_own", (SITE, "k", 1)) == ({"fitted[a,k,1]": 1, "own[a,k,1]": -1}, None, 0)
    assert row(model, "store_wear", (1, SITE, "ssd:g"))[0]["fitted[a,k,1]"] == pytest.approx(-0.8)
    model = made(two_roles, reserved, old_racks)
    taken = {"instance_units[a,g,1]": 1, "own[a,g,1]": -1}
    assert row(model, "instances_within_units", (SITE, "g", 1)) == (taken, None, -2)
    filled = {"prefill_elsewhere[o1,b,a]": 1, "serve_elsewhere[p1,b,a]": -1}
    assert row(made(ssd, site_down), "prefilled_elsewhere", ("site a", 1, W, 1, "b")) == (filled, 0, 0)
    model = made(two_roles, reserved, old_racks, saving)
    assert row(model, "instances_within_units", (SITE, "g", 1)) == ({**taken, "maxq[a,g,1]": 1}, None, -2)
    model = made(prefill_only, reserved, old_racks, saving)
    beside = row(model, "work_beside_instances", (SITE, "g", 1))[0]
    assert beside["maxq[a,g,1]"] == pytest.approx(0.1)
    model = made(caps)
    assert row(model, "no_empty_cmx_rack", (SITE, 1)) == ({"own[a,e,1]": -1, "own[a,r,1]": 1}, None, 0)
    # 40 positions hold 26 racks of 1.5; seven are sold in a quarter
    assert row(model, "order_placed", ("g", 1)) == ({"buy[a,g,1]": 1, "ordered[g,1]": -7}, None, 0)

    def unbounded(tables: Any) -> None:
        edit(tables, "skus", {"sku": "g"}, supply_per_quarter=float("inf"))

    # without a supply cap: 16 places in pods at the first site, 4 positions hold two racks at the second
    bought = {"buy[a,g,1]": 1, "buy[b,g,1]": 1, "ordered[g,1]": -18}
    assert row(made(caps, two_sites, unbounded), "order_placed", ("g", 1)) == (bought, None, 0)


def test_every_family_with_rows_has_one_that_was_worked_by_hand():
    assert set(ROWS) | {"carry_rule"} == {add.__name__ for part in programs().values() for add in part.rows}


@pytest.mark.parametrize(
    ("carry", "years", "closed"),
    [
        ("within_year", (2027, 2027, 2028), {1, 2}),
        ("none", (2027, 2027, 2027), {0, 1, 2}),
        ("unlimited", (1, 2, 3), {2}),
    ],
)
def test_carry_is_closed_where_the_rule_says(carry, years, closed):
    def fiscal(tables: Any) -> None:
        purse(tables)
        tables["quarters"]["fiscal_year"] = years

    model = made(fiscal, budget_carry=carry)
    assert {t for t in model.carry if model.carry[t].ub == 0} == closed


def test_the_cost_of_a_rack_is_worked_by_hand():
    """Ordered in quarter 0 for quarter 1: payments, support of two quarters, residual after two of twenty."""
    model = made()
    repn = generate_standard_repn(model.cost.expr)
    coefs = {v.name: c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)}
    paid = 0.25 * 1.01 + 0.98 * (0.75 * 1.01 + 0.005)
    support = 0.01 * (0.98 + 0.96)
    end = 0.96 * 0.96 / 0.98
    residual = (1 - 2 / 20) * 0.8 * end
    assert coefs["buy[a,g,0]"] == pytest.approx(paid + support - residual, rel=1e-12)
    assert coefs["own[a,g,1]"] == pytest.approx(0.005 * 0.98, rel=1e-12)  # idle power and space
    # 1,000 USD a quarter of load for one busy rack, at the mean of half the peak
    assert coefs["serve[p0,a]"] == pytest.approx(0.001 * 1.0 * 0.5 * 0.98, rel=1e-12)
    assert coefs["prefill[o1,a]"] == pytest.approx(0.001 * 2.0 * 0.5 * 0.98, rel=1e-12)
    # one USD for each of 75 requests/s through a quarter of 7,884,000 s
    assert coefs["short[1,w]"] == pytest.approx(75 * 7_884_000 / MUSD * 0.98, rel=1e-12)


@pytest.mark.parametrize(
    ("objective", "planned", "earns"), [("min_cost", 0.0, 0), ("min_cost_priced", 2.0, 0), ("max_margin", 2.0, 1)]
)
def test_the_objective_prices_what_is_short_by_hand(objective, planned, earns):
    """Four million requests at 0.5 USD in the planned quarter, 6.25 million at 1 USD in the last, worth 0.96."""

    def loads(tables: Any) -> None:
        seconds = 7_884_000
        tables["rates"] = tables["rates"].iloc[:0]
        rows(tables, "rates", (0, W, 0, 8e6 / seconds, 0.5), (2, W, 0, 12.5e6 / seconds, 0.5))
        tables["short_prices"] = tables["short_prices"].iloc[:0]
        rows(tables, "short_prices", (0, W, 0.5), (2, W, 1.0))

    model = made(loads, objective=objective)
    repn = generate_standard_repn(model.cost.expr)
    coefs = {v.name: c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)}
    later = 6.25 * 0.96
    assert coefs.get("short[0,w]", 0.0) == pytest.approx(planned)
    assert coefs["short[2,w]"] == pytest.approx(later)
    assert coefs.get("all_served[0]", 0.0) == pytest.approx(-earns * (planned + later))
    held = model.quarter_short[next(iter(model.quarter_short))]
    least = 0.0 if objective == "min_cost" else pytest.approx(10_010.0)
    assert (held.lb, held.ub) == (least, None if objective == "min_cost" else least)


def test_what_is_left_of_attach_and_of_a_hall_is_worked_by_hand():
    """Two of twenty quarters after delivery, two of sixty after the hall is ready; ordered in quarter 0."""

    def left(tables: Any) -> None:
        hall(tables)
        rows(tables, "beside_terms", ("attach", 20.0, 0.4), ("expansion", 60.0, 0.3))

    costs = []
    for edits in ((hall,), (left,)):
        repn = generate_standard_repn(made(*edits).cost.expr)
        costs.append({v.name: c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)})
    end = 0.96 * 0.96 / 0.98
    saved = {name: usd - costs[1][name] for name, usd in costs[0].items()}
    assert saved["buy[a,g,0]"] == pytest.approx(0.01 * 0.4 * (1 - 2 / 20) * end)
    assert saved["expand[a,hall,0]"] == pytest.approx(7.0 * 0.3 * (1 - 2 / 60) * end)
    assert saved["buy[a,k,0]"] == pytest.approx(0.0)


def test_a_sale_is_paid_late_costs_its_removal_and_idles_until_it_is_out():
    """Sold in quarter 1, paid in 3, right after the end; 60,000 USD of removal, a quarter of idle power and space."""
    model = made(slow_exit)
    repn = generate_standard_repn(model.cost.expr)
    coefs = {v.name: c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)}
    end = 0.96 * 0.96 / 0.98
    now, later = (1 - 5 / 20) * 0.8, (1 - 7 / 20) * 0.8
    support = 0.01 * (0.98 + 0.96)
    wanted = -now * end + 0.06 * 0.98 - support + later * end + 0.005 * 0.98
    assert coefs["retire[fleet-0,1]"] == pytest.approx(wanted, rel=1e-12)
    assert coefs["retire[fleet-0,2]"] == pytest.approx(
        -(1 - 6 / 20) * 0.8 * end * end / 0.96 + 0.06 * 0.96 - 0.01 * 0.96 + later * end + 0.005 * 0.96, rel=1e-12
    )
    assert row(model, "site_limit", (1, SITE, "positions"))[0]["retire[fleet-0,1]"] == 1.5
    assert row(model, "places_in_pods", (SITE, 1, "nvl72_per_pod"))[0]["retire[fleet-0,1]"] == 1
    assert "retire[fleet-0,0]" not in row(model, "site_limit", (1, SITE, "positions"))[0]


def test_a_sale_is_worth_its_residual_value_less_the_one_at_the_end_and_ends_support():
    model = made(old_racks)
    repn = generate_standard_repn(model.cost.expr)
    coefs = {v.name: c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)}
    end = 0.96 * 0.96 / 0.98
    now, later = (1 - 5 / 20) * 0.8, (1 - 7 / 20) * 0.8  # age 5 when sold in quarter 1, 7 at the end
    assert coefs["retire[fleet-0,1]"] == pytest.approx(-now * 0.98 - 0.01 * (0.98 + 0.96) + later * end, rel=1e-12)
    assert coefs["always[0]"] == pytest.approx(4 * (0.01 * (1 + 0.98 + 0.96) - later * end), rel=1e-12)
