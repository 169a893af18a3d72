"""The time key: the scenario, quarter and part of the day that a decision, a coefficient or a row of a plan is of.

What is bought stands in every scenario and all day long: fleet, orders and money know quarters alone. What is served
differs between them, and carries the whole key. Today there is one scenario. Service is decided once for a day
(``peak``: each workload at its own peak, work that may wait at the mean of the day); where capacity is sized by clock
hour, rows of it, and where work that may wait is placed, are of the parts of the day.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from procure.errors import Fault, InputError
from procure.schema import cells_of

K = TypeVar("K")

BASE = "base"
"""The one scenario."""
PEAK = "peak"
"""The whole day: each workload at its own peak, work that may wait at its mean."""

BESIDE_QUARTER = ("scenario", "daypart")
"""Columns of tables that, with the quarter, make the time key; nothing adds up over them unasked."""


@dataclass(frozen=True, order=True)
class TimeKey:
    """One block of service: ``t`` is the position of its quarter.

    No tuple, so that Pyomo takes it for one part of an index, and a bare ``t`` in its place is a missing key at once.
    """

    scenario: str
    t: int
    daypart: str
    hours: str = ""
    """Clock hours of the block that a row or a decision is of; empty: of all of it."""

    def __str__(self) -> str:
        block = str(self.t) if (self.scenario, self.daypart) == (BASE, PEAK) else "/".join(map(str, self.parts))
        return f"{block}@{self.hours}" if self.hours else block

    def among(self, quarters: Sequence[str]) -> str:
        """For a planner: the name of the quarter, and of what else than one scenario, the peak and all hours it is."""
        beside = [
            name for name, only in ((self.scenario, BASE), (self.daypart, PEAK), (self.hours, "")) if name != only
        ]
        return " ".join([quarters[self.t], *beside])

    @property
    def block(self) -> TimeKey:
        """The block itself: work that may wait ties the hours of a block, so that none is a block of its own."""
        return TimeKey(*self.parts)

    def within(self, hours: str) -> TimeKey:
        """Some hours of the block; the block itself for :data:`PEAK`."""
        return self.block if hours == PEAK else TimeKey(*self.parts, hours)

    @property
    def words(self) -> str:
        """For a sentence, such as ``(base, quarter 3, peak)``."""
        return f"({self.scenario}, quarter {self.t}, {self.daypart})"

    @property
    def beside(self) -> tuple[str, str]:
        """Scenario and part of the day: what a row says beside its quarter."""
        return self.scenario, self.daypart

    @property
    def parts(self) -> tuple[str, int, str]:
        """Scenario, position of the quarter, part of the day."""
        return self.scenario, self.t, self.daypart


def time_keys(table: pd.DataFrame) -> list[TimeKey]:
    """The time key of each row of a table with a column ``t``; that of the one block of its quarter without others."""
    scenarios, dayparts = (
        table[column] if column in table.columns else [only] * len(table)
        for column, only in zip(BESIDE_QUARTER, (BASE, PEAK), strict=True)
    )
    known: dict[tuple[str, int, str], TimeKey] = {}
    return [
        known.setdefault(parts, TimeKey(*parts))
        for parts in zip(map(str, scenarios), map(int, table["t"]), map(str, dayparts), strict=True)
    ]


def unmixed(table: pd.DataFrame, by: Sequence[str] = (), across: Collection[str] = ()) -> pd.DataFrame:
    """The table itself, if its rows may be added up, or read one by one, by some columns.

    They may not where rows of several scenarios or parts of the day would meet under one key: requests of the night do
    not add to those of the peak, nor those of one future to another's. An empty cell stands for all of them.

    Args:
        table: of a plan, whether or not it has the columns :data:`BESIDE_QUARTER`.
        by: columns that tell apart.
        across: columns of :data:`BESIDE_QUARTER` over which adding is meant.

    Raises:
        InputError: several scenarios or parts of the day under one key.
    """
    if len(table) < 2:
        return table
    faults = []
    for column in BESIDE_QUARTER:
        if column not in table.columns or column in by or column in across:
            continue
        values = set(map(str, table[column].tolist())) - {""}
        if len(values) < 2:
            continue
        stated = table[table[column].astype(str) != ""]
        if not by or stated.groupby(list(by), dropna=False)[column].nunique().max() > 1:
            found = ", ".join(sorted(values))
            what = f"One {column} at a time: rows by {', '.join(by) or 'nothing'} would mix several."
            faults.append(Fault("plan", 0, column, found, what, f"Keep the rows of one {column}, or group by it."))
    if faults:
        raise InputError(faults)
    return table


def grouped(table: pd.DataFrame, by: Sequence[str], *, across: Collection[str] = (), **options: Any) -> Any:
    """``table.groupby(by)`` of rows that may be added up so; see :func:`unmixed`.

    Raises:
        InputError: several scenarios or parts of the day in one group.
    """
    return unmixed(table, by, across).groupby(list(by) if len(by) > 1 else by[0], **options)


def totals(table: pd.DataFrame, by: Sequence[str], value: str, *, across: Collection[str] = ()) -> dict[Any, Any]:
    """Sums of a column by some others, in order: those of :func:`grouped`, in a fraction of its time for few rows.

    Keys are tuples, or plain values for one column; rows with NaN in a key are left out, as pandas does it.

    Raises:
        InputError: several scenarios or parts of the day under one key.
    """
    cells = cells_of(unmixed(table, by, across))
    keys = zip(*(cells[column] for column in by), strict=True)
    told = ((key, x) for key, x in zip(keys, cells[value], strict=True) if all(part == part for part in key))
    found = compensated(told)
    return found if len(by) > 1 else {key: total for (key,), total in found.items()}


def compensated(numbers: Iterable[tuple[K, Any]]) -> dict[K, Any]:
    """Sums by key, in order of the keys; what is NaN is left out.

    What a sum rounds away is carried on (W. Kahan, "Further remarks on reducing truncation errors", 1965): pandas adds
    up groups so, and both agree to the last bit.
    """
    sums: dict[K, tuple[Any, Any]] = {}
    for key, number in numbers:
        total, lost = sums.setdefault(key, (0, 0))
        if number == number:
            more = number - (lost if lost == lost else 0)  # beyond infinity nothing is lost
            sums[key] = total + more, (total + more - total) - more
    return {key: sums[key][0] for key in sorted(sums)}  # type: ignore[type-var]


def one_block(*tables: Mapping[str, pd.DataFrame]) -> None:
    """Hold tables of a plan or an instance to one scenario and one part of the day, for a reader that tells none apart.

    Raises:
        InputError: some table has rows of several.
    """
    for table in (table for some in tables for table in some.values()):
        of_time = "t" in table.columns or "quarter" in table.columns  # parts of the day themselves are of no time
        if of_time:
            unmixed(table)


def summed(table: pd.DataFrame, value: str, *, across: Collection[str] = ()) -> float:
    """The sum of a column over all rows; see :func:`unmixed`.

    Raises:
        InputError: rows of several scenarios or parts of the day.
    """
    return float(unmixed(table, (), across)[value].sum())
