"""Reuse of KV caches against idle time: the curves of a case, and the few age intervals that stand for one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from procure.errors import Fault, InputError

if TYPE_CHECKING:
    from procure.case import Case
    from procure.catalogue import Catalogue

Array = NDArray[np.float64]

FIRST_AGE_S = 10.0
LAST_AGE_S = 3_600.0
MISS_ERROR = 0.05
"""Largest relative error of the miss tokens between the ends of an age interval."""


@dataclass(frozen=True)
class Curve:
    """How requests return to the cache that the request before them left.

    Attributes:
        name: as cases call it, such as ``chat`` or ``chat:high``.
        age_s: idle time, seconds from completion to the next arrival, rising.
        returned: R at those ages: share of the requests (weighted by their tokens) that return within the age.
        clock: what ages count from, ``idle`` or ``start`` of the request before.
        reused_share: p: share of the input of a returning request that its cache holds, shared prefix included.
    """

    name: str
    age_s: tuple[float, ...]
    returned: tuple[float, ...]
    reused_share: float
    clock: str = "idle"

    def at(self, age_s: Array | float) -> Array:
        """R at any age: linear in log age between the curve's points, from 0 at age 0, flat after the last."""
        age = np.asarray(age_s, dtype=float)
        if not self.age_s:
            return np.zeros_like(age)
        x, y = np.array(self.age_s), np.array(self.returned)
        inside = np.interp(np.log(np.maximum(age, x[0])), np.log(x), y)
        return np.where(age < x[0], y[0] * age / x[0], inside)

    def mean(self, start_s: float, end_s: float) -> float:
        """Mean of R over the ages from ``start_s`` to ``end_s``."""
        return float((self._area(end_s) - self._area(start_s)) / (end_s - start_s))

    def _area(self, age_s: float) -> float:
        """Integral of R from age 0 to ``age_s``, seconds.

        On a piece from x with slope m in log age, ∫ R da from x to a is R(x)·(a − x) + m·(a·ln(a/x) − (a − x)).
        """
        if not self.age_s:
            return 0.0
        x, y = np.array(self.age_s), np.array(self.returned)
        end = np.clip(age_s, x, np.append(x[1:], np.inf))  # of each piece, the last one flat
        slope = np.append(np.diff(y) / np.diff(np.log(x)), 0.0)
        pieces = y * (end - x) + slope * (end * np.log(end / x) - (end - x))
        return float(y[0] * min(age_s, x[0]) ** 2 / (2 * x[0]) + pieces.sum())


def packaged_curve(name: str, catalogue: Catalogue) -> Curve:
    """A packaged curve as a catalogue has it, under the case's own premises.

    ``reuse/<name>/returns`` is the packaged shape of R and ``reused_share`` its p. Where the case states ``h_max``, the
    share of input that a cache without limits finds, R is scaled so that p·R at the last age is that.

    Args:
        name: of a curve; ``:low``, ``:base`` or ``:high`` picks where all of its premises start from.
        catalogue: with the premises of the case.

    Raises:
        KeyError: no such curve.
        InputError: ``h_max`` above ``reused_share``, so that more would return than ask.
    """
    if name == "none":
        return Curve("none", (), (), 0.0)
    shape = catalogue.packaged.returns[name.partition(":")[0]]
    share, returns, h_max = (catalogue.premise(f"reuse/{name}/{what}") for what in ("reused_share", "returns", "h_max"))
    returned = shape.returned[str(returns.value)]
    if h_max != catalogue.packaged.premises[f"reuse/{name}/h_max"]:
        if h_max.number > share.number:
            expected = f"At most reuse/{name}/reused_share, {share.number:g}: no more requests return than ask."
            raise InputError([Fault("premises.csv", 0, f"reuse/{name}/h_max", f"{h_max.number:g}", expected)])
        factor = h_max.number / (share.number * returned[-1]) if share.number > 0 else 0.0
        returned = tuple(min(r * factor, 1.0) for r in returned)
    return Curve(name, shape.age_s, returned, share.number)


def curves_of(case: Case) -> dict[str, Curve]:
    """The curves that the workloads of a case name: its own, else packaged ones under its premises."""
    own = own_curves(case.tables["reuse"])
    names = sorted(set(case.tables["workloads"]["reuse_curve"]))
    return {name: own[name] if name in own else packaged_curve(name, case.catalogue) for name in names}


def own_curves(table: pd.DataFrame | None) -> dict[str, Curve]:
    """Curves of a case's ``reuse`` table (curve, age_s, return_share, reused_share), by name."""
    if table is None or not len(table):
        return {}
    return {
        str(name): Curve(
            str(name),
            tuple(rows["age_s"].astype(float)),
            tuple(rows["return_share"].astype(float)),
            float(rows["reused_share"].iloc[0]),
            "start" if "clock" in rows and rows["clock"].iloc[0] == "start" else "idle",
        )
        for name, rows in table.sort_values("age_s").groupby("curve")
    }


@cache
def interval_ends(curve: Curve) -> tuple[float, ...]:
    """Ends of the age intervals that stand for a curve, from 10 s to one hour at most; none for a curve of no returns.

    A plan may keep a part of the caches to the end of an interval and drop the rest at its start, so between the ends
    hits lie on the chord of hits over occupied seconds. Each interval is as long as it can be while from
    10 s on the miss tokens on that chord stay within 5% of the curve's: short ones early and wherever the curve bends.
    None begins where nothing more returns.
    """
    early = np.linspace(0.0, FIRST_AGE_S, 101)
    ages = np.unique(np.round(np.geomspace(FIRST_AGE_S, LAST_AGE_S, 118)))
    grid = np.concatenate([early[:-1], ages])
    hit = curve.reused_share * curve.at(grid)
    if hit[-1] <= 0:
        return ()
    occupied = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (1 - (hit[1:] + hit[:-1]) / 2))])
    first, last = len(early) - 1, len(grid) - 1
    enough = int(np.argmax(hit >= hit[-1] - 1e-6))  # nothing returns later
    ends: list[int] = []
    start = 0
    while start < max(enough, first):
        end = max(start + 1, first)
        while end < min(max(enough, first), last):
            inner = np.arange(max(start, first), end + 2)
            if _chord_error(occupied, hit, start, inner) > MISS_ERROR:
                break
            end += 1
        ends.append(end)
        start = end
    return tuple(float(grid[i]) for i in ends)


def _chord_error(occupied: Array, hit: Array, start: int, inner: NDArray[np.int64]) -> float:
    """Largest relative error of the misses at ``inner`` on the chord from ``start`` to the last of them."""
    ends = [start, int(inner[-1])]
    chord = np.interp(occupied[inner], occupied[ends], hit[ends])
    return float(np.max((hit[inner] - chord) / (1 - hit[inner])))


def intervals(curve: Curve) -> pd.DataFrame:
    """The age intervals of a curve.

    Returns:
        columns: interval (from 0), age_from_s, age_to_s, return_share (of the requests, within the interval),
        return_cumulative (R at age_to_s), mean_return_before (mean of R over the interval).
    """
    ends = interval_ends(curve)
    starts = (0.0, *ends[:-1]) if ends else ()
    cumulative = curve.at(np.array(ends))
    return pd.DataFrame(
        {
            "interval": np.arange(len(ends)),
            "age_from_s": np.array(starts, dtype=float),
            "age_to_s": np.array(ends, dtype=float),
            "return_share": np.diff(cumulative, prepend=0.0),
            "return_cumulative": cumulative,
            "mean_return_before": [curve.mean(a, b) for a, b in zip(starts, ends, strict=True)],
        }
    )
