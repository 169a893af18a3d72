"""Moves between stores checked: where copies go, how many stay, and the bytes that move."""

from __future__ import annotations

from collections.abc import Iterable

from procure.instance import Instance
from procure.plan.moves import Moves
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.tolerance import differ, over


def as_stated(plan: Plan, instance: Instance) -> Iterable[str]:
    """Moves are ones that the case allows, with their ages and bytes; what stays after them came before."""
    found = Moves(instance, plan.tables)
    if found.mode == "none" and (found.moves or found.moved):
        yield "caches move, though the case keeps each where it was parked"
        return
    for r in found.moves:
        label = f"{r.quarter} {r.site} {r.workload}, {r.store} to {r.to_store} at {r.age_s:g} s"
        if not found.allowed(r.store, r.to_store) or r.interval < 1:
            yield f"{label}: no such move"
            continue
        if differ(r.age_s, found.ages[r.quarter, r.workload][r.interval - 1].age_to_s):
            yield f"{label}: not the age at which interval {r.interval} starts"
        for name, told, right in zip(
            ("read", "written"), (r.read_bytes_per_s, r.write_bytes_per_s), found.bytes_of(r), strict=True
        ):
            if differ(told, right):
                yield f"{label}: {right:g} B/s {name}, not {told:g}"
    for place, cohort in found.moved.items():
        for interval, rate in sorted(cohort.items()):
            before = cohort.get(interval - 1, 0.0) + found.coming.get((place, interval), 0.0)
            if interval < 1 or over(rate, before):
                yield f"{' '.join(place)}: {rate:g} stay through interval {interval} of {before:g}"


CHECK = Check(faults={"caches that move are as stated": as_stated})
