"""Small pools lose what the simulation of coding sessions says, large ones nothing."""

from __future__ import annotations

import numpy as np
import pytest

from procure.catalogue import Packaged
from procure.demand import pool

MEASURED = Packaged.read().pools


def pool_factor(rate, kept):
    return pool.pool_factor(MEASURED, rate, kept)


def test_measured_points_come_back():
    assert pool_factor(0.0816, 2.50712e6 / 122_379) == pytest.approx(0.43411 / 0.62209, rel=0.01)
    assert pool_factor(1.14, 7.0e6 / 122_379) == pytest.approx(0.90995 / 0.91349, rel=0.002)


def test_large_pools_lose_nothing():
    np.testing.assert_allclose(pool_factor([4.57, 50, 1e4], [[5], [50], [500]]), 1)


def test_more_traffic_and_more_capacity_never_lose_more():
    rate, kept = np.geomspace(0.01, 10, 40), np.geomspace(5, 500, 40)
    grid = pool_factor(rate[None, :], kept[:, None])
    assert (np.diff(grid, axis=1) >= -1e-12).all()
    assert (np.diff(grid, axis=0) >= -1e-3).all()  # the simulated points waver in the fourth digit
    assert ((grid > 0) & (grid <= 1)).all()
