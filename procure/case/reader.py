"""From the bytes of a CSV file to typed columns; says of every wrong cell where it is and what is allowed."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from numbers import Real

from procure.case.doubts import decimal_points
from procure.case.rows import Cell, Rows
from procure.errors import Fault, nearest
from procure.quarter import Quarter
from procure.schema import MOST, Column, Table

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0"}


def decode(content: bytes, file: str) -> tuple[str, list[Fault]]:
    """The text of a file saved as UTF-8, with or without a byte-order mark."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "", [Fault(file, 0, "", "", "The file is UTF-16.", 'Save it as "CSV UTF-8".')]
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = f"0x{content[error.start]:02x}"
        return "", [Fault(file, line, "", byte, "The file is not UTF-8.", 'Save it as "CSV UTF-8".')]


def split(text: str, file: str) -> tuple[list[tuple[int, list[str]]], list[Fault]]:
    """Lines of cells with the number of the line each begins on; blank lines are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[tuple[int, list[str]]] = []
    start = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append((start, [cell.strip() for cell in cells]))
            start = reader.line_num + 1
    except csv.Error as error:
        return [], [Fault(file, start, "", "", f"The quotes of this row do not close ({error}).")]
    return records, []


def read_table(content: bytes, table: Table) -> tuple[Rows, list[Fault]]:
    """Read and type one table; cells that are wrong are left out of their row and reported."""
    file = f"{table.name}.csv"
    text, faults = decode(content, file)
    records, wrong = ([], []) if faults else split(text, file)
    faults = faults + wrong
    if faults:
        return Rows(file), faults
    if not records:
        return Rows(file), [Fault(file, 0, "", "", f"The file is empty; its header is {_header(table)}.")]
    (_, header), *body = records
    rows, faults = type_rows(table, header, body)
    rows.doubts += decimal_points(table, header, body)
    return rows, faults


def type_rows(
    table: Table, header: Sequence[str], body: Iterable[tuple[int, Sequence[object]]]
) -> tuple[Rows, list[Fault]]:
    """Check the header, then type every cell of ``body``, which holds (line, cells): texts, or values of Python."""
    body = list(body)
    header = list(header)
    file = f"{table.name}.csv"
    faults = _check_header(table, header)
    out = Rows(file, columns=[name for name in header if name in table.by_column])
    for line, cells in body:
        if len(cells) != len(header):
            expected = f"{len(header)} cells, as in the header; this row has {len(cells)}."
            hint = "Quote a cell that contains a comma." if len(cells) > len(header) else ""
            faults.append(Fault(file, line, "", "", expected, hint))
            continue
        row: dict[str, Cell] = {}
        for name, cell in zip(header, cells, strict=True):
            column = table.by_column.get(name)
            if column is None:
                continue
            value, problem = type_value(column, cell)
            if problem:
                hint = nearest(str(cell), column.choices) if column.choices else ""
                faults.append(Fault(file, line, name, shown(cell), problem, hint))
            row[name] = value
        out.rows.append(row)
        out.lines.append(line)
    if table.required and not body and not faults:
        faults.append(Fault(file, 0, "", "", f"At least one row is needed. {table.description}"))
    return out, faults


def type_value(column: Column, value: object) -> tuple[Cell, str]:
    """A value of Python as its column's type, or what is allowed in words; a text as in a CSV file.

    Nothing, not-a-number and, in an optional column, infinity are an empty cell: no value, no limit.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if math.isnan(number) or (math.isinf(number) and not column.required):
            return type_cell(column, "")
        if column.numeric:
            return _in_range(column, number)
    return type_cell(column, shown(value))


def shown(value: object) -> str:
    """A value as a CSV file would hold it; "" for nothing."""
    if value is None or (value != value) is True:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Real):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return "" if repr(value) in ("<NA>", "NaT") else str(value).strip()


def type_cell(column: Column, cell: str) -> tuple[Cell, str]:
    """A cell as its column's type, or what is allowed in words. An empty optional cell is None."""
    if not cell:
        return None, (f"Needed. {column.description}" if column.required else "")
    if column.kind == "text":
        return cell, ""
    if column.kind == "choice":
        return (cell, "") if cell in column.choices else (None, f"One of {', '.join(column.choices)}.")
    if column.kind == "flag":
        lower = cell.lower()
        return (lower in _TRUE, "") if lower in _TRUE | _FALSE else (None, "true or false.")
    if column.kind == "quarter":
        try:
            return str(Quarter(cell.upper())), ""
        except ValueError:
            return None, "A quarter such as 2027Q1."
    return _type_number(column, cell)


def _type_number(column: Column, cell: str) -> tuple[Cell, str]:
    unit = f" in {column.unit}" if column.unit else ""
    if not _NUMBER.fullmatch(cell):
        return None, f"A number{unit}{_why_not(cell)}."
    return _in_range(column, float(cell))


def _in_range(column: Column, value: float) -> tuple[Cell, str]:
    unit = f" in {column.unit}" if column.unit else ""
    if math.isinf(value):
        return None, f"A finite number{unit}."
    if column.kind == "integer" and value != int(value):
        return None, f"A whole number{unit}."
    if column.minimum is not None and value < column.minimum:
        return None, f"{column.minimum:g} or more{unit}."
    if column.above is not None and value <= column.above:
        return None, f"More than {column.above:g}{unit}."
    most = MOST[column.kind] if column.maximum is None else column.maximum
    if abs(value) > most:
        return None, f"{most:g} or less{unit}."
    return (int(value) if column.kind == "integer" else value), ""


def _why_not(cell: str) -> str:
    if "%" in cell:
        return "; write 5% as 0.05"
    if re.fullmatch(r"[+-]?\d{1,3}([ ,_'\u00a0\u202f]\d{3})+(\.\d+)?", cell):
        return " without thousands separators"
    if re.fullmatch(r"[+-]?\d+,\d+", cell):
        return " with a decimal point, not a comma"
    if cell.lower() in {"nan", "inf", "-inf", "infinity", "n/a", "na", "none", "null", "-"}:
        return "; leave an optional cell empty instead"
    return ""


def _check_header(table: Table, header: list[str]) -> list[Fault]:
    file = f"{table.name}.csv"
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        return [Fault(file, 1, "", header[0][:40], "Columns separated by commas.", "Save the file as comma-separated.")]
    faults: list[Fault] = []
    for name in sorted({name for name in header if header.count(name) > 1}):
        faults.append(Fault(file, 1, name, "", "Each column once."))
    for name in header:
        if name not in table.by_column:
            faults.append(Fault(file, 1, name, "", "Not a column of this table.", nearest(name, table.by_column)))
    for column in table.columns:
        if column.required and column.name not in header:
            faults.append(Fault(file, 1, column.name, "", f"This column is missing. {column.description}"))
    return faults


def _header(table: Table) -> str:
    return ",".join(column.name for column in table.columns if column.required)
