"""What must hold of the terms of firm orders, beyond each cell by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from procure.case.rows import Cell, Rows
from procure.errors import Fault
from procure.quarter import Quarter

TERMS = ("cancel_fee_share", "defer_quarters_most", "defer_fee_share_per_quarter", "notice_until")
"""Columns of ``orders`` that let the plan change an order."""


def agreement(orders: Rows) -> list[Fault]:
    """Terms stated in part, notice that comes too late, and orders of which nobody could say which is meant."""
    faults: list[Fault] = []
    rows = list(zip(orders.lines, orders.rows, strict=True))
    alike = Counter(_delivery(row) for _, row in rows)
    for line, row in rows:
        faults += _terms(orders.file, line, row)
        if alike[_delivery(row)] > 1 and any(row.get(name) is not None for name in TERMS):
            expected = "One row for a site, SKU and delivery of which units can be cancelled or deferred."
            hint = "Write these orders as one row at their mean price and paid share, or leave their terms empty."
            faults.append(Fault(orders.file, line, "delivery", " ".join(_delivery(row)), expected, hint))
    return faults


def _delivery(row: dict[str, Cell]) -> tuple[str, str, str]:
    return str(row["site"]), str(row["sku"]), str(row["delivery"])


def _terms(file: str, line: int, row: dict[str, Cell]) -> Iterator[Fault]:
    cancel, most, fee, until = (row.get(name) for name in TERMS)
    if (most is None) != (fee is None):
        column = "defer_fee_share_per_quarter" if fee is None else "defer_quarters_most"
        yield Fault(file, line, column, "", "A number, as the other term of deferral is stated; 0 for no fee.")
    if until is None:
        return
    if cancel is None and most is None:
        expected = "Empty: nothing can be cancelled or deferred. Or state cancel_fee_share or defer_quarters_most."
        yield Fault(file, line, "notice_until", str(until), expected)
    if not Quarter(str(until)) < Quarter(str(row["delivery"])):
        yield Fault(file, line, "notice_until", str(until), f"Before {row['delivery']}, when the units arrive.")
