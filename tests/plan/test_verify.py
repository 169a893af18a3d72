"""Verification: a plan as solved passes; one number changed, and the check that is about it fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from solved_case import Solved, planned, solved, solved_rich
from tiny_case import tiny

from procure.instance import Instance
from procure.plan import Plan
from procure.plan.claims import rows_once
from procure.plan.tolerance import differ, over
from procure.plan.verify import verify


@pytest.fixture(scope="module")
def full():
    return solved_rich()


@pytest.fixture(scope="module")
def short():
    """Some of the demand of the planned quarters cannot be served."""
    return solved(tiny(peaks={"chat": [100, 120, 130, 140]}, planned=2, sites=({"positions": 2.0},)))


def changed(plan: Plan, table: str, column: str, change: Callable[[Any], Any], where: str = "") -> Plan:
    """A plan with one cell changed: in the first row, or the first that a query finds."""
    frame = plan.tables[table].copy()
    row = frame.query(where).index[0] if where else frame.index[0]
    value = change(frame.loc[row, column])
    if not isinstance(value, str) and not np.issubdtype(frame[column].dtype, np.bool_):
        frame[column] = frame[column].astype(float)
    frame.loc[row, column] = value
    return Plan(plan.summary, {**plan.tables, table: frame})


def more(value: float) -> float:
    return value * 1.1 + 2.0


def less(value: float) -> float:
    return value * 0.9


def one_more(value: float) -> float:
    return value + 1


CHOICES = "every choice is one that the case offers"
FLEET = "fleet balances by vintage"
SOLD, BRINGS = "sales are ones that can be", "sales bring what they bring"
ORDERS = "orders arrive when they can"
DEMAND = "demand is served or counted short"
PREFILL = "prefill happens where decode does"
REUSE = "reuse has a kept copy behind it"
TTFT = "SLA: time to first token"
TPS = "SLA: TPS/User"
SLA = "SLA: shares, targets and tasks are as stated"
STRUCTURE = "pods, LPX copies and expansions are ones that can be"
HOLDS = "every limit holds"
LIMITS = "limits are as stated"
STATED = "demand and parked caches are as stated"
MONEY = "money is as stated and sums to the objective"
TOKENS = "costs of tokens are as stated"
SUMMARY = "plan.json agrees with the tables"
HASH = "the plan answers this case"

TAMPERED: list[tuple[str, str, str, Any, str]] = [
    # check that must fail, table, column, change, row
    (CHOICES, "serving", "racks", less, ""),
    (CHOICES, "serving", "lpx_racks", less, "lpx_racks > 0"),
    (CHOICES, "prefill", "racks", less, ""),
    (CHOICES, "serving", "point", lambda p: p.replace("|0|", "|9|", 1), ""),
    (CHOICES, "prefill", "store", lambda s: "tape", ""),
    (FLEET, "fleet", "retired", one_more, ""),
    (FLEET, "fleet", "closing", one_more, ""),
    (FLEET, "fleet", "opening", one_more, "quarter == '2027Q2'"),
    (FLEET, "fleet", "delivered", one_more, "origin == 'purchase'"),
    (FLEET, "fleet", "vintage", lambda v: "2026Q1", "origin == 'purchase'"),
    (FLEET, "purchases", "count", one_more, ""),
    (SOLD, "sales", "count", one_more, ""),
    (SOLD, "sales", "origin", lambda v: "order", ""),
    (BRINGS, "sales", "unit_price_usd", more, ""),
    (BRINGS, "sales", "book_loss_usd", more, ""),
    (BRINGS, "sales", "received_quarter", lambda v: "2027Q4", ""),
    (BRINGS, "sales", "freed_quarter", lambda v: "2027Q1", ""),
    (ORDERS, "purchases", "count", one_more, ""),
    (ORDERS, "purchases", "unit_price_usd", more, ""),
    (ORDERS, "purchases", "unit_attach_usd", more, ""),
    (ORDERS, "purchases", "capex_usd", more, ""),
    (ORDERS, "purchases", "delivery_quarter", lambda q: "2027Q3", ""),
    (ORDERS, "purchases", "span", lambda s: "lookahead", "span == 'planned'"),
    (DEMAND, "serving", "requests_per_s", less, ""),
    (PREFILL, "prefill", "requests_per_s", less, ""),
    (REUSE, "retention", "kept_requests_per_s", less, ""),
    (REUSE, "kv_placement", "parked_bytes", less, ""),
    (REUSE, "kv_placement", "read_bytes_per_s", more, "read_bytes_per_s > 1e6"),
    (REUSE, "kv_placement", "write_bytes_per_s", less, "write_bytes_per_s > 1e6"),
    (SLA, "sla", "served_share", less, ""),
    (SLA, "sla", "ttft_share", less, ""),
    (SLA, "sla", "ttft_target_s", more, ""),
    (SLA, "sla", "tps_target", more, ""),
    (SLA, "sla", "task_s", less, ""),
    (STRUCTURE, "lpx_copies", "racks", less, ""),
    (STRUCTURE, "lpx_copies", "copies", one_more, ""),
    (STRUCTURE, "pods", "pods", lambda n: 0, "quarter == '2027Q3'"),
    (STRUCTURE, "expansions", "count", lambda n: n + 2, ""),
    (STRUCTURE, "expansions", "capex_usd", less, ""),
    (HOLDS, "fleet", "closing", lambda n: 0, "sku == 'vr-nvl72'"),
    (HOLDS, "expansions", "count", lambda n: 0, ""),
    (LIMITS, "limits", "used", less, "used > 0"),
    (LIMITS, "limits", "limit", more, ""),
    (LIMITS, "limits", "slack", more, ""),
    (LIMITS, "limits", "binding", lambda b: not b, ""),
    (STATED, "demand", "requests_per_s", less, ""),
    (STATED, "demand", "kv_bytes", less, ""),
    (STATED, "kv_placement", "hits_per_s", more, ""),
    (STATED, "kv_placement", "longest_age_s", more, ""),
    (MONEY, "cash", "cash_usd", less, ""),
    (MONEY, "cash", "npv_usd", less, ""),
    (MONEY, "cash", "discount_factor", less, ""),
    (MONEY, "costs", "npv_usd", more, ""),
    (TOKENS, "unit_costs", "npv_usd", less, "npv_usd > 0"),
    (TOKENS, "unit_costs", "million_tokens", less, "million_tokens > 0"),
    (TOKENS, "unit_costs", "usd_per_million_tokens", more, "tokens == 'blended'"),
    (TOKENS, "unit_costs", "market_usd_per_million_tokens", more, ""),
    (TOKENS, "unit_costs", "tokens", lambda name: "thinking", "tokens == 'output'"),
    (SUMMARY, "unit_costs", "usd_per_million_tokens", more, "tokens == 'output'"),
    (MONEY, "expansions", "capex_usd", less, ""),
    (MONEY, "purchases", "unit_price_usd", less, ""),
]


@pytest.mark.slow
def test_a_plan_as_solved_passes_every_check(full, short):
    assert full.failing(full.plan) == set()
    assert short.failing(short.plan) == set()


@pytest.mark.parametrize(
    ("check", "table", "column", "change", "where"),
    [pytest.param(*row, id=f"{row[1]}.{row[2]}-{i}") for i, row in enumerate(TAMPERED)],
)
def test_one_changed_number_fails_the_check_that_is_about_it(full, check, table, column, change, where):
    assert full.fails(check, changed(full.plan, table, column, change, where))


@pytest.mark.parametrize(
    ("check", "key", "value"),
    [
        (HASH, "input_hash", "0" * 64),
        (MONEY, "objective_usd", lambda v: v * 1.0001),
        (SUMMARY, "gap", lambda v: v + 0.01),
        (SUMMARY, "bound_usd", lambda v: v + 1e8),
        (SUMMARY, "status", "short"),
        (SUMMARY, "purchases", []),
        (SUMMARY, "shortfall", {"share": 0.0, "bound": 0.0, "workloads": [{"quarter": "2027Q1", "workload": "code",
                                                                         "share": 0.2, "cause": ""}]}),
        (DEMAND, "shortfall", {"share": 0.1, "bound": 0.0, "workloads": []}),
    ],
)  # fmt: skip
def test_a_changed_summary_fails_its_check(full, check, key, value):
    before = full.plan.summary[key]
    summary = {**full.plan.summary, key: value(before) if callable(value) else value}
    assert full.fails(check, Plan(summary, full.plan.tables))


@pytest.mark.thorough
def test_a_hidden_shortfall_is_found(short):
    assert short.fails(DEMAND, changed(short.plan, "sla", "short_share", lambda s: s / 2, "short_share > 0.1"))
    optimal = {**short.plan.summary, "status": "optimal"}
    assert short.fails(SUMMARY, Plan(optimal, short.plan.tables))


@pytest.mark.parametrize(
    ("terms", "may", "fault"),
    [
        ({"resale_lockup_quarters": 30}, 1, "sold within 30 quarters of service"),
        ({"resale_per_quarter": 0}, 1, ""),
        ({}, 0, "may not be sold"),
    ],
)
@pytest.mark.thorough
def test_a_sale_that_the_terms_do_not_allow_is_found(full, terms, may, fault):
    """The same plan against a case that locks old servers up, whose market takes none, or that keeps them."""
    tables = {
        **full.instance.tables,
        "skus": full.instance["skus"].assign(**terms),
        "fixed": full.instance["fixed"].assign(retirable=may),
    }
    checks = verify(full.plan, full.case, Instance(tables, full.instance.settings)).set_index("check")
    assert checks["holds"][SOLD] == (not fault)
    assert fault in str(checks["detail"][SOLD])
    assert checks["holds"]["every limit holds"] == ("resale_per_quarter" not in terms)


def test_a_sale_in_a_quarter_that_orders_the_same_sku_is_found(full):
    order = full.plan.tables["purchases"].iloc[[0]].assign(sku="hgx-h200", quarter="2027Q1")
    both = pd.concat([full.plan.tables["purchases"], order], ignore_index=True)
    assert full.fails(SOLD, Plan(full.plan.summary, {**full.plan.tables, "purchases": both}))


def test_service_slower_than_promised_is_found(full):
    """The same plan against a case that promises more: every point that serves it is too slow."""
    serve = full.instance["serve"].assign(tps_margin=0.5)
    instance = Instance({**full.instance.tables, "serve": serve}, full.instance.settings)
    assert Solved(full.case, instance, full.plan).fails(TPS, full.plan)


def test_first_tokens_that_come_late_are_found(full):
    prefill = full.instance["prefill"].assign(late_share=1.0)
    instance = Instance({**full.instance.tables, "prefill": prefill}, full.instance.settings)
    assert Solved(full.case, instance, full.plan).fails(TTFT, full.plan)


@pytest.mark.thorough
def test_verification_knows_no_word_of_the_program():
    code = (
        "import sys, procure.plan.verify\n"
        "words = ('pyomo', 'highspy', 'procure.program', 'procure.solver')\n"
        "print([m for m in sys.modules if m.startswith(words) or m.endswith('.program')])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("key", ["planned_quarters", "lookahead_quarters"])
def test_the_quarters_that_a_plan_states_are_those_of_the_case(full, key):
    summary = {**full.plan.summary, key: full.plan.summary[key][:-1]}
    assert full.fails(SUMMARY, Plan(summary, full.plan.tables))


def test_what_is_no_number_is_neither_within_a_limit_nor_the_same():
    assert over(float("nan"), 1.0)
    assert differ(float("nan"), 1.0)
    assert not differ(float("inf"), float("inf"))
    assert not over(5.0, float("inf"))


@pytest.mark.parametrize(("sku", "faults"), [("lpx-b", 0), ("lpx", 1)])
def test_copies_of_a_card_on_two_lpx_skus_are_two_rows_and_on_one_of_them_a_row_too_many(full, sku, faults):
    copies = full.plan.tables["lpx_copies"].iloc[[0]]
    both = pd.concat([copies, copies.assign(sku=sku)], ignore_index=True)
    assert len(list(rows_once(Plan(full.plan.summary, {**full.plan.tables, "lpx_copies": both})))) == faults


@pytest.mark.parametrize("peak", [1e12, 1e-6, 0.0])
@pytest.mark.thorough
def test_a_plan_verifies_whatever_the_size_of_its_demand(peak):
    case = tiny(peaks={"chat": [peak] * 3})
    assert planned(case).tables["checks"]["holds"].all()
