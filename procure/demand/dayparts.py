"""The day in a few parts: when workloads peak, in clock hours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from procure.case.days import own_days
from procure.quarter import HOURS_PER_DAY

if TYPE_CHECKING:
    from procure.case import Case

Array = NDArray[np.float64]

ALIKE = 1e-9
"""Hours whose loads differ by less, over the peaks, are of one part whatever the count."""


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
    """Which part of the day each hour belongs to, wherever the hours lie.

    A part counts every workload at its highest hour in it, so that no hour is undersized. Hours of the same loads share
    a part; then the two parts are joined, again and again, whose joining adds least: in requests of the day, and
    24 hours' worth of what the busiest part grows by. So workloads that peak apart are kept apart.

    Args:
        load: shape (hours, workloads), each hour's load of each workload, in one unit.
        count: parts at most.

    Returns:
        part of each hour, 0 the busiest; shape (hours,).
    """
    groups: list[tuple[int, ...]] = []
    for hour in range(len(load)):
        like = next((i for i, g in enumerate(groups) if np.abs(load[g[0]] - load[hour]).sum() <= ALIKE), None)
        if like is None:
            groups.append((hour,))
        else:
            groups[like] += (hour,)

    @cache
    def total(group: tuple[int, ...]) -> float:
        return float(load[list(group)].max(axis=0).sum())

    while len(groups) > count:
        busiest = max(total(group) for group in groups)

        def added(pair: tuple[int, int], busiest: float = busiest) -> float:
            a, b = groups[pair[0]], groups[pair[1]]
            joined = total(a + b)
            more = len(a + b) * joined - len(a) * total(a) - len(b) * total(b)
            return more + len(load) * max(joined - busiest, 0.0)

        first, second = min(combinations(range(len(groups)), 2), key=added)
        groups[first] += groups.pop(second)
    part = np.zeros(len(load), dtype=np.int64)
    for place, group in enumerate(sorted(groups, key=lambda g: (-total(g), min(g)))):
        part[list(group)] = place
    return part


def days_of(case: Case, scenarios: pd.DataFrame) -> Array:
    """The day of each workload on the clock of the case: its rate by hour over its peak, shape (workloads, 24).

    A packaged day is stretched to the workload's mean over peak, one of the case's own is taken as it is. The day of a
    workload that may wait is flat at its mean: when it runs is decided.
    """
    stated = case.tables["workloads"].set_index("workload").loc[scenarios["workload"]]
    own = own_days(case.tables["day_shapes"].to_dict("records"))
    packaged = case.catalogue.packaged.profiles
    mean = scenarios["mean_to_peak"].to_numpy(dtype=float)
    names = stated["day_shape"].astype(str).tolist()
    profile = np.array([own.get(name) or packaged[name] for name in names], dtype=float)
    asis = profile / profile.max(axis=1, keepdims=True)
    is_own = np.array([name in own for name in names])[:, None]
    share = np.where(is_own, asis, to_peak(profile, mean))
    later = stated["clock_shift_hours"].astype(int).tolist()
    share = np.array([np.roll(day, shift) for day, shift in zip(share, later, strict=True)])
    waits = scenarios["deferrable"].to_numpy(dtype=bool)
    return np.where(waits[:, None], mean[:, None], share)


def hours_named(hours: Sequence[int]) -> str:
    """Clock hours as a planner reads them: ``09-17``, ``22-02``, ``08-10 17-19``, ``00-24``."""
    left = set(hours)
    if len(left) == HOURS_PER_DAY:
        return f"00-{HOURS_PER_DAY}"
    starts = sorted(hour for hour in left if (hour - 1) % HOURS_PER_DAY not in left)
    named = []
    for start in starts:
        length = next(n for n in range(1, HOURS_PER_DAY) if (start + n) % HOURS_PER_DAY not in left)
        end = (start + length) % HOURS_PER_DAY or HOURS_PER_DAY
        named.append(f"{start:02d}-{end:02d}")
    return " ".join(named)


def dayparts(
    scenarios: pd.DataFrame, days: Array, weights: Mapping[str, Any], count: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Parts of the day for all workloads, and the rate of each workload in each part.

    A part's rate is the highest of its hours, so that no hour is undersized; every workload is at its peak in one part.

    Args:
        scenarios: resolved workloads (workload, deferrable).
        days: see :func:`days_of`.
        weights: by workload, what its peak counts when hours are compared, such as tokens/s.
        count: parts at most.

    Returns:
        parts: daypart (its hours in words), hours_per_day, clock_hours (such as ``9 10 11``), the busiest first;
        rates: daypart, workload, of_peak (part's highest hour over the workload's peak), mean_of_peak.
    """
    names = scenarios["workload"].tolist()
    counted = ~scenarios["deferrable"].to_numpy(dtype=bool)
    weight = np.array([float(weights[name]) for name in names])
    load = (days * weight[:, None])[counted].T / max(float(weight[counted].sum()), 1e-300)
    part = parts(load, count)
    used = sorted(set(part.tolist()))
    hours = {d: np.flatnonzero(part == d).tolist() for d in used}
    table = pd.DataFrame(
        {
            "daypart": [hours_named(hours[d]) for d in used],
            "hours_per_day": [len(hours[d]) for d in used],
            "clock_hours": [" ".join(str(h) for h in hours[d]) for d in used],
        }
    )
    rates = pd.DataFrame(
        [
            (hours_named(hours[d]), name, days[i, hours[d]].max(), days[i, hours[d]].mean())
            for d in used
            for i, name in enumerate(names)
        ],
        columns=["daypart", "workload", "of_peak", "mean_of_peak"],
    )
    return table, rates
