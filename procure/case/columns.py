"""What describes a column and a table of a case."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST = {"number": 1e15, "integer": 1e9}
"""Beyond these a number is a slip of the hand, and no solver can weigh it against the others."""


@dataclass(frozen=True)
class Column:
    """One column of a case table.

    ``kind`` is text, number, integer, flag, quarter or choice. ``default`` says in words where the value of an
    empty cell comes from; a required column has none. ``reference`` names what the value must be found in.
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


@dataclass(frozen=True)
class Table:
    """One table of a case: a CSV file of the same name."""

    name: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    required: bool = False
    when_absent: str = ""
    by_column: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_column", {column.name: column for column in self.columns})


def text(name: str, description: str, reference: str = "", **more: object) -> Column:
    """A column of text; ``more`` are fields of :class:`Column`."""
    return Column(name, "text", description, reference=reference, **more)  # type: ignore[arg-type]


def number(name: str, unit: str, description: str, minimum: float | None = 0.0, **more: object) -> Column:
    """A column of numbers, at least 0 unless ``minimum`` says otherwise."""
    return Column(name, "number", description, unit=unit, minimum=minimum, **more)  # type: ignore[arg-type]


def optional(column: Column, default: str) -> Column:
    """The same column, allowed to be empty; ``default`` says where its value then comes from."""
    return Column(**{**column.__dict__, "required": False, "default": default})
