"""Work as a plan's tables state it, and the units that it takes after a loss."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from procure.instance.tables import LpxCopy, Prefill, Resilience
from procure.plan.instances import Key, Sizes, rounded_up
from procure.plan.standing import Standing
from procure.plan.tables import Fallback, Prefilled
from procure.schema import RECOMPUTE, CacheLoss, Role, SkuKind, Tier

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
    """A loss that some workloads ask to survive: their jobs after it, and units of each pool that are down.

    ``pod`` says that a pod is lost, with all that stands in it.
    """

    name: str
    jobs: list[Job]
    units: int = 0
    pod: bool = False


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
        jobs = list(jobs)
        for job in jobs:
            quarter, site, sku = job.place
            key = self.sizes.key(quarter, site, job.workload, job.deployment, job.role)
            if self.sizes.whole(key):
                decode = job.role is Role.DECODE
                named = (quarter, job.workload, job.bucket, job.deployment, job.racks)
                parts[key] += self.sizes.slowed(*named) if decode else job.racks
            else:
                needed[job.place] += job.racks / busy(sku)
        for key, racks in parts.items():
            quarter, site, llm, deployment, role = key
            one = self.sizes.one[quarter, llm, deployment, role]
            each = busy(one.sku) * one.gpus / self.s.sku[one.sku].gpus
            needed[quarter, site, one.sku] += one.units * rounded_up(racks / each)
        for (quarter, site, card, lpx), count in self.copies(jobs).items():
            needed[quarter, site, lpx] += self.per_copy[card, lpx] * count
        return needed

    def copies(self, jobs: Iterable[Job]) -> dict[tuple[str, str, str, str], int]:
        """Whole LPX copies that jobs take, by quarter, site, card and SKU."""
        racks: dict[tuple[str, str, str, str], float] = defaultdict(float)
        for job in jobs:
            if job.lpx_sku:
                racks[*job.place[:2], job.card, job.lpx_sku] += job.lpx_racks
        return {key: rounded_up(busy / (self.cap * self.per_copy[key[2:]])) for key, busy in racks.items()}

    def cmx_racks(self, quarter: str, site: str) -> float:
        """CMX racks of a site that are not reserved, one at least."""
        frames = [name for name, sku in self.s.sku.items() if sku.kind is SkuKind.CMX_RACK]
        return max(sum(self.s.own[quarter, site, n] - self.s.reserved[quarter, site, n] for n in frames), 1.0)

    def without_pod(self, count: float, quarter: str, site: str) -> float:
        """Units left of so many that are spread evenly over the pods of a site, the fullest of which is lost."""
        return count - math.ceil(count / self.pods(quarter, site) - DUST)

    def pod_share(self, job: Job) -> float:
        """Share of the hits of a job that a pod takes: caches lie in all pods, or in as many as units hold them."""
        quarter, site, _ = job.place
        own = self.s.own[job.place] - self.s.reserved[job.place]
        units = self.cmx_racks(quarter, site) if self.s.tier[job.store] == Tier.CMX else own
        return 1.0 / max(min(self.pods(quarter, site), units), 1.0)

    def pods(self, quarter: str, site: str) -> float:
        """Pods of a site over which what stands in pods is spread evenly."""
        return max(self.s.pods.get((quarter, site), 1.0), 1.0)

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
                jobs = [after_loss(job, job.workload in cold) for job in self.jobs if job.workload in found]
                yield Needs(f"n+{n}", jobs, n)
        yield from self._parts_lost()
        cold = {w for w, row in self.asks.items() if row.cache_loss is CacheLoss.COLD_START}
        heed = cold | {w for w, row in self.asks.items() if row.cache_loss is CacheLoss.STORE}
        for store in sorted({job.store for job in self.jobs if job.workload in heed} - {""}):
            jobs = [after_loss(job, job.store == store) for job in self.jobs if job.workload in heed]
            yield Needs(f"store {store}", _where(jobs, {store}, self.jobs))
        if cold:
            yield Needs("cold start", [after_loss(job, True) for job in self.jobs if job.workload in cold])
        for site, jobs in sorted(self.moved.items()):
            yield Needs(f"site {site}", jobs)

    def _parts_lost(self) -> Iterator[Needs]:
        """The loss of a pod and of a CMX rack, which take a part of the caches with them."""
        cold = {w for w, row in self.asks.items() if row.cache_loss is CacheLoss.COLD_START}
        if found := {w for w, row in self.asks.items() if row.pod_down}:
            mine = [job for job in self.jobs if job.workload in found and self.s.sku[job.place[2]].pod_slots]
            share = {job: 1.0 if job.workload in cold else self.pod_share(job) for job in mine if job.store}
            yield Needs("pod", [after_loss(job, share.get(job, 0.0)) for job in mine], pod=True)
        if any(row.cache_loss is CacheLoss.CMX_RACK for row in self.asks.values()):
            heed = {w for w, row in self.asks.items() if row.cache_loss is not CacheLoss.NONE}
            stores = {store for store, tier in self.s.tier.items() if tier == Tier.CMX}
            jobs = [
                after_loss(job, 1.0 / self.cmx_racks(*job.place[:2]) if job.store in stores else 0.0)
                for job in self.jobs if job.workload in heed
            ]  # fmt: skip
            yield Needs("cmx rack", _where(jobs, stores, self.jobs))


def after_loss(job: Job, lost: float) -> Job:
    """A job after the loss of a share of its hits."""
    return replace(job, racks=job.racks + lost * (job.full_racks - job.racks)) if job.store else job


def _where(jobs: list[Job], stores: set[str], every: list[Job]) -> list[Job]:
    """Jobs of pools that read any of the stores: the loss changes nothing elsewhere."""
    pools = {job.place for job in every if job.store in stores}
    return [job for job in jobs if job.place in pools]
