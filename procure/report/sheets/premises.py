"""Premises: every number the plan rests on, with unit, band, source and how sure it is."""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any

from procure.errors import Fault, InputError
from procure.plan import Plan
from procure.plan.tables import Premise
from procure.report.cells import Cell, Sheet

RATE = "discount_rate_per_year"
"""Name of the premise that holds the discount rate."""
_WIDTHS = (56, 20, 22, 12, 12, 14, 60, 14, 80)


def premises_sheet(plan: Plan) -> tuple[Sheet, Cell]:
    """The premises and the cell of the discount rate, which Money reads.

    Raises:
        InputError: the plan does not state its discount rate.
    """
    sheet = Sheet("Premises")
    sheet.put(0, 0, "Premises", "title")
    sheet.put(1, 0, "What the plan rests on. Money reads the discount rate from here; a change of any other premise "
              "needs a new solve.", "note")  # fmt: skip
    sheet.widths = dict(enumerate(_WIDTHS))
    for column, title in enumerate(Premise.schema.columns):
        sheet.put(5, column, title.heading, "header", comment=title.meaning)
    sheet.freeze = (6, 1)
    rate: Cell | None = None
    table = plan.tables["premises"].sort_values("name", kind="stable")
    for row, premise in enumerate(Premise.rows(table), 6):
        sheet.lines[row] = max(
            _lines(str(getattr(premise, n)), w) for n, w in zip(Premise.columns, _WIDTHS, strict=True)
        )
        for column, name in enumerate(Premise.columns):
            value = as_number(getattr(premise, name)) if name in ("value", "low", "high") else getattr(premise, name)
            if value in (None, ""):
                continue
            value = value if isinstance(value, float) else str(value)
            cell = sheet.put(row, column, value, _style(name, value))
            if name == "value" and re.search(rf"(^|\W){RATE}$", premise.name) and isinstance(value, float):
                rate = cell
    if rate is None:
        raise InputError([Fault("tables/premises.csv", 0, "name", "", f"The premise {RATE} is needed, as a number.",
                                "Solve the case again with this version.")])  # fmt: skip
    sheet.filter = (5, 0, max(5 + len(table), 6), len(Premise.columns) - 1)
    return sheet, rate


def _style(name: str, value: float | str) -> str:
    if name == "value":
        return "premise"
    return "figure" if isinstance(value, float) else "wrapped"


def _lines(text: str, width: int) -> int:
    """Lines that a text takes in a cell: widths count digits, and letters are narrower on average."""
    return max(len(textwrap.wrap(text, width)), 1)


def as_number(value: Any) -> float | str | None:
    """A finite number where the value is one, nothing where it is missing, else its text."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else str(value)
