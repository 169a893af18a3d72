"""Days of a case's own: requests by clock hour, read from the table ``day_shapes`` and checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from procure.case.rows import Cell, Rows
from procure.errors import Fault
from procure.quarter import HOURS_PER_DAY

AGREES = 0.01
"""A stated mean over peak and that of the day named may differ by this share."""


def hours_between(start: int, end: int) -> list[int]:
    """Clock hours from one full hour to another; past midnight where the end comes first."""
    return list(range(start, end)) if start < end else [*range(start, HOURS_PER_DAY), *range(end)]


def own_days(rows: Iterable[Mapping[Any, Any]]) -> dict[str, tuple[float, ...]]:
    """Load by clock hour of each day that the case describes; without those that leave an hour out or state it twice.

    Args:
        rows: of ``day_shapes``.

    Returns:
        24 loads by name, in the unit of the table.
    """
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        hours = found.setdefault(str(row["shape"]), {})
        for hour in hours_between(int(row["from_hour"]), int(row["to_hour"])):
            hours.setdefault(hour, []).append(float(row["load"]))
    return {
        name: tuple(hours[hour][0] for hour in range(HOURS_PER_DAY))
        for name, hours in found.items()
        if len(hours) == HOURS_PER_DAY
        and all(len(loads) == 1 for loads in hours.values())
        and max(map(max, hours.values())) > 0
    }


def mean_to_peak(day: Collection[float]) -> float:
    """Mean over peak of a day, from its loads by hour."""
    return sum(day) / len(day) / max(day)


def day_faults(shapes: Rows, packaged: Collection[str]) -> list[Fault]:
    """Days that leave hours out, state one twice, have no load at all, or take the name of a packaged one."""
    faults: list[Fault] = []
    stated: dict[str, list[tuple[int, dict[str, Cell]]]] = {}
    for line, row in shapes.numbered:
        stated.setdefault(str(row["shape"]), []).append((line, row))
    for name, rows in stated.items():
        first = rows[0][0]
        if name in packaged:
            expected = "A name of its own: this is the day of a packaged scenario."
            faults.append(Fault(shapes.file, first, "shape", name, expected, f"Call it my-{name}, say."))
        taken: dict[int, int] = {}
        for line, row in rows:
            start, end = int(row["from_hour"] or 0), int(row["to_hour"] or 0)
            if start == end:
                expected = "An hour that differs from from_hour; 0 and 24 are the whole day."
                faults.append(Fault(shapes.file, line, "to_hour", str(end), expected))
                continue
            for hour in hours_between(start, end):
                if hour in taken:
                    expected = f"Each hour of {name} once: {hour} to {hour + 1} is also in row {taken[hour]}."
                    faults.append(Fault(shapes.file, line, "from_hour", str(start), expected))
                    break
                taken[hour] = line
        left = [hour for hour in range(HOURS_PER_DAY) if hour not in taken]
        if left:
            expected = f"All 24 hours of {name}: none of its rows covers {', '.join(map(str, left))}."
            faults.append(Fault(shapes.file, first, "from_hour", name, expected, "State a load of 0 for idle hours."))
        elif not any(float(row["load"] or 0) > 0 for _, row in rows):
            faults.append(Fault(shapes.file, first, "load", "0", f"A load above 0 in some hour of {name}."))
    return faults


def mean_faults(workloads: Rows, own: Mapping[str, tuple[float, ...]]) -> list[Fault]:
    """Workloads whose stated mean over peak is not that of the day that they name of the case's own."""
    faults: list[Fault] = []
    for line, row in workloads.numbered:
        day = own.get(str(row["day_shape"]))
        stated = row["mean_to_peak"]
        if day is None or stated is None:
            continue
        mean = mean_to_peak(day)
        if abs(float(stated) - mean) > AGREES * mean:
            expected = f"{mean:.4g}, the mean over peak of {row['day_shape']} in day_shapes.csv."
            hint = "Leave mean_to_peak empty, or change the loads of the day: a day of your own is not stretched."
            faults.append(Fault(workloads.file, line, "mean_to_peak", f"{float(stated):g}", expected, hint))
    return faults
