"""Reservations, a block of the Purchases sheet: what is kept on offer at sites, exercised or left to lapse."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import Reserving
from procure.quarter import Quarter
from procure.report.cells import total
from procure.report.layout import TimeSheet
from procure.schema import ReservationOutcome

_OF = Reserving.schema.by_column


def reservations_block(book: TimeSheet, plan: Plan) -> None:
    """Add the block: steps kept with what that costs, by quarter, and steps that are not kept."""
    rows = plan.rows(Reserving)
    book.heading(
        "Reservations of sites",
        "Solver output. Columns I onwards: fee of a hold, or rent that was started early, USD.",
    )
    named = (_OF[name] for name in ("reservation", "site", "expansion", "outcome", "quarter", "count", "fee_usd"))
    head = book.header(("No.", *named))
    first = book.row
    for number, r in enumerate(rows, 1):
        kept = range(Quarter(r.kept_from_quarter).index, Quarter(r.paid_until_quarter).index + 1)
        each = r.fee_usd / len(kept) if r.outcome is ReservationOutcome.EXERCISED else 0.0
        paid = [each if Quarter(quarter).index in kept else 0.0 for quarter in book.timeline.quarters]
        book.line(
            [number, r.reservation, r.site, r.expansion, r.outcome.word, r.quarter, float(r.count), r.fee_usd],
            "solver:usd",
            paid,
            label_styles={0: "number:count", 6: "solver:count", 7: "solver:usd"},
        )
    if not rows:
        book.line(["none"], "calc:usd", [None] * len(head))
    last = book.row - 1
    book.line(
        ["All reservations", None, None, None, None, None, None, total(book.sheet.block(first, 7, last, 7))],
        "sum:usd",
        book.sums_of(first, last),
        label_styles={7: "sum:usd"},
    )
