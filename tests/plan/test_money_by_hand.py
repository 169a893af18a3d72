"""One case with a line of every kind, each worked out from the plan's decisions by the rules of docs/money.md."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import fleet, tiny, token_worth

GB, OLD = "gb300-nvl72", "hgx-h100"
QUARTERS = ["2027Q1", "2027Q2", "2027Q3", "2027Q4", "2028Q1", "2028Q2"]
END = len(QUARTERS)
NEED = dict(zip(QUARTERS, (0.0, 20.0, 60.0, 60.0, 60.0, 60.0), strict=True))
INPUT, OUTPUT = 8_000.0, 500.0
DECODE_S, PREFILL_S = OUTPUT / (1_000 * 72), INPUT / (20_000 * 72)  # rack-seconds at the stated tokens/s per GPU
MEAN, PUE, USD_KWH, USD_KW_MONTH = 0.55, 1.2, 0.08, 150.0


def case() -> Any:
    """Old servers to sell, a firm order reserved for training, orders, and a hall without which they do not fit."""
    work = {
        **{f"input_{name}_tokens": INPUT for name in ("mean", "p50", "p90", "p99")},
        "output_thinking_tokens": 0.0, "output_visible_tokens": OUTPUT, "tps_user": 50.0, "tps_thinking": 0.0,
        "ttft_s": 20.0, "reuse_curve": "none", "shared_prefix_tokens": 0.0, "mean_to_peak": MEAN,
    }  # fmt: skip
    measured = {
        "sku": GB, "card": "deepseek-v3.2", "weight_precision": "fp8", "isl": INPUT, "osl": OUTPUT, "tps_user": 50.0,
        "tokens_per_s_per_gpu": 1_000.0, "prefill_tokens_per_s_per_gpu": 20_000.0, "all_gpus": 0, "date": "2026-11",
        "source": "test",
    }  # fmt: skip
    hall = {
        "site": "a", "expansion": "hall", "power_kw": 900.0, "positions": 4, "area_m2": 30.0, "capex_usd": 4e5,
        "lead_quarters": 1, "max_count": 2,
    }  # fmt: skip
    firm = {"site": "a", "sku": GB, "count": 1, "delivery": "2027Q2", "price_usd_per_unit": 4e6, "paid_share": 0.25}
    held = [("a", GB, quarter, 1, "training") for quarter in QUARTERS[1:]]
    tables = {
        "throughput": pd.DataFrame([measured]),
        "expansions": pd.DataFrame([hall]),
        "orders": pd.DataFrame([firm]),
        "fleet": fleet(("a", OLD, 4, "2024Q1", 3e5)),
        "reserved": pd.DataFrame(held, columns=["site", "sku", "quarter", "count", "purpose"]),
    }
    return tiny(planned=3, lead=1, peaks={"chat": list(NEED.values())}, workloads={"chat": work}, tables=tables,
                sites=({"positions": 3.2},), settings={**token_worth(20.0), "resale": "existing"})  # fmt: skip


@pytest.fixture(scope="module")
def plan() -> Any:
    return planned(case(), gap=1e-6)


def busy(plan: Any, table: str, sku: str, quarter: str, column: str) -> float:
    rows = plan.tables[table].query("sku == @sku and quarter == @quarter")
    return float(rows[column].sum())


def by_hand(plan: Any) -> dict[str, float]:
    """Present USD by line."""
    made = case()
    settings, catalogue = made.settings, made.catalogue
    gb, old = catalogue.sku(GB), catalogue.sku(OLD)
    usd: dict[str, float] = defaultdict(float)

    def pay(line: str, quarter: int, amount: float) -> None:
        usd[line] += amount * 1.09 ** (-quarter / 4)

    def worth(sku: Any, paid: float, age: int) -> float:
        return paid * max(0.0, 1 - age / (4 * sku.life_years)) * sku.haircut

    firm_paid, old_paid = 4e6 - gb.attach_usd - gb.install_usd, 3e5 - old.attach_usd - old.install_usd
    stand = {GB: [0, 1, 1, 1, 1, 1], OLD: [4] * END}
    paid = {GB: [0.0, *[firm_paid] * 5], OLD: [4 * old_paid] * END}
    pay("firm orders", 1, 0.75 * 4e6)
    pay("residual value", END, -worth(gb, firm_paid, END - 1))
    for order in plan.purchases.itertuples():
        at, there = QUARTERS.index(order.quarter), QUARTERS.index(order.delivery_quarter)
        assert there == at + 1
        price = order.count * catalogue.price_usd(GB, order.delivery_quarter)
        for line, amount in (("hardware", price), ("attach", order.count * gb.attach_usd)):
            pay(line, at, gb.milestone_order * amount)
            pay(line, there, (1 - gb.milestone_order) * amount)
        pay("installation", there, order.count * gb.install_usd)
        pay("residual value", END, -worth(gb, price, END - there))
        left = 0.4 * (1 - (END - there) / 20)  # of the network: five years, 40%; of a hall nothing
        pay("residual value", END, -order.count * gb.attach_usd * left)
        for quarter in range(there, END):
            stand[GB][quarter] += order.count
            paid[GB][quarter] += price
    for built in plan.tables["expansions"].itertuples():
        pay("expansions", QUARTERS.index(built.quarter), 4e5 * built.count)
    own_kw = [900.0 * sum(b.count for b in plan.tables["expansions"].itertuples() if b.quarter < q) for q in QUARTERS]
    gone = [0] * END
    for sold in plan.tables["fleet"].query("sku == @OLD and retired > 0").itertuples():
        at = QUARTERS.index(sold.quarter)
        pay("sales", at + 1, -sold.retired * worth(old, old_paid, 12 + at) * (1 - old.resale_spread))
        pay("removal of sold units", at, sold.retired * old.removal_usd)
        gone[at] += sold.retired  # removed within the quarter, in which it takes its place and idles
        for quarter in range(at, END):
            stand[OLD][quarter] -= sold.retired
            paid[OLD][quarter] -= sold.retired * old_paid
    pay("residual value", END, -stand[OLD][-1] * worth(old, old_paid, 12 + END))
    for t, quarter in enumerate(QUARTERS):
        kw = 0.0
        for sku in (gb, old):
            units = stand[sku.name][t] + (gone[t] if sku is old else 0)
            pay("support", t, sku.support_per_year / 4 * paid[sku.name][t])
            kw += units * (sku.power_kw + sku.attach_kw)
            drawn = units * (sku.power_idle_kw + sku.attach_kw)
            for table, share in (
                ("serving", settings.energy_share_of_nameplate_decode),
                ("prefill", settings.energy_share_of_nameplate_prefill),
            ):
                drawn += (
                    MEAN * busy(plan, table, sku.name, quarter, "racks") * (share * sku.power_kw - sku.power_idle_kw)
                )
            pay("power", t, drawn * PUE * 2_190 * USD_KWH)
        pay("space", t, max(0.0, kw - own_kw[t]) * 3 * USD_KW_MONTH)
    return usd


@pytest.mark.thorough
def test_every_line_is_what_the_rules_give(plan):
    stated = plan.tables["costs"].groupby("line")["npv_usd"].sum()
    wanted = by_hand(plan)
    lines = {line: usd for line, usd in stated.items() if usd}
    assert set(lines) == set(wanted)
    for line, usd in wanted.items():
        assert lines[line] == pytest.approx(usd, abs=0.005), line
    assert plan.objective_usd == pytest.approx(sum(wanted.values()), abs=0.01)


@pytest.mark.thorough
def test_all_is_served_at_exactly_the_stated_rates(plan):
    for quarter, need in NEED.items():
        rows = plan.tables["serving"].query("quarter == @quarter")
        assert rows["requests_per_s"].sum() == pytest.approx(need, rel=1e-6)
        for table, seconds in (("serving", DECODE_S), ("prefill", PREFILL_S)):
            wanted = busy(plan, table, GB, quarter, "requests_per_s") * seconds
            assert busy(plan, table, GB, quarter, "racks") == pytest.approx(wanted, rel=1e-9)


@pytest.mark.thorough
def test_a_million_tokens_cost_what_is_spent_and_used_up(plan):
    """All lines, four old servers at their worth at the start, and 1 M USD paid in advance on the firm order."""
    old = case().catalogue.sku(OLD)
    start = 4 * (3e5 - old.attach_usd - old.install_usd) * (1 - 12 / (4 * old.life_years)) * old.haircut + 1e6
    seconds = MEAN * 2_190 * 3_600
    millions = sum(need * seconds * 1.09 ** (-t / 4) for t, need in enumerate(NEED.values())) * (INPUT + OUTPUT) / 1e6
    row = plan.tables["unit_costs"].query("workload == '' and tokens == 'blended'").iloc[0]
    assert row.usd_per_million_tokens == pytest.approx((sum(by_hand(plan).values()) + start) / millions, rel=1e-6)
