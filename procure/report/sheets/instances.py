"""Instances: how many of each LLM the work takes, by role, and what rounding adds where the plan leaves them fluid."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import Instances
from procure.report.layout import Timeline, TimeSheet, over_time

_OF = Instances.schema.by_column
_KEYS = ("sku", "site", "llm", "deployment", "role")


def instances_sheet(plan: Plan, timeline: Timeline) -> TimeSheet:
    """Whole instances by SKU, the racks that they take, and those that the plan does not count."""
    book = TimeSheet("Instances", "Instances of LLMs", "Replicas by role, some GPUs each. Small loads are counted "
                     "in whole ones; of the others the units not counted are the most that rounding up adds.",
                     timeline)  # fmt: skip
    table = plan.tables["instances"]
    for measure in ("instances", "gpus", "units", "uncounted_units"):
        column = _OF[measure]
        book.heading(column.title)
        book.header([*(_OF[key] for key in _KEYS), "Unit", "", ""], numbers=())
        rows = over_time(table, list(_KEYS), measure, timeline)
        for sku in sorted({key[0] for key in rows}):
            first = book.row
            for key in (k for k in rows if k[0] == sku):
                book.line([*key, column.unit], "solver:number", rows[key])
            if measure != "gpus":
                book.line([sku, None, None, None, "sum", column.unit], "sum:number", book.sums_of(first, book.row - 1))
        if not rows:
            book.line(["none"], "calc:number", [None] * len(timeline.quarters))
    return book
