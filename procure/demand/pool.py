"""What a cache loses when it sees a part of the traffic only: a tier that a node or a rack keeps to itself."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import RegularGridInterpolator

from procure.catalogue import packaged_path

Array = NDArray[np.float64]


@cache
def _grid() -> tuple[RegularGridInterpolator, Array, Array]:
    table = pd.read_csv(packaged_path("data") / "reuse" / "pools.csv")
    wide = table.pivot(index="kept_seconds", columns="requests_per_s", values="hit_rate")
    share = wide.to_numpy() / wide.to_numpy()[:, -1:]
    seconds, rates = np.log(wide.index.to_numpy(dtype=float)), np.log(wide.columns.to_numpy(dtype=float))
    return RegularGridInterpolator((seconds, rates), share), seconds, rates


def pool_factor(requests_per_s: ArrayLike, kept_seconds: ArrayLike) -> Array:
    """Hit rate of a pool over that of a large pool with the same capacity per request/s.

    A small pool holds few sessions, so that a long one of them fills it. Measured by LRU on superposed coding sessions;
    from about 4.6 requests/s on nothing is lost. Outside the measured range the nearest end counts.

    Args:
        requests_per_s: requests that one pool sees: those of the workload over the number of nodes or racks that keep
            their caches to themselves.
        kept_seconds: capacity in tokens over requests/s and mean input (seconds of traffic that fit).

    Returns:
        factor from 0 to 1 on the hit rate.
    """
    interpolate, seconds, rates = _grid()
    rate, kept = np.broadcast_arrays(np.asarray(requests_per_s, dtype=float), np.asarray(kept_seconds, dtype=float))
    tiny = np.finfo(float).tiny
    at_rate = np.clip(np.log(np.maximum(rate, tiny)), rates[0], rates[-1])
    at_kept = np.clip(np.log(np.maximum(kept, tiny)), seconds[0], seconds[-1])
    return np.asarray(interpolate(np.stack([at_kept, at_rate], axis=-1)))
