"""KV: cache bytes by tier, what is read from them, and the KV cache of one sequence."""

from __future__ import annotations

import pandas as pd

from procure.plan import Plan
from procure.plan.tables import Asked, Placement
from procure.report.layout import Timeline, TimeSheet, over_time
from procure.schema import Tier, Unit

_OF = Placement.schema.by_column
_KEYS = ("tier", "store", "site", "workload")
_MEASURES = ("parked_bytes", "hits_per_s", "read_bytes_per_s", "write_bytes_per_s")


def kv_sheet(plan: Plan, timeline: Timeline) -> TimeSheet:
    """Parked bytes, hits and traffic by tier (decimal units), summed; KV bytes of one sequence by length bucket."""
    book = TimeSheet("KV", "KV cache", "Caches kept for returning requests, by tier. Solver output; "
                     "1 TB = 1e12 bytes, 1 GB = 1e9 bytes.", timeline)  # fmt: skip
    table = plan.tables["kv_placement"]
    for column in _MEASURES:
        unit, scale = Unit.shown_for(_OF[column].unit)
        book.heading(_OF[column].title)
        book.header([*(_OF[key] for key in _KEYS), "Unit", "", "", ""])
        _by_tier(book, table.assign(**{column: table[column] / scale}), column, unit)
    book.heading(_OF["longest_age_s"].title, "Seconds from the end of a request to the return that still finds it.")
    book.header([*(_OF[key] for key in _KEYS), "Unit", "", "", ""])
    for key, values in _rows(table, "longest_age_s", book).items():
        book.line([Tier(key[0]).word, *key[1:], _OF["longest_age_s"].unit], "solver:number", values)
    _sequence(book, plan.tables["demand"])
    return book


def _rows(table: pd.DataFrame, column: str, book: TimeSheet) -> dict[tuple[str, ...], list]:
    return over_time(table, list(_KEYS), column, book.timeline)


def _by_tier(book: TimeSheet, table: pd.DataFrame, column: str, unit: str) -> None:
    rows = _rows(table, column, book)
    for tier in sorted({key[0] for key in rows}):
        first = book.row
        for key in (k for k in rows if k[0] == tier):
            book.line([Tier(tier).word, *key[1:], unit], "solver:number", rows[key])
        last = book.row - 1
        book.line([Tier(tier).word, None, None, "sum", unit], "sum:number",
                  book.sums_of(first, last))  # fmt: skip
    if not rows:
        book.line(["none"], "calc:number", [None] * len(book.timeline.quarters))


def _sequence(book: TimeSheet, demand: pd.DataFrame) -> None:
    book.heading("KV cache of one sequence", "From the architecture of the workload's LLM, at the bucket's lengths.")
    of = Asked.schema.by_column
    book.header([of["workload"], of["bucket"], "", "", "Unit", "", "", ""])
    per_sequence = demand.assign(gb=demand["kv_bytes"] / 1e9)
    for key, values in over_time(per_sequence, ["workload", "bucket"], "gb", book.timeline).items():
        book.line([*key, None, None, "GB"], "solver:fine", values)
