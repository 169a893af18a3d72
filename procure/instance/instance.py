"""The tables that a program is built from, their columns and units."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import pandas as pd

from procure.instance.tables import ROWS, TABLES
from procure.schema import Row, Span, cells_of
from procure.timekey import TimeKey, time_keys

R = TypeVar("R", bound=Row)
T = TypeVar("T")


@dataclass(frozen=True)
class Instance:
    """Plain tables of coefficients; see :data:`procure.instance.tables.TABLES`.

    ``settings`` are those of the case that families read (:func:`procure.families.contents.settings`).
    """

    tables: dict[str, pd.DataFrame]
    settings: dict[str, Any]
    _made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was worked out of the tables, which do not change."""

    def __post_init__(self) -> None:
        for made in ROWS:
            made.checked(self.tables[made.schema.name])

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.tables[name]

    def rows(self, of: type[R]) -> list[R]:
        """The rows of a table, by their class in :mod:`procure.instance.tables`."""
        if of not in self._made:
            self._made[of] = of.rows(self.tables[of.schema.name])
        return list(self._made[of])

    def of(self, make: Callable[[Mapping[str, pd.DataFrame]], T]) -> T:
        """What a function works out of the tables alone, worked out once; nobody changes it."""
        if make not in self._made:
            self._made[make] = make(self.tables)
        return cast(T, self._made[make])

    @cached_property
    def quarters(self) -> list[str]:
        """Names of the quarters, in order: that of quarter t is ``quarters[t]``."""
        return list(self.tables["quarters"]["quarter"])

    @cached_property
    def position(self) -> dict[str, int]:
        """Position t of each quarter by its name."""
        return {name: t for t, name in enumerate(self.quarters)}

    @cached_property
    def span(self) -> dict[str, Span]:
        """Whether each quarter, by its name, is planned or look-ahead."""
        return dict(zip(self.quarters, map(Span.of, self.tables["quarters"]["planned"]), strict=True))

    @cached_property
    def blocks(self) -> list[TimeKey]:
        """Every block that something may be asked for in, in order."""
        return sorted({*time_keys(self.tables["quarters"]), *time_keys(self.tables["rates"])})

    @property
    def hash(self) -> str:
        """SHA-256 of the content, the same for the same numbers in another run."""
        digest = hashlib.sha256(repr(sorted(self.settings.items())).encode())
        for name in TABLES:
            digest.update(name.encode())
            digest.update(_csv(self.tables[name]).encode())
        return digest.hexdigest()


def _csv(table: pd.DataFrame) -> str:
    """What pandas writes of a table without its index, numbers to 12 digits; in a fraction of its time for few rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    cells = cells_of(table)
    writer.writerow(cells)
    columns = [
        [f"{x:.12g}" if x == x else "" for x in of] if dtype.kind == "f" else ["" if x != x else x for x in of]
        for of, dtype in zip(cells.values(), table.dtypes, strict=True)
    ]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()
