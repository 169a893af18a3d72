"""A case without any plan is told by the limits that must break: where, when, by how much, in a planner's words."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyomo.environ as pyo
import pytest
from solved_case import built, searched
from tiny_case import budget, fleet, quarter_names, rich, tiny

from procure.families.contents import programs, row_words
from procure.program import build as build_program
from procure.solver import Infeasible
from procure.solver.compile import compile_program
from procure.solver.violation import Breach, in_words

METHODS = ("decomposed", "whole")
GB = "gb300-nvl72"
QUARTERS = quarter_names(6)


def reasons(case: Any, method: Any = "decomposed") -> list[str]:
    with pytest.raises(Infeasible) as caught:
        searched(case, method=method)
    return caught.value.lines


def orders(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """Firm orders of which a fifth was paid when they were placed."""
    names = ["site", "sku", "count", "delivery", "price_usd_per_unit", "paid_share"]
    return pd.DataFrame([(*row, 0.2) for row in rows], columns=names)


def fixed_fleet(**site: Any) -> Any:
    standing = fleet(("a", "gb200-nvl72", 4, "2025Q1", 3.3e6)).assign(retirable=False)
    return tiny(sites=(site,), tables={"fleet": standing})


@pytest.mark.parametrize(
    ("site", "told"),
    [
        # four racks of 120 kW and 6.7 kW beside each, on 1.45 positions and 2.8 m2
        ({"power_kw": 300.0}, "power at a exceeded by 206.8 kW"),
        ({"positions": 5.0}, "positions at a exceeded by 0.8 positions"),
        ({"area_m2": 9.0}, "area at a exceeded by 2.2 m2"),
    ],
)
@pytest.mark.thorough
def test_a_fleet_that_no_limit_can_hold_is_infeasible_and_the_limit_is_named(site, told):
    for method in METHODS:
        with pytest.raises(Infeasible) as caught:
            searched(fixed_fleet(**site), method=method)
        assert caught.value.lines == [f"2027Q1 to 2027Q3: {told}"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thorough
def test_a_least_share_that_cannot_be_served_is_told_with_the_share_that_can(method):
    """One rack fits: it serves 42% of the 110 requests/s of which 95% are asked for."""
    case = tiny(
        peaks={"chat": [110, 60, 60]}, workloads={"chat": {"min_served_share": 0.95}}, sites=({"positions": 1.5},)
    )
    told = "2027Q1: chat asks for 95.00% served at least, 42.15% at most can be within all other limits"
    assert reasons(case, method) == [told]


@pytest.mark.thorough
def test_a_least_share_gives_way_before_the_racks_that_stand():
    """A few hundredths of a rack would do for it; that they are missing says nothing of who asks for them."""
    standing = {"fleet": fleet(("a", GB, 1, "2026Q1", 4e6)).assign(retirable=False)}
    case = tiny(skus=(), peaks={"chat": [60.0] * 3}, tables=standing)
    can = searched(case).tables["sla"].query("quarter == '2027Q1'")["served_share"].item()
    asked = case.replace(tables={"workloads": case.tables["workloads"].assign(min_served_share=round(can + 0.03, 2))})
    (told,) = reasons(asked)
    least, most = (float(word.rstrip("%")) / 100 for word in told.split() if word.endswith("%"))
    assert (least, most) == (round(can + 0.03, 2), pytest.approx(can, abs=2e-4))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thorough
def test_a_budget_is_missed_in_the_quarter_whose_payments_are_due(method):
    """Two racks at 4 M USD of which 80% is still due; the quarter before could have saved, and owes nothing."""
    case = tiny(
        peaks={"chat": [60, 61, 62, 63]},
        planned=2,
        tables={"orders": orders(("a", GB, 2, QUARTERS[1], 4e6)), "budget": budget(1e6, 0, 0, 0)},
    )
    told = "short of budget by 5,400,000 USD (6,400,000 USD due, 0 budgeted, 1,000,000 carried in)"
    assert reasons(case, method) == [f"2027Q2: {told}"]


@pytest.mark.thorough
def test_every_quarter_that_misses_its_budget_is_told_with_its_own_payments():
    """4 M USD a rack, 3.2 M of it due: 1.8 M from the first purse go to the first rack, nothing to the second."""
    tables = {
        "orders": orders(("a", GB, 1, QUARTERS[1], 4e6), ("a", GB, 1, QUARTERS[2], 4e6)),
        "budget": budget(1.8e6, 0.5e6, 1e6, 0),
    }
    case = tiny(peaks={"chat": [10, 10, 10, 10]}, planned=2, tables=tables)
    assert reasons(case) == [
        "2027Q2: short of budget by 900,000 USD (3,200,000 USD due, 500,000 budgeted, 1,800,000 carried in)",
        "2027Q3: short of budget by 2,200,000 USD (3,200,000 USD due, 1,000,000 budgeted, 0 carried in)",
    ]


@pytest.mark.thorough
def test_money_that_may_not_be_carried_is_not_told_as_carried_in():
    tables = {"orders": orders(("a", GB, 1, QUARTERS[1], 4e6)), "budget": budget(9e6, 0, 0)}
    case = tiny(tables=tables, settings={"budget_carry": "none"})
    assert reasons(case) == ["2027Q2: short of budget by 3,200,000 USD (3,200,000 USD due, 0 budgeted, 0 carried in)"]


@pytest.mark.thorough
def test_more_racks_than_places_in_pods_are_told():
    standing = fleet(("a", "vr-nvl72", 20, "2026Q4", 8e6)).assign(retirable=False)
    case = tiny(sites=({"positions": 60.0, "power_kw": 9_000.0, "pods_max": 1},), tables={"fleet": standing})
    assert reasons(case) == ["2027Q1 to 2027Q3: NVL72 places in pods at a exceeded by 4 racks"]


@pytest.mark.thorough
def test_every_family_of_the_program_has_words():
    model = build_program(built(rich())).model
    families = {c.local_name for c in model.component_objects(pyo.Constraint)}
    assert families | {add.__name__ for part in programs().values() for add in part.rows} - {"carry_rule"} == set(
        row_words()
    )
    compiled = compile_program(build_program(built(rich())))
    for family, key in compiled.keys:
        if family != "budget_limit":
            (text,) = in_words([Breach.of_row(family, key, 2.0, QUARTERS)])
            assert family not in text
            assert "{" not in text
            assert "2" in text


def test_quarters_in_which_a_limit_breaks_are_told_together_with_the_range_of_amounts():
    breaches = [Breach(q, "", "power at a", over, "kW") for q, over in zip(QUARTERS, (5.0, 7.5, 5.0), strict=False)]
    other = Breach("2027Q2", "", "area at a", 2.0, "m2")
    later = Breach("2028Q1", "", "power at a", 6.0, "kW")
    assert in_words([*breaches, other, later]) == [
        "2027Q1 to 2027Q3, 2028Q1: power at a exceeded by 5 to 7.5 kW",
        "2027Q2: area at a exceeded by 2 m2",
    ]
