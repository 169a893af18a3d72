"""One question put to the physics: at which batch does each layout still meet a speed?

Axes everywhere: elements, layouts, draft lengths. A batch is the mean number of running streams and need not be whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from procure.performance.step import Layout, step_seconds

Terms = Callable[[np.ndarray], dict[str, np.ndarray]]
"""Batch per replica to seconds of each term of a step."""

MOST_STREAMS_PER_GPU = 16_384.0
_HALVINGS = 30


@dataclass(frozen=True)
class Engine:
    """A pool that serves a card under one physics.

    Attributes:
        layout: layouts with two trailing axes: (layouts, 1) against elements in front and drafts behind.
        drafts: draft lengths tried.
        tokens_per_step: tokens that a step yields at each draft length.
        terms: seconds of each term of a step at a batch.
        least: smallest sensible batch per replica.
        most: largest batch whose caches fit.
        room: bytes per GPU beside the weights.
        stored: cache bytes per GPU and stream of a replica.
    """

    layout: Layout
    drafts: np.ndarray
    tokens_per_step: np.ndarray
    terms: Terms
    least: np.ndarray
    most: np.ndarray
    room: np.ndarray
    stored: np.ndarray

    def step_s(self, batch: np.ndarray) -> np.ndarray:
        """Seconds of a step at a batch."""
        return step_seconds(self.terms(batch))

    def speed(self, batch: np.ndarray) -> np.ndarray:
        """TPS/User at a batch."""
        return self.tokens_per_step / self.step_s(batch)

    def best(self, batch: np.ndarray, speed_factor: np.ndarray) -> np.ndarray:
        """Highest tokens/s per GPU of each element over layouts and draft lengths, at those batches.

        Args:
            batch: streams per replica; 0 where a layout cannot serve.
            speed_factor: true over computed TPS/User, one for each draft length.
        """
        return (self.rates(batch) * speed_factor).max(axis=(1, 2), initial=0.0)

    def rates(self, batch: np.ndarray) -> np.ndarray:
        """Tokens/s per GPU of each element, layout and draft length; 0 where a layout cannot serve."""
        return np.where(batch > 0, batch * self.speed(np.maximum(batch, self.least)) / self.layout.gpus, 0.0)

    def largest_batch(self, tps_user: np.ndarray) -> np.ndarray:
        """Largest batch per replica that fits and meets a speed; 0 where none does.

        Args:
            tps_user: computed TPS/User to be met: one for each element, or for each element and draft length.

        A step never gets shorter with a larger batch, so bisection in the logarithm is exact to 1e-8.
        """
        wanted = tps_user[:, None, None] if tps_user.ndim == 1 else tps_user[:, None, :]
        limit = self.tokens_per_step / wanted
        low, high = np.log(self.least), np.log(np.maximum(self.most, self.least))
        low, high, limit = np.broadcast_arrays(low, high, limit)
        meets = (self.step_s(np.exp(low)) <= limit) & (self.most >= self.least)
        low = low.copy()
        all_fit = self.step_s(np.exp(high)) <= limit
        low, high = np.where(all_fit, high, low), high.copy()
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            good = self.step_s(np.exp(middle)) <= limit
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return np.where(meets, np.exp(low), 0.0)
