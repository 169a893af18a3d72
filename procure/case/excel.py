"""A case as one workbook: a sheet ``case`` with the settings and a sheet for each table, headings in row 1.

Values are read, never run: of a formula its stored value; what has none is refused in words, as are macros and links to
other workbooks.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, get_args, get_origin

from procure.case.reader import Rows, type_rows
from procure.case.schema import TABLES
from procure.case.settings import FILE, Settings
from procure.errors import Fault, InputError, nearest

SUFFIX = ".xlsx"
SETTINGS_SHEET = "case"
IGNORED = ("read me", "lists")
"""Sheets that a template has for its reader and for its validation lists."""


@dataclass
class Book:
    """Where the cells of a workbook are, so that faults can name them.

    Attributes:
        name: file name.
        columns: by sheet, the letter of each heading.
        settings: row of each setting.
    """

    name: str
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    settings: dict[str, int] = field(default_factory=dict)

    def locate(self, fault: Fault) -> Fault:
        """The same fault, at its sheet and cell instead of file, row and column."""
        if fault.file == FILE:
            row = self.settings.get(fault.column)
            where = f"{SETTINGS_SHEET}!B{row}" if row else SETTINGS_SHEET
        else:
            sheets = [part.strip().removesuffix(".csv") for part in fault.file.split(",")]
            if not all(sheet in TABLES for sheet in sheets):
                return fault
            where = " and ".join(sheets)
            letter = self.columns.get(sheets[0], {}).get(fault.column.split(",")[0], "")
            if fault.row and letter:
                where += f"!{letter}{fault.row}"
            elif fault.row:
                where += f"!{fault.row}:{fault.row}"
        return Fault(f"{self.name}, {where}", 0, fault.column, fault.value, fault.expected, fault.hint)


def read_workbook(path: Path) -> tuple[dict[str, Any], dict[str, Rows], list[Fault], Book]:
    """Settings, tables and faults of a workbook, and the :class:`Book` that places faults in its cells.

    Raises:
        InputError: the file is not a workbook, or may hold macros.
    """
    from openpyxl import load_workbook

    book = Book(path.name)
    if path.suffix.lower() != SUFFIX:
        raise InputError([Fault(path.name, 0, "", "", "A workbook without macros.", "Save it as .xlsx.")])
    try:
        values = load_workbook(path, data_only=True, keep_links=False)
        formulas = load_workbook(path, data_only=False, keep_links=False)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        words = "A workbook in the .xlsx format is expected; this file cannot be read as one."
        raise InputError([Fault(path.name, 0, "", str(error)[:80], words)]) from error
    given: dict[str, Any] = {}
    tables: dict[str, Rows] = {}
    faults: list[Fault] = []
    known = {SETTINGS_SHEET, *TABLES}
    for sheet in values.worksheets:
        name = sheet.title.strip().lower()
        if name in IGNORED:
            continue
        if name not in known:
            hint = nearest(name, known)
            faults.append(Fault(f"{path.name}, {sheet.title}", 0, "", "", "Not a table of a case.", hint))
            continue
        cells, wrong = _cells(sheet, formulas[sheet.title], path.name)
        faults += wrong
        if name == SETTINGS_SHEET:
            given, wrong = _settings(cells, book)
            faults += wrong
        elif len(cells) > 1:
            tables[name], wrong = _table(name, cells, book)
            faults += wrong
    if SETTINGS_SHEET not in {sheet.title.strip().lower() for sheet in values.worksheets}:
        faults.append(Fault(FILE, 0, "", "", f"The sheet {SETTINGS_SHEET!r} is missing; it holds the settings."))
    for name, table in TABLES.items():
        if table.required and name not in tables:
            header = ", ".join(column.name for column in table.columns if column.required)
            faults.append(
                Fault(f"{name}.csv", 0, "", "", f"This sheet is missing or empty; its headings are {header}.")
            )
    return given, tables, faults, book


def _cells(sheet: Any, formulas: Any, file: str) -> tuple[dict[int, list[Any]], list[Fault]]:
    """Values by row, rows without any left out; faults for formulas that cannot be taken at their stored value."""
    faults: list[Fault] = []
    rows: dict[int, list[Any]] = {}
    for values, sources in zip(sheet.iter_rows(), formulas.iter_rows(), strict=True):
        row: list[Any] = []
        for cell, source in zip(values, sources, strict=True):
            value = cell.value
            if source.data_type == "f":
                text = str(getattr(source.value, "text", source.value))
                where = f"{file}, {sheet.title}!{cell.coordinate}"
                if "[" in text:
                    words = "A value; this formula reads another workbook."
                    faults.append(Fault(where, 0, "", text[:60], words, "Paste the value."))
                elif value is None:
                    words = "A value; this formula has no stored result."
                    faults.append(
                        Fault(where, 0, "", text[:60], words, "Open and save the file in Excel, or paste it.")
                    )
            if cell.data_type == "e":
                where = f"{file}, {sheet.title}!{cell.coordinate}"
                faults.append(Fault(where, 0, "", str(value), "A value; this cell holds an error."))
                value = None
            row.append(value)
        if any(value not in (None, "") for value in row):
            rows[values[0].row] = row
    return rows, faults


def _table(name: str, cells: Mapping[int, list[Any]], book: Book) -> tuple[Rows, list[Fault]]:
    """Rows of a sheet, typed as those of a CSV file; optional columns without any value count as left out."""
    from openpyxl.utils import get_column_letter

    first = min(cells)
    header = [_text(value) for value in cells[first]]
    width = max(i + 1 for i, heading in enumerate(header) if heading)
    book.columns[name] = {heading: get_column_letter(i + 1) for i, heading in enumerate(header) if heading}
    body = []
    faults = []
    for line, row in cells.items():
        if line == first:
            continue
        texts = [_text(value) for value in row]
        for i, text in enumerate(texts[width:], width):
            if text:
                where = f"{book.name}, {name}!{get_column_letter(i + 1)}{line}"
                faults.append(Fault(where, 0, "", text, "No cell beside the headings."))
        body.append((line, texts[:width] + [""] * (width - len(texts))))
    optional = {column.name for column in TABLES[name].columns if not column.required}
    kept = [i for i in range(width) if header[i] not in optional or any(row[i] for _, row in body)]
    picked = [(line, [row[i] for i in kept]) for line, row in body]
    rows, wrong = type_rows(TABLES[name], [header[i] for i in kept], picked)
    return rows, faults + wrong


def _text(value: Any) -> str:
    """A cell as the CSV file would hold it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value).strip()


def _settings(cells: Mapping[int, list[Any]], book: Book) -> tuple[dict[str, Any], list[Fault]]:
    """Settings from the columns setting and value; an empty value leaves the default."""
    given: dict[str, Any] = {}
    faults: list[Fault] = []
    for line, row in cells.items():
        name = _text(row[0])
        value = row[1] if len(row) > 1 else None
        if not name or name == "setting" or value in (None, ""):
            continue
        if name in given:
            faults.append(Fault(f"{book.name}, {SETTINGS_SHEET}!A{line}", 0, name, "", "Each setting once."))
        book.settings[name] = line
        given[name] = _typed(name, value)
    return given, faults


def _typed(name: str, value: Any) -> Any:
    """A cell as the type of its setting where that is plain; what does not fit is left for the checks to say."""
    field_info = Settings.model_fields.get(name)
    kind = field_info.annotation if field_info else None
    if get_origin(kind) is list:
        return [part.strip() for part in str(value).split(",") if part.strip()]
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is str or (get_args(kind) and isinstance(get_args(kind)[0], str)):
        return _text(value)
    return value


def located(book: Book, work: Callable[[], Any]) -> Any:
    """Do something and place the faults that it raises in the workbook."""
    try:
        return work()
    except InputError as error:
        raise InputError([book.locate(fault) for fault in error.faults]) from None
