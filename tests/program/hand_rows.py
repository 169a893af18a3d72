"""Rows of the program of the instance made by hand: what families' tests of rows share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from hand_instance import (
    SITE,
    W,
    edit,
    hand_tables,
    instance,
    instances,
    linked,
    lpx_points,
    rows,
    standing,
    store,
)
from pyomo.repn import generate_standard_repn

from procure.families.contents import programs
from procure.program import build

TB, MUSD = 1e12, 1e6

Rows = dict[str, list[tuple[Callable[[], Any], Any, dict[str, float], float | None, float | None]]]
"""By component: model, key, coefficients by variable, lower and upper limit."""


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


def check(rows: Rows, family: str, *elsewhere: str) -> None:
    """Every row as worked by hand, and one at least for each function of the family but those tested ``elsewhere``."""
    assert {*rows, *elsewhere} == {add.__name__ for add in programs()[family].rows}
    for component, worked in rows.items():
        for model, key, coefs, lower, upper in worked:
            found, low, high = row(model(), component, key)
            assert found == pytest.approx(coefs, rel=1e-12), component
            for bound, wanted in ((low, lower), (high, upper)):
                assert bound == (None if wanted is None else pytest.approx(wanted, rel=1e-12)), component


def old_racks(tables: Any) -> None:
    standing(tables, "g", 4, retirable=1)


def slow_exit(tables: Any) -> None:
    """Four racks, of which two can be sold in a quarter; they stay in their places for a quarter more."""
    old_racks(tables)
    edit(tables, "skus", {"sku": "g"}, resale_delay_quarters=2, resale_per_quarter=2, removal_usd=6e4,
         removal_quarters=1, resale_lockup_quarters=1)  # fmt: skip


def reserved(tables: Any) -> None:
    rows(tables, "reserved", (1, SITE, "g", 2))


def saving(tables: Any) -> None:
    """A rack at Max-Q leaves 40 of its 100 kW and does nine tenths of the work; bucket 1 would be late there."""
    rows(tables, "power_modes", ("g", 0.9))
    rows(tables, "maxq_savings", (SITE, "g", "power_kw", 40.0))
    rows(tables, "full_power_prefill", ("o1",))


def two_roles(tables: Any) -> None:
    """Halves of a rack, which decode bucket 1 at 0.8 of the best throughput; one does 0.25 racks of work."""
    instances(tables, "decode", "prefill", gpus=4, units=0.5, busy_units=0.25)
    rows(tables, "instance_rates", (1, W, 1, "g", 0.8))


def frames(tables: Any) -> None:
    standing(tables, "r", 2)
    rows(tables, "reserved", (1, SITE, "r", 1))


def ssd(tables: Any) -> None:
    store(tables, "ssd", write_bytes_per_day=8.64e16)


def dram(tables: Any) -> None:
    store(tables, "dram", bytes=2e12, read_bytes_per_s=3e12, write_bytes_per_s=4e12)


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


def rented_early(tables: Any) -> None:
    """Two halls at most, 80 kW each, can be kept from the first quarter on for a rent of 6 kUSD a quarter."""
    rows(tables, "reservations", ("early", SITE, "hall", "early_rent", 1, 2, 0, 1, 6e3, 80.0))


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


def other_site(tables: Any) -> None:
    """A link of 200 GB/s; of the longer bucket three in ten are late over it."""
    linked(tables, 2e11, 0.3)


def rented(tables: Any) -> None:
    linked(tables, 2e11, rent=5e4)


SUPPORT = {"e": 1.5e-3, "g": 1e-2, "k": 1e-3, "l": 8e-3, "r": 5e-4}
"""M USD of a quarter for one unit: a hundredth of its price."""


BY_HOUR = {"dayparts": "clock"}


POINTS = {"serve[p0,a]": 100 * 0.01, "serve[p1,a]": 50 * 0.02}


FULL = {"prefill[o0,a]": 100 * 0.02, "prefill[o1,a]": 50 * 0.04}


WORK = {**POINTS, **FULL}


def kept(store_name: str, *coefs: float) -> dict[str, float]:
    return {f"kept[1,a,w,{i},{store_name}]": c for i, c in enumerate(coefs)}
