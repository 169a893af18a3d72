"""Purchases: the register of orders, what each is paid and when, and counts by quarter."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from procure.plan import Plan
from procure.report.cells import Block, Call, Cell, Expr, exact, sumproduct, total
from procure.report.layout import Row, Timeline, TimeSheet

_TITLES = {"planned": "Recommended orders", "lookahead": "Foreseen in look-ahead, not recommended"}


@dataclass(frozen=True)
class Purchases:
    """The sheet, the (site, SKU) pairs ordered, and the rows of the register.

    ``capex`` holds each order's capex cell beside what the plan states for it, in USD.
    """

    book: TimeSheet
    keys: set[tuple[str, str]]
    capex: list[tuple[Cell, float]]
    first: int
    last: int
    total: Row

    def _column(self, column: int) -> Block:
        return self.book.sheet.block(self.first, column, self.last, column)

    @property
    def counts(self) -> Block:
        """The counts of the register, subtotals among them."""
        return self._column(5)

    def delivered(self, site: Expr, sku: Expr, quarter: Expr) -> Call:
        """Units of an SKU that arrive at a site in a quarter."""
        where = exact(self._column(2), site) * exact(self._column(3), sku) * exact(self._column(4), quarter)
        return sumproduct(where * self.counts)

    def ordered(self, site: Expr, sku: Expr, quarter: Expr) -> Call:
        """Units of an SKU that are ordered for a site in a quarter."""
        where = exact(self._column(2), site) * exact(self._column(3), sku) * exact(self._column(1), quarter)
        return sumproduct(where * self.counts)

    def paid(self, site: Expr, sku: Expr, i: int) -> Call:
        """USD paid for an SKU of a site in the quarter at position ``i``."""
        where = exact(self._column(2), site) * exact(self._column(3), sku)
        return sumproduct(where * self.book.quarter_block(self.first, self.last, i))


def purchases_sheet(plan: Plan, timeline: Timeline) -> Purchases:
    """Orders as a register with live money.

    A payment is count x (share due at order x (price + attach)) in the order quarter and the rest, with the
    installation, in the delivery quarter.
    """
    book = TimeSheet("Purchases", "Purchases", "What to order, for which site, in which quarter, and when it is paid. "
                     "Counts are solver output (pasted values): they do not re-optimise when inputs change.",
                     timeline)  # fmt: skip
    table = plan.tables["purchases"].sort_values(["quarter", "site", "sku"])
    spans = {span: table[table["span"] == span] for span in _TITLES}
    book.heading(
        "Orders", "Columns I onwards: payments in USD in the quarter they fall due. Capex = count x unit cost."
    )
    head = book.header(["No.", "Order quarter", "Site", "SKU", "Delivery quarter", "Count", "Unit cost, USD",
                        "Capex, USD"])  # fmt: skip
    top = book.row
    # Unit prices are filled first, below the room that the register needs.
    book.row += sum(max(len(rows), 1) + 1 for rows in spans.values()) + 1
    due = _prices(book, pd.concat(list(spans.values())))
    end = book.row
    book.row = top
    capex: list[tuple[Cell, float]] = []
    subtotals: list[Row] = []
    for span, title in _TITLES.items():
        first = book.row
        for _, order in spans[span].iterrows():
            row = _order(book, len(capex), order, due[len(capex)], head)
            capex.append((row.labels[7], float(order["capex_usd"])))
        if book.row == first:
            book.line(["none"], "calc:usd", [None] * len(timeline.quarters))
        subtotals.append(_subtotal(book, title, first, book.row - 1))
    last = book.row - 1
    planned, later = subtotals
    grand = book.line(
        ["All orders", None, None, None, None, planned.labels[5] + later.labels[5], None,
         planned.labels[7] + later.labels[7]],
        "sum:usd", lambda i: planned.cells[i] + later.cells[i], label_styles={5: "sum:count", 7: "sum:usd"},
    )  # fmt: skip
    book.row = end
    keys = set(zip(table["site"].astype(str), table["sku"].astype(str), strict=True))
    made = Purchases(book, keys, capex, top, last, grand)
    _counts(made)
    return made


def _subtotal(book: TimeSheet, title: str, first: int, last: int) -> Row:
    sheet = book.sheet
    return book.line(
        [title, None, None, None, None, total(sheet.block(first, 5, last, 5)), None,
         total(sheet.block(first, 7, last, 7))],
        "sum:usd", book.sums_of(first, last),
        label_styles={5: "sum:count", 7: "sum:usd"},
    )  # fmt: skip


def _order(book: TimeSheet, position: int, order: pd.Series, due: tuple[Cell, Cell], head: list[Cell]) -> Row:
    """One order: its unit cost and capex, and each payment in its quarter."""
    quarter, delivery, count, unit_cost = (book.sheet.at(book.row, column) for column in (1, 4, 5, 6))
    at_order, at_delivery = (cell.in_column for cell in due)
    return book.line(
        [position + 1, str(order["quarter"]), str(order["site"]), str(order["sku"]), str(order["delivery_quarter"]),
         float(order["count"]), at_order + at_delivery, count * unit_cost],
        "calc:usd",
        lambda i: count * (exact(quarter, head[i].in_row) * at_order + exact(delivery, head[i].in_row) * at_delivery),
        label_styles={0: "text:count", 5: "solver:count", 6: "calc:usd", 7: "calc:usd"},
    )  # fmt: skip


def _prices(book: TimeSheet, orders: pd.DataFrame) -> list[tuple[Cell, Cell]]:
    """Unit prices and terms; returns each order's payments per unit, at order and at delivery."""
    book.heading("Unit prices and payment terms",
                 "Price of the delivery quarter, fixed at order. The share due at order applies to price and attach; "
                 "the rest and the installation are paid on delivery.")  # fmt: skip
    book.header(["No.", "SKU", "Price, USD per unit", "Attach, USD per unit", "Install, USD/unit", "Due at order",
                 "At order, USD/unit", "At delivery, USD/unit"], quarters=False)  # fmt: skip
    put, due = book.sheet.put, []
    for number, (_, order) in enumerate(orders.iterrows(), 1):
        row = book.row
        put(row, 0, number, "text:count")
        put(row, 1, str(order["sku"]))
        price = put(row, 2, float(order["unit_price_usd"]), "input:usd")
        attach = put(row, 3, float(order["unit_attach_usd"]), "input:usd")
        install = put(row, 4, float(order["unit_install_usd"]), "input:usd")
        share = put(row, 5, float(order["milestone_order"]), "input:share")
        at_order = put(row, 6, share * (price + attach), "calc:usd")
        due.append((at_order, put(row, 7, (1 - share) * (price + attach) + install, "calc:usd")))
        book.row += 1
    if not due:
        put(book.row, 0, "none")
        book.row += 1
    return due


def _counts(made: Purchases) -> None:
    book = made.book
    book.heading("Units ordered by quarter", "Taken from the register above.")
    head = book.header(["Site", "SKU", "", "", "Unit", "", "Total", ""])
    for site, sku in sorted(made.keys):
        at_site, at_sku = book.sheet.at(book.row, 0), book.sheet.at(book.row, 1)
        book.line([site, sku, None, None, "units", None, book.row_total(book.row)], "calc:count",
                  lambda i, a=at_site, b=at_sku: made.ordered(a, b, head[i].in_row),
                  label_styles={6: "calc:count"})  # fmt: skip
    if not made.keys:
        book.line(["none"], "calc:count", [None] * len(book.timeline.quarters))
