"""Whole instances checked: how many the work of each LLM takes by role, and that they stand in the racks there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from procure.instance import Instance
from procure.plan.day import parts_of_day
from procure.plan.instances import Taken
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Instances
from procure.plan.tolerance import RELATIVE, differ
from procure.schema import SkuKind


def limits(s: Standing, rows: Rows) -> None:
    """Units that whole instances and the work beside them take, of those that are not reserved."""
    day = [Taken(s.instance, part.decoding, part.filled) for part in s.day]
    used: dict[tuple[str, str, str], float] = defaultdict(float)
    for key in {key for taken in day for key in taken.racks}:
        one = day[0].of(key)
        if one is not None and one.whole:
            used[key[0], key[1], one.sku] += max(taken.whole(key) for taken in day) * one.units
    for (quarter, site, sku), units in sorted(used.items()):
        if s.sku[sku].kind is SkuKind.GPU:
            others = _beside(s, day, (quarter, site, sku)) / s.sku[sku].usable_share
            there = s.own[quarter, site, sku] - s.reserved[quarter, site, sku]
            # Racks with instances run at full power, and those at Max-Q do less of what is beside them.
            others = max(others + s.slowed(quarter, site, sku), s.maxq[quarter, site, sku])
            rows.add("racks for whole instances", quarter, site, sku, units + others, there, "racks")


def _beside(s: Standing, day: list[Taken], pool: tuple[str, str, str]) -> float:
    """Racks that work beside whole instances keeps busy in a pool (quarter, site, SKU), at the busiest hours."""
    most = 0.0
    for taken, part in zip(day, s.day, strict=True):
        racks = 0.0 + sum(r.racks for r in part.works if (r.quarter, r.site, r.sku) == pool)
        for key, busy in taken.racks.items():
            one = taken.of(key)
            if one is not None and one.whole and (key[0], key[1], one.sku) == pool:
                racks -= busy
        most = max(most, racks)
    return most


def as_needed(plan: Plan, instance: Instance) -> Iterable[str]:
    """Instances are those that the work takes, with what rounding adds where they are not counted in whole ones."""
    day = [Taken(instance, part.decoding, part.filled) for part in parts_of_day(instance, plan.tables)]
    stated = {(r.quarter, r.site, r.llm, r.deployment, r.role): r for r in plan.rows(Instances)}
    for key in sorted(set(stated) | {key for taken in day for key in taken.racks if taken.busy(key) > 1e-6}):
        label = f"{' '.join(key[:4])}, {key[4]}"
        row, one = stated.get(key), day[0].of(key)
        if row is None or one is None:
            if one is not None or row is not None:
                yield f"{label}: {'not stated' if row is None else 'no such instances'}"
            continue
        count = max(taken.whole(key) for taken in day)
        fluid = max(taken.racks[key] for taken in day) / day[0].sku[one.sku].usable_share
        wanted: dict[str, float | str] = {
            "sku": one.sku,
            "gpus": one.gpus,
            "busy": max(taken.busy(key) for taken in day),
            "instances": count,
            "units": count * one.units,
            "whole": bool(one.whole),
            "uncounted_units": 0.0 if one.whole else max(count * one.units - fluid, 0.0),
        }
        for name, value in wanted.items():
            told = getattr(row, name)
            if _unlike(told, value):
                yield f"{label}: {name} is {told}, not {value}"


def _unlike(stated: float | str, wanted: float | str) -> bool:
    if isinstance(stated, str) or isinstance(wanted, str):
        return stated != wanted
    return differ(float(stated), float(wanted), RELATIVE)


CHECK = Check(limits, {"instances are those that the work takes": as_needed})
