"""Returns that find their home: Erlang's formula and the replay, by the figures of the sources."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procure.demand.routing import erlang_b, kept_by_affinity, kept_by_chance

LOADS = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
KEPT = {
    4: (0.94, 0.88, 0.80, 0.80, 0.80, 0.80),
    8: (0.98, 0.95, 0.88, 0.88, 0.83, 0.83),
    16: (1.00, 0.98, 0.94, 0.91, 0.89, 0.86),
    32: (1.00, 1.00, 0.97, 0.96, 0.93, 0.905),
    64: (1.00, 1.00, 0.99, 0.98, 0.97, 0.94),
    128: (1.00, 1.00, 1.00, 1.00, 0.98, 0.96),
}
"""Share kept by balancing, by requests in flight per home and load: worked out beside the Monte-Carlo."""


@pytest.mark.parametrize("in_flight", KEPT)
def test_the_share_kept_is_that_of_the_table(in_flight):
    np.testing.assert_allclose([kept_by_affinity(in_flight, load) for load in LOADS], KEPT[in_flight], atol=0.0051)


@pytest.mark.parametrize(("homes", "kept"), [(2, 0.995), (4, 0.98), (8, 0.96), (16, 0.91), (32, 0.88)])
def test_256_requests_in_flight_spread_over_homes(homes, kept):
    assert kept_by_affinity(256 / homes, 0.85) == pytest.approx(kept, abs=0.005)


@pytest.mark.parametrize(
    ("in_flight", "kept"),
    [(2, (0.94, 0.76, 0.76)), (8, (1.00, 0.98, 0.77)), (32, (1.00, 1.00, 0.95)), (128, (1.00, 1.00, 1.00))],
)
def test_the_monte_carlo_of_coding_sessions_is_within_seven_points(in_flight, kept):
    shares = np.array([kept_by_affinity(in_flight, load) for load in (0.5, 0.7, 0.95)])
    assert np.abs(shares - kept).max() <= 0.07


@given(st.floats(0.05, 1.3), st.integers(1, 3_000))
def test_erlang_b_is_the_share_of_a_full_home(load, servers):
    """In a home of so many places each state is as likely as offered/n times the one before."""
    offered = load * servers
    term = total = 1.0  # of fewer in flight, over that of a full home
    for n in range(servers, 0, -1):
        term *= n / offered
        total += term
    assert erlang_b(offered, servers) == pytest.approx(1.0 / total, rel=1e-6, abs=1e-12)


def test_erlang_b_of_very_many():
    assert erlang_b(2e5, 230_000) == pytest.approx(0.0, abs=1e-12)
    assert erlang_b(2e5, 100_000) == pytest.approx(0.5, abs=1e-4)  # half of them find no place


REPLAYED = (0.73, 0.45, 0.31, 0.24)


@pytest.mark.parametrize(("homes", "kept"), [(1, 1.0), (2, 0.73), (5, 0.45), (10, 0.31), (20, 0.24), (40, 0.12)])
def test_without_affinity_the_share_is_the_replay_s(homes, kept):
    assert kept_by_chance(homes, REPLAYED) == pytest.approx(kept, abs=1e-9)


@given(st.floats(1.0, 500.0), st.floats(1.0, 500.0))
def test_more_homes_keep_less_without_affinity_and_never_less_than_placement_at_random(one, other):
    few, many = sorted((one, other))
    assert kept_by_chance(many, REPLAYED) <= kept_by_chance(few, REPLAYED) + 1e-12
    assert kept_by_chance(many, REPLAYED) >= 1 / many - 1e-12
