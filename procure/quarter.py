"""Calendar quarters: the time step of every plan."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import total_ordering

_PATTERN = re.compile(r"([12][0-9]{3})Q([1-4])")

HOURS_PER_DAY = 24
MONTHS_PER_QUARTER = 3
HOURS_PER_YEAR = 8_760.0
"""Hours in a year of 365 days."""
HOURS_PER_QUARTER = HOURS_PER_YEAR / 4
SECONDS_PER_QUARTER = HOURS_PER_QUARTER * 3_600
SECONDS_PER_DAY = 86_400.0


@total_ordering
class Quarter:
    """A calendar quarter such as ``2027Q1``; adds and subtracts whole quarters, compares and sorts by time."""

    __slots__ = ("index",)

    def __init__(self, text: str | Quarter) -> None:
        """Read ``YYYYQn``.

        Raises:
            ValueError: the text is not a year from 1000 to 2999, ``Q`` and a digit from 1 to 4.
        """
        if isinstance(text, Quarter):
            self.index: int = text.index
            return
        found = _PATTERN.fullmatch(str(text).strip())
        if found is None:
            raise ValueError(f"{text!r} is not a quarter; write it as 2027Q1")
        self.index = int(found[1]) * 4 + int(found[2]) - 1

    @classmethod
    def from_index(cls, index: int) -> Quarter:
        """The quarter that many quarters after the first one of year 0."""
        quarter = cls.__new__(cls)
        quarter.index = index
        return quarter

    @property
    def year(self) -> int:
        """Calendar year."""
        return self.index // 4

    @property
    def number(self) -> int:
        """Quarter of the year, 1 to 4."""
        return self.index % 4 + 1

    def fiscal_year(self, start: int = 1) -> int:
        """Fiscal year, named after the calendar year it begins in, when years begin in quarter ``start`` (1 to 4)."""
        return (self.index - (start - 1)) // 4

    def __add__(self, quarters: int) -> Quarter:
        return Quarter.from_index(self.index + quarters)

    def __sub__(self, other: Quarter | int) -> int | Quarter:
        """Quarters between two quarters, or the quarter that many quarters earlier."""
        if isinstance(other, Quarter):
            return self.index - other.index
        return Quarter.from_index(self.index - other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quarter) and self.index == other.index

    def __lt__(self, other: Quarter) -> bool:
        return self.index < other.index

    def __hash__(self) -> int:
        return hash(self.index)

    def __str__(self) -> str:
        return f"{self.year}Q{self.number}"

    __repr__ = __str__


def quarter_ranges(quarters: Iterable[str]) -> str:
    """Quarters with runs drawn together: 2027Q1 to 2027Q3, 2028Q2."""
    runs: list[list[Quarter]] = []
    for quarter in sorted(Quarter(q) for q in set(quarters)):
        if runs and quarter.index == runs[-1][-1].index + 1:
            runs[-1].append(quarter)
        else:
            runs.append([quarter])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs)
