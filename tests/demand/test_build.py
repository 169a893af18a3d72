"""Laws of demand: lengths to buckets, growth, caps, reuse by age, faults."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tiny_case import quarter_names, tiny

from procure.case.defaults import LENGTH_COLUMNS
from procure.catalogue import KINDS, Catalogue
from procure.catalogue.fact import packaged_rows
from procure.demand import build
from procure.demand import reuse as reuse_of
from procure.demand.reuse import LAST_AGE_S, Curve, interval_ends, intervals
from procure.errors import InputError

LONG, SHORT = "deepseek-v4-pro", "mistral-7b-v0.1"
"""Cards of 1,048,576 and 32,768 tokens at most."""
CATALOGUE = Catalogue.read()
SCENARIOS = CATALOGUE.packaged.scenarios


def packaged_curve(name):
    return reuse_of.packaged_curve(name, CATALOGUE)


def case(rows=None, *, growth=0.0, route="first_prompt", quarters=4, rate=100.0, tables=None):
    """A case of the given workload rows, one per scenario where none are given; nothing may be bought."""
    rows = rows or [{"workload": name, "scenario": name} for name in SCENARIOS]
    peaks = {row["workload"]: [rate] * (quarters + 2) for row in rows}
    stated = {row["workload"]: {"card": LONG} | row for row in rows}
    settings = {
        "planned_quarters": quarters,
        "lookahead_quarters": 0,
        "isl_growth_per_year": growth,
        "growth_route": route,
    }
    forecast = pd.DataFrame(
        [(q, w, rate) for q in quarter_names(quarters) for w in peaks],
        columns=["quarter", "workload", "peak_requests_per_s"],
    )
    return tiny(
        skus=(),
        peaks=peaks,
        workloads=stated,
        planned=quarters,
        settings=settings,
        tables={"forecast": forecast, **(tables or {})},
    )


def demand(*args, **kwargs):
    return build(case(*args, **kwargs))


@cache
def demand_of_all(**how):
    """The demand of a workload of every scenario, built once; nobody changes it."""
    return demand(**how)


def library(field):
    """A field of every scenario."""
    return np.array([CATALOGUE.premise(f"scenario/{name}/{field}").number for name in SCENARIOS])


@pytest.mark.thorough
def test_requests_of_the_buckets_sum_to_the_forecast():
    rates = demand_of_all(rate=37.5).rates.groupby(["quarter", "workload"])["requests_per_s"].sum()
    assert len(rates) == 4 * len(SCENARIOS)
    np.testing.assert_allclose(rates, 37.5, rtol=1e-12)


def lognormal_mean(function, p50, sigma, cap):
    """Mean of a function of a log-normal length cut at a cap, by adaptive quadrature."""
    return quad(lambda z: function(min(p50 * np.exp(sigma * z), cap)) * norm.pdf(z), -4, 4, limit=400)[0]


P50, CAP = 6_000.0, 131_072.0


@cache
def buckets_of(sigma):
    """Buckets of a workload that states mean and three quantiles of a log-normal."""
    row = {
        "workload": "w",
        "scenario": "chat",
        "input_mean_tokens": lognormal_mean(lambda x: x, P50, sigma, np.inf),
        "input_p50_tokens": P50,
        "input_p90_tokens": P50 * np.exp(1.28155 * sigma),
        "input_p99_tokens": P50 * np.exp(2.32635 * sigma),
        "context_cap_tokens": CAP,
    }
    return demand([row], quarters=1).buckets


@pytest.mark.parametrize(
    ("name", "function", "tolerance"),
    [
        ("requests", lambda x: 1.0, 1e-3),
        ("tokens", lambda x: x, 0.01),
        ("KV bytes of full attention beside fixed state", lambda x: x + 3_000, 0.01),
        ("prefill, linear and quadratic", lambda x: x + x * x / 40_000, 0.01),
        ("quadratic", lambda x: x * x, 0.01),
        ("KV bytes of five layers in six with a window of 1,024", lambda x: x + 5 * min(x, 1024), 0.02),
    ],
)
@pytest.mark.parametrize("sigma", [0.4, 0.8, 1.1])
def test_bucket_means_equal_those_of_the_log_normal_that_four_numbers_state(name, function, tolerance, sigma):
    buckets = buckets_of(sigma)
    got = sum(s * function(x) for s, x in zip(buckets["share"], buckets["input_tokens"], strict=True))
    assert got == pytest.approx(lognormal_mean(function, P50, sigma, CAP), rel=tolerance)


@pytest.mark.parametrize("window", [512, 1024, 4096, 8192])
def test_nodes_give_the_bytes_of_windowed_layers_within_one_percent(window):
    """Five layers in six with a window, over all packaged scenarios."""
    from procure.demand import lengths

    points = lengths.from_quantiles(*(library(name) for name in LENGTH_COLUMNS))
    points = np.minimum(points, library("context_cap_tokens")[:, None])
    made = lengths.buckets(points)

    def size(x):
        return x + 5 * np.minimum(x, window)

    got = (made.share[..., None] * made.node_share * size(made.node_tokens)).sum(axis=(1, 2))
    np.testing.assert_allclose(got, size(points) @ lengths.SHARES, rtol=0.0102)
    for power in (1, 2, 3):
        moment = (made.share[..., None] * made.node_share * made.node_tokens**power).sum(axis=(1, 2))
        np.testing.assert_allclose(moment, points**power @ lengths.SHARES, rtol=1e-9)


def test_nodes_lie_around_the_mean_of_their_bucket():
    result = demand_of_all()
    nodes, buckets = result.nodes, result.buckets
    assert len(nodes) == 2 * len(buckets)
    weighted = (
        (nodes["share"] * nodes["input_tokens"]).groupby([nodes[k] for k in ("quarter", "workload", "bucket")]).sum()
    )
    tokens = (buckets.set_index(["quarter", "workload", "bucket"])["share"] * weighted).groupby(["quarter", "workload"])
    expected = (buckets["share"] * buckets["input_tokens"]).groupby([buckets["quarter"], buckets["workload"]])
    pd.testing.assert_series_equal(tokens.sum(), expected.sum(), check_names=False)


def test_quantiles_of_the_library_survive_the_fit_of_the_mean():
    from procure.demand import lengths

    mean, *quantiles = (library(name) for name in LENGTH_COLUMNS)
    points = lengths.from_quantiles(mean, *quantiles)
    np.testing.assert_allclose(points @ lengths.SHARES, mean, rtol=1e-9)
    for given, share in zip(quantiles, (0.5, 0.9, 0.99), strict=True):
        np.testing.assert_allclose(lengths.quantile(points, share), given, rtol=0.03)


@pytest.mark.thorough
def test_lengths_rise_by_bucket_and_stay_below_their_upper_length():
    buckets = demand_of_all(growth=1.0, quarters=14).buckets
    assert (buckets["input_tokens"] > 0).all()
    assert (buckets["input_tokens"] <= buckets["input_upper_tokens"]).all()
    rising = buckets.groupby(["quarter", "workload"])["input_tokens"].apply(lambda x: x.is_monotonic_increasing)
    assert rising.all()


def test_equal_lengths_leave_one_bucket():
    lengths = {f"input_{q}_tokens": 500.0 for q in ("mean", "p50", "p90", "p99")}
    buckets = demand([{"workload": "w", "scenario": "voice", "shared_prefix_tokens": 0} | lengths], quarters=1).buckets
    assert len(buckets) == 1
    assert buckets["input_tokens"][0] == pytest.approx(500)
    assert buckets["share"][0] == pytest.approx(1)


@pytest.mark.parametrize("route", ["first_prompt", "turns", "cap"])
@pytest.mark.thorough
def test_growth_zero_is_the_identity(route):
    grown, still = demand_of_all(growth=0.0, route=route), demand_of_all(quarters=1)
    for quarter, table in grown.buckets.groupby("quarter"):
        now = table.drop(columns="quarter").reset_index(drop=True)
        pd.testing.assert_frame_equal(now, still.buckets.drop(columns="quarter"), obj=quarter)
    assert (grown.reuse_path["return_scale"] == 1).all()
    assert (grown.reuse_path.groupby("workload")["reused_share"].nunique() == 1).all()


def mean_input(result):
    buckets = result.buckets
    weighted = buckets["share"] * buckets["input_tokens"]
    return weighted.groupby([buckets["quarter"], buckets["workload"]]).sum().unstack()


def test_lengths_double_in_four_quarters_at_growth_one():
    rows = [{"workload": "w", "scenario": "coding-agentic", "context_cap_tokens": 1_000_000}]
    means = mean_input(demand(rows, growth=1.0, quarters=5))["w"]
    np.testing.assert_allclose(means / means.iloc[0], 2 ** (np.arange(5) / 4), rtol=1e-6)


def test_a_workload_may_grow_at_its_own_pace():
    rows = [
        {"workload": "own", "scenario": "voice", "isl_growth_per_year": 0.0},
        {"workload": "case", "scenario": "voice", "isl_growth_per_year": np.nan},
    ]
    means = mean_input(demand(rows, growth=0.5, quarters=5))
    assert means["own"].iloc[4] == pytest.approx(means["own"].iloc[0])
    assert means["case"].iloc[4] == pytest.approx(1.5 * means["case"].iloc[0], rel=1e-6)


def test_growth_stopped_by_a_cap_is_reported_with_what_was_wanted():
    result = demand([{"workload": "w", "scenario": "coding-completion"}], growth=1.0, quarters=9)
    note = result.notes.set_index("quarter").loc["2029Q1"]
    assert note["topic"] == "context cap"
    assert note["wanted"] == pytest.approx(4 * 2048)
    assert note["got"] == pytest.approx(mean_input(result)["w"].iloc[8], rel=1e-9)
    assert note["got"] < note["wanted"]
    assert result.buckets["input_upper_tokens"].max() <= 8192


@pytest.mark.thorough
def test_route_cap_lets_contexts_grow_that_the_others_compact():
    rows = [{"workload": "w", "scenario": "coding-completion"}]
    capped, free = (mean_input(demand(rows, growth=1.0, route=r, quarters=5))["w"].iloc[4] for r in ("turns", "cap"))
    assert free == pytest.approx(2 * mean_input(demand(rows, quarters=1))["w"].iloc[0], rel=1e-6)
    assert capped < 0.97 * free


def test_no_context_with_its_output_exceeds_the_card():
    row = {"workload": "w", "scenario": "large-coding", "card": SHORT, "input_mean_tokens": 20_000}
    result = demand([row | {"context_cap_tokens": 32_768, "shared_prefix_tokens": 100}], growth=1.0)
    buckets = result.buckets
    total = buckets["input_upper_tokens"] + buckets["thinking_tokens"] + buckets["visible_tokens"]
    assert total.max() <= 32_768
    assert "context cap" in set(result.notes["topic"])


def test_longer_first_prompts_keep_the_tokens_that_a_return_adds():
    result = demand([{"workload": "w", "scenario": "coding-agentic"}], growth=0.4, quarters=5)
    path = result.reuse_path.set_index("quarter")
    added = (1 - path["reused_share"]) * mean_input(result)["w"]
    np.testing.assert_allclose(added, added.iloc[0], rtol=1e-9)
    assert (path["return_scale"] == 1).all()


def test_more_turns_raise_returns_by_the_session_arithmetic():
    """Lay out one session by hand: n requests, the first of L1 tokens, each next one longer by the same step."""
    result = demand([{"workload": "w", "scenario": "chat"}], growth=0.4, route="turns", quarters=5)
    path, mean = result.reuse_path.set_index("quarter"), mean_input(result)["w"]
    curve = packaged_curve("chat")
    step = (1 - curve.reused_share) * mean.iloc[0]
    turns = 1 / (1 - curve.returned[-1])
    first = mean.iloc[0] - step * (turns - 1) / 2
    later = 1 / (1 - curve.returned[-1] * path["return_scale"].iloc[4])
    assert later > turns
    assert first + step * (later - 1) / 2 == pytest.approx(mean.iloc[4], rel=1e-6)


@pytest.mark.thorough
def test_more_turns_raise_the_hit_rate_more_than_longer_first_prompts():
    def hit(route):
        path = demand([{"workload": "w", "scenario": "chat"}], growth=0.5, route=route).reuse_path.iloc[-1]
        return path["reused_share"] * path["return_scale"] * packaged_curve("chat").returned[-1]

    assert hit("turns") > hit("first_prompt") > hit("cap")


def packaged(level):
    return [packaged_curve(n) for n in CATALOGUE.packaged.curves if n.endswith(level)]


@pytest.mark.parametrize("curve", packaged(":low") + packaged(":base") + packaged(":high"), ids=lambda c: c.name)
def test_misses_fall_with_retention_and_never_below_none(curve):
    returned = np.array(curve.returned)
    assert (np.diff(returned) >= 0).all()
    assert ((returned >= 0) & (returned <= 1)).all()
    assert 0 <= curve.reused_share <= 1


@pytest.mark.parametrize("curve", packaged(":base") + packaged(":high"), ids=lambda c: c.name)
def test_miss_tokens_between_interval_ends_are_within_five_percent(curve):
    ends = [0.0, *interval_ends(curve)]
    if len(ends) == 1:
        assert curve.reused_share * curve.at(LAST_AGE_S) == 0
        return
    age = np.union1d(np.linspace(0.0, 60.0, 6_001), np.linspace(0.0, ends[-1], 20_001))
    hit = curve.reused_share * curve.at(age)
    occupied = np.concatenate([[0.0], np.cumsum(np.diff(age) * (1 - (hit[1:] + hit[:-1]) / 2))])
    at_ends = np.interp(ends, age, hit)
    chord = np.interp(occupied, np.interp(ends, age, occupied), at_ends)
    np.testing.assert_allclose(at_ends, curve.reused_share * curve.at(np.array(ends)), atol=1e-4)
    late = age >= 10  # caches are kept 10 s at least: nothing is decided before
    assert np.max(((hit - chord) / (1 - hit))[late]) <= 0.052  # 5% on the builder's own grid of ages


def test_intervals_cover_all_returns_up_to_an_hour_without_gaps():
    for curve in packaged(":base"):
        table = intervals(curve)
        assert table["return_share"].sum() == pytest.approx(float(curve.at(LAST_AGE_S)), abs=1e-4)
        assert (table["age_from_s"].to_numpy()[1:] == table["age_to_s"].to_numpy()[:-1]).all()


@pytest.mark.parametrize("curve", packaged(":low") + packaged(":base") + packaged(":high"), ids=lambda c: c.name)
def test_hits_per_occupied_second_fall_from_interval_to_interval(curve):
    """Concave: whoever keeps caches longest-lived first gains least, so a plan fills the intervals in their order."""
    table = intervals(curve)
    occupied = (table["age_to_s"] - table["age_from_s"]) * (1 - curve.reused_share * table["mean_return_before"])
    worth = (table["return_share"] / occupied).to_numpy()
    assert (np.diff(worth) <= 1e-9).all()


def test_every_curve_names_its_scope_and_sources():
    facts = {(row["curve"], row["quantity"]): row for row in packaged_rows("reuse/sources")}
    for name in {curve for curve, _ in facts}:
        assert facts[name, "scope"]["base"] in {"session", "tenant", "global"}
        assert facts[name, "reused_share"]["base"]
    assert all(row["source"] for row in facts.values())


def test_mean_return_is_between_the_returns_at_the_ends():
    table = intervals(packaged_curve("agentic-coding"))
    before = table["return_cumulative"] - table["return_share"]
    assert ((before <= table["mean_return_before"]) & (table["mean_return_before"] <= table["return_cumulative"])).all()


def test_the_mean_return_of_few_and_steep_ages_is_that_of_the_curve():
    """By hand: from 0 in proportion to age, then linear in log age, then flat; a grid missed what lies between."""
    assert Curve("one", (100.0,), (0.9,), 0.9).mean(0, 101) == pytest.approx((0.9 * 100 / 2 + 0.9) / 101, rel=1e-12)
    two = Curve("two", (10.0, 1_000.0), (0.2, 0.8), 0.9)
    by_parts = 0.2 + 0.6 / np.log(100) * (1_000 * np.log(100) - 990) / 990
    assert two.mean(10, 1_000) == pytest.approx(by_parts, rel=1e-12)
    assert two.mean(1_000, 5_000) == pytest.approx(0.8, rel=1e-12)
    steep = Curve("steep", (60.0, 61.0), (0.0, 0.9), 0.9)
    assert steep.mean(0, 61) == pytest.approx(0.9 / np.log(61 / 60) * (61 * np.log(61 / 60) - 1) / 61, rel=1e-9)


def test_measured_agentic_curve_holds_the_tokens_that_the_trace_holds():
    """The trace keeps 26.1M tokens per request/s (214 s of input) for one hour of idle time, 48.6 s for 300 s."""
    curve = packaged_curve("agentic-coding:high")
    measured = packaged_curve("agentic-coding")  # the trace's gaps; its reused share is the high one
    assert curve.reused_share * float(measured.at(60.0)) == pytest.approx(0.816, abs=0.002)
    assert curve.reused_share * float(measured.at(3_600.0)) == pytest.approx(0.958, abs=0.002)
    held = [end * (1 - curve.reused_share * measured.mean(0.0, end)) for end in (60.0, 300.0, 3_600.0)]
    np.testing.assert_allclose(held, [21.8, 48.6, 214.0], rtol=0.03)
    assert held[-1] == pytest.approx(210, abs=1)
    assert 3_600.0 * (1 - measured.mean(0.0, 3_600.0)) == pytest.approx(121, abs=1)  # returns alone


def test_numbers_of_a_row_replace_those_of_its_scenario():
    row = {
        "workload": "w",
        "scenario": "reasoning-chat",
        "sla_tier": "ok",
        "tps_user": 30,
        "tps_thinking": 70,
        "ttft_s": 4,
        "output_thinking_tokens": 500,
        "reuse_curve": "api",
        "deferrable": True,
        "mean_to_peak": 0.7,
    }
    got = demand([row], quarters=1).scenarios.iloc[0]
    for field in ("ttft_s", "tps_thinking", "output_thinking_tokens", "reuse_curve", "deferrable", "mean_to_peak"):
        assert got[field] == row[field]
    assert got["tps_visible"] == 30
    assert got["tps_user"] == 70
    assert got["output_visible_tokens"] == 382


@pytest.mark.thorough
def test_lengths_that_are_not_stated_follow_the_shape_of_the_scenario():
    base = {name: CATALOGUE.premise(f"scenario/chat/{name}").number for name in LENGTH_COLUMNS}
    mean, p50, p90, p99 = LENGTH_COLUMNS
    for stated, expected in (
        ({}, dict.fromkeys(LENGTH_COLUMNS, 1.0)),
        ({mean: 2.0}, dict.fromkeys(LENGTH_COLUMNS, 2.0)),
        ({p50: 2.0, p90: 2.0, p99: 2.0}, dict.fromkeys(LENGTH_COLUMNS, 2.0)),
        ({mean: 1.0, p50: 1.44}, {mean: 1.0, p50: 1.44, p90: 1.2, p99: 1.2}),
    ):
        row = {"workload": "w", "scenario": "chat"} | {name: base[name] * factor for name, factor in stated.items()}
        asked = case([row], quarters=1)
        got, filled = build(asked).scenarios.iloc[0], asked.tables["workloads"].iloc[0]
        for name in LENGTH_COLUMNS:
            assert got[name] == filled[name] == pytest.approx(base[name] * expected[name], rel=1e-6)


def test_doubled_quantiles_double_the_tokens_that_are_served():
    base = {name: CATALOGUE.premise(f"scenario/chat/{name}").number for name in LENGTH_COLUMNS[1:]}
    rows = [
        {"workload": "once", "scenario": "chat", "context_cap_tokens": 1_000_000},
        {"workload": "twice", "scenario": "chat", "context_cap_tokens": 1_000_000}
        | {name: 2 * tokens for name, tokens in base.items()},
    ]
    means = mean_input(demand(rows, quarters=1)).iloc[0]
    assert means["twice"] == pytest.approx(2 * means["once"], rel=1e-6)


def test_phases_hold_the_output_and_the_tier_speeds():
    phases = demand([{"workload": "v", "scenario": "voice", "sla_tier": "ok"}], quarters=1).phases
    assert phases[["phase", "tokens", "tps_user"]].to_numpy().tolist() == [["burst", 20, 50], ["visible", 80, 15]]


def test_library_names_a_source_and_a_kind_for_every_number():
    library = {path: fact for path, fact in CATALOGUE.premises.items() if path.split("/")[0] in ("scenario", "sla")}
    assert {path.split("/")[0] for path in library} == {"scenario", "sla"}
    for path, fact in library.items():
        assert fact.kind in KINDS, path
        assert fact.source, path
        if path.startswith("scenario/") and path.rpartition("/")[2] not in ("reuse_curve", "deferrable"):
            assert fact.low <= fact.value <= fact.high, path


def test_better_tiers_never_ask_for_less():
    facts = [(*path.split("/")[1:], f.number) for path, f in CATALOGUE.premises.items() if path.startswith("sla/")]
    long = pd.DataFrame(facts, columns=["scenario", "tier", "quantity", "value"])
    table = long.pivot(index=["scenario", "quantity"], columns="tier", values="value")[["ok", "good", "great"]]
    for (scenario, quantity), row in table.iterrows():
        steps = np.diff(row.to_numpy()) if quantity != "ttft_s" else -np.diff(row.replace(np.inf, 1e9).to_numpy())
        assert (steps >= 0).all(), (scenario, quantity)


def test_output_tokens_are_those_of_a_request_not_of_a_task():
    got = demand_of_all(quarters=1).scenarios.set_index("workload")
    agentic = got.loc[["deep-research", "coding-agentic", "large-coding"]]
    per_request = agentic["output_thinking_tokens"] + agentic["output_visible_tokens"]
    assert (per_request < 1_000).all()
    assert (agentic["calls_per_task"] * per_request > 10_000).all()


def test_outputs_and_caps_grow_at_their_own_pace():
    row = {
        "workload": "w",
        "scenario": "coding-completion",
        "isl_growth_per_year": 1.0,
        "output_growth_per_year": 0.5,
        "context_cap_growth_per_year": 1.0,
    }
    buckets = demand([row], quarters=5).buckets.set_index("quarter")
    assert buckets.loc["2028Q1", "visible_tokens"].iloc[0] == pytest.approx(1.5 * 28)
    assert buckets.loc["2028Q1", "input_upper_tokens"].max() == pytest.approx(2 * 8_192)


def test_a_growing_tail_keeps_the_mean_and_lengthens_long_requests():
    rows = [{"workload": "w", "scenario": "chat", "tail_growth_per_year": 0.2, "context_cap_tokens": 1_000_000}]
    result = demand(rows, quarters=5)
    means = mean_input(result)["w"]
    np.testing.assert_allclose(means, means.iloc[0], rtol=1e-3)
    squares = result.buckets["share"] * result.buckets["input_tokens"] ** 2
    by_quarter = squares.groupby(result.buckets["quarter"]).sum()
    assert by_quarter.iloc[4] > 1.2 * by_quarter.iloc[0]


def test_a_curve_of_the_case_is_used_by_its_name():
    ours = pd.DataFrame({"curve": "ours", "age_s": [10.0, 100.0], "return_share": [0.5, 0.8], "reused_share": 0.9})
    row = {"workload": "w", "scenario": "chat", "reuse_curve": "ours"}
    reuse = demand([row], quarters=1, tables={"reuse": ours}).reuse
    assert reuse["return_cumulative"].iloc[-1] == pytest.approx(0.8)
    assert reuse["reused_share"].iloc[0] == pytest.approx(0.9)


def test_output_that_grows_beyond_the_card_is_a_fault():
    row = {"workload": "w", "scenario": "chat", "card": SHORT, "output_growth_per_year": 19.0}
    row |= {"context_cap_tokens": 32_768}
    with pytest.raises(InputError, match="Output shorter"):
        demand([row], quarters=14)


@pytest.mark.parametrize(
    ("stated", "quarters", "column"),
    [
        ({"isl_growth_per_year": -0.9}, 14, "shared_prefix_tokens: read '512'. Less than the mean input"),
        ({"tail_growth_per_year": 9.0}, 6, "shared_prefix_tokens: read '512'. Less than the mean input"),
        (
            {"tail_growth_per_year": 1e9, "shared_prefix_tokens": 0},
            6,
            "tail_growth_per_year: read '1e\\+09'. Less growth",
        ),
    ],
)
def test_lengths_that_shrink_to_nothing_are_a_fault(stated, quarters, column):
    row = {"workload": "w", "scenario": "chat", "card": SHORT, "context_cap_tokens": 32_768}
    with pytest.raises(InputError, match=column):
        demand([row | stated], quarters=quarters)


def test_a_histogram_replaces_the_quantiles_and_keeps_the_stated_mean():
    row = {"workload": "w", "scenario": "chat", "input_mean_tokens": 3_000, "shared_prefix_tokens": 100}
    bins = pd.DataFrame(
        {"workload": "w", "up_to_tokens": [1_000.0, 2_000.0, 8_000.0], "share_requests": [0.0, 0.5, 0.5]}
    )
    buckets = demand([row], quarters=1, tables={"lengths": bins}).buckets
    assert buckets["share"] @ buckets["input_tokens"] == pytest.approx(3_000)
    # Half of the requests lie in one factor of two, and the rest in the next factor of four.
    ends = buckets["input_upper_tokens"]
    assert ends.max() / buckets["input_tokens"].min() < 8


def test_a_shared_prefix_above_the_reused_share_is_said():
    row = {"workload": "w", "scenario": "chat", "shared_prefix_tokens": 11_000}
    note = demand([row], quarters=1).notes.query("topic == 'reused share'").iloc[0]
    assert note["wanted"] == pytest.approx(0.7692)
    assert note["got"] == pytest.approx(11_000 / 12_017, rel=0.001)


def test_a_curve_on_the_start_clock_is_said():
    ours = pd.DataFrame(
        {"curve": "ours", "age_s": [10.0], "return_share": [0.5], "reused_share": 0.9, "clock": "start"}
    )
    row = {"workload": "w", "scenario": "chat", "reuse_curve": "ours"}
    assert "reuse clock" in set(demand([row], quarters=1, tables={"reuse": ours}).notes["topic"])
