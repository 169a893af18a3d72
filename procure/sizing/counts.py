"""How many cache entries a sequence of S tokens has: the only way in which a footprint depends on length.

Every count is exact, vectorised over NumPy arrays, and carries the closed form of its running sum
(what a causal prefill visits: position 1, 2, ... S).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Lengths = Any
"""A number of tokens, or an array of them."""


@dataclass(frozen=True)
class Entries:
    """One entry per ``every`` tokens, at most ``at_most`` entries: ``min(floor(S / every), at_most)``."""

    every: int = 1
    at_most: int | None = None

    def at(self, tokens: Lengths) -> np.ndarray:
        """Entries of a sequence of that many tokens."""
        count = np.floor_divide(tokens, self.every) if self.every > 1 else np.asarray(tokens)
        return count if self.at_most is None else np.minimum(count, self.at_most)

    def total(self, tokens: Lengths) -> np.ndarray:
        """Sum of :meth:`at` over lengths 1 .. tokens, as float64."""
        length = np.floor(np.asarray(tokens, dtype=np.float64))
        if self.at_most is None:
            return self._uncapped(length)
        knee = float(self.every * self.at_most)
        capped = self._uncapped(np.minimum(length, knee))
        return capped + self.at_most * np.maximum(length - knee, 0.0)

    def _uncapped(self, length: np.ndarray) -> np.ndarray:
        whole = np.floor(length / self.every)
        rest = length - whole * self.every
        return self.every * whole * (whole - 1) / 2 + whole * (rest + 1)


@dataclass(frozen=True)
class InChunk:
    """Tokens since the current chunk of ``chunk`` tokens began: ``((S - 1) mod chunk) + 1``."""

    chunk: int

    def at(self, tokens: Lengths) -> np.ndarray:
        """Entries of a sequence of that many tokens; none for an empty sequence."""
        length = np.asarray(tokens)
        return np.where(length > 0, np.mod(length - 1, self.chunk) + 1, 0)

    def total(self, tokens: Lengths) -> np.ndarray:
        """Sum of :meth:`at` over lengths 1 .. tokens, as float64."""
        length = np.floor(np.asarray(tokens, dtype=np.float64))
        whole = np.floor(length / self.chunk)
        rest = length - whole * self.chunk
        return whole * self.chunk * (self.chunk + 1) / 2 + rest * (rest + 1) / 2


@dataclass(frozen=True)
class Pending:
    """Tokens that wait to be compressed: ``S mod every``."""

    every: int

    def at(self, tokens: Lengths) -> np.ndarray:
        """Entries of a sequence of that many tokens."""
        return np.mod(tokens, self.every)

    def total(self, tokens: Lengths) -> np.ndarray:
        """Sum of :meth:`at` over lengths 1 .. tokens, as float64."""
        length = np.floor(np.asarray(tokens, dtype=np.float64))
        whole = np.floor(length / self.every)
        rest = length - whole * self.every
        return whole * self.every * (self.every - 1) / 2 + rest * (rest + 1) / 2


@dataclass(frozen=True)
class Once:
    """One entry per sequence whatever its length: a state."""

    def at(self, tokens: Lengths) -> np.ndarray:
        """One for every sequence."""
        return np.ones_like(np.asarray(tokens))

    def total(self, tokens: Lengths) -> np.ndarray:
        """Sum of :meth:`at` over lengths 1 .. tokens, as float64."""
        return np.floor(np.asarray(tokens, dtype=np.float64))


Count = Entries | InChunk | Pending | Once

EVERY_TOKEN = Entries()
PER_SEQUENCE = Once()


def visited(count: Count, start: Lengths, end: Lengths) -> np.ndarray:
    """Sum of a count over the positions start + 1 .. end that a causal prefill computes, as float64.

    The last token of a length that is not whole (a mean) counts by its part, so that the sum is exact at whole lengths
    and has no step between them.
    """
    return _upto(count, end) - _upto(count, start)


def _upto(count: Count, tokens: Lengths) -> np.ndarray:
    length = np.asarray(tokens, dtype=np.float64)
    whole = np.floor(length)
    return count.total(whole) + (length - whole) * count.at(whole + 1.0)
