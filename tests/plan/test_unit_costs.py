"""Costs of a million tokens, by hand: who pays for what, discounting, what stands idle, and far from the market."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest
from hand_instance import SITE, W, edit, hand_tables, instance, rows, standing, store
from solved_case import planned
from tiny_case import fleet, tiny

from procure.plan import Plan
from procure.plan.plan import frame
from procure.plan.tables import TABLES
from procure.plan.unit_costs import cost_warnings, unit_costs_summary, unit_costs_table
from procure.timekey import BASE, PEAK

SECONDS = 2_190 * 3_600


def worked(prices: tuple[float, float, float] = (0.1, 1.0, 4.0)):
    """One quarter at factor 0.5: 10 requests/s at the peak, 5 in the mean, 40 of 1,000 tokens shared, 300 written.

    Half of them find 600 tokens in a kit. Decode takes 3 busy racks, prefill 1, of racks that cost 8 M USD in all; the
    kit costs 1 M, a hall 0.9 M.
    """
    tables = hand_tables()
    name = store(tables, "ssd")
    edit(tables, "quarters", {"t": 1}, discount_factor=0.5)
    rows(tables, "cached_tokens", (1, W, 0, 40.0, 600.0), (1, W, 1, 0.0, 0.0))
    kinds = ("cached input", "computed input", "output")
    rows(tables, "token_prices", *((W, kind, usd) for kind, usd in zip(kinds, prices, strict=True)))
    plan = {n: frame(n, []) for n in TABLES}
    plan["serving"] = frame(
        "serving", [("2027Q2", SITE, W, 0, "g", "g", 10.0, 3.0, 0.0, 1.0, 0.9, "physics", "p0", BASE, PEAK)]
    )
    plan["prefill"] = frame(
        "prefill",
        [
            ("2027Q2", SITE, W, 0, "g", "g", s, 5.0, racks, BASE, PEAK)
            for s, racks in (("recompute", 0.75), (name, 0.25))
        ],
    )
    plan["kv_placement"] = frame(
        "kv_placement", [("2027Q2", SITE, W, name, "ssd", 7e12, 5.0, 1e9, 1e9, 60.0, BASE, PEAK)]
    )
    plan["cash"] = cash(("g", 8e6), ("k", 1e6), ("hall", 0.9e6), ("look-ahead shortfall", 5e9))
    return tables, plan


def cash(*amounts: tuple[str, float]) -> pd.DataFrame:
    """Present USD by SKU, or by the line of that name."""
    return frame("cash", [
        ("2027Q2", "planned", what if "-" in what else "hardware", SITE, what, usd / 0.5, 0.5, usd)
        for what, usd in amounts
    ])  # fmt: skip


def test_decode_pays_for_output_prefill_for_computed_and_kits_for_cached_input():
    tables, plan = worked()
    found = unit_costs_table(instance(tables), plan).set_index(["workload", "tokens"])
    rate = 5.0 * SECONDS * 0.5 / 1e6  # million requests, discounted
    cached, computed, output = rate * (0.5 * 40 + 0.5 * 600), rate * (0.5 * 960 + 0.5 * 400), rate * 300
    assert found.loc[W, "million_tokens"].tolist() == pytest.approx(
        [cached, computed, output, cached + computed + output]
    )
    # racks 3:1; the hall, 0.9 M, on 1 + 2 + 6 M in proportion
    assert found.loc[W, "npv_usd"].tolist() == pytest.approx([1.1e6, 2.2e6, 6.6e6, 9.9e6])
    assert found.loc[(W, "output"), "usd_per_million_tokens"] == pytest.approx(6.6e6 / output)
    worth = (cached * 0.1 + computed * 1.0 + output * 4.0) / (cached + computed + output)
    assert found.loc[(W, "blended"), "market_usd_per_million_tokens"] == pytest.approx(worth)
    assert found.loc[(W, "blended"), "cost_per_market"] == pytest.approx(9.9e6 / (cached + computed + output) / worth)
    assert found.loc[""].equals(found.loc[W])  # one workload is the plan


def test_what_stands_at_the_start_is_used_up_too():
    """Two racks of 1 M USD, four of twenty quarters old: worth 0.64 M each; no payment shows it."""
    tables, plan = worked()
    standing(tables, "g", 2)
    found = unit_costs_table(instance(tables), plan).set_index(["workload", "tokens"])["npv_usd"]
    assert found["", "blended"] == pytest.approx(9.9e6 + 1.28e6)


def test_a_cmx_rack_and_lpx_are_paid_by_who_uses_them_and_idle_ones_by_all():
    tables, plan = worked()
    name = store(tables, "cmx")
    edit(tables, "serve", {"point": "p0"}, lpx_sku="l")
    plan["serving"]["lpx_racks"] = 2.0
    plan["cash"] = cash(("g", 8e6), ("k", 1e6), ("l", 3e6), ("e", 4e6), ("r", 1e6))
    lone = unit_costs_table(instance(tables), plan).set_index(["workload", "tokens"])["npv_usd"]
    assert lone["", "output"] == pytest.approx(9e6 * 17 / 12)  # enclosures and frame serve nothing: 5 M on 12 M
    parked = frame("kv_placement", [("2027Q2", SITE, W, name, "cmx", 1e12, 5.0, 1e9, 1e9, 60.0, BASE, PEAK)])
    plan["kv_placement"] = pd.concat([plan["kv_placement"], parked], ignore_index=True)
    used = unit_costs_table(instance(tables), plan).set_index(["workload", "tokens"])["npv_usd"]
    assert used[W].tolist() == pytest.approx([6e6, 2e6, 9e6, 17e6])


@pytest.mark.parametrize(
    ("factor", "said"), [(1.0, ""), (2.9, ""), (3.1, "% of"), (1 / 2.9, ""), (1 / 3.1, "3.1 times")]
)
def test_a_warning_begins_at_three_times_the_market_either_way(factor, said):
    tables, plan = worked()
    base = unit_costs_table(instance(tables), plan).set_index(["workload", "tokens"])
    ratio = base.loc[(W, "blended"), "cost_per_market"]
    tables, plan = worked(tuple(ratio * factor * usd for usd in (0.1, 1.0, 4.0)))
    found = unit_costs_table(instance(tables), plan)
    assert found["cost_per_market"].iloc[3] == pytest.approx(1 / factor)
    sentences = cost_warnings(found)
    assert len(sentences) == (2 if said else 0)  # the plan and its workload
    assert all(said in sentence for sentence in sentences)


def test_nothing_served_has_no_cost_per_token_and_a_price_of_nothing_no_ratio():
    tables, plan = worked((0.0, 0.0, 0.0))
    free = unit_costs_table(instance(tables), plan)
    assert free["cost_per_market"].isna().all()
    assert cost_warnings(free) == []
    nothing = {name: frame(name, []) for name in TABLES} | {"cash": plan["cash"]}
    assert unit_costs_table(instance(tables), nothing).empty


@pytest.mark.slow
def test_a_plan_states_its_unit_costs_and_they_sum_to_its_money(tmp_path):
    old = fleet(("a", "hgx-h200", 4, "2025Q1", 3e5))
    agent = {"scenario": "coding-agentic", "context_cap_tokens": 131_072}
    peaks = {"chat": [20.0] * 3, "agent": [2.0] * 3}
    case = tiny(peaks=peaks, workloads={"agent": agent}, tables={"fleet": old})
    plan = planned(case, gap=0.01)
    table = plan.tables["unit_costs"].set_index(["workload", "tokens"])["npv_usd"]
    spent = plan.tables["cash"].query("line != 'look-ahead shortfall'")["npv_usd"].sum()
    h200 = case.catalogue.sku("hgx-h200")
    paid = 3e5 - h200.attach_usd - h200.install_usd
    start = 4 * paid * (1 - 2 / h200.life_years) * h200.haircut
    assert table["", "blended"] == pytest.approx(spent + start)
    assert table[["chat", "agent"]].drop("blended", level=1).sum() == pytest.approx(spent + start)
    stated = plan.summary["unit_costs"]
    assert stated == unit_costs_summary(plan.tables["unit_costs"])
    assert stated["blended"]["market_usd_per_million_tokens"] > 0
    assert plan.tables["checks"]["holds"].all()
    plan.write(tmp_path / "plan")
    (tmp_path / "plan" / "tables" / "unit_costs.csv").unlink()  # as an earlier release wrote it
    older = Plan.read(tmp_path / "plan")
    assert older.tables["unit_costs"].empty
    assert not any(math.isnan(v) for kind in json.loads(json.dumps(stated)).values() for v in kind.values() if v)
