"""Length distributions and their buckets where lengths hardly differ, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_case import tiny

from procure.demand import lengths
from procure.instance import build

USUAL = (
    64,
    128,
    256,
    500,
    512,
    1_000,
    1_024,
    2_000,
    2_048,
    4_000,
    4_096,
    8_000,
    8_192,
    30_000,
    32_768,
    100_000,
    131_072,
)


def grown(points, growth, quarters):
    """The distributions of each quarter, one after another."""
    factor = (1.0 + growth) ** (np.arange(quarters) / 4)
    return (points[:, None, :] * factor[None, :, None]).reshape(-1, points.shape[1]), factor


@pytest.mark.parametrize("growth", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("length", USUAL)
def test_a_fixed_length_stays_a_fixed_length_as_it_grows(length, growth):
    same = np.array([float(length)])
    points, factor = grown(lengths.from_quantiles(same, same, same, same), growth, 20)
    made = lengths.buckets(points)
    assert (made.share > 0).sum(axis=1).tolist() == [1] * 20
    used = made.share > 0
    for found in (made.tokens[used], made.upper[used], made.node_tokens[used][:, 0], made.node_tokens[used][:, 1]):
        np.testing.assert_allclose(found, length * factor, rtol=1e-9)


@given(
    p50=st.floats(1.0, 1e6),
    to_p90=st.floats(0.0, 1.0),
    to_p99=st.floats(0.0, 1.0),
    mean=st.floats(-1.0, 1.0),
    scale=st.sampled_from([0.0, 1e-14, 1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3, 1.0]),
    growth=st.floats(-0.5, 3.0),
    quarters=st.integers(1, 20),
    count=st.integers(1, 6),
)
@pytest.mark.thorough
def test_buckets_of_any_spread_hold_moments_and_bounds(p50, to_p90, to_p99, mean, scale, growth, quarters, count):
    """Spreads from nothing over rounding to wide: every bucket is finite, positive, in order, and moments hold."""
    p90 = p50 * (1 + scale * to_p90)
    p99 = p90 * (1 + scale * to_p99)
    middle = min(p50 * (1 + 0.5 * scale * mean), p99)
    points, _ = grown(lengths.from_quantiles(*(np.array([v]) for v in (middle, p50, p90, p99))), growth, quarters)
    made = lengths.buckets(points, count)
    used = made.share > 0
    assert np.isfinite(made.node_tokens).all()
    assert np.isfinite(made.tokens).all()
    assert (made.node_share >= 0).all()
    np.testing.assert_allclose(made.node_share.sum(axis=-1), 1.0, rtol=1e-12)
    low, high = points.min(axis=1)[:, None, None] * (1 - 1e-6), points.max(axis=1)[:, None, None] * (1 + 1e-6)
    nodes = np.where(used[..., None], made.node_tokens, low)
    assert ((nodes >= low) & (nodes <= high)).all()
    np.testing.assert_allclose((made.share * made.tokens).sum(axis=1), points @ lengths.SHARES, rtol=1e-9)
    for power in (1, 2, 3):
        wanted = points**power @ lengths.SHARES
        inside = (made.node_share * made.node_tokens**power).sum(axis=-1)
        np.testing.assert_allclose((made.share * inside).sum(axis=1), wanted, rtol=1e-9)
    for row, keep in zip(made.tokens, used, strict=True):
        assert (np.diff(row[keep]) > -1e-9 * row[keep][:-1]).all()
    assert (made.upper[used] >= made.tokens[used]).all()


@pytest.mark.parametrize("tokens", USUAL)
def test_a_fixed_length_stands_for_itself_to_the_last_digit(tokens):
    made = lengths.buckets(lengths.from_quantiles(*(np.array([float(tokens)]) for _ in range(4))))
    assert (made.node_tokens[made.share > 0] == tokens).all()


def test_lengths_around_a_spread_that_is_rounding_move_continuously():
    """No cliff where a spread begins to count: buckets of nearly equal lengths are nearly those of equal ones."""
    for spread in (1e-12, 1e-10, 9e-10, 1.1e-9, 1e-8, 1e-7):
        given = (8_000.0, 8_000.0, 8_000.0 * (1 + spread), 8_000.0 * (1 + 2 * spread))
        made = lengths.buckets(lengths.from_quantiles(*(np.array([v]) for v in given)))
        used = made.share > 0
        assert np.abs(made.node_tokens[used] / 8_000.0 - 1).max() < 20 * spread + 1e-12


@pytest.mark.thorough
def test_a_case_of_fixed_lengths_grows_to_fixed_lengths():
    names = ("mean", "p50", "p90", "p99")
    row = {f"input_{name}_tokens": 8_000.0 for name in names} | {"shared_prefix_tokens": 0.0, "reuse_curve": "none"}
    made = build(tiny(workloads={"chat": row}, planned=2, settings={"isl_growth_per_year": 0.25}))
    table = made["lengths"]
    assert table["t"].tolist() == [0, 1, 2, 3]
    for column in ("input_tokens", "input_upper_tokens"):
        np.testing.assert_allclose(table[column], 8_000.0 * 1.25 ** (table["t"] / 4), rtol=1e-9)
