"""How much of a plan's decode lies how far from anything measured."""

from __future__ import annotations

import pandas as pd

EDGES = (0.0, 1.0, 2.0, 4.0)
"""Doublings between which rack-seconds are counted together."""
NAMES = ("measured", "up to 1 doubling", "1 to 2 doublings", "2 to 4 doublings", "beyond 4 doublings")
NO_LOW_END = "may not be reached at all"
"""Share whose points have a low end of 0, wherever they lie."""


def extrapolation_shares(serving: pd.DataFrame) -> dict[str, float]:
    """Share of decode rack-seconds by doublings from the nearest measurement, and of those without a low end."""
    racks, far = serving["racks"].to_numpy(float), serving["distance"].to_numpy(float)
    total = float(racks.sum())
    if total <= 0:
        return {}
    above = (far[:, None] > EDGES).sum(axis=1)
    found = {name: float(racks[above == place].sum()) / total for place, name in enumerate(NAMES)}
    found[NO_LOW_END] = float(racks[serving["low"].to_numpy(float) <= 0].sum()) / total
    return {name: share for name, share in found.items() if share > 0}
