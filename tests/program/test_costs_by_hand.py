"""What the program pays, earns and prices, against numbers worked by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import SITE, W, rows
from hand_rows import MUSD, hall, made, old_racks, row, slow_exit
from pyomo.repn import generate_standard_repn


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
