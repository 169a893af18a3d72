"""Instances of so many GPUs: those there are, and what decode loses where a load is too small for the best layout."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from procure.performance.decode import Deployment, Elements, engine
from procure.performance.layouts import layouts
from procure.performance.prefill import prefill_group_gpus
from procure.performance.work import work_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from procure.catalogue import Sku
    from procure.performance.rules import Setup
    from procure.sizing import Card


def decode_rates_by_size(
    pool: Sku,
    card: Card,
    setup: Setup,
    *,
    context_mean: ArrayLike,
    context_upper: ArrayLike,
    tps_user: ArrayLike,
    months: ArrayLike = 0.0,
    lpx: Sku | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Best decode throughput of each element on instances of each number of GPUs, by physics.

    The arguments are those of :func:`procure.performance.decode_points`, whose best point is at the size of the highest
    rate. Weights are resident: a layout whose weights do not fit its GPUs' HBM is none, and what they leave holds the
    caches of the batch.

    Returns:
        GPUs of the instances that some layout has, rising, shape (sizes,); tokens/s per GPU, shape (elements, sizes),
        0 where no instance of that size keeps the speed or holds the longest sequence.
    """
    given = (context_mean, context_upper, tps_user, months)
    asked = np.stack(np.broadcast_arrays(*(np.atleast_1d(np.asarray(array, dtype=float)) for array in given)))
    unique, inverse = np.unique(asked, axis=1, return_inverse=True)
    deployment = Deployment(pool, card, replace(setup, weight_precision=setup.weights(card)), lpx)
    sizes, rates = _rates(deployment, unique.tobytes())
    return sizes, rates[inverse.ravel()]


def prefill_gpus_by_size(pool: Sku, card: Card, setup: Setup) -> list[int]:
    """GPUs that a prefill instance may have, rising: as many as TTFT assumes, and those of every larger layout."""
    work = work_of(card, setup.weight_precision)
    least = prefill_group_gpus(pool, work, setup.rules)
    larger = {int(gpus) for gpus in layouts(pool, work, setup.rules.layouts).gpus.ravel() if gpus > least}
    return [least, *sorted(larger)]


@lru_cache(maxsize=512)
def _rates(deployment: Deployment, asked: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and rates for distinct elements, kept by content."""
    elements = Elements(*np.frombuffer(asked).reshape(4, -1))
    found = engine(deployment, elements, elements.physics(deployment, deployment.pool.name))
    rates = found.rates(found.largest_batch(elements.tps_user)).max(axis=2, initial=0.0)
    gpus = found.layout.gpus.ravel().astype(int)
    sizes = np.unique(gpus)
    best = [rates[:, gpus == size].max(axis=1, initial=0.0) for size in sizes]
    return sizes, np.stack(best, axis=1) if best else np.zeros((elements.mean.size, 0))
