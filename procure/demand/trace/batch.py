"""A batch of requests as arrays, and the collector that fills it row by row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

REFERENCES = 1 << 19
"""Block references after which a batch is full."""
REQUESTS = 1 << 17
"""Requests after which a batch is full."""


@dataclass(frozen=True)
class Batch:
    """Requests in order of the file.

    Attributes:
        time_s: arrival, seconds; of the trace's clock or of the session's own.
        input_tokens: prompt, shared prefix included.
        output_tokens: all output.
        service_s: from arrival to completion, NaN where the trace does not say.
        session: number of the session, -1 where the trace has none.
        reused_tokens: leading tokens seen before, as the trace states them, -1 where it does not.
        shared_tokens: leading tokens that all sessions share, as the trace states them, NaN where it does not.
        blocks: numbers of the blocks of all prompts, one after the other; empty where the trace has none.
        block_count: blocks of each prompt.
    """

    time_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    service_s: NDArray[np.float64]
    session: NDArray[np.int64]
    reused_tokens: NDArray[np.int64]
    shared_tokens: NDArray[np.float64]
    blocks: NDArray[np.int64]
    block_count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass
class Row:
    """One request as a reader finds it; see :class:`Batch`. ``session`` and ``blocks`` may be any names."""

    time_s: float
    input_tokens: int
    output_tokens: int
    service_s: float = float("nan")
    session: Any = None
    reused_tokens: int = -1
    shared_tokens: float = float("nan")
    blocks: list[Any] = field(default_factory=list)
    blocks_of_session: bool = False


class Numbering:
    """Numbers blocks from 0.

    Whole numbers that leave few gaps stand for themselves (the memory is then that of the arrays behind them); other
    names go through a dictionary (about 100 bytes a block).
    """

    def __init__(self) -> None:
        self._plain = 0  # names below this stand for themselves
        self._direct = True
        self._seen = 0
        self._names: dict[Any, int] = {}

    def number(self, names: list[Any]) -> NDArray[np.int64]:
        """Numbers of the names of a batch, in order."""
        self._seen += len(names)
        whole = set(map(type, names)) <= {int}
        if whole and self._direct:
            array = np.array(names, dtype=np.int64) if _fits(names) else np.array([-1])
            if len(array) == 0 or (array.min() >= 0 and array.max() < 4 * self._seen + (1 << 20)):
                self._plain = max(self._plain, int(array.max(initial=-1)) + 1)
                return array
        self._direct = False
        known, start = self._names, self._plain
        out = np.empty(len(names), dtype=np.int64)
        for i, name in enumerate(names):
            plain = type(name) is int and 0 <= name < start
            out[i] = name if plain else known.setdefault(name, start + len(known))
        return out


def _fits(names: list[int]) -> bool:
    return not names or (min(names) >= 0 and max(names) < 1 << 62)


class Collector:
    """Collects rows into batches; numbers sessions and blocks."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._references = 0
        self._sessions: dict[Any, int] = {}
        self._numbering = Numbering()

    def add(self, row: Row) -> bool:
        """Take a row; true when the batch is full."""
        self._rows.append(row)
        self._references += len(row.blocks)
        return self._references >= REFERENCES or len(self._rows) >= REQUESTS

    def flush(self) -> Batch:
        """The rows collected since the last call, as a batch."""
        rows, self._rows, self._references = self._rows, [], 0
        known = self._sessions
        session = [-1 if r.session is None else known.setdefault(r.session, len(known)) for r in rows]
        names: list[Any] = []
        for row, number in zip(rows, session, strict=True):
            names.extend([(number, b) for b in row.blocks] if row.blocks_of_session else row.blocks)
        return Batch(
            np.array([r.time_s for r in rows], dtype=np.float64),
            np.array([r.input_tokens for r in rows], dtype=np.int64),
            np.array([r.output_tokens for r in rows], dtype=np.int64),
            np.array([r.service_s for r in rows], dtype=np.float64),
            np.array(session, dtype=np.int64),
            np.array([r.reused_tokens for r in rows], dtype=np.int64),
            np.array([r.shared_tokens for r in rows], dtype=np.float64),
            self._numbering.number(names),
            np.array([len(r.blocks) for r in rows], dtype=np.int64),
        )
