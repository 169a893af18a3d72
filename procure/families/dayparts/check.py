"""Parts of the day checked: work that may wait has its requests of the day, and the day is as the tables say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from procure.instance import Instance
from procure.instance.tables import Daypart, PodPlaces, Prefill, Rate, Serve
from procure.plan.day import parts_of_day, waiting
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Copies, DayLoad, Deferred, Kept, Prefilled, Serving, Shipped
from procure.plan.tolerance import compare, differ, over, unlike
from procure.quarter import HOURS_PER_DAY
from procure.schema import RECOMPUTE, Role, SkuKind

Way = tuple[str, str, str, str, Role, str, str]
"""Quarter, site, workload, bucket, work, SKU and operating point ("" for prefill)."""


def requests_of_the_day(plan: Plan, instance: Instance) -> Iterable[str]:
    """What is placed in the parts of the day adds up to what is served of it, in the hours of each."""
    hours = {r.daypart: r.hours_per_day for r in instance.rows(Daypart)}
    waits, rates, sites = waiting(instance), _rates(instance), {r.site for r in instance.rows(PodPlaces)}
    day: dict[Way, float] = defaultdict(float)
    for r in plan.rows(Deferred):
        label = f"{r.quarter} {r.site} {r.workload} {r.bucket} {r.work} on {r.sku} at {r.hours}"
        if r.workload not in waits or r.hours not in hours:
            yield f"{label}: {'no such hours' if r.workload in waits else 'it is not placed in parts of the day'}"
            continue
        if r.site not in sites:
            yield f"{label}: no such site"
        yield from _as_its_way_takes(r, label, instance)
        day[r.quarter, r.site, r.workload, r.bucket, r.work, r.sku, r.point] += (
            r.requests_per_s * hours[r.hours] / HOURS_PER_DAY
        )
    mean: dict[Way, float] = defaultdict(float)
    for s in plan.rows(Serving):
        if s.workload in waits:
            mean[s.quarter, s.site, s.workload, s.bucket, Role.DECODE, s.sku, s.point] += s.requests_per_s
    for f in plan.rows(Prefilled):
        if f.workload in waits and f.store == RECOMPUTE:
            mean[f.quarter, f.site, f.workload, f.bucket, Role.PREFILL, f.sku, ""] += f.requests_per_s
    for way in sorted(set(day) | set(mean)):
        if unlike(day[way], mean[way], rates[way[0], way[2], way[3]]):
            yield f"{' '.join(way)}: {day[way]:g} requests/s over the day in its hours, {mean[way]:g} served"


def _rates(instance: Instance) -> dict[tuple[str, str, str], float]:
    names = instance.quarters
    return {(names[r.t], r.workload, r.bucket): r.requests_per_s for r in instance.rows(Rate)}


def _as_its_way_takes(r: Deferred, label: str, instance: Instance) -> Iterable[str]:
    """Racks of a row against those that its operating point or way to prefill takes."""
    t = instance.position[r.quarter]
    if r.work is Role.DECODE:
        point = next((p for p in instance.rows(Serve) if p.point == r.point), None)
        known = point is not None and (point.t, point.workload, point.bucket, point.sku) == (
            t, r.workload, r.bucket, r.sku
        )  # fmt: skip
        each = (point.rack_s, point.lpx_rack_s) if point is not None and known else None
    else:
        key = (t, r.workload, r.bucket, r.sku, RECOMPUTE)
        way = next((o for o in instance.rows(Prefill) if (o.t, o.workload, o.bucket, o.sku, o.store) == key), None)
        each = (way.rack_s, 0.0) if way is not None and not r.point else None
    if each is None:
        yield f"{label}: no such way"
    elif differ(r.racks, r.requests_per_s * each[0]) or differ(r.lpx_racks, r.requests_per_s * each[1]):
        yield f"{label}: {r.racks:g} racks stated, {r.requests_per_s * each[0]:g} needed"


def prefilled_in_their_hours(plan: Plan, instance: Instance) -> Iterable[str]:
    """Requests of work that may wait are prefilled in the hours of their decode; those with kept caches run evenly."""
    waits, rates = waiting(instance), _rates(instance)
    if not waits:
        return
    kept: dict[tuple[str, str, str], float] = defaultdict(float)
    for k in plan.rows(Kept):
        if k.workload in waits and k.interval == 0:
            kept[k.quarter, k.site, k.workload] += k.kept_requests_per_s
    shipped = [sh for sh in plan.rows(Shipped) if sh.workload in waits]
    for part in parts_of_day(instance, plan.tables):
        decoded: dict[tuple[str, str, str, str], float] = defaultdict(float)
        filled: dict[tuple[str, str, str, str], float] = defaultdict(float)
        served: dict[tuple[str, str, str], float] = defaultdict(float)
        sent: dict[tuple[str, str, str, str, str], float] = defaultdict(float)
        for sh in shipped:
            filled[sh.quarter, sh.from_site, sh.workload, sh.bucket] -= sh.requests_per_s
            filled[sh.quarter, sh.to_site, sh.workload, sh.bucket] += sh.requests_per_s
            sent[sh.quarter, sh.from_site, sh.workload, sh.bucket, sh.sku] += sh.requests_per_s
        for s in part.decoding:
            if s.workload in waits:
                decoded[s.quarter, s.site, s.workload, s.bucket] += s.requests_per_s
                served[s.quarter, s.site, s.workload] += s.requests_per_s
        for f in part.filled:
            if f.workload in waits:
                filled[f.quarter, f.site, f.workload, f.bucket] += f.requests_per_s
                if f.store == RECOMPUTE:
                    sent[f.quarter, f.site, f.workload, f.bucket, f.sku] -= f.requests_per_s
        for key in sorted(set(decoded) | set(filled)):
            if unlike(decoded[key], filled[key], rates[key[0], key[2], key[3]]):
                yield f"{' '.join(key)} at {part.hours}: {filled[key]:g} prefilled, {decoded[key]:g} decoded"
        for way, more in sorted(sent.items()):
            if over(more, 0.0):
                yield f"{' '.join(way)} at {part.hours}: {more:g} requests/s are sent that are not prefilled there"
        for place, rate in sorted(kept.items()):
            if over(rate, served[place]):
                yield f"{' '.join(place)} at {part.hours}: parks {rate:g} sequences/s of {served[place]:g} served"


def day_as_stated(plan: Plan, instance: Instance) -> Iterable[str]:
    """Racks that are busy in each part of the day, and those that may be."""
    stated = {(r.quarter, r.site, r.sku, r.hours): r for r in plan.rows(DayLoad)}
    if instance.settings["dayparts"] == "peak":
        if stated or plan.rows(Deferred):
            yield "parts of the day are told of a case that sizes all work at one coincident peak"
        return
    waits, wanted = waiting(instance), _busy(plan, instance)
    usable = _usable(plan, instance)
    for key in sorted(set(stated) | {key for key, (_, racks) in wanted.items() if sum(racks) > 1e-6}):
        label = " ".join(key)
        row, (hours, racks) = stated.get(key), wanted.get(key, (0, [0.0, 0.0]))
        if row is None:
            yield f"{label}: not in the table of the day"
            continue
        told = {"hours_per_day": float(hours), "racks": racks[0], "usable_racks": usable.get(key[:3], 0.0)}
        yield from compare(label, row, told | {"deferrable_racks": racks[1] if waits else 0.0})


def _busy(plan: Plan, instance: Instance) -> dict[tuple[str, str, str, str], tuple[int, list[float]]]:
    """Hours, and busy racks of work on demand and of work that may wait, by (quarter, site, SKU, hours)."""
    waits, partner = waiting(instance), {r.point: r.lpx_sku for r in instance.rows(Serve)}
    found: dict[tuple[str, str, str, str], tuple[int, list[float]]] = {}
    for part in parts_of_day(instance, plan.tables):
        for row in part.works:
            taken = [(row.sku, row.racks)]
            if isinstance(row, Serving) and row.lpx_racks:
                taken.append((partner[row.point], row.lpx_racks))
            for sku, racks in taken:
                key = (row.quarter, row.site, sku, part.hours)
                found.setdefault(key, (part.hours_per_day, [0.0, 0.0]))[1][row.workload in waits] += racks
    return found


def _usable(plan: Plan, instance: Instance) -> dict[tuple[str, str, str], float]:
    """Racks that may be busy: of a GPU SKU by its usable share, of LPX those of copies up to the utilisation cap."""
    s = Standing(instance, plan.tables)
    gpus = [key for key in s.own if s.sku[key[2]].kind is SkuKind.GPU]
    found = {key: s.sku[key[2]].usable_share * s.at_work(*key) for key in gpus}
    for r in plan.rows(Copies):
        key = (r.quarter, r.site, r.sku)
        found[key] = found.get(key, 0.0) + instance.settings["utilisation_cap"] * r.racks
    return found


CHECK = Check(
    faults={
        "work that may wait has its requests of the day": requests_of_the_day,
        "prefill happens where decode does": prefilled_in_their_hours,
        "the day is as its tables say": day_as_stated,
    }
)
