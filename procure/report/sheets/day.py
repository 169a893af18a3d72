"""Day: racks by clock hour, and when work that may wait runs."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import DayLoad, Deferred
from procure.report.layout import Timeline, TimeSheet, over_time

_LOAD, _WAITS = DayLoad.schema.by_column, Deferred.schema.by_column
_POOL = ["sku", "site", "hours"]
_WORK = ["workload", "work", "sku", "site", "hours"]


def day_sheet(plan: Plan, timeline: Timeline) -> TimeSheet:
    """Racks busy on demand and with work that may wait (solver output), their sum and what is left (formulas)."""
    book = TimeSheet("Day", "Parts of the day", "Racks by clock hour, and when work that may wait runs. Empty where "
                     "capacity is sized at one coincident peak.", timeline)  # fmt: skip
    table, nothing = plan.tables["day"], [None] * len(timeline.quarters)
    book.heading("Racks by clock hour")
    book.header([*(_LOAD[key] for key in _POOL), "Measure", "Unit"], numbers=())
    measures = ("racks", "deferrable_racks", "usable_racks")
    found = [over_time(table, _POOL, measure, timeline) for measure in measures]
    for key in found[0]:
        top = book.row
        for measure, rows in zip(measures, found, strict=True):
            book.line([*key, _LOAD[measure], _LOAD[measure].unit], "solver:number", rows[key])
        unit = _LOAD["racks"].unit
        book.line([*key, "busy racks", unit], "sum:number", book.sums_of(top, top + 1))
        left = [book.cell(top + 2, i) - book.cell(top + 3, i) for i in range(len(timeline.quarters))]
        book.line([*key, "racks left", unit], "calc:number", left)
    if not found[0]:
        book.line(["none"], "calc:number", nothing)
    column = _WAITS["requests_per_s"]
    book.heading("When work that may wait runs", "All length buckets together.")
    book.header([*(_WAITS[key] for key in _WORK), "Unit"], numbers=())
    placed = over_time(plan.tables["deferred"], _WORK, "requests_per_s", timeline)
    for key, values in placed.items():
        book.line([*key, column.unit], "solver:number", values)
    if not placed:
        book.line(["none"], "calc:number", nothing)
    return book
