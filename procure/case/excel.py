"""A case as one workbook: a sheet ``case`` with the settings and a sheet for each table, headings in row 1.

Values are read, never run: of a formula its stored value; what has none is refused in words, as are macros and links to
other workbooks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin

from procure.case.doubts import decimal_points
from procure.case.reader import type_rows
from procure.case.rows import Rows
from procure.case.schema import TABLES
from procure.case.settings import FILE, Settings
from procure.case.sheets import EMPTY_ROWS, Value, Worksheet, as_text, letter, read_sheets
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


@dataclass
class Contents:
    """What a workbook holds: settings, tables, faults, and what a planner may have meant otherwise."""

    book: Book
    given: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Rows] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    doubts: list[Fault] = field(default_factory=list)


def read_workbook(path: Path) -> Contents:
    """Settings, tables, faults and doubts of a workbook, and the :class:`Book` that places faults in its cells.

    Raises:
        InputError: the file is not a workbook, cannot be read, or may hold macros.
    """
    if path.suffix.lower() != SUFFIX:
        raise InputError([Fault(path.name, 0, "", "", "A workbook without macros.", "Save it as .xlsx.")])
    sheets, others = read_sheets(path)
    out = Contents(Book(path.name))
    out.doubts += [
        Fault(f"{path.name}, {title}", 0, "", "", "Not read: this sheet holds a chart or a dialog, and no cells.")
        for title in others
    ]
    known = {SETTINGS_SHEET, *TABLES}
    titles: dict[str, str] = {}
    for sheet in sheets:
        name = sheet.title.strip().lower()
        where = f"{path.name}, {sheet.title}"
        if name in IGNORED:
            continue
        if name not in known:
            out.faults.append(Fault(where, 0, "", "", "Not a table of a case.", nearest(name, known)))
            continue
        if name in titles:
            expected = f"One sheet {name!r}; {titles[name]!r} is it too."
            out.faults.append(Fault(where, 0, "", sheet.title, expected, "Rename or delete one of the two."))
            continue
        titles[name] = sheet.title
        out.doubts += _out_of_sight(sheet, where)
        cells, wrong = _cells(sheet, path.name)
        out.faults += wrong
        if name == SETTINGS_SHEET:
            out.given, wrong = _settings(cells, out.book)
            out.faults += wrong
        elif len(cells) > 1:
            out.tables[name], wrong = _table(name, cells, out.book)
            out.faults += wrong
    if SETTINGS_SHEET not in titles:
        out.faults.append(Fault(FILE, 0, "", "", f"The sheet {SETTINGS_SHEET!r} is missing; it holds the settings."))
    for name, table in TABLES.items():
        if table.required and name not in out.tables:
            header = ", ".join(column.name for column in table.columns if column.required)
            expected = f"This sheet is missing or empty; its headings are {header}."
            out.faults.append(Fault(f"{name}.csv", 0, "", "", expected))
    return out


def _out_of_sight(sheet: Worksheet, where: str) -> list[Fault]:
    """What is read though a spreadsheet does not show it, and what is left though it may hold something."""
    doubts: list[Fault] = []
    hint = "Delete what should not count."
    if sheet.hidden and sheet.lines:
        doubts.append(Fault(where, 0, "", "", "This sheet is hidden, and is read all the same.", hint))
    hidden = [line.number for line in sheet.lines if line.hidden]
    if hidden:
        rows = f"{len(hidden)} row{'s are' if len(hidden) > 1 else ' is'} hidden (the first is {hidden[0]})"
        doubts.append(Fault(where, 0, "", "", f"{rows}, by a filter or by hand, and count all the same.", hint))
    columns = [c for c in sorted(sheet.hidden_columns) if any(c in line.cells for line in sheet.lines)]
    if columns:
        names = ", ".join(letter(column) for column in columns)
        doubts.append(Fault(where, 0, "", "", f"Hidden columns count all the same: {names}.", hint))
    if sheet.left_at:
        expected = (
            f"Not read beyond row {sheet.left_at}: {EMPTY_ROWS:,} rows in sequence are formatted and hold nothing."
        )
        doubts.append(Fault(where, 0, "", "", expected, "Delete those rows if something stands below them."))
    return doubts


def _cells(sheet: Worksheet, file: str) -> tuple[dict[int, dict[int, Value]], list[Fault]]:
    """Values by row and column; faults for errors and for formulas that cannot be taken at their stored value."""
    faults: list[Fault] = []
    rows: dict[int, dict[int, Value]] = {}
    for line in sheet.lines:
        row: dict[int, Value] = {}
        for column, cell in line.cells.items():
            where = f"{file}, {sheet.title}!{letter(column)}{line.number}"
            if "[" in cell.formula:
                words = "A value; this formula reads another workbook."
                faults.append(Fault(where, 0, "", cell.formula[:60], words, "Paste the value."))
            elif cell.formula and cell.value is None:
                words = "A value; this formula has no stored result."
                hint = "Open and save the file in Excel, or paste it."
                faults.append(Fault(where, 0, "", cell.formula[:60], words, hint))
            if cell.error:
                faults.append(Fault(where, 0, "", str(cell.value), "A value; this cell holds an error."))
            elif cell.value not in (None, ""):
                row[column] = cell.value
        if row:
            rows[line.number] = row
    return rows, faults


def _table(name: str, cells: Mapping[int, Mapping[int, Value]], book: Book) -> tuple[Rows, list[Fault]]:
    """Rows of a sheet, typed as those of a CSV file; optional columns without any value count as left out."""
    first = min(cells)
    width = max(cells[first]) + 1
    header = [as_text(cells[first].get(i)) for i in range(width)]
    book.columns[name] = {heading: letter(i) for i, heading in enumerate(header) if heading}
    body = []
    faults = []
    written: list[tuple[int, list[str]]] = []  # cells that hold text: numbers of a spreadsheet leave no doubt
    for line, row in cells.items():
        if line == first:
            continue
        for i in (column for column in row if column >= width):
            where = f"{book.name}, {name}!{letter(i)}{line}"
            faults.append(Fault(where, 0, "", as_text(row[i]), "No cell beside the headings."))
        body.append((line, [as_text(row.get(i)) for i in range(width)]))
        written.append((line, [as_text(value) if isinstance(value := row.get(i), str) else "" for i in range(width)]))
    optional = {column.name for column in TABLES[name].columns if not column.required}
    kept = [i for i in range(width) if header[i] not in optional or any(row[i] for _, row in body)]
    picked = [(line, [row[i] for i in kept]) for line, row in body]
    rows, wrong = type_rows(TABLES[name], [header[i] for i in kept], picked)
    rows.doubts += decimal_points(TABLES[name], header, written)
    return rows, faults + wrong


def _settings(cells: Mapping[int, Mapping[int, Value]], book: Book) -> tuple[dict[str, Any], list[Fault]]:
    """Settings from the columns setting and value; an empty value leaves the default."""
    given: dict[str, Any] = {}
    faults: list[Fault] = []
    for line, row in cells.items():
        name = as_text(row.get(0))
        value = row.get(1)
        if not name or name == "setting" or value is None:
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
    if kind is str or (get_args(kind) and isinstance(get_args(kind)[0], str)):
        return as_text(value)
    return value


def located(book: Book, work: Callable[[], Any]) -> Any:
    """Do something and place the faults that it raises in the workbook."""
    try:
        return work()
    except InputError as error:
        raise InputError([book.locate(fault) for fault in error.faults]) from None
