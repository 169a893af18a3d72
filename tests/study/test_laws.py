"""Laws that every optimum obeys, whatever the numbers: more room never costs more, more work never costs less."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pandas as pd
import pytest
from solved_case import found, planned
from tiny_case import budget, fleet, rich, tiny, token_worth

GB = "gb300-nvl72"
GAP = 1e-5
OLD = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6))

pytestmark = pytest.mark.slow


def outcome(case: Any) -> tuple[float, float]:
    """Shortfall share and cost, of the search alone."""
    ends = found(case, "decomposed", GAP)
    return ends.short_bp / 1e4, ends.cost_usd


def no_worse(better: tuple[float, float], worse: tuple[float, float]) -> bool:
    """Less short, or as short at no more cost; both up to the gap."""
    if better[0] < worse[0] - 1e-5:
        return True
    return better[0] <= worse[0] + 2e-6 and better[1] <= worse[1] + 2 * GAP * abs(worse[1]) + 10.0


def growing(scale: float = 1.0, site: dict[str, Any] | None = None, **more: Any) -> Any:
    peaks = {"chat": [scale * p for p in (110, 140, 150, 160)]}
    settings = {**token_worth(20.0), **more.pop("settings", {})}
    tables = {"fleet": OLD, **more.pop("tables", {})}
    return tiny(peaks=peaks, planned=2, sites=({"positions": 8.0, **(site or {})},), settings=settings, tables=tables,
                **more)  # fmt: skip


def chain(values: list[Any], make: Any) -> None:
    """Every step of a chain of cases, each with more room, is no worse than the one before, and some step matters."""
    ends = [outcome(make(v)) for v in values]
    assert all(no_worse(b, a) for a, b in pairwise(ends)), ends
    assert ends[0] != pytest.approx(ends[-1], rel=1e-4)


def test_more_budget_never_costs_more():
    chain([2e6, 4e6, 6e6, 1e7], lambda usd: growing(tables={"budget": budget(usd, usd, usd, usd)}))


def test_more_power_never_costs_more():
    chain([260.0, 400.0, 600.0, 900.0], lambda kw: growing(site={"power_kw": kw}))


def test_more_floor_never_costs_more():
    chain([3.0, 4.5, 6.0, 9.0], lambda n: growing(site={"positions": n}))


def test_more_demand_never_costs_less():
    chain([1.6, 1.3, 1.0, 0.7], growing)


def test_longer_sequences_never_cost_less():
    chain([1.0, 0.5, 0.0], lambda g: growing(settings={"isl_growth_per_year": g, "growth_route": "first_prompt"}))


def test_a_cheaper_rack_never_costs_more():
    chain([5e6, 3e6, 1e6], lambda usd: growing(figures={(GB, "price_usd"): usd}))


def money_scaled(factor: float) -> Any:
    """All prices, energy, space and the price of shortfall times a factor."""
    names = [GB, "gb200-nvl72"]
    catalogue = growing().catalogue
    figures = {
        (name, attribute): catalogue.fact(name, attribute).number * factor
        for name in names
        for attribute in ("price_usd", "attach_usd", "install_usd")
    }
    old = OLD.assign(paid_usd_per_unit=OLD["paid_usd_per_unit"] * factor)
    site = {"electricity_usd_per_kwh": 0.08 * factor, "space_usd_per_kw_month": 150.0 * factor}
    settings = token_worth(20.0 * factor)
    return growing(site=site, figures=figures, settings=settings, tables={"fleet": old})


@pytest.mark.parametrize("factor", [0.1, 7.0])
def test_scaling_all_money_scales_the_cost_and_keeps_the_plan(factor):
    base, scaled = (planned(money_scaled(f), gap=1e-6) for f in (1.0, factor))
    assert scaled.objective_usd == pytest.approx(factor * base.objective_usd, rel=5e-6)
    orders = [p.purchases[["quarter", "site", "sku", "count"]] for p in (base, scaled)]
    pd.testing.assert_frame_equal(*orders)


def test_the_order_of_rows_changes_nothing():
    case = rich()
    turned = case.replace(tables={name: frame.iloc[::-1] for name, frame in case.given_tables.items()})
    assert turned.input_hash == case.input_hash
    first, second = (planned(c, gap=1e-6) for c in (case, turned))
    assert first.objective_usd == pytest.approx(second.objective_usd, rel=2e-6)
    assert first.summary["shortfall"]["share"] == second.summary["shortfall"]["share"] == 0.0


def test_names_of_sites_change_nothing():
    renamed = [tiny(peaks={"chat": [90, 120, 150]}, sites=({"site": s},)) for s in ("a", "zürich 2")]
    costs = [found(c, "decomposed", 1e-6).cost_usd for c in renamed]
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)


def twins(**more: Any) -> Any:
    """Two sites alike, each with half of the room."""
    half = {"positions": 4.0, "power_kw": 2_500.0}
    sites = ({"site": "a", **half}, {"site": "b", **half})
    return tiny(peaks={"chat": [100, 140, 170]}, sites=sites, **more)


def test_two_identical_sites_do_what_one_of_their_size_does():
    """Their limits hold a whole number of racks, stores are per rack and work may be shared, so nothing is lost."""
    one = tiny(peaks={"chat": [100, 140, 170]}, sites=({"positions": 8.0, "power_kw": 5_000.0},))
    together, apart = outcome(one), outcome(twins())
    assert no_worse(together, apart)
    # Caches are per site: one cannot borrow the other's spare bytes, which is worth less than a part in 10,000.
    assert apart[1] == pytest.approx(together[1], rel=1e-4)


def test_a_pool_that_is_never_worth_buying_changes_nothing():
    figures = {("hgx-b300", "price_usd"): 5e7}
    base = tiny(peaks={"chat": [100, 140, 170]})
    more = tiny(skus=(GB, "hgx-b300"), peaks={"chat": [100, 140, 170]}, figures=figures)
    assert outcome(more)[1] == pytest.approx(outcome(base)[1], rel=3e-5)
