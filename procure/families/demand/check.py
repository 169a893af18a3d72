"""Demand checked: what is served and short, and that it is served at points that keep their promise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Length, OutOfReach, Rate, Serve, ShortPrice, Workload
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Asked, Service, Serving
from procure.plan.tolerance import compare, differ, over, unlike
from procure.quarter import SECONDS_PER_QUARTER
from procure.rules.objective import Objective
from procure.schema import CostLine, Span
from procure.timekey import totals


def limits(s: Standing, rows: Rows) -> None:
    """Of each workload with a least share, what planned quarters serve as promised."""
    least = {r.workload: r.min_served_share for r in s.instance.rows(Workload) if r.min_served_share > 0}
    for r in Service.rows(s.tables["sla"]):
        if r.workload in least and s.instance.span[r.quarter] is Span.PLANNED:
            rows.add("least share served", r.quarter, "", r.workload, least[r.workload], 1.0 - r.short_share, "share")


def points(plan: Plan, instance: Instance) -> Iterable[str]:
    """Operating points exist, and take the racks that they say."""
    position = instance.position
    points = {r.point: r for r in instance.rows(Serve)}
    for r in plan.rows(Serving):
        point = points.get(r.point)
        label = f"{r.quarter} {r.site} {r.workload} {r.bucket} on {r.deployment}"
        if point is None or (point.t, point.workload, point.bucket, point.sku) != (
            position[r.quarter], r.workload, r.bucket, r.sku
        ):  # fmt: skip
            yield f"{label}: no such operating point"
        elif (r.deployment, r.evidence) != (point.deployment, point.evidence):
            yield f"{label}: the point is {point.evidence} on {point.deployment}, not {r.evidence}"
        elif differ(r.distance, point.distance) or differ(r.low, point.low):
            yield f"{label}: {point.distance:g} doublings from a measurement and a low end of {point.low:g} are its own"
        elif differ(r.racks, r.requests_per_s * point.rack_s) or differ(
            r.lpx_racks, r.requests_per_s * point.lpx_rack_s
        ):
            yield f"{label}: {r.racks:g} racks stated, {r.requests_per_s * point.rack_s:g} needed"


def served(plan: Plan, instance: Instance) -> Iterable[str]:
    """Every bucket is served to the share that is not short, and the weighted shortfall is the one stated."""
    names = instance.quarters
    given = totals(plan.tables["serving"], ["quarter", "workload", "bucket"], "requests_per_s")
    short = {(r.quarter, r.workload): r.short_share for r in plan.rows(Service)}
    late = {(r.quarter, r.workload): r.late_share for r in plan.rows(Service)}
    reachable = _reachable(instance)
    for r in instance.rows(Rate):
        if r.requests_per_s > 0:
            key = (names[r.t], r.workload, r.bucket)
            kept = 1.0 - short.get(key[:2], 0.0) + late.get(key[:2], 0.0)
            needed = kept * reachable.get((r.t, r.workload, r.bucket), 1.0) * r.requests_per_s
            if unlike(given.get(key, 0.0), needed, r.requests_per_s):
                yield f"{' '.join(key)}: {given.get(key, 0.0):g} requests/s served of {needed:g}"
    lost = total = 0.0
    priority = dict(zip(instance["workloads"]["workload"], instance["workloads"]["priority"], strict=True))
    tokens = dict[tuple[int, str, str], float]()
    if Objective(str(instance.settings["objective"])).tokens:
        sizes = instance.rows(Length)
        tokens = {(r.t, r.workload, r.bucket): r.input_tokens + r.thinking_tokens + r.visible_tokens for r in sizes}
    for r in instance.rows(Rate):
        if instance["quarters"]["planned"].iloc[r.t]:
            weight = priority[r.workload] * r.requests_per_s * r.mean_per_peak
            weight *= tokens.get((r.t, r.workload, r.bucket), 1.0)
            total += weight
            lost += weight * short.get((names[r.t], r.workload), 0.0)
    share = lost / total if total else 0.0
    if abs(share - plan.summary["shortfall"]["share"]) > 2e-6:
        yield f"the shortfall is {share:g} of the weighted demand, not {plan.summary['shortfall']['share']:g}"


def _reachable(instance: Instance) -> dict[tuple[int, str, str], float]:
    """Where requests are out of reach of their TTFT: what is served of a bucket for each share served of its workload.

    Only the longest are left out, and the others are served to one share.
    """
    away = {(r.t, r.workload, r.bucket): r.share for r in instance.rows(OutOfReach)}
    rate: dict[tuple[int, str], float] = defaultdict(float)
    lost: dict[tuple[int, str], float] = defaultdict(float)
    rates = [r for r in instance.rows(Rate) if (r.t, r.workload) in {key[:2] for key in away}]
    for r in rates:
        rate[r.t, r.workload] += r.requests_per_s
        lost[r.t, r.workload] += r.requests_per_s * away.get((r.t, r.workload, r.bucket), 0.0)
    shares = {}
    for r in rates:
        left = 1.0 - lost[r.t, r.workload] / rate[r.t, r.workload]
        kept = 1.0 - away.get((r.t, r.workload, r.bucket), 0.0)
        shares[r.t, r.workload, r.bucket] = kept / left if left > 1e-6 else 0.0
    return shares


def speeds(plan: Plan, instance: Instance) -> Iterable[str]:
    """Every point that is used reaches the speed that is promised."""
    margin = {r.point: r.tps_margin for r in instance.rows(Serve)}
    for r in plan.rows(Serving):
        if over(1.0, margin.get(r.point, 0.0)):
            yield f"{r.quarter} {r.workload} {r.bucket} on {r.deployment}: {margin.get(r.point, 0.0):.1%} of the speed"


def stated(plan: Plan, instance: Instance) -> Iterable[str]:
    """Rates, lengths and bytes are those of the case."""
    names = instance.quarters
    rate = {(r.t, r.workload, r.bucket): r.requests_per_s for r in instance.rows(Rate)}
    told = {(r.quarter, r.workload, r.bucket): r for r in plan.rows(Asked)}
    known = {(names[r.t], r.workload, r.bucket) for r in instance.rows(Length)}
    for key in told.keys() - known:
        yield f"{' '.join(map(str, key))}: in the demand table, not in the case"
    for r in instance.rows(Length):
        key = (names[r.t], r.workload, r.bucket)
        label = " ".join(map(str, key))
        if key not in told:
            yield f"{label}: not in the demand table"
            continue
        columns = ("input_tokens", "input_upper_tokens", "thinking_tokens", "visible_tokens", "kv_bytes")
        wanted = {name: getattr(r, name) for name in columns}
        yield from compare(label, told[key], {"requests_per_s": rate[r.t, r.workload, r.bucket], **wanted})


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """The stated price of requests not served in look-ahead quarters, or in all; or the income from those served."""
    by = Objective(str(instance.settings["objective"]))
    price = {(r.t, r.workload): r.usd_per_request for r in instance.rows(ShortPrice)}
    requests: dict[tuple[int, str], float] = defaultdict(float)
    for r in instance.rows(Rate):
        requests[r.t, r.workload] += r.requests_per_s * r.mean_per_peak * SECONDS_PER_QUARTER
    for row in Service.rows(tables["sla"]):
        t = instance.position[row.quarter]
        worth = requests[t, row.workload] * price.get((t, row.workload), 0.0)
        if by.earns:
            ledger.pay(t, CostLine.INCOME, "", row.workload, (row.short_share - 1.0) * worth)
        elif row.short_share > 0 and instance.span[row.quarter] is Span.LOOKAHEAD:
            ledger.pay(t, CostLine.SHORTFALL, "", row.workload, row.short_share * worth)
        elif row.short_share > 0 and not by.ranked:
            ledger.pay(t, CostLine.PLANNED_SHORTFALL, "", row.workload, row.short_share * worth)


CHECK = Check(
    limits,
    faults={
        "every choice is one that the case offers": points,
        "demand is served or counted short": served,
        "SLA: TPS/User": speeds,
        "demand and parked caches are as stated": stated,
    },
    cash=cash,
)
