"""Exact LRU stack distances of a stream of block references, a batch at a time.

All known blocks stand in one line, oldest first. A reference takes its block out of the line and puts it at the end;
its stack distance is the number of blocks then behind its old place. For the references of a batch, numbered 0, 1, ...:

    distance_i = (length of the line at the start) + i − 1 − place_i − |{j < i in the batch: place_j > place_i}|

where place is the block's position before the reference: in the line at the start, or that line's length + j for a
block last referenced by j. The last term counts earlier larger values; a wavelet tree counts them for the whole batch
in log2(batch) passes over arrays. A reference costs the same whatever its distance; the state is 4 bytes a block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

NEVER = -1
"""Distance of a block that was not referenced before, and the reference before its first."""


def earlier_larger(values: Ints) -> Ints:
    """For each value, how many of those before it are larger; equal ones do not count.

    Args:
        values: whole numbers, shape (n,).
    """
    n = len(values)
    if n < 2:
        return np.zeros(n, dtype=np.int64)
    bits = int(n - 1).bit_length()
    size = 1 << bits
    order = np.arange(size, dtype=np.int32)
    # Positions by falling value, the later of equals first; the filling up to a power of two comes last.
    order[:n] = np.argsort(values, kind="stable")[::-1]
    count = np.zeros(size, dtype=np.int32)
    for bit in range(bits - 1, -1, -1):
        # A node holds the positions that agree above this bit. Left ones before a right one are earlier and larger.
        width = 1 << (bit + 1)
        right = (order >> bit) & 1
        rights = np.cumsum(right.reshape(-1, width), axis=1, dtype=np.int32)
        lefts = np.arange(1, width + 1, dtype=np.int32) - rights
        chosen = right.astype(bool)
        count[order[chosen]] += lefts.ravel()[chosen]
        node = np.arange(0, size, width, dtype=np.int32)[:, None]
        to = np.where(chosen.reshape(-1, width), node + (width // 2 - 1) + rights, node + lefts - 1)
        sorted_order = np.empty_like(order)
        sorted_order[to.ravel()] = order
        order = sorted_order
    return count[:n].astype(np.int64)


class LruStack:
    """The line of blocks, kept between batches."""

    def __init__(self) -> None:
        self._place = np.full(1024, NEVER, dtype=np.int32)
        self._length = 0

    @property
    def blocks(self) -> int:
        """Distinct blocks seen so far."""
        return self._length

    def distances(self, blocks: Ints, before: Ints) -> Ints:
        """Stack distances of the references of a batch; takes the batch into the line.

        Args:
            blocks: block of each reference, whole numbers from 0 that leave few gaps.
            before: index in the batch of the reference to the same block before it, or NEVER; see :func:`before`.

        Returns:
            number of other blocks referenced since the last reference to this one; NEVER for the first.
        """
        n, line = len(blocks), self._length
        self._grow(int(blocks.max(initial=0)) + 1)
        place = np.where(before >= 0, before + line, self._place[blocks])
        index = np.arange(n)
        distance = np.where(place < 0, NEVER, line + index - 1 - place - earlier_larger(place))

        last = np.ones(n, dtype=bool)
        last[before[before >= 0]] = False
        alive = np.ones(line, dtype=bool)
        alive[place[(place >= 0) & (place < line)]] = False
        moved = np.cumsum(alive, dtype=np.int32) - 1
        known = self._place >= 0
        self._place[known] = moved[self._place[known]] if line else 0
        remaining = int(alive.sum())
        self._place[blocks[last]] = remaining + np.arange(int(last.sum()), dtype=np.int32)
        self._length = remaining + int(last.sum())
        return distance

    def _grow(self, size: int) -> None:
        if size > len(self._place):
            more = np.full(max(size, 2 * len(self._place)), NEVER, dtype=np.int32)
            more[: len(self._place)] = self._place
            self._place = more


def before(blocks: Ints) -> Ints:
    """Index of the reference before each one to the same block within a batch; NEVER for the first."""
    order = np.argsort(blocks, kind="stable")
    same = blocks[order[1:]] == blocks[order[:-1]]
    result = np.full(len(blocks), NEVER, dtype=np.int64)
    result[order[1:][same]] = order[:-1][same]
    return result
