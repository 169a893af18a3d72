"""Arrival shape and lengths of a trace, counted exactly as it streams by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

BINS_S = (1, 10, 60, 300, 600, 3600)
LONGEST_S = 1_000 * 86_400
"""Longest trace: a longer one has times in another unit than was understood."""
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
POWERS = tuple(1024 * 2**i for i in range(11))
"""Upper ends of the length bins: 1,024 to 1,048,576 tokens."""

Counts = NDArray[np.int64]


def _grown(counts: NDArray[Any], size: int) -> NDArray[Any]:
    if size <= len(counts):
        return counts
    return np.concatenate([counts, np.zeros(max(size, 2 * len(counts)) - len(counts), dtype=counts.dtype)])


class Lengths:
    """How many requests have each length in tokens."""

    def __init__(self) -> None:
        self._counts = np.zeros(1024, dtype=np.int64)
        self._longest = 0

    def add(self, tokens: Counts) -> None:
        """Count the lengths of a batch."""
        if len(tokens):
            self._longest = max(self._longest, int(tokens.max()))
            self._counts = _grown(self._counts, self._longest + 1)
            counts = np.bincount(tokens)
            self._counts[: len(counts)] += counts

    @property
    def requests(self) -> int:
        """Requests counted."""
        return int(self._counts.sum())

    @property
    def tokens(self) -> int:
        """Sum of the lengths."""
        return int(self._counts @ np.arange(len(self._counts)))

    @property
    def mean(self) -> float:
        """Mean length in tokens, 0 without requests."""
        return self.tokens / self.requests if self.requests else 0.0

    @property
    def longest(self) -> int:
        """Longest length in tokens."""
        return self._longest

    def quantile(self, share: float) -> float:
        """Length below which ``share`` of the requests lie, linear between neighbours in order of length."""
        rank = share * (self.requests - 1)
        cumulative = np.cumsum(self._counts)
        low, high = np.searchsorted(cumulative, [int(rank), int(np.ceil(rank))], side="right")
        return float(low + (high - low) * (rank - int(rank)))

    def share_up_to(self, tokens: float) -> float:
        """Share of the requests that are no longer than ``tokens``."""
        return float(self._counts[: int(tokens) + 1].sum() / max(self.requests, 1))

    def histogram(self) -> pd.DataFrame:
        """Columns: up_to_tokens (inf for the last), share_requests, share_tokens."""
        ends = [*POWERS, np.inf]
        cut = np.searchsorted(np.arange(len(self._counts)), POWERS, side="right").tolist()
        cut.append(len(self._counts))
        length = np.arange(len(self._counts))
        requests = np.diff(np.concatenate([[0], np.cumsum(self._counts)])[cut], prepend=0)
        tokens = np.diff(np.concatenate([[0], np.cumsum(self._counts * length)])[cut], prepend=0)
        return pd.DataFrame(
            {
                "up_to_tokens": ends,
                "share_requests": requests / max(self.requests, 1),
                "share_tokens": tokens / max(self.tokens, 1),
            }
        )


class Arrivals:
    """Requests by second since the first one."""

    def __init__(self) -> None:
        self._counts = np.zeros(1024)
        self.start_s = np.nan
        self.end_s = np.nan

    def add(self, time_s: NDArray[np.float64]) -> None:
        """Count the arrivals of a batch; those before the first of all are put into its second.

        Raises:
            ValueError: arrivals further apart than :data:`LONGEST_S`.
        """
        if not len(time_s):
            return
        if np.isnan(self.start_s):
            self.start_s = float(time_s.min())
            self.end_s = self.start_s
        self.end_s = max(self.end_s, float(time_s.max()))
        if self.span_s > LONGEST_S:
            raise ValueError(f"arrivals span {self.span_s / 86_400:,.0f} days; at most 1,000 are expected")
        second = np.maximum((time_s - self.start_s).astype(np.int64), 0)
        self._counts = _grown(self._counts, int(second.max()) + 1)
        counts = np.bincount(second)
        self._counts[: len(counts)] += counts

    def add_rate(self, start_s: float, width_s: int, requests_per_s: float) -> None:
        """Count a window of steady arrivals, as traces of rates state them."""
        if np.isnan(self.start_s):
            self.start_s = start_s
        first = int(start_s - self.start_s)
        self._counts = _grown(self._counts, first + width_s)
        self._counts[first : first + width_s] += requests_per_s
        self.end_s = start_s + width_s

    @property
    def requests(self) -> float:
        """Requests counted."""
        return float(self._counts.sum())

    @property
    def span_s(self) -> float:
        """Seconds from the first arrival to the last."""
        return self.end_s - self.start_s

    def busiest(self, width_s: int) -> float | None:
        """Requests/s of the busiest bin, None where the trace holds fewer than two whole ones."""
        whole = int(self.span_s // width_s) if self.span_s > 0 else 0
        if whole < 2:
            return None
        return float(self._counts[: whole * width_s].reshape(whole, width_s).sum(axis=1).max() / width_s)

    def peaks(self) -> pd.DataFrame:
        """Columns: bin_s, peak_to_mean, index_of_dispersion; bins of which the trace holds at least two whole ones."""
        rows = []
        for width in BINS_S:
            whole = int(self.span_s // width) if self.span_s > 0 else 0
            if whole < 2:
                continue
            counts = self._counts[: whole * width].reshape(whole, width).sum(axis=1)
            rows.append((width, counts.max() / counts.mean(), counts.var() / counts.mean()))
        return pd.DataFrame(rows, columns=["bin_s", "peak_to_mean", "index_of_dispersion"])

    def hours(self) -> pd.DataFrame:
        """Columns: hour (of the clock where the trace states dates, else since its start), of_mean; whole days only."""
        days = int((self.span_s + 1) // 86_400) if self.span_s > 0 else 0
        if days < 1:
            return pd.DataFrame({"hour": pd.Series(dtype=int), "of_mean": pd.Series(dtype=float)})
        counts = self._counts[: days * 86_400].reshape(days, 24, 3_600).sum(axis=(0, 2))
        first = int(self.start_s % 86_400 // 3_600)
        table = pd.DataFrame({"hour": (np.arange(24) + first) % 24, "of_mean": counts / counts.mean()})
        return table.sort_values("hour", ignore_index=True)
