"""Who reuses what in a trace: previous references of blocks, returning requests, stack distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from procure.demand.trace.batch import Batch
from procure.demand.trace.curves import AgeCurve, CapacityCurve
from procure.demand.trace.stack import LruStack, before

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

CLOCKS = ("idle", "start")
"""From the completion of the request that used a block last, or from its start, to the next arrival."""


def infer_block_tokens(batch: Batch) -> int:
    """The power of two that explains most prompts as tokens per block, rounded up; 512 where nothing does."""
    tokens, blocks = batch.input_tokens, batch.block_count
    some = (tokens > 0) & (blocks > 0)
    sizes = [2**i for i in range(4, 13)]
    agree = [float(np.mean(-(-tokens[some] // size) == blocks[some])) if some.any() else 0.0 for size in sizes]
    return sizes[int(np.argmax(agree))] if max(agree) > 0 else 512


def infer_shared_blocks(batch: Batch, share: float = 0.9) -> int:
    """Leading blocks that at least ``share`` of the prompts of a batch have in common; one prompt shares none."""
    if len(batch) < 2:
        return 0
    start = np.cumsum(batch.block_count) - batch.block_count
    depth = 0
    while True:
        deep = start[batch.block_count > depth]
        if len(deep) < share * len(batch) or not len(deep):
            return depth
        _, counts = np.unique(batch.blocks[deep + depth], return_counts=True)
        if counts.max() < share * len(batch):
            return depth
        depth += 1


@dataclass
class Measured:
    """What is accumulated over a trace.

    Attributes:
        hits: by clock, tokens found again against age.
        returns: by clock, requests that return against age, weighted by their tokens.
        returns_requests: the same, each request with weight 1.
        capacity: tokens against LRU capacity, None where each session has its own clock or there are no blocks.
        returning_tokens: input of the requests that return, and what they reuse of it.
    """

    hits: dict[str, AgeCurve]
    returns: dict[str, AgeCurve]
    returns_requests: dict[str, AgeCurve]
    capacity: CapacityCurve | None
    returning_tokens: float = 0.0
    reused_tokens: float = 0.0
    references: int = 0

    @property
    def reused_share(self) -> float:
        """p: share of the input of returning requests that is reused."""
        return self.reused_tokens / self.returning_tokens if self.returning_tokens else 0.0


class ReuseMeter:
    """Takes batches in order and measures reuse."""

    def __init__(self, first: Batch, *, session_clock: bool, block_tokens: int, shared_blocks: int) -> None:
        self._block_tokens, self._shared_blocks = block_tokens, shared_blocks
        self._stack = LruStack()
        self._last: dict[str, Array] = {c: np.full(1024, np.nan) for c in CLOCKS}
        self._sessions: dict[int, tuple[float, float, int]] = {}
        blocks = len(first.blocks) > 0

        def curves() -> dict[str, AgeCurve]:
            return {clock: AgeCurve(from_start=not session_clock) for clock in CLOCKS}

        capacity = CapacityCurve() if blocks and not session_clock else None
        self.measured = Measured(curves(), curves(), curves(), capacity)

    def add(self, batch: Batch, since_start_s: Array, end_s: Array) -> None:
        """Measure a batch.

        Args:
            batch: its requests.
            since_start_s: arrivals since the start of the trace.
            end_s: completions on the clock of ``batch.time_s``; equal to it where they are not known.
        """
        with_blocks = batch.block_count > 0
        if with_blocks.any():
            self._blocks(batch, since_start_s, end_s)
        alone = ~with_blocks & (batch.session >= 0)
        if alone.any():
            self._by_session(batch, np.flatnonzero(alone), since_start_s, end_s)

    def _blocks(self, batch: Batch, since_start_s: Array, end_s: Array) -> None:
        has = batch.block_count > 0
        count = batch.block_count[has]
        blocks = batch.blocks
        request = np.repeat(np.flatnonzero(has), count)
        first = np.cumsum(count) - count
        tokens = np.full(len(blocks), float(self._block_tokens))
        tokens[first + count - 1] = np.maximum(batch.input_tokens[has] - (count - 1) * self._block_tokens, 1)

        previous = before(blocks)
        inside = previous >= 0
        latest = np.ones(len(blocks), dtype=bool)
        latest[previous[inside]] = False
        known = inside | ~np.isnan(self._known(int(blocks.max()))[blocks])
        matched, deepest = self._prefix(known, first, count)
        reused = np.minimum(matched * self._block_tokens, batch.input_tokens[has])
        returning = matched > self._shared_blocks
        for clock, used in (("idle", end_s), ("start", batch.time_s)):
            last = self._last[clock]
            at = np.where(inside, used[request[np.maximum(previous, 0)]], last[blocks])
            gap = batch.time_s[request] - at
            self.measured.hits[clock].add(gap, since_start_s[request], tokens)
            last[blocks[latest]] = used[request[latest]]
            self._returns(clock, batch, np.flatnonzero(has), returning, gap[deepest], since_start_s)
        self.measured.returning_tokens += float(batch.input_tokens[has][returning].sum())
        self.measured.reused_tokens += float(reused[returning].sum())
        self.measured.references += len(blocks)
        if self.measured.capacity is not None:
            # The last block of a prompt is referenced first, so that a prefix never leaves before what hangs on it.
            backward = np.repeat(first + count - 1, count) - (np.arange(len(blocks)) - np.repeat(first, count))
            line = blocks[backward]
            distance = self._stack.distances(line, before(line))
            self.measured.capacity.add(distance, since_start_s[request], tokens[backward])

    def _known(self, highest: int) -> Array:
        """Time of the last use of each block, NaN for none; long enough for block ``highest``."""
        for clock, last in self._last.items():
            if len(last) <= highest:
                more = np.full(max(highest + 1, 2 * len(last)), np.nan)
                more[: len(last)] = last
                self._last[clock] = more
        return self._last["start"]

    @staticmethod
    def _prefix(known: NDArray[np.bool_], first: Ints, count: Ints) -> tuple[Ints, Ints]:
        """Leading blocks of each prompt that were seen before, and the index of the last of them (or the first)."""
        index = np.arange(len(known))
        miss = np.where(known, np.iinfo(np.int64).max, index)
        stop = np.minimum(np.minimum.reduceat(miss, first), first + count)
        matched = stop - first
        return matched, first + np.maximum(matched - 1, 0)

    def _returns(
        self, clock: str, batch: Batch, who: Ints, returning: NDArray[np.bool_], gap_s: Array, since_start_s: Array
    ) -> None:
        gap = np.where(returning, gap_s, np.nan)
        tokens = batch.input_tokens[who].astype(float)
        self.measured.returns[clock].add(gap, since_start_s[who], tokens)
        self.measured.returns_requests[clock].add(gap, since_start_s[who], np.ones(len(who)))

    def _by_session(self, batch: Batch, who: Ints, since_start_s: Array, end_s: Array) -> None:
        """Without blocks: what the trace states as reused, else the whole context of the session's last request."""
        known = self._sessions
        gaps = {c: np.full(len(who), np.nan) for c in CLOCKS}
        reused = np.zeros(len(who))
        columns = zip(
            who.tolist(),
            batch.session[who].tolist(),
            batch.time_s[who].tolist(),
            end_s[who].tolist(),
            batch.input_tokens[who].tolist(),
            batch.output_tokens[who].tolist(),
            batch.reused_tokens[who].tolist(),
            strict=True,
        )
        for i, (_, session, time, end, inputs, outputs, stated) in enumerate(columns):
            past = known.get(session)
            held = 0 if past is None else past[2]
            tokens = min(held if stated < 0 else stated, inputs)
            if past is not None and tokens > 0:
                gaps["start"][i], gaps["idle"][i] = time - past[0], time - past[1]
                reused[i] = tokens
            known[session] = (time, end, inputs + outputs)
        returning = reused > 0
        inputs_all = batch.input_tokens[who].astype(float)
        for clock in CLOCKS:
            gap = np.where(returning, gaps[clock], np.nan)
            self._returns(clock, batch, who, returning, gaps[clock], since_start_s)
            self.measured.hits[clock].add(gap, since_start_s[who], reused)
            self.measured.hits[clock].add(np.full(len(who), np.nan), since_start_s[who], inputs_all - reused)
        self.measured.returning_tokens += float(inputs_all[returning].sum())
        self.measured.reused_tokens += float(reused.sum())
