"""The parts of the day of a plan in sentences: what waits for which hours, how full racks are, what one peak costs."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import DayLoad, Deferred, Prefilled, Serving
from procure.report.words import planned_quarters, share
from procure.schema import Role

Pool = tuple[str, str]
"""Site and SKU."""


def day_sentences(plan: Plan) -> list[str]:
    """How full each pool is by the clock, when work that may wait runs; or what sizing at one peak costs at most."""
    if (told := plan.summary.get("coincident_peak")) is not None:
        return [
            f'Sized at one coincident peak: by clock hour (dayparts = "clock") the work of {told["quarter"]} would '
            f"take up to {share(told['spared_share'])} less power, on fewer racks."
        ]
    return [*_pools(plan), *_waits(plan)]


def parts_of_day(plan: Plan) -> list[DayLoad]:
    """Parts of the day of each pool, in the planned quarter in which it is fullest."""
    return [row for rows in _fullest(plan).values() for row in rows]


def _fullest(plan: Plan) -> dict[Pool, list[DayLoad]]:
    planned, found = set(planned_quarters(plan)), dict[Pool, dict[str, list[DayLoad]]]()
    for row in plan.rows(DayLoad):
        if row.quarter in planned:
            found.setdefault((row.site, row.sku), {}).setdefault(row.quarter, []).append(row)
    return {
        pool: max((rows for _, rows in sorted(quarters.items())), key=lambda rows: max(map(_use, rows)))
        for pool, quarters in sorted(found.items())
    }


def _busy(row: DayLoad) -> float:
    return row.racks + row.deferrable_racks


def _use(row: DayLoad) -> float:
    """Share of the racks that may be busy."""
    return _busy(row) / row.usable_racks if row.usable_racks > 0 else 0.0


def _pools(plan: Plan) -> list[str]:
    """Each pool's busiest part of the day, against all its work at its own peak at once."""
    at_peak: dict[tuple[str, str, str], float] = {}
    works: list[Serving | Prefilled] = [*plan.rows(Serving), *plan.rows(Prefilled)]
    for work in works:
        key = (work.quarter, work.site, work.sku)
        at_peak[key] = at_peak.get(key, 0.0) + work.racks
    sentences = []
    for (site, sku), rows in _fullest(plan).items():
        row = max(rows, key=_use)
        text = f"{sku} at {site}: fullest at {row.hours} in {row.quarter}, with {_busy(row):,.1f} racks busy of "
        text += f"{row.usable_racks:,.1f} that may be"
        if row.deferrable_racks > 0:
            text += f" ({row.deferrable_racks:,.1f} with work that may wait)"
        if (peak := at_peak.get((row.quarter, site, sku))) is not None:
            text += f"; {peak:,.1f} if all peaks fell together"
        sentences.append(f"{text}.")
    return sentences


def _waits(plan: Plan) -> list[str]:
    """Share of the requests of each workload that may wait by the hours in which they are decoded."""
    planned = set(planned_quarters(plan))
    length = {row.hours: row.hours_per_day for row in plan.rows(DayLoad)}
    requests: dict[str, dict[str, float]] = {}
    for row in plan.rows(Deferred):
        if row.quarter in planned and row.work is Role.DECODE:
            hours = requests.setdefault(row.workload, {})
            hours[row.hours] = hours.get(row.hours, 0.0) + row.requests_per_s * length[row.hours]
    sentences = []
    for workload, hours in sorted(requests.items()):
        most = sorted(hours.items(), key=lambda item: (-item[1], item[0]))
        total = sum(hours.values())
        placed = ", ".join(f"{share(part / total)} at {name}" for name, part in most if part > 0)
        sentences.append(f"{workload} may wait: of its requests in planned quarters run {placed}.")
    return sentences
