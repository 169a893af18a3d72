"""Rows of `orders` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import edit, rows
from hand_rows import Rows, caps, check, made, of, row, slow_exit


def two_sites(tables: Any) -> None:
    for name in ("resource_use", "upkeep", "pods"):
        rows(tables, name, *tables[name].assign(site="b").itertuples(index=False))
    rows(tables, "site_limits", (1, "b", "positions", 4.0))


def first_quarter(tables: Any) -> None:
    """Two units can be ordered in the first quarter, seven in others."""
    rows(tables, "supply", ("g", 0, 2))


ROWS: Rows = {
    "supply_cap": [
        (of(caps, first_quarter), ("g", 0), {"buy[a,g,0]": 1}, None, 2),
        (of(caps, first_quarter), ("g", 1), {"buy[a,g,1]": 1}, None, 7),
    ],
    "minimum_order": [
        # one order to the supplier, whatever sites its racks go to
        (of(caps, two_sites), ("g", 1), {"ordered[g,1]": 3, "buy[a,g,1]": -1, "buy[b,g,1]": -1}, None, 0)
    ],
    "bought_or_sold": [(of(slow_exit), ("g", 1), {"ordered[g,1]": 1, "selling[g,1]": 1}, None, 1)],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "orders")


def test_an_order_is_placed_where_anything_is_bought_at_most_what_fits():
    # 40 positions hold 26 racks of 1.5; seven are sold in a quarter
    assert row(made(caps), "order_placed", ("g", 1)) == ({"buy[a,g,1]": 1, "ordered[g,1]": -7}, None, 0)

    def unbounded(tables: Any) -> None:
        edit(tables, "skus", {"sku": "g"}, supply_per_quarter=float("inf"))

    # without a supply cap: 16 places in pods at the first site, 4 positions hold two racks at the second
    bought = {"buy[a,g,1]": 1, "buy[b,g,1]": 1, "ordered[g,1]": -18}
    assert row(made(caps, two_sites, unbounded), "order_placed", ("g", 1)) == (bought, None, 0)
