"""The workbook: builds every sheet from one definition, then writes it once."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xlsxwriter

from procure.plan import Plan
from procure.quarter import Quarter
from procure.report.cells import Cell, Expr, Sheet
from procure.report.layout import Timeline
from procure.report.sheets.about import about_sheet
from procure.report.sheets.checks import Parts, checks_sheet
from procure.report.sheets.day import day_sheet
from procure.report.sheets.fleet import fleet_sheet
from procure.report.sheets.instances import instances_sheet
from procure.report.sheets.kv import kv_sheet
from procure.report.sheets.limits import limits_sheet
from procure.report.sheets.money import money_sheet
from procure.report.sheets.premises import premises_sheet
from procure.report.sheets.purchases import purchases_sheet
from procure.report.sheets.service import service_sheet
from procure.report.sheets.survival import survival_sheet
from procure.report.sheets.why import why_sheet
from procure.report.styles import properties
from procure.report.words import plan_name
from procure.why import Explanation

LONGEST_TEXT = 32_767
"""Characters that a cell of an .xlsx file can hold."""
LINE_POINTS = 15.0
"""Height of one line of text."""
HIGHEST_ROW_POINTS = 409.0
"""No row of an .xlsx file is higher; longer texts stand in the cell whole and show as far as they fit."""


def build(plan: Plan, why: Explanation | None = None) -> list[Sheet]:
    """Every sheet of a plan's workbook, in order, formulas and values together; with what was asked why.

    Raises:
        InputError: the plan's tables contradict each other or lack the discount rate.
    """
    timeline = Timeline.of(plan)
    premises, rate = premises_sheet(plan)
    about = about_sheet(plan, timeline)
    purchases = purchases_sheet(plan, timeline)
    fleet = fleet_sheet(plan, timeline, purchases)
    limits = limits_sheet(plan, timeline)
    money = money_sheet(plan, purchases, rate)
    service = service_sheet(plan, timeline)
    books = (
        purchases.book,
        fleet.book,
        limits.book,
        money.book,
        service.book,
        instances_sheet(plan, timeline),
        day_sheet(plan, timeline),
        survival_sheet(plan, timeline),
        kv_sheet(plan, timeline),
    )
    first, *others = (book.sheet for book in books)
    sheets = [about.sheet, first, why_sheet(why), *others, premises]
    checks, overall = checks_sheet(plan, Parts(about, purchases, fleet, limits, money, service), sheets)
    for sheet in sheets:
        sheet.put(2, 0, "All checks")
        sheet.put(2, 1, overall.fixed, "verdict")
    return [*sheets, checks]


def write_workbook(plan: Plan, path: str | Path, why: Explanation | None = None) -> Path:
    """Write a plan as an Excel workbook whose formulas carry their values; the same plan gives the same bytes.

    Raises:
        InputError: the plan's tables contradict each other or lack the discount rate.
    """
    return write_sheets(build(plan, why), Path(path), _created(plan), f"Purchase plan {plan_name(plan)}".strip())


def write_sheets(sheets: list[Sheet], path: Path, created: datetime, title: str) -> Path:
    """Write filled sheets. Texts are written as texts, whatever they begin with."""
    book = xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False})
    book.set_properties({"title": title, "author": "procure", "created": created})
    book.set_calc_mode("auto")
    formats: dict[str, Any] = {}

    def look(style: str) -> Any:
        if style not in formats:
            formats[style] = book.add_format(properties(style))
        return formats[style]

    for sheet in sheets:
        page = book.add_worksheet(sheet.name)
        for cell in sheet.cells.values():
            _write(page, cell, look(cell.style))
            if cell.comment:
                page.write_comment(cell.row, cell.column, cell.comment, {"x_scale": 1.6, "author": "procure"})
        _dress(book, page, sheet)
    book.close()
    return path


def _write(page: Any, cell: Cell, look: Any) -> None:
    content = cell.content
    if isinstance(content, Expr):
        page.write_formula(cell.row, cell.column, "=" + content.text(cell.sheet), look, cell.value)
    elif content is None:
        page.write_blank(cell.row, cell.column, None, look)
    elif isinstance(content, str):
        page.write_string(cell.row, cell.column, _fitting(content), look)
    elif math.isfinite(content):
        page.write_number(cell.row, cell.column, float(content), look)
    else:  # a cell holds no infinity: no limit, no target, nothing served
        page.write_string(cell.row, cell.column, "none", look)


def _fitting(text: str) -> str:
    """The text, or as much of it as a cell can hold with a remark that it was cut."""
    if len(text) <= LONGEST_TEXT:
        return text
    remark = f" ... [{len(text):,} characters, cut to fit a cell]"
    return text[: LONGEST_TEXT - len(remark)] + remark


def _dress(book: Any, page: Any, sheet: Sheet) -> None:
    """Widths, frozen panes, print set-up and the colours of the verdicts."""
    for column, width in sheet.widths.items():
        page.set_column(column, column, width)
    for row, lines in sheet.lines.items():
        page.set_row(row, min(LINE_POINTS * lines, HIGHEST_ROW_POINTS))
    page.hide_gridlines(2)
    page.freeze_panes(*sheet.freeze)
    page.set_landscape()
    page.set_paper(8)  # A3
    page.fit_to_pages(1, 0)
    page.set_margins(left=0.4, right=0.4, top=0.6, bottom=0.6)
    page.set_footer("&L&A&RPage &P of &N")
    if sheet.freeze[0]:
        page.repeat_rows(0, sheet.freeze[0] - 1)
    if sheet.filter is not None:
        page.autofilter(*sheet.filter)
    last = max(row for row, _ in sheet.cells)
    for word, colours in (("PASS", {"bg_color": "#C6EFCE", "font_color": "#006100"}),
                          ("FAIL", {"bg_color": "#FFC7CE", "font_color": "#9C0006"})):  # fmt: skip
        page.conditional_format(0, 0, last, 6, {"type": "cell", "criteria": "==", "value": f'"{word}"',
                                                "format": book.add_format(colours)})  # fmt: skip


def _created(plan: Plan) -> datetime:
    """The date the plan states, or the first day of its first quarter, so that the bytes follow from the plan."""
    stated = plan.summary["provenance"]["made"]
    if stated:
        return datetime.fromisoformat(stated).replace(tzinfo=None)
    first = Quarter(Timeline.of(plan).quarters[0])
    return datetime(first.year, 3 * first.number - 2, 1, tzinfo=UTC).replace(tzinfo=None)
