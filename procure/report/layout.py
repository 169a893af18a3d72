"""The one layout of every sheet: eight label columns, then one column for each quarter, the same on all sheets."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from procure.plan import Plan
from procure.report.cells import Block, Call, Cell, Expr, Place, Sheet, total
from procure.schema import Column
from procure.timekey import unmixed

LABELS = 8
"""Columns A to H hold labels, unit and totals; the first quarter stands in column I."""
HEADER = 5
"""Row (from 0) of the first header on each sheet; the rows above hold title, purpose and verdict."""
_WIDTHS = (24, 20, 20, 22, 15, 13, 16, 17)


@dataclass(frozen=True)
class Timeline:
    """The quarters of a plan in order, and which of them are look-ahead."""

    quarters: tuple[str, ...]
    later: frozenset[str]

    @classmethod
    def of(cls, plan: Plan, *, end: bool = False) -> Timeline:
        """Every quarter of the plan, whether anything is asked in it or not; with ``end`` also the one after them,
        where residual values stand.
        """
        quarters = {*plan.summary["planned_quarters"], *plan.summary["lookahead_quarters"]}
        later = quarters - set(plan.summary["planned_quarters"])
        if end:
            after = set(plan.tables["cash"]["quarter"]) - quarters
            quarters, later = quarters | after, later | after
        return cls(tuple(sorted(quarters)), frozenset(later))

    @cached_property
    def position(self) -> dict[str, int]:
        """Position of each quarter by its name."""
        return {quarter: i for i, quarter in enumerate(self.quarters)}

    @property
    def last_column(self) -> int:
        """Column of the last quarter."""
        return LABELS + len(self.quarters) - 1


@dataclass(frozen=True)
class Row:
    """A row over time: its label cells by column and its quarter cells in order."""

    labels: dict[int, Cell]
    cells: list[Cell]
    sheet: Sheet

    @property
    def number(self) -> int:
        """Row number from 0."""
        return self.cells[0].row

    @property
    def over_time(self) -> Block:
        """All quarters of the row, columns fixed, row free to move when copied."""
        first, last = self.cells[0], self.cells[-1]
        return self.sheet.block(first.row, first.column, last.row, last.column, row_fixed=False)


class TimeSheet:
    """A sheet that is filled downwards."""

    def __init__(self, name: str, title: str, purpose: str, timeline: Timeline) -> None:
        self.sheet = Sheet(name)
        self.timeline = timeline
        self.sheet.put(0, 0, title, "title")
        self.sheet.put(1, 0, purpose, "note")
        self.sheet.widths = dict(enumerate(_WIDTHS)) | dict.fromkeys(range(LABELS, timeline.last_column + 1), 13.0)
        self.row = HEADER

    def heading(self, title: str, note: str = "") -> None:
        """A block's title, and a remark on how to read it."""
        if self.row > HEADER:
            self.row += 1
        self.sheet.put(self.row, 0, title, "heading")
        self.row += 1
        if note:
            self.sheet.put(self.row, 0, note, "note")
            self.row += 1

    def header(
        self, labels: Sequence[str | Column], *, quarters: bool = True, numbers: Collection[int] = (5, 6, 7)
    ) -> list[Cell]:
        """Column titles: up to eight labels, then the quarters. Returns the quarter cells.

        A column of the schema gives its word and unit, and its meaning as the cell's comment.
        ``numbers`` are the label columns that hold numbers, whose titles stand at the right.
        """
        for column in range(LABELS):
            title = labels[column] if column < len(labels) else ""
            style = "quarter" if column in numbers else "header"
            if isinstance(title, Column):
                self.sheet.put(self.row, column, title.heading, style, comment=title.meaning)
            else:
                self.sheet.put(self.row, column, title, style)
        cells = []
        if quarters:
            for column, quarter in enumerate(self.timeline.quarters, LABELS):
                style = "later" if quarter in self.timeline.later else "quarter"
                cells.append(self.sheet.put(self.row, column, quarter, style))
        if self.sheet.freeze == (0, 0):
            self.sheet.freeze = (self.row + 1, 4)
        self.row += 1
        return cells

    def line(self, labels: Iterable[Any], style: str, values: Sequence[Any] | Callable[[int], Any], *,
             label_styles: dict[int, str] | None = None) -> Row:  # fmt: skip
        """A row over time. ``values`` are the quarters' contents, or a function of the quarter's position.

        A label may be text, number or expression, or a column of the schema, which gives its word with its meaning as
        the comment; ``None`` leaves its cell empty.
        """
        styles = label_styles or {}
        texts = "sum" if style.startswith("sum") else "text"
        row = self.row
        placed = {}
        for c, label in enumerate(labels):
            if isinstance(label, Column):
                placed[c] = self.sheet.put(row, c, label.word, styles.get(c, texts), comment=label.meaning)
            elif label is not None:
                placed[c] = self.sheet.put(row, c, label, styles.get(c, texts))
        if texts == "sum":
            for column in set(range(LABELS)) - set(placed):
                self.sheet.put(row, column, None, "sum")
        count = len(self.timeline.quarters)
        contents = [values(i) for i in range(count)] if callable(values) else list(values)
        cells = [self.sheet.put(row, LABELS + i, content, style) for i, content in enumerate(contents)]
        self.row += 1
        return Row(placed, cells, self.sheet)

    def cell(self, row: int, i: int) -> Place:
        """The cell of a row in the quarter at position ``i``, free to move when copied."""
        return self.sheet.at(row, LABELS + i, column_fixed=False)

    def row_total(self, row: int) -> Call:
        """The sum over all quarters of a row that may be filled later."""
        return total(self.sheet.block(row, LABELS, row, self.timeline.last_column, row_fixed=False))

    def sums_of(self, first: int, last: int) -> Callable[[int], Call]:
        """For each quarter the sum of the rows from ``first`` to ``last``."""
        return lambda i: total(self.quarter_block(first, last, i))

    def quarter_block(self, first: int, last: int, i: int) -> Block:
        """The cells of the quarter at position ``i`` from row ``first`` to ``last``, rows fixed, column free."""
        return self.sheet.block(first, LABELS + i, last, LABELS + i, column_fixed=False)


def over_time(frame: pd.DataFrame, keys: list[str], value: str, timeline: Timeline, *,
              empty: float | None = 0.0) -> dict[tuple[str, ...], list[Any]]:  # fmt: skip
    """Values by key and quarter of the timeline, summed over the other indices, in the order of the keys.

    A quarter without a row gets ``empty``; numbers that a spreadsheet cannot hold become ``None``.

    Raises:
        InputError: rows of several scenarios or parts of the day would add up.
    """
    unmixed(frame, [*keys, "quarter"])
    position = timeline.position
    result: dict[tuple[str, ...], list[Any]] = {}
    columns = [frame[k].astype(str) for k in keys]
    rows = zip(*columns, frame["quarter"], frame[value], strict=True)
    for *key, quarter, amount in sorted((r for r in rows if r[-2] in position), key=lambda r: r[:-1]):
        row = result.setdefault(tuple(key), [empty] * len(position))
        if isinstance(amount, str):
            row[position[quarter]] = amount
        elif amount is not None and math.isfinite(amount):
            row[position[quarter]] = (row[position[quarter]] or 0.0) + float(amount)
        else:
            row[position[quarter]] = None
    return result


def content(value: Any) -> Any:
    """A table value as a cell can hold it: finite numbers and texts; anything else is left empty."""
    if isinstance(value, (str, bool, Expr)) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None
