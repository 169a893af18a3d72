"""Power modes checked: what units at full power do, and units of both modes against those that stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from procure.instance import Instance
from procure.instance.tables import FullPowerPrefill, MaxqSaving, PowerMode, Prefill
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Modes, Shipped
from procure.plan.tolerance import differ
from procure.schema import RECOMPUTE, Resource


def limits(s: Standing, rows: Rows) -> None:
    """Work that only units at full power do, against those units, where the pool has a second mode."""
    slow = {r.option for r in s.instance.rows(FullPowerPrefill)}
    held = {(r.t, r.workload, r.bucket, r.sku, r.store) for r in s.instance.rows(Prefill) if r.option in slow}
    sent = {(r.quarter, r.from_site, r.workload, r.bucket, r.sku) for r in Shipped.rows(s.tables["shipments"])}
    work: dict[tuple[str, str, str], float] = defaultdict(float)
    for part in s.day:
        here: dict[tuple[str, str, str], float] = defaultdict(float)
        for decode in part.decoding:
            if decode.lpx_racks > 0:
                here[decode.quarter, decode.site, decode.sku] += decode.racks
        for fill in part.filled:
            way = (fill.quarter, fill.site, fill.workload, fill.bucket, fill.sku)
            over_link = way in sent and fill.store == RECOMPUTE
            if over_link or (s.position[fill.quarter], fill.workload, fill.bucket, fill.sku, fill.store) in held:
                here[fill.quarter, fill.site, fill.sku] += fill.racks
        for key, racks in here.items():
            work[key] = max(work[key], racks)
    modes = {r.sku for r in s.instance.rows(PowerMode)}
    for (quarter, site, sku), used in sorted(work.items()):
        if sku in modes:
            key = (quarter, site, sku)
            there = s.own[key] - s.reserved[key] - s.maxq[key]
            rows.add("racks at full power", *key, used, s.sku[sku].usable_share * there, "racks")


def modes_of_units(plan: Plan, instance: Instance) -> Iterable[str]:
    """Units of both modes are those that stand; none at Max-Q is held for others; the power that they leave."""
    s = Standing(instance, plan.tables)
    modes = {r.sku for r in instance.rows(PowerMode)}
    saved = {(r.site, r.sku): r.saved for r in instance.rows(MaxqSaving) if r.resource == Resource.POWER}
    stated = {(r.quarter, r.site, r.sku): r for r in plan.rows(Modes)}
    standing = {key for key, count in s.own.items() if count > 0 and key[2] in modes}
    for key in sorted(standing | set(stated)):
        row, label = stated.get(key), " ".join(key)
        if row is None or key not in standing:
            yield f"{label}: {'no modes are stated' if row is None else 'modes of units that do not stand'}"
            continue
        if row.max_p + row.maxq != s.own[key]:
            yield f"{label}: {row.max_p} at Max-P and {row.maxq} at Max-Q of {s.own[key]:g} that stand"
        if row.max_p % 1 or row.maxq % 1 or not 0 <= row.maxq <= s.own[key] - s.reserved[key]:
            yield f"{label}: {row.maxq} at Max-Q of {s.own[key] - s.reserved[key]:g} that are not held for others"
        if differ(row.saved_kw, row.maxq * saved.get(key[1:], 0.0)):
            yield f"{label}: saves {row.maxq * saved.get(key[1:], 0.0):g} kW, not {row.saved_kw:g}"


CHECK = Check(limits, {"units of both power modes are those that stand": modes_of_units})
