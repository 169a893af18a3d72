"""Prefill checked: ways that the case offers, at the site that decodes or sent there."""

from __future__ import annotations

from collections.abc import Iterable

from procure.instance import Instance
from procure.instance.tables import Prefill, Rate
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.tables import Prefilled, Shipped
from procure.plan.tolerance import differ, unlike
from procure.timekey import totals


def options(plan: Plan, instance: Instance) -> Iterable[str]:
    """Ways to prefill exist, and take the racks that they say."""
    position = instance.position
    ways = {(r.t, r.workload, r.bucket, r.sku, r.store): r for r in instance.rows(Prefill)}
    for r in plan.rows(Prefilled):
        option = ways.get((position[r.quarter], r.workload, r.bucket, r.sku, r.store))
        label = f"{r.quarter} {r.site} prefill of {r.workload} {r.bucket} on {r.sku} from {r.store}"
        if option is None:
            yield f"{label}: no such way"
        elif r.deployment != r.sku:
            yield f"{label}: prefill runs on {r.sku}, not on {r.deployment}"
        elif differ(r.racks, r.requests_per_s * option.rack_s):
            yield f"{label}: {r.racks:g} racks stated, {r.requests_per_s * option.rack_s:g} needed"


def where_decoded(plan: Plan, instance: Instance) -> Iterable[str]:
    """Requests prefilled at a site, with those that it receives and less those that it sends, are decoded there."""
    keys = ["quarter", "site", "workload", "bucket"]
    decoded = totals(plan.tables["serving"], keys, "requests_per_s")
    filled = totals(plan.tables["prefill"], keys, "requests_per_s")
    for r in plan.rows(Shipped):
        for site, moved in ((r.from_site, -r.requests_per_s), (r.to_site, r.requests_per_s)):
            key = (r.quarter, site, r.workload, r.bucket)
            filled[key] = filled.get(key, 0.0) + moved
    names = instance.quarters
    rate = {(names[r.t], r.workload, r.bucket): r.requests_per_s for r in instance.rows(Rate)}
    for key in sorted(set(decoded) | set(filled)):
        if unlike(decoded.get(key, 0.0), filled.get(key, 0.0), rate.get((key[0], *key[2:]), 0.0)):
            yield f"{' '.join(key)}: {filled.get(key, 0.0):g} prefilled, {decoded.get(key, 0.0):g} decoded"


CHECK = Check(
    faults={
        "every choice is one that the case offers": options,
        "prefill happens where decode does": where_decoded,
    }
)
