"""Hardware against hardware at one TPS/User: what runs measured, and what the physics says of the same runs.

Two runs that differ in more than hardware (batch, layout, pools) have a ratio that is no property of the hardware. So
each run is computed as it was run, in its own layout, at its own TPS/User, with its own prefill and decode GPUs: at a
given speed and layout tokens/s go in proportion to running streams, hence

    computed / measured tokens/s = streams at which the computed step has the measured speed / measured streams
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from procure.performance.predict import Bench, Runs

SAME_SPEED = 1.15
"""Runs whose TPS/User differ by no more than this factor are compared."""
ALIKE = ["card", "weight_precision", "kv_format", "isl", "osl", "speculation", "phase", "aggregated"]
"""What two runs must have in common."""
_FACTOR_RANGE = (1e-3, 1e3)
_HALVINGS = 40


def streams_over_measured(runs: pd.DataFrame, bench: Bench) -> np.ndarray:
    """Streams at which the computed TPS/User is the measured one, over the measured streams; one for each run.

    0 where even a thousandth of the streams is computed to be slower; at most 1,000. HBM capacity does not limit it.

    Args:
        runs: rows of :func:`procure.performance.observations.observe` that have a layout.
        bench: hardware, cards and rules.
    """
    ready, rules = Runs(runs, bench), bench.rules
    wanted = runs["tps_user"].to_numpy(dtype=float)

    def fast(factor: np.ndarray) -> np.ndarray:
        crowded = ready.with_streams(factor)
        return crowded.tps_user(rules.reference, rules.framework, rules.software.fitted) >= wanted

    low, high = (np.full(len(runs), np.log(end)) for end in _FACTOR_RANGE)
    reached = fast(np.exp(low))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        meets = fast(np.exp(middle))
        low, high = np.where(meets, middle, low), np.where(meets, high, middle)
    return np.where(reached, np.exp(low), 0.0)


def hardware_ratios(runs: pd.DataFrame, bench: Bench) -> list[dict[str, Any]]:
    """Pairs of runs on two kinds of hardware that are alike but for it and nearest to each other in TPS/User.

    Args:
        runs: predicted rows (:func:`procure.performance.validate.predicted_rows`) that are runs.
        bench: what they were predicted with.

    Returns:
        for each pair ``hardware`` and ``over``, what :data:`ALIKE` names, ``lines`` of the file, ``tps_user`` of both,
        ``measured`` and ``computed`` ratio of tokens/s per GPU, each run at its own TPS/User, layout and pools, and
        ``step``: computed over measured TPS/User at the measured batch, of one over the other.
    """
    if runs.empty:
        return []
    own = runs.assign(computed=runs["tps_per_gpu"] * streams_over_measured(runs, bench))
    found = []
    for key, group in own.groupby(ALIKE):
        for names in combinations(sorted(group["hardware"].unique(), reverse=True), 2):
            first, second = (group[group["hardware"] == name] for name in names)
            for one, other in _nearest(first, second):
                found.append({
                    **dict(zip(ALIKE, key, strict=True)),
                    "hardware": names[0],
                    "over": names[1],
                    "lines": [int(one["line"]), int(other["line"])],
                    "tps_user": [float(one["tps_user"]), float(other["tps_user"])],
                    "measured": float(one["tps_per_gpu"] / other["tps_per_gpu"]),
                    "computed": float(one["computed"] / other["computed"]) if other["computed"] else float("nan"),
                    "step": float(np.exp(one["error"] - other["error"])),
                })  # fmt: skip
    return found


def _nearest(first: pd.DataFrame, second: pd.DataFrame) -> list[tuple[pd.Series, pd.Series]]:
    """Rows of two tables that are each other's nearest in TPS/User, within :data:`SAME_SPEED`."""
    one, other = (np.log(rows["tps_user"].to_numpy(dtype=float)) for rows in (first, second))
    far = np.abs(one[:, None] - other[None, :])
    partner, back = far.argmin(axis=1), far.argmin(axis=0)
    mutual = [at for at, mate in enumerate(partner) if back[mate] == at and far[at, mate] <= np.log(SAME_SPEED)]
    return [(first.iloc[at], second.iloc[partner[at]]) for at in mutual]
