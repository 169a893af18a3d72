"""Parts of the day in the program: in which of them a limit has a row, and what a way to serve counts there.

Service is decided once for a day: ``serve`` and ``prefill`` are shares of the rate at a workload's own peak, or of the
mean of the day for work that may wait. Where capacity is sized by clock hour, a limit has a row for each part of the
day that can be its tightest. There a workload counts as its rate in that part is to its peak, on the same pools as
at its peak, and work that may wait as it is placed (:mod:`procure.families.dayparts`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from procure.instance.tables import Daypart, DaypartRate, Workload
from procure.program.decided import Decided
from procure.program.index import Index, Option, Point
from procure.program.linear import Terms
from procure.quarter import HOURS_PER_DAY
from procure.schema import RECOMPUTE
from procure.timekey import PEAK, TimeKey


@dataclass(frozen=True)
class Day:
    """The day as capacity is sized.

    Attributes:
        hours: clock hours of each part; all of them in one where work is sized at one coincident peak.
        of_peak: rate in a part over the rate that the workload is sized for, by (part, workload).
        waits: workloads that are placed in parts of the day.
    """

    hours: dict[str, int]
    of_peak: dict[tuple[str, str], float]
    waits: frozenset[str]

    def rows(self, at: TimeKey, workloads: Collection[str]) -> list[TimeKey]:
        """The hours of a block in which a limit on these workloads needs a row of its own.

        All parts where one of them is placed; else those in which no other part has as much of every workload.
        """
        if not self.waits.isdisjoint(workloads):
            return [at.within(part) for part in self.hours]
        load = {part: [self.of_peak.get((part, w), 1.0) for w in sorted(workloads)] for part in self.hours}
        kept: list[str] = []
        for part, mine in load.items():
            # of parts that are alike the first stays
            covered = (
                all(a >= b for a, b in zip(theirs, mine, strict=True)) and (theirs != mine or other in kept)
                for other, theirs in load.items()
                if other != part
            )
            if not any(covered):
                kept.append(part)
        return [at.within(part) for part in kept]


def day_of(index: Index) -> Day:
    """The parts of the day, or the one peak, as the case says."""
    if index.instance.settings["dayparts"] == "peak":
        return Day({PEAK: HOURS_PER_DAY}, {}, frozenset())
    waits = frozenset(row.workload for row in index.instance.rows(Workload) if row.deferrable)
    hours = {row.daypart: row.hours_per_day for row in index.instance.rows(Daypart)}
    rates = index.instance.rows(DaypartRate)
    return Day(hours, {(r.daypart, r.workload): r.of_peak for r in rates if r.workload not in waits}, waits)


def share_in(d: Decided, way: tuple[Point | Option, str], at: TimeKey) -> float:
    """Share of the rate that a way to serve at a site has in some hours of its block, of decisions that have values."""
    row = Terms()
    add_way(d.m, d.index, row, 1.0, way, at)
    return sum(coef * d.value(variable) for coef, variable in zip(row.coefs, row.variables, strict=True))


def add_way(m: Any, index: Index, row: Terms, coef: float, way: tuple[Point | Option, str], at: TimeKey) -> None:
    """Add what a way to serve at a site counts in some hours of its block, times a coefficient per share of the rate.

    What work that may wait reads from a store it reads evenly over the day.
    """
    what, site = way
    day = index.of(day_of)
    waits = bool(at.hours) and what.workload in day.waits
    share = 1.0 if waits else day.of_peak.get((at.hours, what.workload), 1.0)
    if isinstance(what, Point):
        row.add(coef * share, m.placed_decode[what.point, site, at] if waits else m.serve[what.point, site])
    elif waits and what.store == RECOMPUTE:
        row.add(coef, m.placed_prefill[what.option, site, at])
    else:
        row.add(coef * share, m.prefill[what.option, site])
