"""How much of the demand coincides: what loads count where capacity is sized by clock hour, in the case's favour."""

from __future__ import annotations

from procure.check.supply import Supply
from procure.instance.tables import Daypart, DaypartRate, Workload
from procure.quarter import HOURS_PER_DAY


def coincidence(supply: Supply, *, by_clock: bool | None = None) -> list[dict[str, float]]:
    """Factors on the rate of each workload, of which every set must be carried, whatever is placed when.

    At one coincident peak a single set of ones. By the clock one for each part of the day, work on demand as it is in
    it and none that may wait; and one for the day as a whole, in its mean. Each follows from the program's rows.

    Args:
        by_clock: whether capacity is sized by the clock; what the case says where None.
    """
    loads = supply.instance.rows(Workload)
    if by_clock is None:
        by_clock = supply.instance.settings.get("dayparts", "peak") == "clock"
    if not by_clock:
        return [{row.workload: 1.0 for row in loads}]
    hours = {row.daypart: row.hours_per_day for row in supply.instance.rows(Daypart)}
    of_peak = {(row.daypart, row.workload): row.of_peak for row in supply.instance.rows(DaypartRate)}
    waits = {row.workload for row in loads if row.deferrable}
    names = [row.workload for row in loads]
    sets = [{w: 0.0 if w in waits else of_peak[part, w] for w in names} for part in hours]
    mean = {w: sum(n * of_peak[part, w] for part, n in hours.items()) / HOURS_PER_DAY for w in names}
    return [*sets, {w: 1.0 if w in waits else mean[w] for w in names}]
