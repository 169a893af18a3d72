"""Reuse of a trace against age and against capacity, accumulated batch by batch."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

_AGES = """
1 2 5 10 15 20 30 45 60 90 120 180 240 300 450 600 900
1200 1800 2700 3600 7200 14400 28800 86400 604800
"""
AGES_S: Array = np.array(_AGES.split(), dtype=float)
"""Ages that are reported, seconds."""
_EDGES: Array = np.union1d(np.concatenate([[0.0], np.geomspace(0.1, 604_800.0, 700)]), AGES_S)


class AgeCurve:
    """Share of weight whose gap is at most an age.

    A reference at time t after the start of a trace cannot show a gap longer than t. For each age only the references
    from that age on are counted, so that the start of the trace does not bias the curve, and ages that leave less than
    a third of the references are not reported; where each session has its own clock, all are counted, since sessions do
    begin with nothing.
    """

    def __init__(self, *, from_start: bool) -> None:
        """``from_start``: whether times are of one trace that begins in the middle of things."""
        self._from_start = from_start
        self._gap = np.zeros(len(_EDGES) + 1)
        self._time_of_gap = np.zeros(len(_EDGES) + 1)
        self._time = np.zeros(len(_EDGES) + 1)

    def add(self, gap_s: Array, time_s: Array, weight: Array) -> None:
        """Count references: gap (NaN for none), time since the start, weight."""
        seen = ~np.isnan(gap_s)
        gap, time = np.maximum(gap_s[seen], 0.0), np.maximum(time_s, 0.0)
        bins = len(_EDGES) + 1
        self._gap += np.bincount(np.searchsorted(_EDGES, gap), weight[seen], bins)
        if self._from_start:
            slot = np.searchsorted(_EDGES, time, side="right")
            self._time += np.bincount(slot, weight, bins)
            self._time_of_gap += np.bincount(np.maximum(slot[seen], np.searchsorted(_EDGES, gap)), weight[seen], bins)
        else:
            self._time[-1] += weight.sum()

    @property
    def weight(self) -> float:
        """All weight."""
        return float(self._time.sum())

    def unlimited(self) -> float:
        """Share of all weight that has any gap at all."""
        return float(self._gap.sum() / max(self.weight, 1e-300))

    def share(self) -> Array:
        """Share at every internal age; NaN where too few references are late enough."""
        late = self.weight - np.cumsum(self._time)[:-1]
        hits = np.cumsum(self._gap)[:-1] - np.cumsum(self._time_of_gap)[:-1]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(late >= self.weight / 3, hits / late, np.nan)
        return share

    def table(self) -> pd.DataFrame:
        """At the reported ages: age_s, share, occupied_s (integral of 1 − share from 0 to the age)."""
        share = self.share()
        step = np.diff(_EDGES) * (1 - (share[1:] + share[:-1]) / 2)
        occupied = np.concatenate([[0.0], np.cumsum(step)])
        at = np.searchsorted(_EDGES, AGES_S)
        table = pd.DataFrame({"age_s": AGES_S, "share": share[at], "occupied_s": occupied[at]})
        return table[table["share"].notna()].reset_index(drop=True)


class CapacityCurve:
    """Share of weight whose stack distance is below a capacity, over the whole trace and over its second half."""

    SLOTS = 512

    def __init__(self) -> None:
        self._edges = np.unique(np.round(np.geomspace(1, 2e9, 260)).astype(np.int64))
        self._slot_s = 1.0
        self._counts = np.zeros((self.SLOTS, len(self._edges) + 1))
        self._all = np.zeros(self.SLOTS)
        self._latest_s = 0.0

    def add(self, distance: NDArray[np.int64], time_s: Array, weight: Array) -> None:
        """Count references: stack distance in blocks (negative for none), time since the start, weight."""
        if not len(distance):
            return
        self._latest_s = max(self._latest_s, float(time_s.max()))
        while self._latest_s >= self.SLOTS * self._slot_s:
            half = self.SLOTS // 2
            for name in ("_counts", "_all"):
                old = getattr(self, name)
                new = np.zeros_like(old)
                new[:half] = old[0::2] + old[1::2]
                setattr(self, name, new)
            self._slot_s *= 2
        slot = np.maximum((time_s / self._slot_s).astype(np.int64), 0)
        np.add.at(self._all, slot, weight)
        seen = distance >= 0
        # A block is found in a cache of C blocks when fewer than C others came since: distance + 1 <= C.
        column = np.searchsorted(self._edges, distance[seen] + 1)
        width = self._counts.shape[1]
        flat = np.bincount(slot[seen] * width + column, weight[seen], self._counts.size)
        self._counts += flat.reshape(self._counts.shape)

    def table(self) -> pd.DataFrame:
        """Columns: capacity_blocks, hit_rate (second half of the trace), hit_rate_whole."""
        middle = int(np.ceil(self._latest_s / 2 / self._slot_s))
        rates = []
        for first in (middle, 0):
            hits = np.cumsum(self._counts[first:].sum(axis=0))[:-1]
            rates.append(hits / max(self._all[first:].sum(), 1e-300))
        table = pd.DataFrame({"capacity_blocks": self._edges, "hit_rate": rates[0], "hit_rate_whole": rates[1]})
        most = table["hit_rate_whole"].iloc[-1]
        last = int(np.argmax(table["hit_rate_whole"].to_numpy() >= most - 1e-12))
        return table.iloc[: last + 1]
