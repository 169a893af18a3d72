"""Work as a plan's tables state it, and the units that it takes after a loss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from procure.instance.tables import LpxCopy, Prefill, Resilience
from procure.plan.instances import Key, Sizes, rounded_up
from procure.plan.standing import Standing
from procure.plan.tables import Fallback, Prefilled
from procure.schema import RECOMPUTE, CacheLoss, Role

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
