"""Whether what stands in a result folder is a plan: types of every column, faults with places."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from procure.csvtext import numbers
from procure.errors import Fault
from procure.plan.summary import is_quarter
from procure.schema import Table
from procure.timekey import BASE, BESIDE_QUARTER, PEAK

_ADDED = {
    "sla": ("late_share", "out_of_reach_share", "ttft_share_asked", "ttft_reached_s"),
    "serving": ("distance", "low"),
    "expansions": ("reservation",),
}
"""Columns that results of earlier releases lack: they are read as empty."""
ADDED_TABLES = ("unit_costs", "instances", "sales", "shipments", "link_rents", "survival", "fallback", "power_modes",
                "cache_moves", "moved_retention", "deferred", "day", "rents", "order_changes",
                "reservations")  # fmt: skip
"""Tables that results of earlier releases lack: they are read as empty, and verification says what is missing."""


def with_added(cells: pd.DataFrame, table: Table) -> pd.DataFrame:
    """A table of a result, with the columns that its release did not write yet: empty, or of the one block it knew."""
    added: dict[str, Any] = {c: "" if table.by_column[c].textual else math.nan for c in _ADDED.get(table.name, ())}
    added |= {c: only for c, only in zip(BESIDE_QUARTER, (BASE, PEAK), strict=True) if c in table.by_column}
    return cells.assign(**{c: value for c, value in added.items() if c not in cells.columns})


def table_faults(file: str, frame: pd.DataFrame, table: Table) -> list[Fault]:
    """The first cell of each column that is not what the column holds."""
    faults = []
    for column in table.columns:
        if column.name not in frame.columns:
            faults.append(Fault(file, 1, column.name, "", "This column is missing."))
            continue
        cells = frame[column.name]
        if column.kind == "quarter":
            wrong, expected = ~cells.map(is_quarter).astype(bool), "A quarter such as 2027Q1."
        elif column.kind == "flag":
            wrong, expected = ~cells.astype(str).isin(["True", "False"]), "True or False."
        elif column.kind == "choice":
            wrong, expected = ~cells.isin(column.choices), f"One of {', '.join(column.choices)}."
        elif column.textual:
            continue
        else:
            wrong = numbers(cells).isna() & (cells.notna() | column.required)
            expected = "A number."
        if wrong.any():
            place = int(wrong.to_numpy().argmax())
            faults.append(Fault(file, place + 2, column.name, str(cells.iloc[place]), expected))
    return faults
