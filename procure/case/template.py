"""Write a case, or an empty one, as a workbook with validation lists, units, comments and examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from procure.case.excel import SETTINGS_SHEET
from procure.case.schema import TABLES
from procure.case.settings import REQUIRED, Settings
from procure.catalogue import Catalogue
from procure.errors import Fault, InputError
from procure.quarter import Quarter
from procure.schema import Column, Table
from procure.sizing import card_names
from procure.sizing.formats import format_names, precision_names

if TYPE_CHECKING:
    from procure.case.case import Case

ROWS = 400
"""Rows below the headings that have validation."""

LONGEST_TITLE = 32
"""Characters that a spreadsheet allows in the title of a refusal."""

WIDE = 16
"""Columns above which a sheet is not printed one page wide."""

_READ_ME = (
    "One sheet for each table of a case; headings must stay as they are. Each has a comment: meaning, unit, default.",
    "Bold headings are needed. An empty cell under another takes its default; the plan lists every default used.",
    "Numbers in the units that the headings name; shares are fractions (0.05, or a cell shown as 5%).",
    "Quarters are calendar quarters such as 2027Q1. Sheets that a case does not need may stay empty.",
    "Formulas count at their stored values; macros and links to other workbooks are refused.",
    "Then: procure check FILE.xlsx, procure solve FILE.xlsx -o OUT.",
)


def write_workbook(path: Path, case: Case | None = None, example: Case | None = None) -> Path:
    """Write a workbook that :meth:`Case.read` takes.

    Args:
        path: a new .xlsx file.
        case: what to fill in, as given (without defaults); None leaves the sheets empty.
        example: a case whose first rows are quoted in the comments.

    Raises:
        InputError: the file exists, or does not end in .xlsx.
    """
    import xlsxwriter

    if path.suffix.lower() != ".xlsx" or path.exists():
        raise InputError([Fault(str(path), 0, "", "", "A new file that ends in .xlsx.")])
    path.parent.mkdir(parents=True, exist_ok=True)
    # A text that begins with = is a text: a workbook must not run what a case says.
    with xlsxwriter.Workbook(path, {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        book.set_properties({"title": case.name if case else "procure case"})
        formats = {
            "needed": book.add_format({"bold": True, "bg_color": "#DDE6EE", "bottom": 1}),
            "optional": book.add_format({"bg_color": "#EEF2F5", "bottom": 1}),
            "text": book.add_format({"num_format": "@"}),
            "left": book.add_format({"align": "left"}),
        }
        about = book.add_worksheet("read me")
        _page(about)
        about.set_column(0, 0, 120)
        for i, sentence in enumerate(_READ_ME):
            about.write(i, 0, sentence)
        lists = _Lists(case)
        _settings(book, formats, case, example)
        for table in TABLES.values():
            _table(book, formats, table, case, example, lists)
        sheet = book.add_worksheet("lists")
        for i, (name, items) in enumerate(lists.items.items()):
            sheet.write_column(0, i, [name, *items])
        sheet.hide()
    return path


class _Lists:
    """Known names, one column each of a hidden sheet, for validation."""

    def __init__(self, case: Case | None) -> None:
        catalogue = case.catalogue if case else Catalogue.read()
        first = Quarter(case.settings.first_quarter) if case else Quarter("2027Q1")
        own = list(case.tables["reuse"]["curve"].unique()) if case else []
        days = list(case.tables["day_shapes"]["shape"].unique()) if case else []
        self.items: dict[str, list[str]] = {
            "sku": sorted(catalogue.skus),
            "scenario": sorted(catalogue.packaged.scenarios),
            "kv_format": sorted(format_names()),
            "precision": sorted(precision_names()),
            "reuse_curve": [*catalogue.packaged.curves, *own],
            "day_shape": [*sorted(catalogue.packaged.profiles), *days],
            "card": list(card_names()),
            "table": [*TABLES, "case.toml"],
            "premise": sorted(catalogue.packaged.paths),
            "quarter": [str(first + step) for step in range(-24, 60)],
        }

    def range(self, name: str) -> str:
        """Address of a list's cells."""
        from xlsxwriter.utility import xl_col_to_name

        letter = xl_col_to_name(list(self.items).index(name))
        return f"=lists!${letter}$2:${letter}${len(self.items[name]) + 1}"


def _page(sheet: Any, wide: bool = False) -> None:
    """Print a sheet one page wide, its heading on each; of a wide one as many beside each other as it needs."""
    sheet.set_landscape()
    sheet.set_paper(9)  # A4
    sheet.repeat_rows(0)
    if wide:
        sheet.repeat_columns(0)
    else:
        sheet.fit_to_pages(1, 0)


def _settings(book: Any, formats: dict[str, Any], case: Case | None, example: Case | None) -> None:
    sheet = book.add_worksheet(SETTINGS_SHEET)
    _page(sheet)
    sheet.set_column(0, 0, 38)
    sheet.set_column(1, 1, 30, formats["left"])
    sheet.set_column(2, 2, 100)
    for i, heading in enumerate(("setting", "value", "meaning")):
        sheet.write(0, i, heading, formats["needed"])
    sheet.freeze_panes(1, 0)
    given = case.given if case else {}
    for row, (name, info) in enumerate(Settings.model_fields.items(), 1):
        sheet.write(row, 0, name, formats["needed" if name in REQUIRED else "optional"])
        value = given.get(name)
        if value is not None:
            sheet.write(row, 1, ", ".join(value) if isinstance(value, list) else value)
        meaning = str(info.description)
        if example is not None:
            shown = getattr(example.settings, name)
            meaning += f" For example {', '.join(shown) if isinstance(shown, list) else shown}."
        sheet.write(row, 2, meaning)
        choices = [c for c in getattr(info.annotation, "__args__", ()) if isinstance(c, str)]
        if choices:
            sheet.data_validation(row, 1, row, 1, {"validate": "list", "source": choices})


def _table(
    book: Any, formats: dict[str, Any], table: Table, case: Case | None, example: Case | None, lists: _Lists
) -> None:
    sheet = book.add_worksheet(table.name)
    _page(sheet, wide=len(table.columns) > WIDE)
    sheet.freeze_panes(1, 0)
    sheet.set_comments_author("procure")
    given = case.given_tables.get(table.name) if case else None
    quoted = example.tables[table.name] if example is not None else None
    for i, column in enumerate(table.columns):
        sheet.write(0, i, column.name, formats["needed" if column.required else "optional"])
        sheet.write_comment(0, i, comment(table, column, quoted, first=i == 0), {"x_scale": 2.2, "y_scale": 1.6})
        # Text stays text: a name such as 2027Q1 or 1e5 must not become a number.
        texts = column.kind in ("text", "choice", "quarter")
        held = given[column.name].dropna() if texts and given is not None and column.name in given else ()
        width = max(12, len(column.name) + 2, *(min(len(str(value)) + 2, 60) for value in held))
        sheet.set_column(i, i, width, formats["text"] if texts else None)
        rule = _validation(column, lists)
        if rule:
            title = column.name if len(column.name) <= LONGEST_TITLE else "This value"
            sheet.data_validation(1, i, ROWS, i, rule | {"error_title": title, "ignore_blank": True})
        if given is None or column.name not in given:
            continue
        for row, value in enumerate(given[column.name], 1):
            if value is None or value != value:
                continue
            if texts:
                sheet.write_string(row, i, str(value), formats["text"])
            elif column.kind == "flag":
                sheet.write_boolean(row, i, bool(value))
            elif value in (float("inf"), float("-inf")):
                continue  # no limit, which an empty cell says
            else:
                sheet.write_number(row, i, value)


def comment(table: Table, column: Column, quoted: Any, *, first: bool) -> str:
    """What the comment on a heading says."""
    lines = [table.description] if first else []
    lines.append(column.description)
    if column.unit:
        lines.append(f"Unit: {column.unit}.")
    limits = [
        text
        for value, text in (
            (column.minimum, f"{column.minimum:g} or more" if column.minimum is not None else ""),
            (column.above, f"more than {column.above:g}" if column.above is not None else ""),
            (column.maximum, f"{column.maximum:g} or less" if column.maximum is not None else ""),
        )
        if value is not None
    ]
    if limits:
        lines.append(f"Range: {', '.join(limits)}.")
    if column.choices:
        lines.append(f"One of {', '.join(column.choices)}.")
    lines.append("Needed." if column.required else f"May be empty: {column.default}.")
    if quoted is not None and len(quoted) and quoted[column.name].iloc[0] is not None:
        lines.append(f"For example {quoted[column.name].iloc[0]}.")
    return "\n".join(lines)


_NAMED_IN = {"workload": "workloads", "site": "sites", "place": "sites", "offer": "rent"}
"""Sheet whose first column has the names of a reference; a place may be the location of a provider too."""


def _validation(column: Column, lists: _Lists) -> dict[str, Any]:
    if column.kind == "choice":
        return {"validate": "list", "source": list(column.choices)}
    if column.kind == "flag":
        return {"validate": "list", "source": ["TRUE", "FALSE"]}
    if column.kind == "quarter":
        return {"validate": "list", "source": lists.range("quarter"), "error_message": "A quarter such as 2027Q1."}
    if column.reference in _NAMED_IN:
        sheet = _NAMED_IN[column.reference]
        rule = {"validate": "list", "source": f"={sheet}!$A$2:$A${ROWS + 1}"}
        if column.reference == "place":
            return {**rule, "error_type": "warning", "error_message": "No site of the sheet sites; a provider is fine."}
        return {**rule, "error_message": f"A name of the sheet {sheet}: {column.reference}."}
    if column.reference in lists.items:
        # Own cards, SKUs of hardware, and own curves are names too: warn, do not refuse.
        words = f"Not a packaged {column.reference.replace('_', ' ')}; your own is fine."
        source = lists.range(column.reference)
        return {"validate": "list", "source": source, "error_type": "warning", "error_message": words}
    if column.numeric:
        return _range(column)
    return {}


def _range(column: Column) -> dict[str, Any]:
    rule: dict[str, Any] = {"validate": "integer" if column.kind == "integer" else "decimal"}
    unit = f" in {column.unit}" if column.unit else ""
    low = column.minimum if column.minimum is not None else column.above
    if low is not None and column.maximum is not None:
        words = f"{low:g} to {column.maximum:g}{unit}."
        return rule | {"criteria": "between", "minimum": low, "maximum": column.maximum, "error_message": words}
    if low is not None:
        criteria = ">=" if column.minimum is not None else ">"
        return rule | {"criteria": criteria, "value": low, "error_message": f"A number {criteria} {low:g}{unit}."}
    return rule | {"criteria": ">=", "value": -1e300, "error_message": f"A number{unit}."}
