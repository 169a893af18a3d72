"""Lengths and sizes as a planner writes them: 8k, 128Ki, 1M tokens; 288GB, 20.7TB, 80GiB."""

from __future__ import annotations

import re

from procure.errors import Fault, InputError

_PREFIX = {"": 1, "k": 1_000, "K": 1_000, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_PREFIX |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_MOST_TOKENS = 10**15
_NUMBER = re.compile(r"(\d+(?:[_,]\d{3})*(?:\.\d+)?(?:[eE]\d{1,2})?)\s*([kKMGTP]i?)?\s*(B)?")


def parse_tokens(text: str, where: str = "--tokens") -> list[int]:
    """Lengths separated by commas; ``k`` is 1,000, ``Ki`` 1,024, ``M`` and ``1e6`` a million, ``Mi`` 1,048,576.

    Raises:
        InputError: a length that is not a whole number of tokens, each named.
    """
    lengths, faults = [], []
    for item in (part.strip() for part in text.split(",")):
        found = _NUMBER.fullmatch(item)
        value = float(found[1].replace("_", "")) * _PREFIX[found[2] or ""] if found and not found[3] else -1.0
        thousands = len(item) == 3 and item.isdigit() and item.startswith("0")  # the rest of 128,000
        if not 0 <= value <= _MOST_TOKENS or value != int(value) or thousands:
            expected = "Write whole numbers of tokens such as 8192, 8k, 128Ki, 1M or 1e6; commas separate lengths."
            if value > _MOST_TOKENS:
                expected = "Write at most 1e15 tokens."
            faults.append(Fault(where, 0, "", item, expected))
        lengths.append(int(value))
    if faults:
        raise InputError(faults)
    return lengths


def parse_bytes(text: str, where: str = "--fits") -> int:
    """A size: ``288GB`` is 288e9 bytes, ``80GiB`` 80 * 2**30.

    Raises:
        InputError: not a size with its unit.
    """
    found = _NUMBER.fullmatch(text.strip())
    if found is None or not found[3]:
        raise InputError(
            [Fault(where, 0, "", text, "Write a size with its unit, such as 288GB (1e9) or 80GiB (2**30).")]
        )
    return int(float(found[1].replace("_", "").replace(",", "")) * _PREFIX[found[2] or ""])


def show_bytes(count: float) -> str:
    """A size in decimal units with three or four digits."""
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= size:
            return f"{count / size:,.4g} {unit}"
    return f"{count:,.0f} B"
