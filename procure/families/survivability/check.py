"""Survival checked: what is asked holds after each loss, and what every loss takes is as stated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from procure.instance import Instance
from procure.instance.tables import LpxCopy, PoolRole, Prefill, Resilience, Serve
from procure.plan.instances import Key, Sizes, rounded_up
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Fallback, Prefilled, Survival
from procure.plan.tolerance import differ, unlike
from procure.rules.failures import likely_down
from procure.schema import RECOMPUTE, CacheLoss, Lost, Role, SkuKind, Tier

DUST = 1e-5
"""Units that are the solver's tolerance, not work."""

Place = tuple[str, str, str]
"""Quarter, site and SKU."""


@dataclass(frozen=True)
class Job:
    """Work that a plan's tables state: unit-seconds of one bucket on one pool, from a store where one is read.

    ``full_racks`` are those if everything were computed; for decode the same.
    """

    place: Place
    workload: str
    bucket: str
    deployment: str
    role: Role
    racks: float
    full_racks: float
    store: str = ""
    card: str = ""
    lpx_sku: str = ""
    lpx_racks: float = 0.0


class Needs(NamedTuple):
    """A loss that some workloads ask to survive: their jobs after it, units down, and where it may happen."""

    name: str
    jobs: list[Job]
    units: int


class After:
    """The jobs of a plan, and the units that they take after a loss."""

    def __init__(self, s: Standing) -> None:
        self.s, self.sizes = s, Sizes(s.instance)
        self.cap = s.instance.settings["utilisation_cap"]
        self.per_copy = {(r.card, r.sku): r.racks_per_copy for r in s.instance.rows(LpxCopy)}
        self.asks = {r.workload: r for r in s.instance.rows(Resilience)}

    @cached_property
    def full(self) -> dict[tuple[int, str, str, str], float]:
        """Unit-seconds of a full prefill."""
        return {
            (r.t, r.workload, r.bucket, r.sku): r.rack_s for r in self.s.instance.rows(Prefill) if r.store == RECOMPUTE
        }

    @cached_property
    def jobs(self) -> list[Job]:
        """What the tables ``serving`` and ``prefill`` state."""
        made = []
        for r in self.s.decoding:
            point = self.s.points[r.point]
            place = (r.quarter, r.site, r.sku)
            made.append(
                Job(place, r.workload, r.bucket, point.deployment, Role.DECODE, r.racks, r.racks, "", point.card,
                    point.lpx_sku, r.lpx_racks)
            )  # fmt: skip
        for fill in Prefilled.rows(self.s.tables["prefill"]):
            place = (fill.quarter, fill.site, fill.sku)
            store = "" if fill.store == RECOMPUTE else fill.store
            whole = fill.requests_per_s * self.full[self.s.position[fill.quarter], fill.workload, fill.bucket, fill.sku]
            full = max(whole, fill.racks) if store else fill.racks
            made.append(Job(place, fill.workload, fill.bucket, fill.sku, Role.PREFILL, fill.racks, full, store))
        return made

    @cached_property
    def moved(self) -> dict[str, list[Job]]:
        """What the table ``fallback`` states, by the site that is lost."""
        made: dict[str, list[Job]] = defaultdict(list)
        for r in Fallback.rows(self.s.tables["fallback"]):
            point = self.s.points.get(r.way)
            card, lpx = (point.card, point.lpx_sku) if point is not None and r.role is Role.DECODE else ("", "")
            place = (r.quarter, r.site, r.sku)
            made[r.lost_site].append(
                Job(place, r.workload, r.bucket, r.deployment, r.role, r.racks, r.racks, "", card, lpx, r.lpx_racks)
            )
        return made

    def units(self, jobs: Iterable[Job], busy: Callable[[str], float]) -> dict[Place, float]:
        """Units that jobs take by pool, a share of each ``busy`` by SKU: whole instances and copies, the rest fluid."""
        needed: dict[Place, float] = defaultdict(float)
        parts: dict[Key, float] = defaultdict(float)
        copies: dict[tuple[str, str, str, str], float] = defaultdict(float)
        for job in jobs:
            quarter, site, sku = job.place
            key = self.sizes.key(quarter, site, job.workload, job.deployment, job.role)
            if self.sizes.whole(key):
                decode = job.role is Role.DECODE
                named = (quarter, job.workload, job.bucket, job.deployment, job.racks)
                parts[key] += self.sizes.slowed(*named) if decode else job.racks
            else:
                needed[job.place] += job.racks / busy(sku)
            if job.lpx_sku:
                copies[quarter, site, job.card, job.lpx_sku] += job.lpx_racks
        for key, racks in parts.items():
            quarter, site, llm, deployment, role = key
            one = self.sizes.one[quarter, llm, deployment, role]
            each = busy(one.sku) * one.gpus / self.s.sku[one.sku].gpus
            needed[quarter, site, one.sku] += one.units * rounded_up(racks / each)
        for (quarter, site, card, lpx), racks in copies.items():
            each = self.per_copy[card, lpx]
            needed[quarter, site, lpx] += each * rounded_up(racks / (self.cap * each))
        return needed

    def capped(self, sku: str) -> float:
        """Busy share of the units left where those that are down are counted one by one."""
        return float(self.cap)

    def usable(self, sku: str) -> float:
        """Busy share of the units that stand."""
        return self.s.sku[sku].usable_share

    def asked(self) -> Iterator[Needs]:
        """Every loss that some workload asks to survive, with the work of these workloads after it."""
        for n in (1, 2):
            if found := {w: row for w, row in self.asks.items() if row.units_down >= n}:
                cold = {w for w, row in found.items() if row.cache_loss is CacheLoss.COLD_START}
                jobs = [_cold(job, job.workload in cold) for job in self.jobs if job.workload in found]
                yield Needs(f"n+{n}", jobs, n)
        heed = {w for w, row in self.asks.items() if row.cache_loss is not CacheLoss.NONE}
        cold = {w for w, row in self.asks.items() if row.cache_loss is CacheLoss.COLD_START}
        for store in sorted({job.store for job in self.jobs if job.workload in heed} - {""}):
            jobs = [_cold(job, job.store == store) for job in self.jobs if job.workload in heed]
            yield Needs(f"store {store}", _where(jobs, store, self.jobs), 0)
        if cold:
            yield Needs("cold start", [_cold(job, True) for job in self.jobs if job.workload in cold], 0)
        for site, jobs in sorted(self.moved.items()):
            yield Needs(f"site {site}", jobs, 0)


def _cold(job: Job, lost: bool) -> Job:
    """A job after a loss of its cache."""
    return replace(job, racks=job.full_racks) if lost and job.store else job


def _where(jobs: list[Job], store: str, every: list[Job]) -> list[Job]:
    """Jobs of pools that read a store: the loss changes nothing elsewhere."""
    pools = {job.place for job in every if job.store == store}
    return [job for job in jobs if job.place in pools]


def limits(s: Standing, rows: Rows) -> None:
    """Units that workloads which survive a loss take after it, of those that are left."""
    after = After(s)
    for name, jobs, down in after.asked():
        busy = after.capped if down else after.usable
        for place, needed in sorted(after.units(jobs, busy).items()):
            quarter, site, sku = place
            lpx = s.sku[sku].kind is SkuKind.LPX
            if needed > DUST:
                share = s.sku[sku].present_share if lpx and not down else 1.0
                rows.add("units left after a loss", quarter, site, f"{sku}, {name}", needed,
                         share * s.at_work(*place) - down, "racks")  # fmt: skip


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
        found[quarter, site, Lost.RACK, sku, sku] = Row(needed, there - 1, {j.workload for j in jobs}, down)
    for place, jobs in pools.items():
        quarter, site, sku = place
        for kind, lost, shares in _cache_losses(after, place, jobs):
            left = [
                replace(j, racks=j.racks + shares.get(j.store, 0.0) * (j.full_racks - j.racks)) if j.store else j
                for j in jobs
            ]
            concerned = {j.workload for j in jobs if j.store in shares}
            needed = after.units(left, after.usable)[place]
            found[quarter, site, kind, lost, sku] = Row(needed, s.at_work(*place), concerned, 0)
        if len(s.sites) > 1:
            every = [j for other in s.sites for j in pools.get((quarter, other, sku), [])]
            found[quarter, site, Lost.SITE, site, sku] = _site_lost(after, place, every, {j.workload for j in jobs})
    return found


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
    racks = sum(s.at_work(*place[:2], n) for n, sku in s.sku.items() if sku.kind is SkuKind.CMX_RACK)
    if cmx and racks > 1:
        yield Lost.CMX_RACK, "cmx_rack", dict.fromkeys(cmx, 1.0 / racks)


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
        case Lost.SITE:
            return row.site_down == 1
        case Lost.CACHES:
            return row.cache_loss is CacheLoss.COLD_START
    return row.cache_loss is not CacheLoss.NONE


CHECK = Check(
    limits,
    {"workloads are served without a lost site": elsewhere, "losses take what is stated": stated},
)
