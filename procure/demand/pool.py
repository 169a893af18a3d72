"""What a cache loses when it sees a part of the traffic only: a tier that a node or a rack keeps to itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import RegularGridInterpolator

Array = NDArray[np.float64]
Measured = Sequence[tuple[float, float, float]]
"""Requests/s, seconds of traffic that fit, and hit rate: a full grid of the first two."""


def pool_factor(measured: Measured, requests_per_s: ArrayLike, kept_seconds: ArrayLike) -> Array:
    """Hit rate of a pool over that of a large pool with the same capacity per request/s.

    A small pool holds few sessions, so that a long one of them fills it. Measured by LRU on superposed coding sessions;
    from about 4.6 requests/s on nothing is lost. Outside the measured range the nearest end counts.

    Args:
        measured: hit rates of pools, as :attr:`procure.catalogue.Packaged.pools`.
        requests_per_s: requests that one pool sees: those of the workload over the number of nodes or racks that keep
            their caches to themselves.
        kept_seconds: capacity in tokens over requests/s and mean input (seconds of traffic that fit).

    Returns:
        factor from 0 to 1 on the hit rate.
    """
    hit_rate = {(rate, kept): hit for rate, kept, hit in measured}
    all_rates, all_kept = (sorted({key[i] for key in hit_rate}) for i in (0, 1))
    wide = np.array([[hit_rate[rate, kept] for rate in all_rates] for kept in all_kept])
    seconds, rates = np.log(all_kept), np.log(all_rates)
    interpolate = RegularGridInterpolator((seconds, rates), wide / wide[:, -1:])
    rate, kept = np.broadcast_arrays(np.asarray(requests_per_s, dtype=float), np.asarray(kept_seconds, dtype=float))
    tiny = np.finfo(float).tiny
    at_rate = np.clip(np.log(np.maximum(rate, tiny)), rates[0], rates[-1])
    at_kept = np.clip(np.log(np.maximum(kept, tiny)), seconds[0], seconds[-1])
    return np.asarray(interpolate(np.stack([at_kept, at_rate], axis=-1)))
