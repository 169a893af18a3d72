"""The day in a few parts: when workloads peak, in clock hours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]


def to_peak(profile: Array, mean_to_peak: Array) -> Array:
    """Profiles whose peak hour is 1 and whose mean is ``mean_to_peak``, of the shape that they have.

    The profile is stretched away from its peak; where an hour would fall below 0, a power of it is taken instead. A
    flat day has the mean 1, whatever is asked.

    Args:
        profile: requests by hour, any unit, shape (workloads, 24).
        mean_to_peak: shape (workloads,).
    """
    share = profile / profile.max(axis=1, keepdims=True)
    wanted = mean_to_peak[:, None]
    mean = share.mean(axis=1, keepdims=True)
    stretch = np.where(mean < 1, (1 - wanted) / np.where(mean < 1, 1 - mean, 1.0), 0.0)
    out = 1 - stretch * (1 - share)
    if (out >= 0).all():
        return out
    # A power of the shape keeps 0 and 1 where they are; its mean falls as the power rises.
    low, high = np.zeros_like(wanted), np.full_like(wanted, 64.0)
    for _ in range(60):
        power = (low + high) / 2
        above = (share**power).mean(axis=1, keepdims=True) > wanted
        low, high = np.where(above, power, low), np.where(above, high, power)
    return np.where((out >= 0).all(axis=1, keepdims=True), out, share ** ((low + high) / 2))


def parts(load: Array, count: int) -> NDArray[np.int64]:
    """Which part of the day each hour belongs to: hours of alike load share a part, wherever they lie.

    Args:
        load: shape (hours, workloads), each hour's requests of each workload over that workload's peak.
        count: parts.

    Returns:
        part of each hour, 0 the busiest; shape (24,).
    """
    total = load.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    ranked = total[order]
    # Least squared distance to the mean of a part, over all ways to cut the ranked hours into runs.
    sums, squares = np.concatenate([[0], np.cumsum(ranked)]), np.concatenate([[0], np.cumsum(ranked**2)])

    def cost(a: int, b: int) -> float:
        return float(squares[b] - squares[a] - (sums[b] - sums[a]) ** 2 / (b - a))

    hours = len(ranked)
    count = min(count, hours)
    best = np.full((count + 1, hours + 1), np.inf)
    cut = np.zeros((count + 1, hours + 1), dtype=np.int64)
    best[0, 0] = 0.0
    for k in range(1, count + 1):
        for b in range(k, hours + 1):
            options = [best[k - 1, a] + cost(a, b) for a in range(k - 1, b)]
            cut[k, b] = k - 1 + int(np.argmin(options))
            best[k, b] = min(options)
    part = np.zeros(hours, dtype=np.int64)
    end = hours
    for k in range(count, 0, -1):
        start = int(cut[k, end])
        part[order[start:end]] = k - 1
        end = start
    return part


def dayparts(
    scenarios: pd.DataFrame, peak_requests_per_s: Any, profiles: Mapping[str, Sequence[float]], count: int = 4
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Parts of the day for all workloads, and the rate of each workload in each part.

    A part's rate is the highest of its hours, so that no hour is undersized; every workload is at its peak in one part.
    Deferrable workloads are flat at their mean: they fill valleys later.

    Args:
        scenarios: resolved workloads (workload, scenario, mean_to_peak, deferrable).
        peak_requests_per_s: by workload, the weights with which hours are compared (a mapping).
        profiles: by scenario, requests of each of 24 clock hours over their mean.
        count: parts.

    Returns:
        parts: daypart, hours_per_day, clock_hours (such as ``9 10 11``);
        rates: daypart, workload, of_peak (part's highest hour over the workload's peak), mean_of_peak.
    """
    profile = np.array([profiles[name] for name in scenarios["scenario"]])
    share = to_peak(profile, scenarios["mean_to_peak"].to_numpy(dtype=float))
    flat = scenarios["deferrable"].to_numpy(dtype=bool)
    share[flat] = scenarios["mean_to_peak"].to_numpy(dtype=float)[flat][:, None]
    weight = np.array([float(peak_requests_per_s[name]) for name in scenarios["workload"]])
    part = parts((share * weight[:, None] / max(weight.sum(), 1e-300)).T, count)
    used = sorted(set(part.tolist()))
    table = pd.DataFrame(
        {
            "daypart": used,
            "hours_per_day": [int((part == d).sum()) for d in used],
            "clock_hours": [" ".join(str(h) for h in np.flatnonzero(part == d)) for d in used],
        }
    )
    rates = pd.DataFrame(
        [
            (d, name, share[i, part == d].max(), share[i, part == d].mean())
            for d in used
            for i, name in enumerate(scenarios["workload"])
        ],
        columns=["daypart", "workload", "of_peak", "mean_of_peak"],
    )
    return table, rates
