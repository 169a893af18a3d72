"""Limits: for every limit the use, the limit, what is left, and the share used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from procure.plan import Plan
from procure.plan.tables import Limit
from procure.report.cells import Block, Expr, either, largest, smallest
from procure.report.layout import Timeline, TimeSheet, over_time
from procure.report.words import holds, readable
from procure.timekey import grouped


@dataclass(frozen=True)
class Limits:
    """The sheet, and the column of the largest share used for each family."""

    book: TimeSheet
    worst_use: dict[str, Block]


def limits_sheet(plan: Plan, timeline: Timeline) -> Limits:
    """Used (solver output) against limit (input); slack and use are formulas."""
    book = TimeSheet("Limits", "Limits", "Use against every limit, in the limit's own unit. "
                     "Use is solver output; slack = limit - use. A use of 100% binds.", timeline)  # fmt: skip
    table = readable(plan.tables["limits"]).assign(binding=lambda t: t["binding"].map(holds))
    keys = ["family", "site", "item", "unit"]
    used, limit = (over_time(table, keys, column, timeline, empty=None) for column in ("used", "limit"))
    binding = grouped(table.astype(dict.fromkeys(keys, str)), keys)["binding"].sum().to_dict()
    book.heading("Limits by family, site and item", "Empty: no such limit in that quarter.")
    of = Limit.schema.by_column
    book.header(
        [of["family"], of["site"], of["item"], "Measure", of["unit"], "Quarters binding", "Largest use", "Least slack"]
    )
    worst: dict[str, Block] = {}
    families = sorted({key[0] for key in used})
    for family in families:
        first = book.row
        for key in (k for k in used if k[0] == family):
            _limit(book, key, used[key], limit[key], int(binding[key]))
        worst[family] = book.sheet.column(6, first, book.row - 1)
    if not families:
        book.line(["none"], "calc:number", [None] * len(timeline.quarters))
    return Limits(book, worst)


def _limit(book: TimeSheet, key: tuple[str, ...], used: list[Any], limit: list[Any], binding: int) -> None:
    family, site, item, unit = key
    top, last = book.row, book.timeline.last_column
    shape = "share" if unit == "share" else "number"

    def only_limited(expression: Expr, i: int) -> Expr | None:
        return None if used[i] is None or limit[i] is None else expression

    unlimited = ["not limited" if u is not None and v is None else v for u, v in zip(used, limit, strict=True)]
    slacks, uses = (book.sheet.block(row, 8, row, last, row_fixed=False) for row in (top + 2, top + 3))
    book.line([family, site, item, Limit.schema.by_column["used"], unit], f"solver:{shape}", used)
    book.line([family, site, item, Limit.schema.by_column["limit"], unit], f"input:{shape}", unlimited)
    book.line(
        [family, site, item, Limit.schema.by_column["slack"], unit, None, None, smallest(slacks)],
        f"calc:{shape}",
        lambda i: only_limited(book.cell(top + 1, i) - book.cell(top, i), i),
        label_styles={7: f"calc:{shape}"},
    )

    def use(i: int) -> Expr:
        """Used / limit; a limit of 0 is used in full, twice over, as soon as something is used."""
        at_zero = either(book.cell(top, i) <= 0.000001, 0, 2)
        return either(book.cell(top + 1, i) <= 0, at_zero, book.cell(top, i) / book.cell(top + 1, i))

    book.line(
        [family, site, item, "use", "share of limit", binding, largest(uses)],
        "calc:share",
        lambda i: only_limited(use(i), i),
        label_styles={5: "solver:count", 6: "calc:share"},
    )
