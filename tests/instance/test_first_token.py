"""Who sees the first token in time: seconds as ``procure perf`` has them, late shares exact and continuous."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from solved_case import built
from tiny_case import tiny

from procure import demand, performance
from procure.case import Case
from procure.demand.lengths import SHARES
from procure.instance import Instance
from procure.instance.first_token import at_best, late_shares, out_of_reach, reached_s, share_in_time
from procure.performance.figure import Load, figure

GB = "gb300-nvl72"
ONE_LENGTH = dict.fromkeys(("input_mean_tokens", "input_p50_tokens", "input_p90_tokens", "input_p99_tokens"), 8000.0)


def setup(case: Any, quarter: str) -> performance.Setup:
    """How the case's one workload is served in a quarter."""
    row = case.tables["workloads"].iloc[0]
    rules = performance.Rules.of(performance.premises_of(case.catalogue))
    vintage = rules.software.vintage_at(case.settings.vintage, quarter)
    return performance.Setup(row["weight_precision"], row["kv_format"], vintage, rules)


@pytest.mark.thorough
def test_a_plan_and_perf_give_a_prompt_the_same_time_to_first_token():
    fixed = {"chat": {**ONE_LENGTH, "reuse_curve": "none", "shared_prefix_tokens": 0.0}}
    case = tiny(workloads=fixed)
    card = next(iter(case.cards.values()))
    row = case.tables["workloads"].iloc[0]
    load = Load(card, row["weight_precision"], row["kv_format"], 8_000.0, 300.0)
    prefill = built(case)["prefill"]
    assert prefill["t"].tolist() == [0, 1, 2]
    for t, quarter in enumerate(case.quarters):
        told = figure([GB], load, setup(case, str(quarter)), speeds=(20.0,))["ttft_s"].item()
        assert prefill["ttft_s"].iloc[t] == pytest.approx(told)


LOG_NORMAL = {"input_mean_tokens": 8_000.0 * math.exp(0.5), "input_p50_tokens": 8_000.0,
              "input_p90_tokens": 8_000.0 * math.exp(1.2815515655446004),
              "input_p99_tokens": 8_000.0 * math.exp(2.3263478740408408)}  # fmt: skip
"""Lengths whose logarithm is normal with standard deviation 1 around 8,000 tokens."""


def instance_of(ttft_s: float, **stated: Any) -> Instance:
    given = {**LOG_NORMAL, "reuse_curve": "none", "shared_prefix_tokens": 0.0, "ttft_s": ttft_s, **stated}
    return built(tiny(workloads={"chat": given}))


def late_of_all(instance: Instance) -> float:
    full = instance["prefill"].query("t == 0 and store == 'recompute'").set_index("bucket")["late_share"]
    rate = instance["rates"].query("t == 0").set_index("bucket")["requests_per_s"]
    return float((full * rate).sum() / rate.sum())


def seconds(case: Any, tokens: float, asked: float = 0.9) -> float:
    card, queue = next(iter(case.cards.values())), performance.Queue(0.75, asked)
    given = {"new_tokens": [tokens], "prefix_tokens": [0.0], "queue": queue, "link_share": 0.8}
    return float(performance.first_token_s(case.catalogue.sku(GB), card, setup(case, "2027Q1"), **given)[0])


@cache
def log_normal() -> tuple[Case, float]:
    """The case of these prompts, and their median in tokens."""
    case = tiny(workloads={"chat": LOG_NORMAL})
    lengths = demand.build(case).lengths["2027Q1", "chat"]
    return case, math.sqrt(lengths[199] * lengths[200])  # scaled from 8,000, as the mean is that of a bounded tail


def quantile_s(share: float, asked: float = 0.9) -> float:
    """TTFT of the prompt that is longer than a share of the log-normal prompts, its wait that of the share asked."""
    case, median = log_normal()
    assert median == pytest.approx(8_000.0, rel=0.02)
    return seconds(case, median * math.exp(NormalDist().inv_cdf(share)), asked)


@pytest.mark.parametrize("share", [0.5, 0.7, 0.86, 0.9, 0.945, 0.99, 0.997])
@pytest.mark.thorough
def test_the_late_share_is_that_of_the_distribution_at_any_quantile(share):
    """The TTFT of the log-normal's own quantile is met by that share of the requests, whatever the buckets are."""
    assert late_of_all(instance_of(quantile_s(share))) == pytest.approx(1 - share, abs=2e-4)


@pytest.mark.slow
def test_the_late_share_has_no_step_as_the_target_moves():
    targets = np.linspace(0.15, 1.2, 71)
    late = np.array([late_of_all(instance_of(t)) for t in targets[::10]])
    assert (np.diff(late) < 0).all()
    curve = instance_of(0.3)["first_token"].query("t == 0 and store == 'recompute'")
    for target, value in zip(targets[::10], late, strict=True):  # the curve tells the same between its points
        assert np.interp(target, curve["ttft_s"], curve["share"]) == pytest.approx(1 - value, abs=0.02)


def test_the_share_in_time_is_read_between_two_points():
    points = np.linspace(1.0, 5.0, len(SHARES))
    upto = np.cumsum(SHARES) - SHARES / 2
    assert share_in_time(points, 0.99) == 0.0
    assert share_in_time(points, 5.0) == 1.0
    assert share_in_time(points, (points[200] + points[201]) / 2) == pytest.approx((upto[200] + upto[201]) / 2)
    flat = np.full(len(SHARES), 2.0)
    assert (share_in_time(flat, 2.0), share_in_time(flat, 1.999)) == (1.0, 0.0)


def test_late_requests_are_the_longest():
    ends = np.array([0.5, 0.8, 1.0])
    assert late_shares(ends, 0.7).tolist() == pytest.approx([0.0, 1 / 3, 1.0])
    assert late_shares(ends, 1.0).tolist() == [0.0, 0.0, 0.0]
    assert late_shares(ends, 0.0).tolist() == [1.0, 1.0, 1.0]


def test_the_ttft_reached_is_the_quantile_of_the_mix():
    """Half of the requests below 0.5 of their lengths take 1 to 2 s; the others 2 to 4 s on one pool, 8 on another."""
    shares = np.array([0.0, 0.5, 1.0])
    one, other = np.array([1.0, 2.0, 4.0]), np.array([1.0, 8.0, 8.0])
    low, high = (0.0, 0.5), (0.5, 1.0)
    parts = [(0.5, low, (shares, one)), (0.25, high, (shares, one)), (0.25, high, (shares, other))]
    assert reached_s(parts, 0.25) == pytest.approx(1.5)
    assert reached_s(parts, 0.7) == pytest.approx(2.0 + 2.0 * 0.2 / 0.25)
    assert reached_s(parts, 0.9) == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        (0.2, 1.0),  # half of the short ones come at once
        (0.5, 2.0),  # 0.25 at 1 s, and up by 0.25 to 2 s
        (0.75, 6.0),  # the long ones are in time from 4 s to 8 s
        (0.9, 7.2),
        (1.0, 8.0),  # 9 s on the curve of the short ones are of requests that are longer
    ],
)
def test_the_ttft_reached_is_exact_on_the_nodes_and_between_them(asked, seconds):
    """Shorter half: half of it at once at 1 s, the rest by 2 s. Longer half: from 4 s on to 8 s."""
    short = np.array([0.0, 0.25, 0.5, 1.0]), np.array([1.0, 1.0, 2.0, 9.0])
    long = np.array([0.0, 0.5, 1.0]), np.array([3.0, 4.0, 8.0])
    parts = [(0.5, (0.0, 0.5), short), (0.5, (0.5, 1.0), long)]
    assert reached_s(parts, asked) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(("asked", "wanted"), [(0.80, 0.0), (0.86, 0.0), (0.90, 0.04), (0.99, 0.13)])
@pytest.mark.thorough
def test_what_is_out_of_reach_is_late_beyond_the_allowance_and_the_longest(asked, wanted):
    target = quantile_s(0.86, asked)
    instance = instance_of(target, ttft_share=asked)
    away = instance["out_of_reach"].query("t == 0").set_index("bucket")["share"]
    rate = instance["rates"].query("t == 0").set_index("bucket")["requests_per_s"]
    lost = (away * (rate / rate.sum()).reindex(away.index)).sum()
    assert lost == pytest.approx(wanted, abs=3e-4)
    assert list(away.index) == sorted(away.index) == list(rate.index[len(rate) - len(away) :])
    assert all(away.iloc[1:] > 0.99)  # a bucket gives only once the longer ones have given all that is late
    best = at_best(instance.tables)[0, "chat"]
    assert best.in_time_share == pytest.approx(0.86, abs=3e-4)
    assert best.short_share == pytest.approx(wanted, abs=3e-4)
    if asked == 0.86:
        assert best.reached_s == pytest.approx(target, rel=2e-3)


@pytest.mark.thorough
def test_a_pool_that_cannot_stand_brings_nothing_within_reach():
    instance = instance_of(0.3, ttft_share=0.99)
    assert len(instance["out_of_reach"])
    late = instance["skus"].assign(first_order_t=1)
    none = out_of_reach({**instance.tables, "skus": late})
    assert 0 not in set(none["t"])
    assert not at_best({**instance.tables, "skus": late}).keys() & {(0, "chat")}


@pytest.mark.thorough
def test_at_best_only_the_returns_that_reach_their_copy_are_hits():
    """Hits of one second, misses of one minute: with 70% of the returns reaching their copy, so many are in time."""
    agent = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072, "ttft_s": 0.2}}
    peaks = {"agent": [30.0] * 3}

    def best(local: float) -> float:
        case = tiny(peaks=peaks, workloads=agent, settings={"rack_local_return_share": local})
        return at_best(built(case).tables)[0, "agent"].in_time_share

    none, some, all_ = best(0.0), best(0.7), best(1.0)
    assert 0.0 < none < some < all_ < 1.0
    assert some == pytest.approx(none + 0.7 * (all_ - none), rel=1e-6)
