"""Service: what each workload asks for and gets, and the racks that do the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from procure.plan import Plan
from procure.plan.tables import Prefilled, Serving, Shipped
from procure.plan.tables import Service as Sla
from procure.report.layout import Row, Timeline, TimeSheet, over_time
from procure.schema import Row as Schema
from procure.schema import Unit

_OF = Sla.schema.by_column
_FACTS = {
    "ttft_target_s": "input:number",
    "ttft_share_asked": "input:share",
    "ttft_share": "solver:share",
    "ttft_reached_s": "solver:number",
    "tps_target": "input:number",
    "task_s": "solver:number",
    "cause": "solver",
}
"""What is told of a workload besides requests, with its look."""


@dataclass(frozen=True)
class Service:
    """The sheet, and rows by workload: share short, requests served, and requests decoded and prefilled."""

    book: TimeSheet
    short: dict[str, Row]
    served: dict[str, Row]
    decoded: dict[str, Row]
    prefilled: dict[str, Row]


def service_sheet(plan: Plan, timeline: Timeline) -> Service:
    """Demand and shortfall by workload, then decode and prefill work summed by SKU and by workload."""
    book = TimeSheet("Service", "Service", "Requests, service levels and the racks busy at the peak. "
                     "Assignments are solver output.", timeline)  # fmt: skip
    short, served = _workloads(book, plan.tables["sla"])
    decode, prefill = plan.tables["serving"], plan.tables["prefill"]
    decoded = _work(book, "Decode", Serving, decode, "workload", "requests_per_s")
    _work(book, "Decode", Serving, decode, "sku", "racks")
    if (decode["lpx_racks"] > 0).any():
        _work(book, "Decode", Serving, decode[decode["lpx_racks"] > 0], "sku", "lpx_racks")
    prefilled = _work(book, "Prefill", Prefilled, prefill, "workload", "requests_per_s")
    _work(book, "Prefill", Prefilled, prefill, "sku", "racks")
    if len(plan.tables["shipments"]):
        _sent(book, plan.tables["shipments"])
    return Service(book, short, served, decoded, prefilled)


def _workloads(book: TimeSheet, sla: pd.DataFrame) -> tuple[dict[str, Row], dict[str, Row]]:
    book.heading("Demand and shortfall by workload", "Served = requests x (1 - share short + share of it served late).")
    book.header([_OF["workload"], "", "", "Item", "Unit", "", "", ""])
    timeline, keys = book.timeline, ["workload"]
    requests = over_time(sla, keys, "requests_per_s", timeline)
    unserved = over_time(sla, keys, "short_share", timeline)
    tardy = over_time(sla, keys, "late_share", timeline)
    facts = {column: over_time(sla, keys, column, timeline, empty=None) for column in _FACTS}
    short: dict[str, Row] = {}
    served: dict[str, Row] = {}
    for key in requests:
        name = key[0]
        short[name], served[name] = _workload(book, name, requests[key], unserved[key], tardy[key])
        for column, style in _FACTS.items():
            values = [v if v != "" else None for v in facts[column].get(key, [])]
            if any(v is not None for v in values):
                book.line([name, None, None, _OF[column], _OF[column].unit], style, values)
        book.row += 1
    return short, served


def _workload(
    book: TimeSheet, name: str, requests: list[Any], unserved: list[Any], tardy: list[Any]
) -> tuple[Row, Row]:
    """Five rows: requests, short, of it served late, served share, served requests; returns the second and the last."""
    top, cell = book.row, book.cell
    asked, lost, too_late = (_OF[name] for name in ("requests_per_s", "short_share", "late_share"))
    book.line([name, None, None, asked, asked.unit], "solver:number", requests)
    short = book.line([name, None, None, lost, lost.unit], "solver:share", unserved)
    book.line([name, None, None, too_late, too_late.unit], "solver:share", tardy)
    book.line(
        [name, None, None, "share served", "share"], "calc:share", lambda i: 1 - cell(top + 1, i) + cell(top + 2, i)
    )
    served = book.line(
        [name, None, None, "requests served", "requests/s"], "calc:number", lambda i: cell(top, i) * cell(top + 3, i)
    )
    return short, served


def _sent(book: TimeSheet, frame: pd.DataFrame) -> None:
    """What is prefilled at one site for another: bytes/s over each link, and their sum."""
    columns = Shipped.schema.by_column
    (unit, scale), value = Unit.shown_for(columns["egress_bytes_per_s"].unit), "egress_bytes_per_s"
    book.heading(f"Prefill for other sites: {columns[value].heading}")
    keys = ["from_site", "to_site", "workload", "sku"]
    book.header([*(columns[key] for key in keys), "Unit", columns["bucket"]], numbers=())
    rows = over_time(frame.assign(egress_bytes_per_s=frame[value] / scale), [*keys, "bucket"], value, book.timeline)
    for link in sorted({key[:2] for key in rows}):
        first = book.row
        for key in (k for k in rows if k[:2] == link):
            book.line([*key[:4], unit, key[4]], "solver:number", rows[key])
        book.line([*link, None, "sum", unit], "sum:number", book.sums_of(first, book.row - 1))


def _work(book: TimeSheet, phase: str, of: type[Schema], frame: pd.DataFrame, group: str, value: str) -> dict[str, Row]:
    """A block of rows, grouped and summed by SKU or by workload; returns the sums."""
    columns = of.schema.by_column
    other = "workload" if group == "sku" else "sku"
    how = "store" if "store" in columns else "deployment"
    unit = columns[value].unit
    book.heading(f"{phase}: {columns[value].heading}")
    book.header([columns[group], columns["site"], columns[other], columns[how], "Unit", columns["bucket"]], numbers=())
    rows = over_time(frame, [group, "site", other, how, "bucket"], value, book.timeline)
    sums: dict[str, Row] = {}
    for name in sorted({key[0] for key in rows}):
        first = book.row
        for key in (k for k in rows if k[0] == name):
            book.line([*key[:4], unit, key[4]], "solver:number", rows[key])
        last = book.row - 1
        sums[name] = book.line([name, None, None, "sum", unit], "sum:number",
                               book.sums_of(first, last))  # fmt: skip
    if not rows:
        book.line(["none"], "calc:number", [None] * len(book.timeline.quarters))
    return sums
