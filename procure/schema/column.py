"""What describes a column and a table, whichever folder gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST = {"number": 1e15, "integer": 1e9}
"""Beyond these a number is a slip of the hand, and no solver can weigh it against the others."""

KINDS = ("text", "number", "integer", "flag", "quarter", "choice")

_UNIT_ENDINGS = re.compile(r"(?<!_per)_(usd|s|kw|m2|tokens|bytes|bytes_per_s|bytes_per_day|usd_per_quarter|quarters)$")


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: as it stands in the file and in the DataFrame, its unit in it.
        kind: text, number, integer, flag, quarter (a text such as 2027Q1) or choice (one of ``choices``).
        description: what it means, in a planner's words.
        unit: empty where the values have none.
        minimum, maximum, above: the range allowed (``above`` excludes its own value); only cases state it.
        required: whether every cell holds a value.
        default: in words, where the value of an empty cell comes from or what it says; a required column has none.
        choices: the texts allowed.
        reference: what the value must be found in: ``table.column`` of the same set of tables, or what a case knows
            besides (``sku``, ``card``, ``scenario``).
        key: whether the column is part of what tells rows apart.
        word: heading that a reader sees; the name without its unit where none is stated.
    """

    name: str
    kind: str
    description: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    required: bool = True
    default: str = ""
    choices: tuple[str, ...] = ()
    reference: str = ""
    key: bool = False
    word: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"column {self.name} is of kind {self.kind}, not one of {', '.join(KINDS)}")
        if not self.word:
            object.__setattr__(self, "word", _UNIT_ENDINGS.sub("", self.name).replace("_", " "))

    @property
    def title(self) -> str:
        """The word as a heading begins it."""
        return self.word[:1].upper() + self.word[1:]

    @property
    def heading(self) -> str:
        """The title with the unit behind it, unless the word says it."""
        return self.title if not self.unit or self.unit in self.word else f"{self.title}, {self.unit}"

    @property
    def meaning(self) -> str:
        """What it means, as a sentence with what an empty cell says."""
        empty = f" Empty: {self.default}." if self.default else ""
        return f"{self.description[:1].upper()}{self.description[1:].rstrip('.')}.{empty}"

    @property
    def textual(self) -> bool:
        """Whether its values are texts."""
        return self.kind in ("text", "quarter", "choice")

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.kind in ("number", "integer")


@dataclass(frozen=True)
class Table:
    """One table: a CSV file or a DataFrame of these columns in this order.

    ``required`` and ``when_absent`` are for tables that a planner may leave out of a case.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    required: bool = False
    when_absent: str = ""
    by_column: dict[str, Column] = field(init=False, repr=False, compare=False)
    key: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_column", {column.name: column for column in self.columns})
        object.__setattr__(self, "key", tuple(column.name for column in self.columns if column.key))

    def __hash__(self) -> int:
        return hash(self.name)  # of all columns it would take longer than what is kept by a table
