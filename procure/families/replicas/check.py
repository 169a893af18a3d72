"""Whole instances checked: how many the work of each LLM takes by role, and that they stand in the racks there are."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from procure.instance import Instance
from procure.instance.tables import InstanceRate, InstanceRow, Serve, SkuRow, Workload
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Instances, Prefilled, Serving
from procure.plan.tolerance import RELATIVE, differ
from procure.schema import Role, SkuKind

Key = tuple[str, str, str, str, Role]
"""Quarter, site, LLM, deployment and role."""


class Taken:
    """What the decode and prefill of a plan take of instances: racks, and racks at the throughput of their size."""

    def __init__(self, instance: Instance, serving: list[Serving], filled: list[Prefilled]) -> None:
        self.sku = {r.sku: r for r in instance.rows(SkuRow)}
        self.one = {(instance.quarters[r.t], r.llm, r.deployment, r.role): r for r in instance.rows(InstanceRow)}
        self.racks: dict[Key, float] = defaultdict(float)
        self.slowed: dict[Key, float] = defaultdict(float)
        llm = {r.workload: r.llm for r in instance.rows(Workload)}
        points = {r.point: r for r in instance.rows(Serve)}
        names = instance.quarters
        share = {
            (names[r.t], r.workload, r.bucket, r.deployment): r.throughput_share for r in instance.rows(InstanceRate)
        }
        for r in serving:
            deployment = points[r.point].deployment
            slower = share.get((r.quarter, r.workload, r.bucket, deployment), 1.0)
            self._add(r, llm[r.workload], deployment, Role.DECODE, r.racks / slower)
        for fill in filled:
            self._add(fill, llm[fill.workload], fill.sku, Role.PREFILL, fill.racks)

    def _add(self, r: Serving | Prefilled, llm: str, deployment: str, own: Role, slowed: float) -> None:
        role = Role.BOTH if (r.quarter, llm, deployment, Role.BOTH) in self.one else own
        key = (r.quarter, r.site, llm, deployment, role)
        self.racks[key] += r.racks
        self.slowed[key] += slowed

    def of(self, key: Key) -> InstanceRow | None:
        """What one instance of a key is; none where no size of it is known."""
        quarter, _, llm, deployment, role = key
        return self.one.get((quarter, llm, deployment, role))

    def busy(self, key: Key) -> float:
        """Instances that the work of a key fills."""
        one = self.of(key)
        return self.slowed[key] / one.busy_units if one is not None else 0.0

    def whole(self, key: Key) -> int:
        """Whole instances that do it; a hundred-thousandth of one is rounding."""
        busy = self.busy(key)
        return math.ceil(busy - 1e-5 * max(1.0, busy))


def limits(s: Standing, rows: Rows) -> None:
    """Units that whole instances and the work beside them take, of those that are not reserved."""
    taken = Taken(s.instance, s.decoding, Prefilled.rows(s.tables["prefill"]))
    used: dict[tuple[str, str, str], float] = defaultdict(float)
    beside: dict[tuple[str, str, str], float] = defaultdict(float)
    for key, racks in taken.racks.items():
        one = taken.of(key)
        if one is not None and one.whole:
            used[key[0], key[1], one.sku] += taken.whole(key) * one.units
            beside[key[0], key[1], one.sku] -= racks
    for (quarter, site, sku), units in sorted(used.items()):
        if s.sku[sku].kind is SkuKind.GPU:
            others = max(s.busy[quarter, site, sku] + beside[quarter, site, sku], 0.0) / s.sku[sku].usable_share
            there = s.own[quarter, site, sku] - s.reserved[quarter, site, sku]
            rows.add("racks for whole instances", quarter, site, sku, units + others, there, "racks")


def as_needed(plan: Plan, instance: Instance) -> Iterable[str]:
    """Instances are those that the work takes, with what rounding adds where they are not counted in whole ones."""
    taken = Taken(instance, plan.rows(Serving), plan.rows(Prefilled))
    stated = {(r.quarter, r.site, r.llm, r.deployment, r.role): r for r in plan.rows(Instances)}
    for key in sorted(set(stated) | {key for key in taken.racks if taken.busy(key) > 1e-6}):
        label = f"{' '.join(key[:4])}, {key[4]}"
        row, one = stated.get(key), taken.of(key)
        if row is None or one is None:
            if one is not None or row is not None:
                yield f"{label}: {'not stated' if row is None else 'no such instances'}"
            continue
        count = taken.whole(key)
        fluid = taken.racks[key] / taken.sku[one.sku].usable_share
        wanted: dict[str, float | str] = {
            "sku": one.sku,
            "gpus": one.gpus,
            "busy": taken.busy(key),
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
