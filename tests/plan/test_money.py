"""Money by hand: milestones, support, discounting, residual values, sales, and one sum for all three tellings of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from solved_case import built, planned
from tiny_case import fleet, hardware, rich, tiny, token_worth

from procure.errors import InputError
from procure.plan.tables import Sold
from procure.rules.worth import residual_usd

GB = "gb300-nvl72"
HALF_RATE = 1.09**0.5  # 9% a year, two quarters


def one_rack(**more: Any) -> Any:
    """One rack of 4 M USD with round figures, ordered in 2027Q1 for 2027Q2; the look-ahead holds three quarters."""
    figures = {
        (GB, "price_usd"): 4e6,
        (GB, "price_path"): "flat",
        (GB, "milestone_order"): 0.3,
        (GB, "milestone_delivery"): 0.6,
        (GB, "milestone_acceptance"): 0.1,
        (GB, "attach_usd"): 5e5,
        (GB, "install_usd"): 1e5,
        (GB, "support_per_year"): 0.04,
        (GB, "life_years"): 5,
        (GB, "haircut"): 0.8,
    }
    prices = pd.DataFrame(
        [(GB, q, 4e6) for q in ("2027Q1", "2027Q2", "2027Q3", "2027Q4")], columns=["sku", "quarter", "price_usd"]
    )
    del figures[GB, "price_path"]
    tables = {"prices": prices, **more.pop("tables", {})}
    peaks = {"chat": [0.0, 20.0, 20.0, 20.0]}
    settings = {"discount_rate_per_year": 0.09, **token_worth(20.0)}
    return tiny(lead=1, peaks=peaks, figures=figures, settings=settings, tables=tables, **more)


def cash(plan: Any, line: str, sku: str = GB) -> dict[str, float]:
    table = plan.tables["cash"]
    rows = table[(table["line"] == line) & (table["sku"] == sku)]
    return rows.groupby("quarter")["cash_usd"].sum().to_dict()


@pytest.fixture(scope="module")
def plan():
    return planned(one_rack(), gap=1e-6)


@pytest.mark.thorough
def test_one_rack_is_ordered_in_the_first_quarter(plan):
    assert plan.purchases[["quarter", "sku", "count", "delivery_quarter"]].values.tolist() == [
        ["2027Q1", GB, 1, "2027Q2"]
    ]
    assert plan.purchases["capex_usd"].tolist() == pytest.approx([4.6e6])


def test_the_order_milestone_is_paid_with_the_order_and_the_rest_on_delivery(plan):
    assert cash(plan, "hardware") == pytest.approx({"2027Q1": 0.3 * 4e6, "2027Q2": 0.7 * 4e6})
    assert cash(plan, "attach") == pytest.approx({"2027Q1": 0.3 * 5e5, "2027Q2": 0.7 * 5e5})
    assert cash(plan, "installation") == pytest.approx({"2027Q2": 1e5})


def test_support_is_a_quarter_of_its_yearly_share_from_delivery_on(plan):
    assert cash(plan, "support") == pytest.approx({"2027Q2": 4e4, "2027Q3": 4e4, "2027Q4": 4e4})


def test_space_is_rented_by_the_month_for_the_power_of_rack_and_attach(plan):
    sku = one_rack().catalogue.sku(GB)
    usd = (sku.power_kw + sku.attach_kw) * 150.0 * 3
    assert cash(plan, "space") == pytest.approx({"2027Q2": usd, "2027Q3": usd, "2027Q4": usd})


def busy_racks(plan: Any, table: str) -> Any:
    return plan.tables[table].groupby("quarter")["racks"].sum()


def test_power_is_idle_power_all_quarter_and_the_load_at_its_mean(plan):
    """GB300: 142 kW at most, 39 idle; busy with prefill 0.85 of the maximum, with decode 0.47 of it."""
    sku = one_rack().catalogue.sku(GB)
    assert (sku.power_kw, sku.power_idle_kw) == (142, 39)
    load = busy_racks(plan, "prefill") * (120.7 - 39) + busy_racks(plan, "serving") * (66.74 - 39)
    wanted = (39 + sku.attach_kw + 0.55 * load) * 1.2 * 2_190 * 0.08
    assert cash(plan, "power") == pytest.approx(wanted.to_dict())


@pytest.mark.slow
def test_a_cases_own_typical_power_stands_for_both_kinds_of_work():
    case = one_rack()
    own = pd.concat([case.given_tables["hardware"], hardware({(GB, "power_typical_kw"): 100.0})])
    plan = planned(case.replace(tables={"hardware": own}), gap=1e-6)
    load = (busy_racks(plan, "prefill") + busy_racks(plan, "serving")) * (100 - 39)
    wanted = (39 + case.catalogue.sku(GB).attach_kw + 0.55 * load) * 1.2 * 2_190 * 0.08
    assert cash(plan, "power") == pytest.approx(wanted.to_dict())
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.35, 0.8])
def test_shares_of_nameplate_are_premises_and_limits_stay_at_the_maximum(share):
    names = ("energy_share_of_nameplate_prefill", "energy_share_of_nameplate_decode")
    base, other = built(one_rack()), built(one_rack().replace(settings=dict.fromkeys(names, share)))
    row = other["upkeep"].set_index("sku").loc[GB]
    kwh = 1.2 * 2_190 * 0.08
    assert row["prefill_usd_per_quarter"] == row["decode_usd_per_quarter"]
    assert row["decode_usd_per_quarter"] == pytest.approx((share * 142 - 39) * kwh)
    assert other["resource_use"].equals(base["resource_use"])
    idle = built(one_rack().replace(settings=dict.fromkeys(names, 0.1)))["upkeep"].set_index("sku").loc[GB]
    assert idle["decode_usd_per_quarter"] == 0.0  # no less than when idle


def test_the_residual_value_stands_after_the_last_quarter_at_its_straight_line(plan):
    """Three of twenty quarters used, attach worth nothing."""
    assert cash(plan, "residual value") == pytest.approx({"2028Q1": -(4e6 * 0.8 + 5e5 * 0.4) * (1 - 3 / 20)})


def test_every_payment_is_discounted_from_the_start_of_its_quarter(plan):
    table = plan.tables["cash"].set_index("quarter")
    assert table.loc["2027Q1", "discount_factor"].unique() == pytest.approx([1.0])
    assert table.loc["2027Q3", "discount_factor"].unique() == pytest.approx([1 / HALF_RATE])
    assert table.loc["2028Q1", "discount_factor"] == pytest.approx(1 / 1.09)
    assert (table["npv_usd"] - table["cash_usd"] * table["discount_factor"]).abs().max() < 1e-6


@pytest.mark.parametrize("make", [one_rack, rich])
@pytest.mark.thorough
def test_objective_cost_lines_and_cash_are_one_sum(make):
    plan = planned(make(), gap=1e-3)
    assert plan.tables["cash"]["npv_usd"].sum() == pytest.approx(plan.objective_usd, rel=1e-9)
    assert plan.tables["costs"]["npv_usd"].sum() == pytest.approx(plan.objective_usd, rel=1e-9)
    by_line = plan.tables["cash"].groupby(["line", "span"])["npv_usd"].sum().to_dict()
    stated = plan.tables["costs"].set_index(["line", "span"])["npv_usd"].to_dict()
    assert {k: v for k, v in stated.items() if v} == pytest.approx({k: v for k, v in by_line.items() if v})


@pytest.mark.slow
def test_an_old_rack_that_is_sold_brings_its_residual_value_and_ends_its_costs():
    """Bought 2025Q1 for 3 M USD beside 506,580 of attach and installation; eight of 24 quarters used when sold.

    A sale brings a quarter less than the rack is worth, two quarters later, for 60,000 USD of removal.
    """
    gb200 = "gb200-nvl72"
    figures = {(gb200, "life_years"): 6, (gb200, "haircut"): 0.8, (gb200, "resale_spread"): 0.25,
               (gb200, "removal_quarters"): 0}  # fmt: skip
    case = tiny(
        peaks={"chat": [0.0, 0.0, 0.0]},
        figures=figures,
        settings={"resale": "existing"},
        tables={"fleet": fleet(("a", "gb200-nvl72", 2, "2025Q1", 3e6 + 370_000 + 136_580))},
    )
    plan = planned(case, gap=1e-6)
    assert cash(plan, "sales", "gb200-nvl72") == pytest.approx({"2027Q3": -2 * 3e6 * (1 - 8 / 24) * 0.8 * 0.75})
    assert cash(plan, "removal of sold units", "gb200-nvl72") == pytest.approx({"2027Q1": 1.2e5})
    (sale,) = plan.rows(Sold)
    # eight of twenty quarters written off in the books: 1.8 M USD each, sold for 1.2 M less removal
    assert (sale.net_usd, sale.unit_book_usd) == pytest.approx((2 * 1.14e6, 1.8e6))
    assert sale.book_loss_usd == pytest.approx(2 * (1.8e6 - 1.14e6))
    assert plan.summary["sales"] == [
        {"quarter": "2027Q1", "site": "a", "sku": gb200, "count": 2, "net_usd": sale.net_usd,
         "book_loss_usd": sale.book_loss_usd}
    ]  # fmt: skip
    for line in ("support", "power", "space", "residual value"):
        assert cash(plan, line, "gb200-nvl72") == {}
    assert plan.objective_usd == pytest.approx(-2.4e6 * 1.09**-0.5 + 1.2e5)


@pytest.mark.slow
def test_a_rack_stays_where_the_spread_takes_more_than_standing_costs():
    """1.6 M USD each now, 1.4 M USD after three quarters; support, idle power and space take 0.37 M USD meanwhile."""
    gb200 = "gb200-nvl72"
    for spread, sold in (0.0, True), (0.6, False):
        figures = {(gb200, "life_years"): 6, (gb200, "haircut"): 0.8, (gb200, "resale_spread"): spread,
                   (gb200, "resale_delay_quarters"): 0, (gb200, "removal_quarters"): 0}  # fmt: skip
        old = fleet(("a", gb200, 2, "2025Q1", 3e6 + 370_000 + 136_580))
        case = tiny(peaks={"chat": [0.0, 0.0, 0.0]}, figures=figures, tables={"fleet": old},
                    settings={"resale": "existing"})  # fmt: skip
        plan = planned(case, gap=1e-6)
        assert (cash(plan, "sales", gb200) != {}) is sold
        kept = {"2027Q4": -2 * 3e6 * (1 - 11 / 24) * 0.8}  # what stands at the end loses no spread
        assert cash(plan, "residual value", gb200) == pytest.approx({} if sold else kept)


@pytest.mark.slow
def test_what_is_left_to_pay_of_a_firm_order_falls_due_on_delivery():
    firm = pd.DataFrame(
        [("a", GB, 2, "2027Q2", 4e6, 0.25)],
        columns=["site", "sku", "count", "delivery", "price_usd_per_unit", "paid_share"],
    )
    plan = planned(tiny(peaks={"chat": [0.0, 0.0, 0.0]}, tables={"orders": firm}), gap=1e-6)
    assert cash(plan, "firm orders") == pytest.approx({"2027Q2": 2 * 4e6 * 0.75})


@pytest.mark.slow
def test_unserved_work_of_the_look_ahead_costs_its_stated_price():
    """Two USD a request; 55% of the peak of 10 requests/s in the mean, all quarter."""
    case = tiny(
        skus=(),
        peaks={"chat": [0.0, 10.0, 0.0]},
        workloads={"chat": {"lookahead_short_usd_per_request": 2.0, "mean_to_peak": 0.55}},
    )
    plan = planned(case, gap=1e-6)
    assert cash(plan, "look-ahead shortfall", "chat") == pytest.approx({"2027Q2": 5.5 * 2_190 * 3_600 * 2.0})


def test_the_residual_value_falls_to_zero_and_never_above_the_price():
    sku = SimpleNamespace(life_quarters=20, haircut=0.8)
    assert residual_usd(100.0, 0, sku) == 80.0
    assert residual_usd(100.0, 10, sku) == pytest.approx(40.0)
    assert residual_usd(100.0, 20, sku) == residual_usd(100.0, 35, sku) == 0.0
    with pytest.raises(InputError, match="fraction"):
        tiny(figures={(GB, "haircut"): 1.2})


def test_a_hardware_table_states_the_unit_of_the_catalogue():
    assert hardware({(GB, "price_usd"): 1.0})["unit"].tolist() == ["USD"]
