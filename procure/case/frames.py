"""Tables as rows of cells, and as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from procure.case.reader import type_rows
from procure.case.rows import Cell, Rows
from procure.errors import Fault
from procure.schema import Column, Table

_DTYPES = {"number": "float64", "text": "object", "choice": "object", "quarter": "object"}


def frame_of(table: Table, rows: Rows, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """The DataFrame of a table; whole numbers and flags stay such where no cell is empty."""
    names = tuple(table.by_column if columns is None else columns)
    return _filled(table, names, rows.rows) if rows.rows else _empty(table, names).copy()


def _filled(table: Table, names: tuple[str, ...], rows: Sequence[Mapping[str, Cell]]) -> pd.DataFrame:
    index = pd.RangeIndex(len(rows))  # one for all columns: pandas brings columns of their own together one by one
    cells = {name: [row.get(name) for row in rows] for name in names}
    series = {name: pd.Series(of, index, _dtype(table.by_column[name], of)) for name, of in cells.items()}
    return pd.DataFrame(series, index, names)


@cache
def _empty(table: Table, names: tuple[str, ...]) -> pd.DataFrame:
    return _filled(table, names, [])


def _dtype(column: Column, cells: list[Cell]) -> str:
    if column.kind in _DTYPES:
        return _DTYPES[column.kind]
    if any(cell is None for cell in cells):
        return "object"
    return "int64" if column.kind == "integer" else "bool"


def in_order(frame: pd.DataFrame, columns: int | None = None) -> pd.DataFrame:
    """The rows of a table in order of its first columns, or of all: the same whatever order they were written in."""
    if len(frame) < 2:
        return frame.reset_index(drop=True)
    # Texts as numpy has them: a sort of pandas by all columns makes a categorical of each, which takes most of a small
    # case's hash.
    cells = [frame[name].to_numpy() for name in frame.columns[:columns]]
    keys = [values if values.dtype.kind in "fib" else np.array(list(map(str, values))) for values in cells]
    return frame.take(np.lexsort(keys[::-1])).reset_index(drop=True)


def rows_of(table: Table, frame: pd.DataFrame) -> tuple[Rows, list[Fault]]:
    """A DataFrame's cells, checked as those of a CSV file are; numbers stay what they are."""
    header = [str(name) for name in frame.columns]
    return type_rows(table, header, enumerate(frame.itertuples(index=False, name=None), start=2))
