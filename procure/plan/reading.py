"""Whether what stands in a result folder is a plan: types of ``plan.json`` and of every column, faults with places."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import pandas as pd

from procure.errors import Fault
from procure.quarter import Quarter
from procure.schema import Table
from procure.timekey import BASE, BESIDE_QUARTER, PEAK

_ADDED = {"sla": ("late_share", "out_of_reach_share", "ttft_share_asked", "ttft_reached_s")}
"""Columns that results of earlier releases lack: they are read as empty."""
ADDED_TABLES = ("unit_costs",)
"""Tables that results of earlier releases lack: they are read as empty, and verification says what is missing."""


def with_added(cells: pd.DataFrame, table: Table) -> pd.DataFrame:
    """A table of a result, with the columns that its release did not write yet: empty, or of the one block it knew."""
    added: dict[str, Any] = dict.fromkeys(_ADDED.get(table.name, ()), math.nan)
    added |= {c: only for c, only in zip(BESIDE_QUARTER, (BASE, PEAK), strict=True) if c in table.by_column}
    return cells.assign(**{c: value for c, value in added.items() if c not in cells.columns})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_orders(value: Any) -> bool:
    keys = {"quarter", "site", "sku", "count"}
    return isinstance(value, list) and all(isinstance(row, dict) and keys <= set(row) for row in value)


def _is_shortfall(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_number(value.get("share"))
        and isinstance(value.get("workloads", []), list)
        and all(isinstance(row, dict) for row in value.get("workloads", []))
    )


def _is_quarters(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) and _is_quarter(text) for text in value)


def _is_quarter(text: str) -> bool:
    try:
        Quarter(text)
    except ValueError:
        return False
    return True


def summary_faults(file: str, summary: Any, statuses: Collection[str]) -> list[Fault]:
    """What is wrong with the content of ``plan.json``."""
    if not isinstance(summary, dict):
        return [
            Fault(file, 0, "", str(summary)[:40], "The summary of a plan: an object with status and objective_usd.")
        ]
    rules = [
        ("status", lambda v: v in list(statuses), f"One of {', '.join(statuses)}."),
        ("objective_usd", _is_number, "A number in USD."),
        ("bound_usd", lambda v: v is None or _is_number(v), "A number in USD, or null."),
        ("gap", lambda v: v is None or _is_number(v), "A number, or null."),
        ("shortfall", _is_shortfall, "An object with share and workloads."),
        ("planned_quarters", lambda v: _is_quarters(v) and len(v) > 0, "A list of quarters such as 2027Q1."),
        ("lookahead_quarters", _is_quarters, "A list of quarters such as 2027Q1."),
        ("purchases", _is_orders, "A list of orders with quarter, site, sku and count."),
        ("input_hash", lambda v: isinstance(v, str), "The hash of the inputs."),
    ]
    hint = "It was changed since the plan was made; solve the case again."
    return [
        Fault(file, 0, key, str(summary.get(key, ""))[:40], expected, hint)
        for key, right, expected in rules
        if key not in summary or not right(summary[key])
    ]


def table_faults(file: str, frame: pd.DataFrame, table: Table) -> list[Fault]:
    """The first cell of each column that is not what the column holds."""
    faults = []
    for column in table.columns:
        if column.name not in frame.columns:
            faults.append(Fault(file, 1, column.name, "", "This column is missing."))
            continue
        cells = frame[column.name]
        if column.kind == "quarter":
            wrong, expected = ~cells.map(_is_quarter).astype(bool), "A quarter such as 2027Q1."
        elif column.kind == "flag":
            wrong, expected = ~cells.astype(str).isin(["True", "False"]), "True or False."
        elif column.kind == "choice":
            wrong, expected = ~cells.isin(column.choices), f"One of {', '.join(column.choices)}."
        elif column.textual:
            continue
        else:
            numbers = pd.to_numeric(cells, errors="coerce")
            wrong = numbers.isna() & (cells.notna() | column.required)
            expected = "A number."
        if wrong.any():
            place = int(wrong.to_numpy().argmax())
            faults.append(Fault(file, place + 2, column.name, str(cells.iloc[place]), expected))
    return faults
