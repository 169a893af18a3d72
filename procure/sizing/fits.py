"""The inverse of a footprint: the longest sequence, or the most sequences, that a byte budget holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from procure.errors import Fault, InputError
from procure.sizing.card import Card, Format
from procure.sizing.counts import Lengths
from procure.sizing.formats import Convention, convention

UNLIMITED = int(np.iinfo(np.int64).max)
"""What is returned where a footprint stops growing below the budget."""

NOTHING = -1
"""Longest sequence where not even the fixed state of an empty one fits."""

_LONGEST = 2**42


def longest_tokens(
    card: Card, budget_bytes: Any, kv_format: Format, rule: str | Convention = "formula", sequences: int = 1
) -> Any:
    """Tokens of the longest sequence whose stored bytes do not exceed a budget: exact, and monotone in the budget.

    Args:
        card: the LLM.
        budget_bytes: bytes for all sequences, a number or an array.
        kv_format: as in :meth:`Card.stored_bytes`.
        rule: convention, as in :meth:`Card.stored_bytes`.
        sequences: sequences of equal length that share the budget.

    Returns:
        An int, or an int64 array: tokens, :data:`NOTHING` or :data:`UNLIMITED`.

    Raises:
        InputError: a convention under which a footprint can shrink with length (waiting tokens of DeepSeek-V4).
    """
    if convention(rule).compressor == "tail" and "compressed" in card.families:
        expected = "Its waiting tokens come and go with length, so no longest sequence is defined."
        raise InputError([Fault("convention", 0, "", convention(rule).name, expected)])
    budget = np.floor(np.asarray(budget_bytes, dtype=np.float64) / sequences)
    low = np.full(budget.shape, NOTHING, dtype=np.int64)
    high = np.full(budget.shape, _LONGEST, dtype=np.int64)
    unlimited = np.asarray(card.stored_bytes(high, kv_format, rule)) <= budget
    while np.any(high - low > 1):
        middle = (low + high) // 2
        fits = np.asarray(card.stored_bytes(middle.clip(0), kv_format, rule)) <= budget
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    result = np.where(unlimited, UNLIMITED, low)
    return result.item() if result.ndim == 0 else result


def most_sequences(
    card: Card, budget_bytes: float, tokens: Lengths, kv_format: Format, rule: str | Convention = "formula"
) -> Any:
    """Sequences of that length whose stored bytes together do not exceed a budget; none for a negative budget.

    :data:`UNLIMITED` where a sequence stores nothing, or the budget is infinite.
    """
    each = np.asarray(card.stored_bytes(tokens, kv_format, rule))
    count = np.full(each.shape, UNLIMITED, dtype=np.int64)
    limited = (each > 0) & np.isfinite(budget_bytes)
    count[limited] = max(budget_bytes, 0) // each[limited]
    return count.item() if count.ndim == 0 else count


def state_below_share_tokens(
    card: Card, kv_format: Format, rule: str | Convention = "formula", share: float = 0.1
) -> int | None:
    """S*: the shortest length at which the fixed state is under ``share`` of the stored bytes.

    0 for a card without state, None for one whose state always weighs more.
    """
    state = card.state_bytes(kv_format, rule)
    if state == 0:
        return 0
    longest = longest_tokens(card, state / share, kv_format, rule)
    return None if longest == UNLIMITED else longest + 1
