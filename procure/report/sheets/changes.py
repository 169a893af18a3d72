"""Changes of firm orders, a block of the Purchases sheet: what is cancelled or deferred, and what that moves."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import ChangedOrder
from procure.quarter import Quarter
from procure.report.cells import total
from procure.report.layout import TimeSheet
from procure.schema import OrderChange

_OF = ChangedOrder.schema.by_column


def changes_block(book: TimeSheet, plan: Plan) -> None:
    """Add the block: units changed with their fee, and what they add to what is paid as agreed, by quarter."""
    changes = plan.rows(ChangedOrder)
    book.heading(
        "Changes of firm orders",
        "Solver output. Columns I onwards: fee in the quarter of the notice, less what was due as agreed, with what is "
        "due on later delivery, USD.",
    )
    named = (_OF[name] for name in ("quarter", "site", "sku", "delivery_quarter", "count"))
    head = book.header(("No.", *named, _OF["deferred_quarters"], _OF["fee_usd"]))
    first = book.row
    quarters = [Quarter(quarter) for quarter in book.timeline.quarters]
    for number, change in enumerate(changes, 1):
        moved = dict.fromkeys(quarters, 0.0)
        agreed = Quarter(change.delivery_quarter)
        moved[Quarter(change.quarter)] += change.fee_usd
        moved[agreed] -= change.due_usd
        if change.change is OrderChange.DEFER:
            moved[agreed + change.deferred_quarters] += change.due_usd
        book.line(
            [number, change.quarter, change.site, change.sku, change.delivery_quarter, float(change.count),
             float(change.deferred_quarters), change.fee_usd],
            "solver:usd",
            list(moved.values()),
            label_styles={0: "number:count", 5: "solver:count", 6: "solver:count", 7: "solver:usd"},
        )  # fmt: skip
    if not changes:
        book.line(["none"], "calc:usd", [None] * len(head))
    last = book.row - 1
    sums = {column: total(book.sheet.column(column, first, last)) for column in (5, 7)}
    book.line(
        ["All changes", None, None, None, None, sums[5], None, sums[7]],
        "sum:usd",
        book.sums_of(first, last),
        label_styles={5: "sum:count", 7: "sum:usd"},
    )
