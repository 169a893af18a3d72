"""How much of a plan's decode lies how far from anything measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from procure.timekey import summed, totals

EDGES = (0.0, 1.0, 2.0, 4.0)
"""Doublings between which rack-seconds are counted together."""
NAMES = ("measured", "up to 1 doubling", "1 to 2 doublings", "2 to 4 doublings", "beyond 4 doublings")
NO_LOW_END = "may not be reached at all"
"""Share whose points have a low end of 0, wherever they lie."""


def extrapolation_shares(serving: pd.DataFrame) -> dict[str, float]:
    """Share of decode rack-seconds by doublings from the nearest measurement, and of those without a low end."""
    total = summed(serving, "racks")
    if total <= 0:
        return {}
    far = serving["distance"].to_numpy(float)
    places = np.searchsorted(EDGES, far, side="left")  # edges below the distance
    racks = totals(serving.assign(place=places), ["place"], "racks")
    found = {name: float(racks.get(place, 0.0)) / total for place, name in enumerate(NAMES)}
    found[NO_LOW_END] = summed(serving[serving["low"] <= 0], "racks") / total
    return {name: share for name, share in found.items() if share > 0}
