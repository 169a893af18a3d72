"""The rows of a table as they are read, before they are tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from procure.errors import Fault

Cell = float | int | bool | str | None


@dataclass
class Rows:
    """A table as read: one mapping of column to cell per row, the line each row begins on, and what is in doubt."""

    file: str
    rows: list[dict[str, Cell]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    doubts: list[Fault] = field(default_factory=list)

    @property
    def numbered(self) -> Iterator[tuple[int, dict[str, Cell]]]:
        """Each row with the line that it begins on."""
        return zip(self.lines, self.rows, strict=True)

    def copy(self) -> Rows:
        """The same rows, free to be changed."""
        rows = [dict(row) for row in self.rows]
        return Rows(self.file, rows, list(self.lines), list(self.columns), list(self.doubts))
