"""Sales of units, a block of the Purchases sheet: what to sell, when, for how much, at what loss in the books."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import Sold
from procure.report.cells import Cell, exact, total
from procure.report.layout import TimeSheet

_OF = Sold.schema.by_column


def sales_block(book: TimeSheet, plan: Plan) -> None:
    """Add the blocks: what sales bring (units x (price - removal)), and what that is under the book value.

    The price moves in the quarter in which the buyer pays, removal in that of the sale; what is received after the
    last quarter stands in no column.
    """
    sold = sorted(plan.rows(Sold), key=lambda r: (r.quarter, r.site, r.sku, r.vintage))
    book.heading(
        "Sales",
        "Counts are solver output. Columns I onwards: price in the quarter of the money, less removal in that of the "
        "sale, USD; what is received after the last quarter stands in none.",
    )
    named = (_OF[name] for name in ("quarter", "site", "sku", "received_quarter", "count"))
    head = book.header(("No.", *named, "Net of one, USD", _OF["net_usd"]))
    first = book.row
    terms = first + max(len(sold), 1) + 5  # below the sum, a blank row, and the heading, note and header of the terms
    for number, sale in enumerate(sold, 1):
        _sale(book, number, sale, terms + number - 1, head)
    if not sold:
        book.line(["none"], "calc:usd", [None] * len(head))
    last = book.row - 1
    sums = {column: total(book.sheet.column(column, first, last)) for column in (5, 7)}
    book.line(
        ["All sales", None, None, None, None, sums[5], None, sums[7]],
        "sum:usd",
        book.sums_of(first, last),
        label_styles={5: "sum:count", 7: "sum:usd"},
    )
    _terms(book, sold, first)


def _sale(book: TimeSheet, number: int, sale: Sold, terms: int, head: list[Cell]) -> None:
    """One sale: what one unit nets and all do, and each payment in its quarter; ``terms`` is its row of terms."""
    at, row = book.sheet.at, book.row
    left, paid, count, price, removal = at(row, 1), at(row, 4), at(row, 5), at(terms, 3), at(terms, 4)
    book.line(
        [number, sale.quarter, sale.site, sale.sku, sale.received_quarter, float(sale.count), price - removal,
         count * at(row, 6)],
        "calc:usd",
        lambda i: count * (exact(paid, head[i].in_row) * price - exact(left, head[i].in_row) * removal),
        label_styles={0: "number:count", 5: "solver:count", 6: "calc:usd", 7: "calc:usd"},
    )  # fmt: skip


def _terms(book: TimeSheet, sold: list[Sold], register: int) -> None:
    """Price, removal and book value of one unit of each sale, in rows in step with the register."""
    book.heading("Terms of sales and book loss", "Book loss = units x (book value - price + removal).")
    named = ("sku", "vintage", "unit_price_usd", "unit_removal_usd", "unit_book_usd", "book_loss_usd", "freed_quarter")
    book.header(("No.", *(_OF[name] for name in named)), quarters=False, numbers=range(3, 7))
    put, at = book.sheet.put, book.sheet.at
    for number, sale in enumerate(sold, 1):
        row = book.row
        put(row, 0, number, "number:count")
        put(row, 1, sale.sku)
        put(row, 2, sale.vintage)
        price = put(row, 3, sale.unit_price_usd, "input:usd")
        removal = put(row, 4, sale.unit_removal_usd, "input:usd")
        books = put(row, 5, sale.unit_book_usd, "input:usd")
        put(row, 6, at(register + number - 1, 5) * (books - price + removal), "calc:usd")
        put(row, 7, sale.freed_quarter)
        book.row += 1
    if not sold:
        put(book.row, 0, "none")
        book.row += 1
