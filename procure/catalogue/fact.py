"""One number with its unit, its band, its kind of evidence and its source."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, nearest
from procure.schema import Evidence

KINDS = tuple(kind for kind in Evidence if kind.of_premise)
"""Kinds of evidence, a plan states its share of money on each."""

COLUMNS = ("sku", "attribute", "value", "unit", "low", "high", "kind", "source", "source_date", "note")
"""Columns of every table in ``data/hardware``; the premises use ``group`` and ``name`` for the first two."""

TEXT_UNITS = ("text", "quarter", "names")
"""Units whose values are words, not numbers; names are separated by blanks."""


@dataclass(frozen=True)
class Fact:
    """One premise. ``low`` and ``high`` bound the value where the source gives a band, else they are None."""

    value: float | str
    unit: str
    low: float | str | None
    high: float | str | None
    kind: Evidence
    source: str
    source_date: str
    note: str

    @property
    def number(self) -> float:
        """The value of a numeric fact.

        Raises:
            TypeError: the fact is a text or a quarter.
        """
        if isinstance(self.value, str):
            raise TypeError(f"{self.value!r} ({self.unit}) is not a number")
        return self.value


def read_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Rows of a packaged table with their line numbers (the header is line 1); one row per line."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [(line, row) for line, row in enumerate(csv.DictReader(file), start=2)]


def packaged_rows(name: str) -> list[dict[str, str]]:
    """Rows of the packaged table ``data/<name>.csv`` as it is now, cells as text."""
    path = packaged_path(f"data/{name}.csv")
    return [dict(row) for row in _rows(path, path.stat().st_mtime_ns)]


@lru_cache(maxsize=64)
def _rows(path: Path, changed_ns: int) -> tuple[dict[str, str], ...]:
    """Rows of a file that was changed last at that time: read once in a process."""
    return tuple(row for _, row in read_rows(path))


def parse(row: Mapping[str, object], file: str, line: int) -> tuple[Fact | None, list[Fault]]:
    """Read one row of a facts table; the second item lists what is wrong with it."""
    text = {column: "" if row.get(column) is None else str(row[column]).strip() for column in COLUMNS[2:]}
    faults: list[Fault] = []
    kind = next((known for known in KINDS if known == text["kind"]), None)
    if kind is None:
        faults.append(
            Fault(file, line, "kind", text["kind"], f"One of {', '.join(KINDS)}.", nearest(text["kind"], KINDS))
        )
    if not text["unit"]:
        faults.append(Fault(file, line, "unit", "", "A unit; the same as in the catalogue."))
    told = [text[column] for column in COLUMNS[7:]]
    if text["unit"] in TEXT_UNITS:
        if faults or kind is None:
            return None, faults
        return Fact(text["value"], text["unit"], text["low"] or None, text["high"] or None, kind, *told), []
    numbers: dict[str, float | None] = {}
    for column in ("value", "low", "high"):
        numbers[column], fault = _number(text[column], file, line, column)
        if fault:
            faults.append(fault)
    value, lower, upper = numbers["value"], numbers["low"], numbers["high"]
    if not faults and value is None:
        faults.append(Fault(file, line, "value", "", "A number."))
    if faults or value is None or kind is None:
        return None, faults
    if (lower is not None and lower > value) or (upper is not None and upper < value):
        expected = f"low <= value <= high; the value is {text['value']}."
        return None, [Fault(file, line, "low, high", f"{text['low']}, {text['high']}", expected)]
    return Fact(value, text["unit"], lower, upper, kind, *told), []


def _number(text: str, file: str, line: int, column: str) -> tuple[float | None, Fault | None]:
    if not text:
        return None, None
    try:
        value = float(text)
    except ValueError:
        return None, Fault(file, line, column, text, "A number such as 1200 or 1.2e3, without thousands separators.")
    if math.isnan(value) or value == -math.inf:
        return None, Fault(file, line, column, text, "A number; not-a-number is not one.")
    return value, None
