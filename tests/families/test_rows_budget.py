"""Rows of `budget` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import rows
from hand_rows import SUPPORT, Rows, check, firm_order, hall, leases, made, of, old_racks, purse


def capped(tables: Any) -> None:
    """200,000 USD for running in the quarter of the demand."""
    rows(tables, "opex", (1, 2e5))


ROWS: Rows = {
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
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "budget", "carry_rule")


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
