"""Expansions of sites, a block of the Purchases sheet: what to build, when, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from procure.plan import Plan
from procure.plan.tables import ExpansionOrder
from procure.report.cells import Call, Expr, exact, sumproduct, total
from procure.report.layout import TimeSheet
from procure.schema import CostLine

EXPANSION_LINE = CostLine.EXPANSIONS
"""Cash line of expansions; paid when ordered."""


@dataclass(frozen=True)
class Expansions:
    """The block's rows on the Purchases sheet."""

    book: TimeSheet
    first: int
    last: int

    def paid(self, site: Expr, name: Expr, quarter: Expr) -> Call:
        """USD paid in a quarter for an expansion of a site."""
        when, at, what, capex = (self.book.sheet.column(column, self.first, self.last) for column in (1, 2, 3, 7))
        return sumproduct(exact(at, site) * exact(what, name) * exact(when, quarter) * capex)


def expansions_block(book: TimeSheet, plan: Plan) -> Expansions:
    """Add the block: steps x unit cost = capex, paid in the quarter of the order."""
    book.heading(
        "Expansions of sites", "Counts are solver output; capex = steps x unit cost, paid in the order quarter."
    )
    of = ExpansionOrder.schema.by_column
    named = (of[name] for name in ("quarter", "site", "expansion", "span", "count"))
    head = book.header(("No.", *named, "Unit cost, USD", of["capex_usd"]))
    first = book.row
    table = plan.tables["expansions"].sort_values(["quarter", "site", "expansion"])
    for number, order in enumerate(ExpansionOrder.rows(table), 1):
        _expansion(book, number, order)
    if book.row == first:
        book.line(["none"], "calc:usd", [None] * len(head))
    last = book.row - 1
    sums = {column: total(book.sheet.column(column, first, last)) for column in (5, 7)}
    book.line(
        ["All expansions", None, None, None, None, sums[5], None, sums[7]],
        "sum:usd",
        book.sums_of(first, last),
        label_styles={5: "sum:count", 7: "sum:usd"},
    )
    return Expansions(book, first, last)


def _expansion(book: TimeSheet, number: int, order: ExpansionOrder) -> None:
    at = book.sheet.at
    row = book.row
    ordered = at(row, 1), at(row, 7)
    quarters = book.timeline.quarters
    head = [at(row - number, 8 + i, row_fixed=True, column_fixed=False) for i in range(len(quarters))]
    book.line(
        [number, order.quarter, order.site, order.expansion, order.span.word, float(order.count),
         order.capex_usd / order.count, at(row, 5) * at(row, 6)],
        "calc:usd",
        lambda i: exact(ordered[0], head[i]) * ordered[1],
        label_styles={0: "number:count", 5: "solver:count", 6: "input:usd", 7: "calc:usd"},
    )  # fmt: skip
