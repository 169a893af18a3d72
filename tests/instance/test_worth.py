"""What an unserved request of the look-ahead is worth: its tokens, by class, at the lengths of its quarter."""

from __future__ import annotations

import pytest
from solved_case import built
from tiny_case import tiny

from procure.case.settings import TOKEN_WORTHS
from procure.catalogue import Catalogue
from procure.demand.reuse import LAST_AGE_S, packaged_curve

FIXED = {f"input_{name}_tokens": 10_000.0 for name in ("mean", "p50", "p90", "p99")}
ROW = {
    **FIXED,
    "context_cap_tokens": 160_000,
    "shared_prefix_tokens": 1_000.0,
    "output_thinking_tokens": 300.0,
    "output_visible_tokens": 200.0,
    "reuse_curve": "none",
}
PRICES = dict(zip(TOKEN_WORTHS, (0.1, 0.6, 2.4), strict=True))


def worths(row=None, quarters=1, **settings):
    """USD per request of each quarter."""
    case = tiny(workloads={"chat": {**ROW, **(row or {})}}, planned=quarters, settings={**PRICES, **settings})
    return built(case)["short_prices"]["usd_per_request"].tolist()


@pytest.mark.thorough
def test_a_request_is_worth_its_tokens_by_class():
    by_hand = (1_000 * 0.1 + 9_000 * 0.6 + 500 * 2.4) / 1e6
    assert worths() == pytest.approx([by_hand] * 3)


@pytest.mark.thorough
def test_what_returns_reuse_is_worth_the_price_of_cached_input():
    """Agentic coding: R within an hour and p of the packaged curve, the shared prefix for all others."""
    curve = packaged_curve("agentic-coding", Catalogue.read())
    returned, reused = float(curve.at(LAST_AGE_S)), curve.reused_share
    held = 10_000 * returned * reused + 1_000 * (1 - returned)
    by_hand = (held * 0.1 + (10_000 - held) * 0.6 + 500 * 2.4) / 1e6
    assert worths({"reuse_curve": "agentic-coding"})[0] == pytest.approx(by_hand, rel=1e-4)


@pytest.mark.parametrize("growth", [0.0, 0.5, 1.5])
@pytest.mark.thorough
def test_a_token_is_worth_the_same_however_long_sequences_grow(growth):
    """Priced at first-quarter lengths, a token of a prompt that had doubled was worth half."""
    grows = {"isl_growth_per_year": growth, "growth_route": "first_prompt"}
    got = worths({"output_growth_per_year": growth}, quarters=4, **grows)
    for t, usd in enumerate(got):
        factor = (1 + growth) ** (t / 4)
        tokens = 1_000 * 0.1 + (10_000 * factor - 1_000) * 0.6 + 500 * factor * 2.4
        assert usd == pytest.approx(tokens / 1e6, rel=1e-9)


@pytest.mark.thorough
def test_longer_first_prompts_are_reused_and_so_cheaper_by_the_token():
    row = {"reuse_curve": "agentic-coding"}
    short, *_, long = worths(row, quarters=4, isl_growth_per_year=1.0, growth_route="first_prompt")
    factor = 2 ** (5 / 4)
    assert short < long < factor * short


@pytest.mark.slow
def test_a_worth_that_the_workload_states_stands_before_the_settings():
    assert worths({TOKEN_WORTHS[2]: 0.0})[0] == pytest.approx((1_000 * 0.1 + 9_000 * 0.6) / 1e6)
    flat = worths({"lookahead_short_usd_per_request": 0.7}, quarters=4, isl_growth_per_year=1.0)
    assert flat == [0.7] * 6
