"""Units that are down: how large a share of the time, and how many at once."""

from __future__ import annotations

from procure.quarter import HOURS_PER_YEAR

RARE = 0.05
"""Share of the time in which more units may be down than are planned for, where nothing else is said."""


def availability(failures_per_year: float, repair_hours: float) -> float:
    """Share of the time that a unit is up: time between failures over that and the time to repair.

        1 / (1 + failures per year of operation · hours to repair / 8,760 hours)

    Both count everything that takes a unit out of service, maintenance too.
    """
    return 1.0 / (1.0 + failures_per_year * repair_hours / HOURS_PER_YEAR)


def likely_down(units: int, up: float, rare: float = RARE) -> int:
    """Units to plan as down: the fewest that are exceeded for at most a ``rare`` share of the time.

    Each unit is down by itself (binomial): what takes several at once, such as a power feed or a pod's switches, is not
    in it.
    """
    down = 1.0 - up
    chance, at_most = up**units, 0.0
    for count in range(units + 1):
        at_most += chance
        if at_most >= 1.0 - rare:
            return count
        if up <= 0:
            break
        chance *= (units - count) / (count + 1) * down / up
    return units
