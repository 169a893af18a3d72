"""Fleet: a roll-forward for every site and SKU, and the closing stock by vintage."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from procure.plan import Plan
from procure.plan.tables import Batch, Modes
from procure.report.cells import Cell, Expr, absolute, sumproduct, total
from procure.report.layout import Row, Timeline, TimeSheet, over_time
from procure.report.sheets.purchases import Purchases
from procure.schema import Column, Origin

Key = tuple[str, ...]
_KEYS = ["site", "sku"]
_OF = Batch.schema.by_column
_UNITS = _OF["closing"].unit


@dataclass(frozen=True)
class Fleet:
    """The sheet and, by (site, SKU), its closing rows: rolled forward, and summed over vintages."""

    book: TimeSheet
    closing: dict[Key, Row]
    by_vintage: dict[Key, Row]

    def misfit(self) -> Expr | float:
        """Units by which roll-forward and closing stock by vintage differ, over all sites, SKUs and quarters."""
        if not self.closing:
            return 0.0
        return total(
            *[sumproduct(absolute(self.closing[key].over_time - row.over_time)) for key, row in self.by_vintage.items()]
        )


def fleet_sheet(plan: Plan, timeline: Timeline, purchases: Purchases) -> Fleet:
    """Opening + delivered + rented - retired = closing. Ordered deliveries are read from Purchases."""
    purpose = (
        "Units in place: opening + delivered + rented - retired = closing. Opening stock and firm deliveries are "
        "inputs; rent, retirements (units sold or given back) and what is changed of firm deliveries are solver output."
    )
    book = TimeSheet("Fleet", "Fleet", purpose, timeline)
    table = plan.tables["fleet"]
    flows = {c: over_time(table, _KEYS, c, timeline) for c in ("opening", "retired")}
    firm = table["origin"].map(lambda origin: Origin(origin).firm or origin == Origin.DEFERRED).astype(bool)
    flows["firm"] = over_time(table[firm], _KEYS, "delivered", timeline)
    flows["rented"] = over_time(table[table["origin"] == Origin.RENT], _KEYS, "delivered", timeline)
    book.heading("Roll-forward by site and SKU", "All vintages together.")
    head = book.header([_OF["site"], _OF["sku"], "Item", "", "Unit", "", "Total", ""])
    none = [0.0] * len(timeline.quarters)
    keys = sorted(set(flows["opening"]) | purchases.keys)
    closing = {}
    for key in keys:
        flow = {name: rows.get(key, none) for name, rows in flows.items()}
        closing[key] = _roll_forward(book, key, flow, purchases, head)
        book.row += 1
    if not keys:
        book.line(["none"], "calc:count", [None] * len(timeline.quarters))
    by_vintage = _vintages(book, table, keys)
    _at_maxq(book, plan)
    return Fleet(book, closing, by_vintage)


def _roll_forward(
    book: TimeSheet, key: Key, flow: dict[str, list[float]], purchases: Purchases, head: list[Cell]
) -> Row:
    """Six rows for one SKU at one site; returns the closing stock."""
    top, at, cell = book.row, book.sheet.at, book.cell
    total_style = {6: "calc:count"}

    def labels(item: str | Column, row: int) -> list[object]:
        return [*key, item, None, _UNITS, None, book.row_total(row)]

    book.line(
        [*key, _OF["opening"], None, _UNITS],
        "calc:count",
        lambda i: flow["opening"][0] if i == 0 else cell(top + 5, i - 1),
    ).cells[0].style = "input:count"
    book.line(
        labels("+ delivered, ordered here", top + 1),
        "calc:count",
        lambda i: purchases.delivered(at(top + 1, 0), at(top + 1, 1), head[i].in_row),
        label_styles=total_style,
    )
    book.line(labels("+ delivered, firm before", top + 2), "input:count", flow["firm"], label_styles=total_style)
    book.line(labels("+ rented", top + 3), "solver:count", flow["rented"], label_styles=total_style)
    book.line(labels("- retired", top + 4), "solver:count", flow["retired"], label_styles=total_style)
    return book.line(
        [*key, _OF["closing"], None, _UNITS],
        "sum:count",
        lambda i: cell(top, i) + cell(top + 1, i) + cell(top + 2, i) + cell(top + 3, i) - cell(top + 4, i),
    )


def _at_maxq(book: TimeSheet, plan: Plan) -> None:
    """Units of each power mode, where the plan may choose."""
    table, of = plan.tables["power_modes"], Modes.schema.by_column
    if table.empty:
        return
    book.heading("Power modes", "Solver output: at Max-Q no more than the limits of the site ask for.")
    book.header([of["site"], of["sku"], "Item", "", "Unit", "", "", ""])
    for measure in ("max_p", "maxq", "saved_kw"):
        for key, amounts in over_time(table, _KEYS, measure, book.timeline).items():
            book.line([*key, of[measure], None, of[measure].unit], "solver:number", amounts)


def _vintages(book: TimeSheet, table: pd.DataFrame, keys: list[Key]) -> dict[Key, Row]:
    """Closing stock by vintage as the solver states it; returns the sums by site and SKU."""
    note = "Solver output. The sum of the vintages is compared with the roll-forward on Checks."
    book.heading("Closing stock by vintage", note)
    book.header([*(_OF[name] for name in (*_KEYS, "vintage", "origin")), "Unit", "", "", ""])
    stock = over_time(table, [*_KEYS, "vintage", "origin"], "closing", book.timeline)
    sums = {}
    for key in keys:
        first = book.row
        for full in (v for v in stock if v[:2] == key):
            book.line([*full, _UNITS], "solver:count", stock[full])
        if book.row == first:
            book.line([*key, "none", None, _UNITS], "solver:count", [0.0] * len(book.timeline.quarters))
        sums[key] = book.line([*key, "all vintages", None, _UNITS], "sum:count", book.sums_of(first, book.row - 1))
    return sums
