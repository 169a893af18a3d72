"""Tiny cases drawn at random: trying every plan still finds the optimum that the program finds.

``PROCURE_CASES=200 pytest tests/oracle/test_property.py`` draws that many; the suite draws a few.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from oracle_brute import BruteForce
from solved_case import found, planned
from tiny_case import budget, fleet, tiny

from procure.case.settings import TOKEN_WORTHS

GB, H200 = "gb300-nvl72", "hgx-h200"
AGENT = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}}


@st.composite
def cases(draw):
    """One site, one or two workloads, new racks beside old servers, limits that bind now and then."""
    lead = draw(st.integers(0, 1))
    planned = draw(st.integers(1, 2))
    length = planned + lead + 2
    share = draw(st.floats(0.3, 1.0))
    level = draw(st.floats(20.0, 160.0))
    growth = draw(st.floats(0.8, 1.4))
    two = draw(st.booleans())
    peaks = {"chat": [level * share * growth**t for t in range(length)]}
    if two:
        # rounded: a share of all but one is no peak, or one that a case may state
        peaks["agent"] = [round(level * (1 - share) / 4 * growth**t, 4) for t in range(length)]
    tables = {"fleet": fleet(("a", H200, draw(st.integers(1, 2)), "2024Q2", draw(st.floats(1e5, 4e5))))}
    if draw(st.booleans()):
        tables["budget"] = budget(*draw(st.lists(st.floats(0.0, 1e7), min_size=length, max_size=length)))
    site = {
        "positions": draw(st.floats(1.0, 4.4)),
        "power_kw": draw(st.floats(150.0, 600.0)),
        "power_basis": draw(st.sampled_from(["it", "facility"])),
    }
    figures = {
        (GB, "min_order"): draw(st.integers(1, 2)),
        (GB, "price_usd"): draw(st.floats(1e6, 6e6)),
        (GB, "haircut"): draw(st.floats(0.3, 1.0)),
    }
    chosen = {
        "budget_carry": draw(st.sampled_from(["none", "within_year", "unlimited"])),
        "budget_basis": draw(st.sampled_from(["payment", "commitment"])),
        "vintage": draw(st.sampled_from(["none", "base"])),
        "discount_rate_per_year": draw(st.floats(0.0, 0.2)),
        **{name: draw(st.floats(0.5, 50.0)) for name in TOKEN_WORTHS},
        "fiscal_year_start": draw(st.integers(1, 4)),
    }
    return tiny(
        skus=(GB,), peaks=peaks, planned=planned, lead=lead, workloads=AGENT if two else None, sites=(site,),
        figures=figures, settings=chosen, tables=tables,
    )  # fmt: skip


def no_plan_is_cheaper_than_the_optimum(case):
    short_bp, cost, cost_a_little_above = BruteForce(case, {GB: 2}).best()
    plan, whole = planned(case, gap=1e-6), found(case, "whole", 1e-6)
    for short, usd in (
        (plan.summary["shortfall"]["share"] * 1e4, plan.objective_usd),
        (whole.short_bp, whole.cost_usd),
    ):
        size = abs(usd) * 1e-5 + 2.0
        assert short == pytest.approx(short_bp, abs=1.2e-2)
        assert cost_a_little_above - size <= usd <= cost + size
    assert plan.tables["checks"]["holds"].all()


CASES = int(os.environ.get("PROCURE_CASES", "12"))
"""Cases of both draws together."""


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("draw", range(2))
def test_no_plan_is_cheaper_than_the_optimum(draw):
    """Two draws, which run beside each other; each begins with the simplest case."""
    some = settings(max_examples=CASES // 2, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    seed(draw)(some(given(cases())(no_plan_is_cheaper_than_the_optimum)))()
