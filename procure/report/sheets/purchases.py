"""Purchases: the register of orders, what each is paid and when, expansions, rent and sales, and counts by quarter."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from procure.plan import Plan
from procure.plan.tables import Purchase
from procure.report.cells import Block, Call, Cell, Expr, exact, sumproduct, total
from procure.report.layout import Row, Timeline, TimeSheet
from procure.report.sheets.changes import changes_block
from procure.report.sheets.expansions import Expansions, expansions_block
from procure.report.sheets.rents import rents_block
from procure.report.sheets.reservations import reservations_block
from procure.report.sheets.sales import sales_block
from procure.schema import Column, CostLine, Span
from procure.timekey import grouped, summed

ORDER_LINES: dict[str, int] = {CostLine.HARDWARE: 2, CostLine.ATTACH: 3, CostLine.INSTALLATION: 4}
"""Cash lines of what the plan orders, with the column of their unit price."""
_TITLES = {Span.PLANNED: "Recommended orders", Span.LOOKAHEAD: "Foreseen in look-ahead, not recommended"}


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
    price_top: int
    total: Row
    expansions: Expansions
    rent: Row
    """Rent by quarter."""

    def _column(self, column: int) -> Block:
        return self.book.sheet.column(column, self.first, self.last)

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

    def paid(self, line: str, site: Expr, sku: Expr, quarter: Expr) -> Call:
        """USD paid in a quarter for an SKU of a site on one of the :data:`ORDER_LINES`."""
        units = exact(self._column(2), site) * exact(self._column(3), sku) * self.counts
        price, share = self._price(ORDER_LINES[line]), self._price(5)
        when: Expr = exact(self._column(4), quarter)
        if line != CostLine.INSTALLATION:
            when = exact(self._column(1), quarter) * share + when * (1 - share)
        return sumproduct(units * price * when)

    def _price(self, column: int) -> Block:
        """A column of the unit prices, whose rows stand in step with the register."""
        return self.book.sheet.column(column, self.price_top, self.price_top + self.last - self.first)


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
        "Orders", "Columns I onwards: payments in USD in the quarter they fall due. Capex = units x unit cost."
    )
    of = Purchase.schema.by_column
    named = (of[name] for name in ("quarter", "site", "sku", "delivery_quarter", "count"))
    head = book.header(["No.", *named, "Unit cost, USD", of["capex_usd"]])
    top = book.row
    # Unit prices are filled first, below the room that the register needs.
    book.row += sum(max(len(rows), 1) + 1 for rows in spans.values()) + 1
    price_top, due = _prices(book, list(spans.values()), order_shares(plan))
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
    expansions = expansions_block(book, plan)
    reservations_block(book, plan)
    rent = rents_block(book, plan)
    changes_block(book, plan)
    sales_block(book, plan)
    keys = set(zip(table["site"].astype(str), table["sku"].astype(str), strict=True))
    made = Purchases(book, keys, capex, top, last, price_top, grand, expansions, rent)
    _counts(made)
    return made


def _subtotal(book: TimeSheet, title: str, first: int, last: int) -> Row:
    sheet = book.sheet
    return book.line(
        [title, None, None, None, None, total(sheet.column(5, first, last)), None,
         total(sheet.column(7, first, last))],
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
        label_styles={0: "number:count", 5: "solver:count", 6: "calc:usd", 7: "calc:usd"},
    )  # fmt: skip


def order_shares(plan: Plan) -> dict[str, float]:
    """The share of price and attach that is due at order, by SKU, as the plan's cash tells.

    In the quarter of an SKU's first order nothing of it can have been delivered before, so what is paid for hardware
    and attach then, over the cost of what is ordered then, is the share; 1 where an order is delivered in its quarter.
    """
    cash = plan.tables["cash"]
    paid = grouped(cash[cash["line"].isin((CostLine.HARDWARE, CostLine.ATTACH))], ["sku", "quarter"])["cash_usd"].sum()
    shares = {}
    for sku, orders in grouped(plan.tables["purchases"], ["sku"]):
        first = orders[orders["quarter"] == orders["quarter"].min()]
        each = first["unit_price_usd"] + first["unit_attach_usd"]
        cost = summed(first.assign(usd=first["count"] * each), "usd")
        due = float(paid.get((sku, first["quarter"].iloc[0]), 0.0))
        shares[str(sku)] = due / cost if cost else 0.0
    return shares


def _prices(
    book: TimeSheet, spans: list[pd.DataFrame], shares: dict[str, float]
) -> tuple[int, list[tuple[Cell, Cell]]]:
    """Unit prices and terms in rows in step with the register; returns the first row and the payments per unit."""
    book.heading(
        "Unit prices and payment terms",
        "Price of the delivery quarter, fixed at order. The share due at order applies to price and attach; "
        "the rest and the installation are paid on delivery.",
    )
    of = Purchase.schema.by_column
    titles: tuple[str | Column, ...] = (
        "No.",
        *(of[name] for name in ("sku", "unit_price_usd", "unit_attach_usd", "unit_install_usd")),
    )
    book.header(
        [*titles, "Due at order", "At order, USD/unit", "At delivery, USD/unit"], quarters=False, numbers=range(2, 8)
    )
    top, put = book.row, book.sheet.put
    due: list[tuple[Cell, Cell]] = []
    for orders in spans:
        for _, order in orders.iterrows():
            row = book.row
            put(row, 0, len(due) + 1, "number:count")
            put(row, 1, str(order["sku"]))
            price = put(row, 2, float(order["unit_price_usd"]), "input:usd")
            attach = put(row, 3, float(order["unit_attach_usd"]), "input:usd")
            install = put(row, 4, float(order["unit_install_usd"]), "input:usd")
            share = put(row, 5, shares[str(order["sku"])], "input:share")
            at_order = put(row, 6, share * (price + attach), "calc:usd")
            due.append((at_order, put(row, 7, (1 - share) * (price + attach) + install, "calc:usd")))
            book.row += 1
        if not len(orders):
            put(book.row, 0, "none")
            book.row += 1
        book.row += 1  # the register's subtotal
    return top, due


def _counts(made: Purchases) -> None:
    book = made.book
    book.heading("Units ordered by quarter", "Taken from the register above.")
    of = Purchase.schema.by_column
    head = book.header([of["site"], of["sku"], "", "", "Unit", "", "Total", ""])
    for site, sku in sorted(made.keys):
        _count(made, site, sku, head)
    if not made.keys:
        book.line(["none"], "calc:count", [None] * len(book.timeline.quarters))


def _count(made: Purchases, site: str, sku: str, head: list[Cell]) -> None:
    book = made.book
    at_site, at_sku = book.sheet.at(book.row, 0), book.sheet.at(book.row, 1)
    book.line(
        [site, sku, None, None, Purchase.schema.by_column["count"].unit, None, book.row_total(book.row)],
        "calc:count",
        lambda i: made.ordered(at_site, at_sku, head[i].in_row),
        label_styles={6: "calc:count"},
    )
