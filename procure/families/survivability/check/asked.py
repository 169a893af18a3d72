"""What is asked holds after each loss: limits, and service without a site."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from procure.families.survivability.check.jobs import DUST, After, Job
from procure.instance import Instance
from procure.instance.tables import PoolRole, Prefill, Resilience, Serve
from procure.plan.limits import Rows
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Copies, Fallback
from procure.plan.tolerance import differ, unlike
from procure.schema import RECOMPUTE, Role, SkuKind


def limits(s: Standing, rows: Rows) -> None:
    """Units that workloads which survive a loss take after it, of those that are left."""
    after = After(s)
    for name, jobs, down, pod in after.asked():
        busy = after.capped if down else after.usable
        for place, needed in sorted(after.units(jobs, busy).items()):
            quarter, site, sku = place
            lpx = s.sku[sku].kind is SkuKind.LPX
            if needed > DUST and not (lpx and pod):
                own = s.own[place] - s.reserved[place]
                gone = own - after.without_pod(own, quarter, site) if pod else down
                share = s.sku[sku].present_share if lpx and not down else 1.0
                rows.add("units left after a loss", quarter, site, f"{sku}, {name}", needed,
                         share * s.at_work(*place) - gone, "racks")  # fmt: skip
        if pod:
            _copies_outside(after, jobs, rows)


def _copies_outside(after: After, jobs: list[Job], rows: Rows) -> None:
    """LPX copies that workloads which survive the loss of a pod take, of those outside the fullest one."""
    there = {(r.quarter, r.site, r.card, r.sku): r.copies for r in Copies.rows(after.s.tables["lpx_copies"])}
    for key, needed in sorted(after.copies(jobs).items()):
        quarter, site, card, lpx = key
        left = after.without_pod(there.get(key, 0), quarter, site)
        rows.add("LPX copies left after a loss", quarter, site, f"{card} on {lpx}, pod", needed, left, "copies")


def elsewhere(plan: Plan, instance: Instance) -> Iterable[str]:
    """What is served without a site is all that is served of workloads that survive its loss, in ways that exist."""
    names = instance.quarters
    points = {r.point: r for r in instance.rows(Serve)}
    ways = {r.option: r for r in instance.rows(Prefill)}
    only = {(r.site, r.sku): r.role for r in instance.rows(PoolRole)}
    told: dict[tuple[str, str, str, str, Role], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for r in plan.rows(Fallback):
        label = f"{r.quarter} without {r.lost_site}, {r.role} of {r.workload} {r.bucket} at {r.site}"
        way: Serve | Prefill | None = points.get(r.way) if r.role is Role.DECODE else ways.get(r.way)
        told[r.quarter, r.lost_site, r.workload, r.bucket, r.role][r.site] += r.requests_per_s
        if way is None or (names[way.t], way.workload, way.bucket, way.sku) != (r.quarter, r.workload, r.bucket, r.sku):
            yield f"{label}: no such way"
            continue
        if only.get((r.site, r.sku), r.role) is not r.role:
            yield f"{label}: {r.sku} there may only {only[r.site, r.sku]}"
        cold = isinstance(way, Serve) or way.store == RECOMPUTE
        deployment = way.deployment if isinstance(way, Serve) else way.sku
        lpx_s = way.lpx_rack_s if isinstance(way, Serve) else 0.0
        if r.site == r.lost_site or not cold or r.deployment != deployment:
            yield f"{label}: not at a site that is left, from no cache, on {deployment}"
        if differ(r.racks, r.requests_per_s * way.rack_s) or differ(r.lpx_racks, r.requests_per_s * lpx_s):
            yield f"{label}: {r.racks:g} and {r.lpx_racks:g} racks stated"
    yield from _all_served(plan, instance, told)


def _all_served(
    plan: Plan, instance: Instance, told: Mapping[tuple[str, str, str, str, Role], Mapping[str, float]]
) -> Iterable[str]:
    """Of every workload that survives the loss of a site, what the plan serves is served without each site."""
    asks = {r.workload for r in instance.rows(Resilience) if r.site_down}
    after = After(Standing(instance, plan.tables))
    rate: dict[tuple[str, str, str], float] = defaultdict(float)
    for r in after.s.decoding:
        if r.workload in asks:
            rate[r.quarter, r.workload, r.bucket] += r.requests_per_s
    wanted = {(q, site, w, b) for q, w, b in rate for site in after.s.sites}
    for key in sorted(wanted | {key[:4] for key in told}):
        quarter, lost, workload, bucket = key
        decoded, filled = (dict(told.get((*key, role), {})) for role in (Role.DECODE, Role.PREFILL))
        needed = rate.get((quarter, workload, bucket), 0.0)
        label = f"{quarter} without {lost}, {workload} {bucket}"
        if unlike(sum(decoded.values()), needed, needed):
            yield f"{label}: {sum(decoded.values()):g} requests/s served of {needed:g}"
        for site in sorted(set(decoded) | set(filled)):
            if unlike(decoded.get(site, 0.0), filled.get(site, 0.0), needed):
                yield f"{label} at {site}: {filled.get(site, 0.0):g} prefilled, {decoded.get(site, 0.0):g} decoded"
