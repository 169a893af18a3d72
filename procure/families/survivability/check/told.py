"""What every loss takes is as the table ``survival`` states it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from procure.families.survivability.check.jobs import After, Job, Place, after_loss
from procure.instance import Instance
from procure.instance.tables import PoolRole, Resilience
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Copies, Survival
from procure.plan.tolerance import differ
from procure.rules.failures import likely_down
from procure.schema import CacheLoss, Lost, Role, SkuKind, Tier


class Row(NamedTuple):
    """What a row of ``survival`` must say."""

    racks_needed: float
    racks_there: float
    workloads: set[str]
    likely_down: int


def _found(after: After) -> dict[tuple[str, str, Lost, str, str], Row]:
    """Every row of ``survival`` by quarter, site, kind of loss, what is lost, and SKU."""
    s = after.s
    pools: dict[Place, list[Job]] = defaultdict(list)
    beside: dict[Place, list[Job]] = defaultdict(list)
    for job in after.jobs:
        pools[job.place].append(job)
        if job.lpx_sku:
            beside[job.place[0], job.place[1], job.lpx_sku].append(job)
    found: dict[tuple[str, str, Lost, str, str], Row] = {}
    for place, jobs in (*pools.items(), *beside.items()):
        quarter, site, sku = place
        there = s.at_work(*place)
        needed = after.units(jobs, after.capped)[place]
        down = likely_down(int(s.own[place] - s.reserved[place]), s.sku[sku].availability)
        names = {j.workload for j in jobs}
        found[quarter, site, Lost.RACK, sku, sku] = Row(needed, there - 1, names, down)
        if any(w in after.asks and after.asks[w].units_down == 2 for w in names):
            found[quarter, site, Lost.TWO_RACKS, sku, sku] = Row(needed, there - 2, names, down)
        if s.sku[sku].pod_slots or s.sku[sku].kind is SkuKind.LPX:
            found[quarter, site, Lost.POD, "pod", sku] = Row(*_pod_lost(after, place, jobs), names, 0)
    for place, jobs in pools.items():
        quarter, site, sku = place
        for kind, lost, shares in _cache_losses(after, place, jobs):
            left = [after_loss(j, shares.get(j.store, 0.0)) for j in jobs]
            concerned = {j.workload for j in jobs if j.store in shares}
            needed = after.units(left, after.usable)[place]
            found[quarter, site, kind, lost, sku] = Row(needed, s.at_work(*place), concerned, 0)
        if len(s.sites) > 1:
            every = [j for other in s.sites for j in pools.get((quarter, other, sku), [])]
            found[quarter, site, Lost.SITE, site, sku] = _site_lost(after, place, every, {j.workload for j in jobs})
    return found


def _pod_lost(after: After, place: Place, jobs: list[Job]) -> tuple[float, float]:
    """Units that jobs take after the loss of a pod, and those outside it: of LPX whole copies of their cards."""
    s, (quarter, site, sku) = after.s, place
    if s.sku[sku].kind is SkuKind.LPX:
        cards = {j.card for j in jobs if j.lpx_sku == sku}
        copies = [r for r in Copies.rows(s.tables["lpx_copies"]) if (r.quarter, r.site, r.sku) == place]
        outside = sum(after.per_copy[r.card, sku] * after.without_pod(r.copies, quarter, site)
                      for r in copies if r.card in cards)  # fmt: skip
        return after.units(jobs, after.usable)[place], outside
    own = s.own[place] - s.reserved[place]
    left = [after_loss(j, after.pod_share(j)) if j.store else j for j in jobs]
    gone = own - after.without_pod(own, quarter, site)
    return after.units(left, after.usable)[place], s.at_work(*place) - gone


def _site_lost(after: After, place: Place, every: list[Job], concerned: set[str]) -> Row:
    """The row of a site that is lost: all jobs of a SKU at the others, or its tightest role where pools have roles."""
    s, (quarter, site, sku) = after.s, place
    role = {r.site: r.role for r in s.instance.rows(PoolRole) if r.sku == sku}
    tightest = Row(0.0, math.inf, concerned, 0)
    for kinds in ((Role.DECODE, Role.PREFILL), *(((kind,) for kind in (Role.DECODE, Role.PREFILL)) if role else ())):
        jobs = [job for job in every if job.role in kinds]
        needed = sum(units for at, units in after.units(jobs, after.usable).items() if at[2] == sku)
        able = [n for n in s.sites if n != site and (len(kinds) > 1 or n not in role or role[n] in kinds)]
        there = sum(s.at_work(quarter, n, sku) for n in able)
        first = math.isinf(tightest.racks_there)
        if first or (needed > 0 and max(there, 0.0) * tightest.racks_needed < max(tightest.racks_there, 0.0) * needed):
            tightest = Row(needed, there, concerned, 0)
    return tightest


def _cache_losses(after: After, place: Place, jobs: list[Job]) -> Iterator[tuple[Lost, str, dict[str, float]]]:
    """Losses of caches that a pool feels: kind, name, share of the hits of each store that is gone."""
    s = after.s
    stores = {job.store for job in jobs} - {""}
    for store in stores:
        yield Lost.STORE, store, {store: 1.0}
    if len(stores) > 1:
        yield Lost.CACHES, "caches", dict.fromkeys(stores, 1.0)
    cmx = {store for store in stores if s.tier[store] == Tier.CMX}
    if cmx:
        yield Lost.CMX_RACK, "cmx_rack", dict.fromkeys(cmx, 1.0 / after.cmx_racks(*place[:2]))


def stated(plan: Plan, instance: Instance) -> Iterable[str]:
    """What each loss takes, and what is left, of every pool."""
    after = After(Standing(instance, plan.tables))
    wanted = _found(after)
    told = {(r.quarter, r.site, r.loss, r.lost, r.sku): r for r in plan.rows(Survival)}
    for key in sorted(wanted.keys() | told.keys()):
        row, right = told.get(key), wanted.get(key)
        label = f"{key[0]} {key[1]}, loss of {key[3]}, {key[4]}"
        if row is None or right is None:
            yield f"{label}: {'not stated' if row is None else 'no such loss'}"
            continue
        short = max(0.0, 1.0 - max(right.racks_there, 0.0) / right.racks_needed)
        numbers = {"racks_needed": right.racks_needed, "racks_there": right.racks_there, "short_share": short}
        for name, value in numbers.items():
            if differ(float(getattr(row, name)), value):
                yield f"{label}: {name} is {value:g}, not {getattr(row, name):g}"
        if row.likely_down != right.likely_down:
            yield f"{label}: {right.likely_down} units are likely down, not {row.likely_down}"
        asking = {w for w in right.workloads if w in after.asks and _survives(after.asks[w], key[2])}
        for name, names in (("workloads", right.workloads), ("asked", asking)):
            if getattr(row, name) != ", ".join(sorted(names)):
                yield f"{label}: {name} are {', '.join(sorted(names))}, not {getattr(row, name)}"


def _survives(row: Resilience, kind: Lost) -> bool:
    match kind:
        case Lost.RACK:
            return row.units_down >= 1
        case Lost.TWO_RACKS:
            return row.units_down == 2
        case Lost.POD:
            return row.pod_down == 1
        case Lost.SITE:
            return row.site_down == 1
    kinds = {Lost.CACHES: 1, Lost.STORE: 2, Lost.CMX_RACK: 3}
    return row.cache_loss in (CacheLoss.COLD_START, CacheLoss.STORE, CacheLoss.CMX_RACK)[: kinds[kind]]
