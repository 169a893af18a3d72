"""Money: cash by quarter and line, discounted; its total is the objective."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pandas as pd

from procure.errors import Fault, InputError
from procure.plan import Plan
from procure.report.cells import Cell, Expr, sumproduct, total
from procure.report.layout import Row, Timeline, TimeSheet, over_time
from procure.report.sheets.purchases import Purchases

ORDER_LINE = "capex"
"""Cash line of what the plan orders; its payments are read from Purchases."""
SPANS = {"planned": "Planned quarters", "lookahead": "Look-ahead quarters"}


@dataclass(frozen=True)
class Money:
    """The sheet, the rows of each (span, line), and the rows of the totals; cash stands in label 6, NPV in label 7."""

    book: TimeSheet
    lines: dict[tuple[str, str], list[Row]]
    planned: Row
    later: Row
    total: Row
    detail_npv: Expr


def money_sheet(plan: Plan, timeline: Timeline, purchases: Purchases, rate: Cell) -> Money:
    """Discount factors, lines by span with subtotals, and the detail by site and SKU that they sum."""
    book = TimeSheet("Money", "Money", "Cash by quarter (costs positive) and its net present value. "
                     "NPV total = the objective that the solver minimised.", timeline)  # fmt: skip
    cash = plan.tables["cash"].copy()
    cash["timing"] = timings(cash, timeline, float(rate.value or 0.0))
    groups = sorted(set(zip(cash["span"], cash["line"].astype(str), cash["timing"], strict=True)),
                    key=lambda g: (g[0] != "planned", g[1], g[2]))  # fmt: skip

    book.heading("Discounting", "Factor = 1 / (1 + rate) ^ ((quarters since the first + timing) / 4). "
                 "Timing: 0 cash moves at the start of its quarter, 1 at its end.")  # fmt: skip
    book.header(["Item", "", "", "", "Unit", "Timing", "Rate", ""])
    row = book.row
    index = book.line(["quarters since the first", None, None, None, "quarters"], "calc:count",
                      lambda i: 0 if i == 0 else book.cell(row, i - 1) + 1)  # fmt: skip
    factors: dict[float, Row] = {}
    for timing in sorted(set(cash["timing"])) or [0.0]:
        row = book.row
        factors[timing] = book.line(
            ["discount factor", None, None, None, "factor", timing, rate.fixed], "calc:factor",
            lambda i, row=row: 1 / (1 + book.sheet.at(row, 6))
            ** ((index.cells[i].in_row + book.sheet.at(row, 5)) / 4),
            label_styles={5: "input:number", 6: "calc:rate"},
        )  # fmt: skip

    book.heading("Cash by line", "Sums of the detail below.")
    book.header(["Span", "Line", "", "", "Unit", "Timing", "Cash, all quarters", "NPV"])
    summary_top = book.row
    members = {span: [g for g in groups if g[0] == span] for span in SPANS}
    # The detail is filled first, below the room that the summary needs.
    book.row += sum(max(len(found), 1) + 1 for found in members.values()) + 1
    book.heading("Detail by line, site and SKU",
                 "Payments for orders are read from Purchases; the other lines are solver output.")  # fmt: skip
    book.header(["Span", "Line", "Site", "SKU", "Unit", "", "Cash, all quarters", "NPV"])
    detail_top = book.row
    place = {group: _detail(book, cash, group, purchases, factors[group[2]]) for group in groups}
    detail_end = max(book.row - 1, detail_top)
    book.row = summary_top
    lines: dict[tuple[str, str], list[Row]] = defaultdict(list)
    subtotals = []
    for span, title in SPANS.items():
        top = book.row
        for group in members[span]:
            lines[group[0], group[1]].append(_line(book, group, *place[group]))
        if book.row == top:
            book.line([span, "none"], "calc:usd", [None] * len(timeline.quarters))
        subtotals.append(_subtotal(book, title, top, book.row - 1))
    planned, later = subtotals
    grand = book.line(
        ["Total", None, None, None, "USD", None, planned.labels[6] + later.labels[6],
         planned.labels[7] + later.labels[7]],
        "sum:usd", lambda i: planned.cells[i] + later.cells[i], label_styles={6: "sum:usd", 7: "sum:usd"},
    )  # fmt: skip
    book.row = detail_end + 1
    return Money(book, dict(lines), planned, later, grand, total(book.sheet.block(detail_top, 7, detail_end, 7)))


def _line(book: TimeSheet, group: tuple[str, str, float], first: int, last: int) -> Row:
    span, line, timing = group
    return book.line(
        [span, line, None, None, "USD", timing, total(book.sheet.block(first, 6, last, 6)),
         total(book.sheet.block(first, 7, last, 7))],
        "calc:usd", book.sums_of(first, last),
        label_styles={5: "text:number", 6: "calc:usd", 7: "calc:usd"},
    )  # fmt: skip


def _subtotal(book: TimeSheet, title: str, first: int, last: int) -> Row:
    return book.line(
        [title, None, None, None, "USD", None, total(book.sheet.block(first, 6, last, 6)),
         total(book.sheet.block(first, 7, last, 7))],
        "sum:usd", book.sums_of(first, last),
        label_styles={6: "sum:usd", 7: "sum:usd"},
    )  # fmt: skip


def _detail(book: TimeSheet, cash: pd.DataFrame, group: tuple[str, str, float], purchases: Purchases,
            factor: Row) -> tuple[int, int]:  # fmt: skip
    """The rows of a line by site and SKU, the payments for orders as formulas; returns the first and last row."""
    span, line, timing = group
    mine = cash[(cash["span"] == span) & (cash["line"] == line) & (cash["timing"] == timing)]
    inside = [(quarter in book.timeline.later) == (span == "lookahead") for quarter in book.timeline.quarters]
    first, at = book.row, book.sheet.at
    for (site, sku), amounts in over_time(mine, ["site", "sku"], "cash_usd", book.timeline).items():
        labels, row = [span, line, site, sku], book.row
        if line == ORDER_LINE:
            _detail_row(book, labels, "calc:usd", lambda i, row=row: (
                purchases.paid(at(row, 2), at(row, 3), i) if inside[i] else 0.0), factor)  # fmt: skip
        else:
            _detail_row(book, labels, "solver:usd", amounts, factor)
    return first, max(book.row - 1, first)


def _detail_row(book: TimeSheet, labels: list[str], style: str, values: Any, factor: Row) -> Row:
    block = book.sheet.block(book.row, 8, book.row, book.timeline.last_column, row_fixed=False)
    weights = book.sheet.block(factor.number, 8, factor.number, book.timeline.last_column)
    return book.line([*labels, "USD", None, total(block), sumproduct(block, weights)], style, values,
                     label_styles={6: "calc:usd", 7: "calc:usd"})  # fmt: skip


def timings(cash: pd.DataFrame, timeline: Timeline, rate: float) -> list[float]:
    """When in its quarter each cash row moves, in quarters, as its discount factor tells.

    Raises:
        InputError: a factor that no moment between a quarter before and two quarters after explains, which means that
            the rate is not the one the plan was made with.
    """
    position = {q: i for i, q in enumerate(timeline.quarters)}
    result, faults = [], []
    for quarter, factor in zip(cash["quarter"], cash["discount_factor"], strict=True):
        timing = 0.0 if rate == 0 else round(-4 * math.log(factor) / math.log1p(rate) - position[quarter], 6) + 0.0
        if not -1 <= timing <= 2 or (rate == 0 and factor != 1):
            faults.append(Fault("tables/cash.csv", 0, "discount_factor", f"{factor:.6g} in {quarter}",
                                f"Does not follow from the discount rate {rate:.6g} per year.",
                                "The plan's cash and premises belong to different runs."))  # fmt: skip
        result.append(timing)
    if faults:
        raise InputError(faults)
    return result
