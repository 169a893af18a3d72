"""One question put to the physics: at which batch does each layout still meet a speed?

Axes everywhere: elements, layouts, draft lengths. A batch is the mean number of running streams and need not be whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from procure.performance.step import Layout, step_seconds

Terms = Callable[[np.ndarray], dict[str, np.ndarray]]
"""Batch per replica to seconds of each term of a step."""

_HALVINGS = 22


@dataclass(frozen=True)
class Engine:
    """A pool that serves a card under one physics.

    Attributes:
        layout: layouts with two trailing axes: (layouts, 1) against elements in front and drafts behind.
        drafts: draft lengths tried.
        tokens_per_step: tokens that a step yields at each draft length.
        terms: seconds of each term of a step at a batch.
        weights: seconds of the term ``weights`` alone.
        least: smallest sensible batch per replica.
        most: largest batch whose caches fit.
        room: bytes per GPU beside the weights.
        stored: cache bytes per GPU and stream of a replica.
    """

    layout: Layout
    drafts: np.ndarray
    tokens_per_step: np.ndarray
    terms: Terms
    weights: Callable[[np.ndarray], np.ndarray]
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
            speed_factor: true over computed TPS/User: for each draft length, or for each element and draft length.
        """
        factor = speed_factor if speed_factor.ndim == 1 else speed_factor[:, None, :]
        return (self.rates(batch) * factor).max(axis=(1, 2), initial=0.0)

    def rates(self, batch: np.ndarray) -> np.ndarray:
        """Tokens/s per GPU of each element, layout and draft length; 0 where a layout cannot serve."""
        return np.where(batch > 0, batch * self.speed(np.maximum(batch, self.least)) / self.layout.gpus, 0.0)

    def largest_batch(self, tps_user: np.ndarray) -> np.ndarray:
        """Largest batch per replica that fits and meets a speed; 0 where none does.

        Args:
            tps_user: computed TPS/User to be met: one for each element, or for each element and draft length.

        A step never gets shorter with a larger batch, so bisection in the logarithm is exact, here to 1e-5 of a batch.
        """
        wanted = tps_user[:, None, None] if tps_user.ndim == 1 else tps_user[:, None, :]
        fixed, per_stream = self._rest
        limit = self.tokens_per_step / wanted - fixed
        low, high = np.log(self.least), np.log(np.maximum(self.most, self.least))
        low, high, limit = np.broadcast_arrays(low, high, limit)

        def over(logs: np.ndarray) -> np.ndarray:
            batch = np.exp(logs)
            return self.weights(batch) + per_stream * batch > limit

        meets = ~over(low) & (self.most >= self.least)
        low = np.where(over(high), low, high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            slow = over(middle)
            low, high = np.where(slow, low, middle), np.where(slow, middle, high)
        return np.where(meets, np.exp(low), 0.0)

    @cached_property
    def _rest(self) -> tuple[np.ndarray, np.ndarray]:
        """Seconds of all terms but reading weights: fixed, and per stream of a replica. They are straight lines."""
        one, two = (self.step_s(batch) - self.weights(batch) for batch in (np.ones(()), np.full((), 2.0)))
        return 2.0 * one - two, two - one
