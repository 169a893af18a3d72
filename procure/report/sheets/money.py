"""Money: cash by quarter and line, discounted; its total is the objective."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pandas as pd

from procure.errors import Fault, InputError
from procure.plan import Plan
from procure.plan.tables import Cash
from procure.report.cells import Cell, Expr, sumproduct, total
from procure.report.layout import Row, Timeline, TimeSheet, over_time
from procure.report.sheets.expansions import EXPANSION_LINE
from procure.report.sheets.premises import RATE
from procure.report.sheets.purchases import ORDER_LINES, Purchases
from procure.schema import Span

_OF = Cash.schema.by_column


@dataclass(frozen=True)
class Money:
    """The sheet, the rows of each (span, line), and the rows of the totals; cash stands in label 6, NPV in label 7."""

    book: TimeSheet
    lines: dict[tuple[str, str], list[Row]]
    planned: Row
    later: Row
    total: Row
    detail_npv: Expr


def money_sheet(plan: Plan, purchases: Purchases, rate: Cell) -> Money:
    """Discount factors, lines by span with subtotals, and the detail by site and SKU that they sum."""
    timeline = Timeline.of(plan, end=True)
    book = TimeSheet(
        "Money",
        "Money",
        "Cash by quarter (costs positive) and its net present value. NPV total = the objective that the solver "
        "minimised. The last column is the end of the horizon, where residual values stand.",
        timeline,
    )
    cash = plan.tables["cash"]
    _same_rate(cash, timeline, float(rate.value or 0.0))
    order = {line: i for i, line in enumerate(dict.fromkeys(plan.tables["costs"]["line"]))}
    groups = sorted(
        set(zip(cash["span"], cash["line"].astype(str), strict=True)),
        key=lambda g: (g[0] != Span.PLANNED, order.get(g[1], len(order)), g[1]),
    )
    book.heading(
        "Discounting",
        "Factor = 1 / (1 + rate) ^ (quarters since the first / 4): cash moves at the start of its quarter.",
    )
    head = book.header(["Item", "", "", "", "Unit", "", "Rate", ""])
    index = _positions(book)
    factors = _factors(book, rate, index)
    book.heading("Cash by line", "Sums of the detail below.")
    book.header([_OF["span"], _OF["line"], "", "", "Unit", "", "Cash, all quarters", _OF["npv_usd"].title])
    summary_top = book.row
    members = {span: [g for g in groups if g[0] == span] for span in Span}
    # The detail is filled first, below the room that the summary needs.
    book.row += sum(max(len(found), 1) + 1 for found in members.values()) + 1
    book.heading("Detail by line, site and SKU",
                 "Orders and expansions are read from Purchases; the other lines are solver output.")  # fmt: skip
    book.header([*(_OF[name] for name in ("span", "line", "site", "sku")), "Unit", "", "Cash, all quarters",
                 _OF["npv_usd"].title])  # fmt: skip
    detail_top = book.row
    place = {group: _detail(book, cash, group, purchases, factors, head) for group in groups}
    detail_end = max(book.row - 1, detail_top)
    book.row = summary_top
    lines: dict[tuple[str, str], list[Row]] = defaultdict(list)
    subtotals = []
    for span in Span:
        top = book.row
        for group in members[span]:
            lines[group[0], group[1]].append(_line(book, group, *place[group]))
        if book.row == top:
            book.line([str(span), "none"], "calc:usd", [None] * len(timeline.quarters))
        subtotals.append(_subtotal(book, span.word, top, book.row - 1))
    planned, later = subtotals
    grand = book.line(
        ["Total", None, None, None, _OF["cash_usd"].unit, None, planned.labels[6] + later.labels[6],
         planned.labels[7] + later.labels[7]],
        "sum:usd", lambda i: planned.cells[i] + later.cells[i], label_styles={6: "sum:usd", 7: "sum:usd"},
    )  # fmt: skip
    book.row = detail_end + 1
    return Money(book, dict(lines), planned, later, grand, total(book.sheet.column(7, detail_top, detail_end)))


def _positions(book: TimeSheet) -> Row:
    row = book.row
    return book.line(
        ["quarters since the first", None, None, None, "quarters"],
        "calc:count",
        lambda i: 0 if i == 0 else book.cell(row, i - 1) + 1,
    )


def _factors(book: TimeSheet, rate: Cell, index: Row) -> Row:
    """Present value at the start of the first quarter of one USD paid at the start of each quarter."""
    at_rate = book.sheet.at(book.row, 6)
    return book.line(
        ["discount factor", None, None, None, "factor", None, rate.fixed],
        "calc:factor",
        lambda i: 1 / (1 + at_rate) ** (index.cells[i].in_row / 4),
        label_styles={6: "calc:rate"},
    )


def _line(book: TimeSheet, group: tuple[str, str], first: int, last: int) -> Row:
    span, line = group
    return book.line(
        [span, line, None, None, _OF["cash_usd"].unit, None, total(book.sheet.column(6, first, last)),
         total(book.sheet.column(7, first, last))],
        "calc:usd", book.sums_of(first, last),
        label_styles={6: "calc:usd", 7: "calc:usd"},
    )  # fmt: skip


def _subtotal(book: TimeSheet, title: str, first: int, last: int) -> Row:
    return book.line(
        [title, None, None, None, _OF["cash_usd"].unit, None, total(book.sheet.column(6, first, last)),
         total(book.sheet.column(7, first, last))],
        "sum:usd", book.sums_of(first, last),
        label_styles={6: "sum:usd", 7: "sum:usd"},
    )  # fmt: skip


def _detail(
    book: TimeSheet, cash: pd.DataFrame, group: tuple[str, str], purchases: Purchases, factors: Row, head: list[Cell]
) -> tuple[int, int]:
    """The rows of a line by site and SKU, the payments for orders as formulas; returns the first and last row."""
    span, line = group
    first = book.row
    mine = cash[(cash["span"] == span) & (cash["line"] == line)]
    for (site, sku), amounts in over_time(mine, ["site", "sku"], "cash_usd", book.timeline).items():
        if line in ORDER_LINES or line == EXPANSION_LINE:
            _payments(book, [span, line, site, sku], purchases, factors, head)
        else:
            _detail_row(book, [span, line, site, sku], "solver:usd", amounts, factors)
    return first, max(book.row - 1, first)


def _payments(book: TimeSheet, labels: list[str], purchases: Purchases, factors: Row, head: list[Cell]) -> None:
    """What is paid for one SKU or expansion at one site on one line, in the quarters of the row's span."""
    at_site, at_sku = book.sheet.at(book.row, 2), book.sheet.at(book.row, 3)
    span, line, *_ = labels

    def payment(i: int) -> Any:
        if (head[i].content in book.timeline.later) != (span == Span.LOOKAHEAD):
            return 0.0
        if line == EXPANSION_LINE:
            return purchases.expansions.paid(at_site, at_sku, head[i].in_row)
        return purchases.paid(line, at_site, at_sku, head[i].in_row)

    _detail_row(book, labels, "calc:usd", payment, factors)


def _detail_row(book: TimeSheet, labels: list[str], style: str, values: Any, factor: Row) -> Row:
    block = book.sheet.block(book.row, 8, book.row, book.timeline.last_column, row_fixed=False)
    weights = book.sheet.block(factor.number, 8, factor.number, book.timeline.last_column)
    return book.line([*labels, _OF["cash_usd"].unit, None, total(block), sumproduct(block, weights)], style, values,
                     label_styles={6: "calc:usd", 7: "calc:usd"})  # fmt: skip


def _same_rate(cash: pd.DataFrame, timeline: Timeline, rate: float) -> None:
    """Check that the plan's cash was discounted at the stated rate.

    Raises:
        InputError: a discount factor does not follow from the rate.
    """
    wrong = {
        (quarter, factor)
        for quarter, factor in zip(cash["quarter"], cash["discount_factor"], strict=True)
        if abs(factor - (1 + rate) ** (-timeline.position[quarter] / 4)) > 1e-9
    }
    expected = f"Does not follow from the premise {RATE} = {rate:g}."
    hint = "Cash and premises belong to different runs: solve the case again."
    if wrong:
        raise InputError(
            Fault("tables/cash.csv", 0, "discount_factor", f"{factor:.6g} in {quarter}", expected, hint)
            for quarter, factor in wrong
        )
