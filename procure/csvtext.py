"""Texts in CSV files that a spreadsheet must not run.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or the end of a line for a formula, and
the names and notes of a case are whatever someone typed. Such a text gets an apostrophe before it, and one that begins
with an apostrophe a second one, so that reading undoes it exactly. Numbers stay as they are, also in columns of texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd

_RUN = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf")


def guard(text: str) -> str:
    """A text as it is stored."""
    return f"'{text}" if text.startswith(_RUN) and not _NUMBER.fullmatch(text) else text


def unguard(text: str) -> str:
    """A text as it was before :func:`guard`."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_RUN) else text


def guarded(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with every text guarded."""
    return _each_text(frame, guard)


def unguarded(frame: pd.DataFrame) -> pd.DataFrame:
    """A table as it was before :func:`guarded`."""
    return _each_text(frame, unguard)


def numbers(cells: pd.Series) -> pd.Series:
    """Cells of a column as numbers; NaN where a cell is empty, or none, which the caller tells apart."""
    return pd.to_numeric(cells.replace("", None), errors="coerce")


def _each_text(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.assign(**{
        name: frame[name].map(lambda cell: change(cell) if isinstance(cell, str) else cell) for name in texts
    })  # fmt: skip
