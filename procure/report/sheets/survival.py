"""Survival: what the loads of each pool take after a loss, against what is left for them."""

from __future__ import annotations

from typing import Any

from procure.plan import Plan
from procure.plan.tables import Survival
from procure.report.cells import Expr, either, largest
from procure.report.layout import Timeline, TimeSheet, over_time
from procure.report.sentences.losses import NOT_HELD

_OF = Survival.schema.by_column
_KEYS = ("sku", "site", "loss", "lost")


def survival_sheet(plan: Plan, timeline: Timeline) -> TimeSheet:
    """Units needed and left (solver output) after every loss, and the share that is not there (a formula)."""
    purpose = f"Units that the loads of a pool take after a loss, and those left. Nothing is shed here. {NOT_HELD}."
    book = TimeSheet("Survival", "What a loss takes", purpose, timeline)
    table = plan.tables["survival"]
    needed, there = (over_time(table, list(_KEYS), c, timeline, empty=None) for c in ("racks_needed", "racks_there"))
    asked = {tuple(str(getattr(r, key)) for key in _KEYS): r.asked for r in plan.rows(Survival) if r.asked}
    book.heading("Losses by SKU and site", "Empty: nothing works there in that quarter, or nothing of it is lost.")
    labels: list[Any] = [*(_OF[key] for key in _KEYS), _OF["asked"], "Measure", "Unit", "Most not there"]
    book.header(labels, numbers=(7,))
    for key in needed:
        _loss(book, key, asked.get(key, ""), (needed[key], there[key]))
    if not needed:
        book.line(["none"], "calc:number", [None] * len(timeline.quarters))
    return book


def _loss(book: TimeSheet, key: tuple[str, ...], asked: str, units: tuple[list[Any], list[Any]]) -> None:
    top = book.row
    for measure, values in zip(("racks_needed", "racks_there"), units, strict=True):
        column = _OF[measure]
        book.line([*key, asked, column, column.unit], "solver:number", values)

    def missing(i: int) -> Expr | None:
        if units[0][i] is None:
            return None
        need, left = book.cell(top, i), book.cell(top + 1, i)
        return either(need <= 0, 0, largest(0, 1 - largest(0, left) / need))

    shares = book.sheet.block(top + 2, 8, top + 2, book.timeline.last_column, row_fixed=False)
    column = _OF["short_share"]
    book.line([*key, asked, column, column.unit, largest(shares)], "calc:share", missing,
              label_styles={7: "calc:share"})  # fmt: skip
