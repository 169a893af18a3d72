"""Offers of rent as a case states them: prices, windows, locations, and what is wrong with them, all at once."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from solved_case import built, checked
from tiny_case import fleet, quarter_names, tiny

from procure.case import Case
from procure.errors import InputError

OFFER = {"offer": "o", "site": "provider", "sku": "hgx-h200", "most_units": 4}
QUARTERS = quarter_names(3)


def case(*offers: dict[str, Any], rented: tuple[Any, ...] = (), **stated: Any) -> Case:
    tables = {"rent": pd.DataFrame([{**OFFER, **offer} for offer in offers])}
    if rented:
        columns = ["offer", "count", "from_quarter", "until_quarter"]
        tables["rented"] = pd.DataFrame([rented], columns=columns)
    return tiny(tables=tables, **stated)


def faults(*offers: dict[str, Any], **stated: Any) -> list[tuple[str, int, str]]:
    with pytest.raises(InputError) as caught:
        case(*offers, **stated)
    return [(f.file, f.row, f.column) for f in caught.value.faults]


@pytest.mark.parametrize(
    ("price", "usd_per_quarter", "term"),
    [
        ({"usd_per_gpu_hour": 2.5}, 2.5 * 8 * 2190, 1),
        ({"usd_per_unit_hour": 20.0}, 20.0 * 2190, 1),
        ({"usd_per_unit_month": 10_000.0, "min_term_quarters": 3}, 30_000.0, 3),
        ({"sku": "hgx-h100", "market_price": "contract_1y"}, 2.65 * 8 * 2190, 4),
    ],
)
@pytest.mark.thorough
def test_a_price_is_paid_by_the_unit_and_quarter(price, usd_per_quarter, term):
    offer = built(case(price))["rent_offers"].iloc[0]
    assert offer["usd_per_quarter"] == pytest.approx(usd_per_quarter)
    assert offer["min_term_quarters"] == term


@pytest.mark.thorough
def test_a_packaged_price_is_a_premise_that_the_plan_rests_on_and_can_be_moved():
    path = "rent_price/hgx-h200/on_demand/usd_per_gpu_hour"
    made = case({"market_price": "on_demand"})
    assert path in made.rests_on
    low = built(made.with_value(path, "low"))["rent_offers"]["usd_per_quarter"].iloc[0]
    assert low == pytest.approx(3.59 * 8 * 2190)
    assert path not in case({"usd_per_gpu_hour": 4.5}).rests_on


@pytest.mark.thorough
def test_windows_are_positions_that_leave_room_for_the_term():
    made = built(case({"usd_per_gpu_hour": 1.0, "lead_quarters": 0.5, "min_term_quarters": 2}))["rent_offers"].iloc[0]
    assert (made["first_t"], made["last_start_t"], made["last_t"]) == (1, 2, 2)
    ends = {"usd_per_gpu_hour": 1.0, "min_term_quarters": 2, "to_quarter": QUARTERS[1]}
    made = built(case(ends))["rent_offers"].iloc[0]
    assert (made["first_t"], made["last_start_t"], made["last_t"]) == (0, 0, 1)


def test_a_location_of_a_provider_is_a_site_of_its_own_and_takes_nothing_of_the_others():
    made = case({"usd_per_gpu_hour": 1.0}, {"offer": "here", "site": "a", "usd_per_gpu_hour": 1.0})
    tables = built(made).tables
    assert made.providers == ("provider",)
    assert set(tables["pods"]["site"]) == {"a", "provider"}
    assert set(tables["resource_use"]["site"]) == {"a"}
    upkeep = tables["upkeep"].set_index(["site", "sku"])
    assert (upkeep.loc["provider", :] == 0.0).all(axis=None)
    assert (upkeep.loc[("a", "hgx-h200"), "idle_usd_per_quarter"] > 0).all()


def test_everything_that_is_wrong_with_offers_is_told_with_its_place():
    assert faults({}, {"offer": "p", "usd_per_gpu_hour": 1.0, "market_price": "spot"}, {"offer": "q", "market_price":
                  "contract_1y"}) == [
        ("rent.csv", 2, "usd_per_gpu_hour, usd_per_unit_hour, usd_per_unit_month, market_price"),
        ("rent.csv", 3, "usd_per_gpu_hour, market_price"),
        ("rent.csv", 4, "market_price"),
    ]  # fmt: skip
    price = {"usd_per_gpu_hour": 1.0}
    late = {**price, "offer": "p", "from_quarter": QUARTERS[1], "to_quarter": QUARTERS[1], "min_term_quarters": 2}
    assert faults({**price, "sku": "lpx"}, late, rented=("o", 5, "2026Q4", "2026Q3")) == [
        ("rent.csv", 2, "sku"),
        ("rent.csv", 3, "to_quarter"),
        ("rented.csv", 0, "count"),
        ("rented.csv", 2, "until_quarter"),
    ]
    early = {**price, "sku": "vr-nvl72", "from_quarter": QUARTERS[0]}
    available = {("vr-nvl72", "available_from"): QUARTERS[1]}
    assert faults(early, figures=available) == [("rent.csv", 2, "from_quarter")]
    assert faults(price, rented=("x", 1, "2026Q4", QUARTERS[0])) == [("rented.csv", 2, "offer")]


def test_a_location_that_is_spelt_nearly_as_a_site_is_doubted():
    site = ({"site": "frankfurt"},)
    made = case({"site": "frankfrut", "usd_per_gpu_hour": 1.0}, sites=site)
    assert [(d.file, d.column) for d in made.doubts] == [("rent.csv", "site")]
    assert not case({"site": "frankfurt", "usd_per_gpu_hour": 1.0}, sites=site).doubts


@pytest.mark.parametrize("instance_gpus", [None, 4])
@pytest.mark.thorough
def test_rent_bridges_the_time_before_own_orders_arrive(instance_gpus):
    """Racks come two quarters from now. Ten servers for rent, two of which run, carry what a fleet of ten does."""
    late = {("gb300-nvl72", "available_from"): QUARTERS[2]}
    chat: dict[str, Any] = {"card": "gpt-oss-120b"}
    if instance_gpus:
        chat["instance_gpus"] = instance_gpus
    stated: dict[str, Any] = {"workloads": {"chat": chat}, "figures": late, "peaks": {"chat": [20.0, 20.0, 20.0]}}
    if instance_gpus:
        stated["settings"] = {"whole_instances_up_to": 50.0}
    offer = {"usd_per_gpu_hour": 1.0, "most_units": 10}
    bridge = checked(case(offer, rented=("o", 2, "2026Q4", QUARTERS[0]), **stated))
    owned = checked(tiny(tables={"fleet": fleet(("a", "hgx-h200", 10, "2025Q1", 3e5))}, **stated))
    few = checked(case({**offer, "most_units": 1}, **stated))
    told, same, short = (f[f["finding"].str.contains("before own orders")] for f in (bridge, owned, few))
    assert told["quarter"].tolist() == QUARTERS[:2] * (2 if instance_gpus else 1)
    assert told["holds"].all()
    assert told["value"].tolist() == pytest.approx(same["value"].tolist())
    assert short["value"].tolist() == pytest.approx((10 * told["value"]).tolist())
    assert bridge["detail"].str.contains("8 hgx-h200 for rent counted in").sum() == 1


@pytest.mark.thorough
def test_what_can_be_rented_counts_where_arithmetic_asks_what_can_stand():
    """Nothing can be ordered: the case holds because servers are for rent, and they draw nothing at the site."""
    rented = {"usd_per_gpu_hour": 1.0, "most_units": 40}
    workloads = {"chat": {"ttft_s": 5.0}}
    made = case(rented, skus=(), sites=({"power_kw": 500.0, "positions": 0.0},), workloads=workloads)
    findings = checked(made)
    assert findings["holds"].all()
    offered = findings[findings["item"] == "o"].iloc[0]
    assert "up to 40 hgx-h200 for rent at provider, 2027Q1 to 2027Q3, 17,520 USD a quarter each" in offered["detail"]


def test_a_price_that_cannot_be_read_is_told_once():
    for wrong in ({"usd_per_gpu_hour": -1.0}, {"usd_per_gpu_hour": "x"}, {"market_price": "nope"}):
        assert faults(wrong) == [("rent.csv", 2, *wrong)]
    assert faults({"sku": "hgx-h20000", "market_price": "spot"}) == [("rent.csv", 2, "sku")]


def test_hardware_that_is_no_gpu_is_told_beside_hardware_that_is_not_known():
    price = {"usd_per_gpu_hour": 1.0}
    told = faults({"sku": "lpx", **price}, {"offer": "p", "sku": "nothing-like-it", **price})
    assert sorted(told) == [("rent.csv", 2, "sku"), ("rent.csv", 3, "sku")]


def test_an_offer_that_nothing_can_be_rented_of_is_said():
    (doubt,) = case({"usd_per_gpu_hour": 1.0, "lead_quarters": 3}).doubts
    assert (doubt.file, doubt.row, doubt.column) == ("rent.csv", 2, "lead_quarters")
    assert "begins in 2027Q4 at the earliest, and would have to by 2027Q3" in doubt.expected
    assert not case({"usd_per_gpu_hour": 1.0, "lead_quarters": 2}).doubts
