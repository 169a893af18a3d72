"""Rent of units, a block of the Purchases sheet: what is rented from when to when, and what is paid for it."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import UnitRent
from procure.quarter import Quarter
from procure.report.cells import total
from procure.report.layout import Row, TimeSheet

_OF = UnitRent.schema.by_column


def rents_block(book: TimeSheet, plan: Plan) -> Row:
    """Add the blocks: units x rent in every quarter that is paid for; returns the sums by quarter.

    What is owed for after the last quarter, at the end of terms, stands in no column.
    """
    rented = sorted(plan.rows(UnitRent), key=lambda r: (r.quarter, r.site, r.sku, r.offer, r.last_quarter))
    book.heading(
        "Rent",
        "Counts are solver output. Columns I onwards: units x rent of one in each quarter that is paid for, USD; what "
        "is owed after the last quarter stands in none.",
    )
    named = (_OF[name] for name in ("quarter", "site", "sku", "first_quarter", "count", "unit_usd_per_quarter"))
    head = book.header(("No.", *named, _OF["rent_usd"]))
    first = book.row
    terms = first + max(len(rented), 1) + 5  # below the sum, a blank row, and the heading, note and header of the terms
    for number, rent in enumerate(rented, 1):
        _rent(book, number, rent, terms + number - 1)
    if not rented:
        book.line(["none"], "calc:usd", [None] * len(head))
    last = book.row - 1
    sums = {column: total(book.sheet.column(column, first, last)) for column in (5, 7)}
    made = book.line(
        ["All rent", None, None, None, None, sums[5], None, sums[7]],
        "sum:usd",
        book.sums_of(first, last),
        label_styles={5: "sum:count", 7: "sum:usd"},
    )
    _terms(book, rented)
    return made


def _rent(book: TimeSheet, number: int, rent: UnitRent, terms: int) -> None:
    """One row of rent; ``terms`` is its row of terms."""
    at, row, quarters = book.sheet.at, book.row, book.timeline.quarters
    count, each, paid = at(row, 5), at(row, 6), at(terms, 6)
    begin, end = (Quarter(quarter) for quarter in (rent.first_quarter, rent.paid_until_quarter))
    book.line(
        [number, rent.quarter, rent.site, rent.sku, rent.first_quarter, float(rent.count), rent.unit_usd_per_quarter,
         count * each * paid],
        "calc:usd",
        lambda i: count * each if begin <= Quarter(quarters[i]) <= end else 0.0,
        label_styles={0: "number:count", 5: "solver:count", 6: "input:usd", 7: "calc:usd"},
    )  # fmt: skip


def _terms(book: TimeSheet, rented: list[UnitRent]) -> None:
    """Offer, last quarter, end of what is paid for, and quarters paid from the first of the plan on."""
    book.heading("Terms of rent", "Rent = units x rent of one a quarter x quarters paid from the first of the plan on.")
    named = ("sku", "offer", "first_quarter", "last_quarter", "paid_until_quarter")
    book.header(("No.", *(_OF[name] for name in named), "Quarters paid", _OF["decided"]), quarters=False, numbers=(6,))
    start = Quarter(book.timeline.quarters[0])
    for number, rent in enumerate(rented, 1):
        row, put = book.row, book.sheet.put
        put(row, 0, number, "number:count")
        for column, name in enumerate(named, 1):
            put(row, column, str(getattr(rent, name)))
        begin = max(start.index, Quarter(rent.first_quarter).index)
        put(row, 6, float(Quarter(rent.paid_until_quarter).index - begin + 1), "solver:count")
        put(row, 7, "yes" if rent.decided else "no")
        book.row += 1
    if not rented:
        book.sheet.put(book.row, 0, "none")
        book.row += 1
