"""The cells of a workbook that hold something, streamed from its parts: what a sheet merely formats costs nothing.

An .xlsx file is a zip of XML parts (ECMA-376). Only those that hold cells are unpacked, a row at a time and up to
:data:`MOST_BYTES` in all; nothing in them is run.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

from procure.errors import Fault, InputError, guard_reader

MOST_BYTES = 100_000_000
"""Unpacked size beyond which a workbook is refused: cases take a thousandth of it."""

EMPTY_ROWS = 1_000
"""Rows in sequence that are formatted and hold nothing, after which the rest of a sheet is left."""

_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384

Value = float | bool | str | datetime | time | timedelta | None


@dataclass(frozen=True)
class Cell:
    """A cell as it is stored: a value, the formula behind it ("" for none), and whether the value is an error."""

    value: Value
    formula: str = ""
    error: bool = False


@dataclass
class Line:
    """A row that holds something: its number from 1, its cells by column from 0."""

    number: int
    cells: dict[int, Cell]
    hidden: bool = False


@dataclass
class Worksheet:
    """A sheet with cells.

    Attributes:
        title: its name as written.
        hidden: not shown in a spreadsheet.
        lines: rows that hold something.
        hidden_columns: columns from 0 that are not shown.
        left_at: row from which on nothing was read, 0 where all was.
    """

    title: str
    hidden: bool = False
    lines: list[Line] = field(default_factory=list)
    hidden_columns: set[int] = field(default_factory=set)
    left_at: int = 0


def read_sheets(path: Path) -> tuple[list[Worksheet], list[str]]:
    """Every sheet with cells, in order, and the names of sheets that hold none (charts, dialogs, macros).

    Raises:
        InputError: the file is not a workbook, is damaged, or is larger than :data:`MOST_BYTES` when unpacked.
    """
    words = "A workbook in the .xlsx format is expected; this file cannot be read as one."
    with (
        guard_reader(path.name, words, "Open it in a spreadsheet and save it again as .xlsx."),
        zipfile.ZipFile(path) as zipped,
    ):
        return _Package(zipped, path.name).sheets()


class _Package:
    """The parts of a workbook, and the bytes that may still be unpacked."""

    def __init__(self, zipped: zipfile.ZipFile, file: str) -> None:
        self._zip, self._file, self._left = zipped, file, MOST_BYTES

    def read(self, part: IO[bytes], size: int) -> bytes:
        """The next bytes of a part, within what is left."""
        chunk = part.read(size)
        self._left -= len(chunk)
        if self._left < 0:
            unpacked = sum(info.file_size for info in self._zip.infolist())
            expected = (
                f"At most {MOST_BYTES / 1e6:,.0f} MB when unpacked; this workbook holds {unpacked / 1e6:,.0f} MB."
            )
            hint = "Delete empty rows and columns that are only formatted, or copy the tables into a new workbook."
            raise InputError([Fault(self._file, 0, "", "", expected, hint)])
        return chunk

    def _events(self, part: str) -> Iterator[tuple[str, ElementTree.Element]]:
        """Starts and ends of the elements of a part, names without namespace."""
        with self._zip.open(part) as stream:
            for event, element in ElementTree.iterparse(_Counted(self, stream), ("start", "end")):
                element.tag = element.tag.rpartition("}")[2]
                yield event, element

    def _root(self, part: str) -> ElementTree.Element:
        """A small part as a whole."""
        root = None
        for event, element in self._events(part):
            if event == "start" and root is None:
                root = element
        if root is None:
            raise ValueError(f"{part} is empty")
        return root

    def _has(self, part: str) -> bool:
        return part in self._zip.NameToInfo

    def _relations(self, part: str) -> dict[str, tuple[str, str]]:
        """By id, the kind and the part of everything that a part refers to inside the workbook."""
        folder, name = posixpath.split(part)
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        if not self._has(place):
            return {}
        return {
            item.get("Id", ""): (
                item.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, item.get("Target", ""))).lstrip("/"),
            )
            for item in self._root(place)
            if item.get("TargetMode") != "External"
        }

    def sheets(self) -> tuple[list[Worksheet], list[str]]:
        """See :func:`read_sheets`."""
        start = [place for kind, place in self._relations("").values() if kind == "officeDocument"]
        book = start[0] if start else "xl/workbook.xml"
        root, related = self._root(book), self._relations(book)
        properties = root.find("workbookPr")
        since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        parts = {kind: place for kind, place in related.values() if kind in ("sharedStrings", "styles")}
        texts = self._texts(parts["sharedStrings"]) if "sharedStrings" in parts else []
        reader = _CellReader(texts, self._dates(parts["styles"]) if "styles" in parts else [], since_1904)
        found, others = [], []
        for item in root.iterfind("sheets/sheet"):
            title = item.get("name", "")
            kind, place = related[item.get(f"{{{_RELATIONS}}}id") or item.get(f"{{{_STRICT}}}id") or ""]
            if kind != "worksheet":
                others.append(title)
                continue
            found.append(Worksheet(title, item.get("state", "visible") != "visible"))
            self._fill(found[-1], place, reader)
        return found, others

    def _texts(self, part: str) -> list[str]:
        """Shared strings; those of a phonetic guide are not part of the text."""
        texts: list[str] = []
        for event, element in self._events(part):
            if event == "end" and element.tag == "si":
                texts.append(_text_of(element))
                element.clear()
        return texts

    def _dates(self, part: str) -> list[bool]:
        """For each style of a cell, whether its number is a date."""
        from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format

        root = self._root(part)
        codes = dict(BUILTIN_FORMATS)
        codes |= {int(n.get("numFmtId", -1)): n.get("formatCode", "") for n in root.iterfind("numFmts/numFmt")}
        return [is_date_format(codes.get(int(style.get("numFmtId", 0)))) for style in root.iterfind("cellXfs/xf")]

    def _fill(self, sheet: Worksheet, part: str, reader: _CellReader) -> None:
        """Rows of a sheet that hold something; the rest of it is left after many that do not."""
        number = empty = 0
        data: ElementTree.Element | None = None
        for event, element in self._events(part):
            if event == "start":
                data = element if element.tag == "sheetData" else data
            elif element.tag == "col" and element.get("hidden") in ("1", "true"):
                last = min(int(element.get("max", 0)), _LAST_COLUMN)
                sheet.hidden_columns |= set(range(int(element.get("min", 1)) - 1, last))
            elif element.tag == "row":
                number = int(element.get("r", number + 1))
                if not 1 <= number <= _LAST_ROW:
                    raise ValueError(f"{part} has a row {number}")
                cells = reader.cells(element)
                if cells:
                    sheet.lines.append(Line(number, cells, element.get("hidden") in ("1", "true")))
                empty = 0 if cells else empty + 1
                element.clear()
                if data is not None:
                    data.clear()
                if empty == EMPTY_ROWS:
                    sheet.left_at = number
                    return


class _Counted:
    """A part as a file whose bytes are counted."""

    def __init__(self, package: _Package, stream: IO[bytes]) -> None:
        self._package, self._stream = package, stream

    def read(self, size: int = -1) -> bytes:
        return self._package.read(self._stream, size)


@dataclass(frozen=True)
class _CellReader:
    """Values of cells: shared texts, which styles are dates, and the day from which dates count."""

    texts: list[str]
    dates: list[bool]
    since_1904: bool

    def cells(self, row: ElementTree.Element) -> dict[int, Cell]:
        """The cells of a row that hold something, by column."""
        found: dict[int, Cell] = {}
        column = -1
        for element in row:
            if element.tag != "c":
                continue
            column = _column(element.get("r", "")) if element.get("r") else column + 1
            if not 0 <= column < _LAST_COLUMN:
                raise ValueError(f"a cell {element.get('r')} stands outside a sheet")
            cell = self._cell(element)
            if cell is not None:
                found[column] = cell
        return found

    def _cell(self, element: ElementTree.Element) -> Cell | None:
        kind = element.get("t", "n")
        source, stored = element.find("f"), element.find("v")
        formula = "" if source is None else f"={source.text or ''}"
        text = None if stored is None else stored.text
        if kind == "inlineStr":
            inline = element.find("is")
            text = None if inline is None else _text_of(inline)
        elif kind == "s" and text is not None:
            text = self.texts[int(text)]
        elif kind == "str" and formula and stored is not None:
            text = text or ""
        if text is None or (not formula and not text.strip()):
            return Cell(None, formula) if formula else None
        if kind == "b":
            return Cell(text.strip() in ("1", "true"), formula)
        if kind == "n":
            return Cell(self._number(text, element.get("s")), formula)
        return Cell(text, formula, kind == "e")

    def _number(self, text: str, style: str | None) -> Value:
        from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel

        number = float(text)
        if style is None or not self.dates or not self.dates[int(style)]:
            return number
        try:
            moment: Value = from_excel(number, CALENDAR_MAC_1904 if self.since_1904 else CALENDAR_WINDOWS_1900)
        except (ValueError, OverflowError):
            return number  # no date has this number
        return moment


def _text_of(element: ElementTree.Element) -> str:
    """The text of a string with its runs, without phonetic guides."""
    parts: list[str] = []
    for child in element:
        if child.tag == "t":
            parts.append(child.text or "")
        elif child.tag == "r":
            parts += [run.text or "" for run in child if run.tag == "t"]
    return "".join(parts)


def _column(reference: str) -> int:
    """The column, from 0, of a reference such as AB12."""
    number = 0
    for letter in reference:
        if not letter.isalpha():
            break
        number = 26 * number + ord(letter.upper()) - ord("A") + 1
        if number > _LAST_COLUMN:
            break
    return number - 1


def letter(column: int) -> str:
    """The name of a column, counted from 0."""
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column + 1))


def as_text(value: Any) -> str:
    """A value as a CSV file would hold it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime | time):
        return value.isoformat()
    return str(value).strip()
