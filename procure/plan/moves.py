"""Caches that move between stores, from the tables of a plan: what the checks of several families start from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Age, Parked, Prefill, Rate, ReturnShare, SkuRow, Store, StoreReader, StoreUnit
from procure.plan.tables import CacheMove, MovedKept
from procure.rules.caches import held_seconds
from procure.schema import RECOMPUTE, SkuKind, Tier

Place = tuple[str, str, str, str]
"""Quarter, site, workload and store."""


@dataclass
class Taken:
    """What moves take of a store."""

    held_bytes: float = 0.0
    read_bytes_per_s: float = 0.0
    write_bytes_per_s: float = 0.0


class Moves:
    """Moves of a plan, and what they take of each store at both ends."""

    def __init__(self, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
        self.instance = instance
        self.mode = instance.settings["cache_moves"]
        self.moves = CacheMove.rows(tables["cache_moves"])
        self.away: dict[tuple[Place, int], float] = defaultdict(float)
        """Requests/s whose copies leave a store at the start of an interval."""
        self.coming: dict[tuple[Place, int], float] = defaultdict(float)
        for r in self.moves:
            self.away[(r.quarter, r.site, r.workload, r.store), r.interval] += r.requests_per_s
            self.coming[(r.quarter, r.site, r.workload, r.to_store), r.interval] += r.requests_per_s
        self.moved: dict[Place, dict[int, float]] = defaultdict(dict)
        """Requests/s whose copies came from elsewhere, by the interval through which they stay."""
        for kept in MovedKept.rows(tables["moved_retention"]):
            self.moved[kept.quarter, kept.site, kept.workload, kept.store][kept.interval] = kept.kept_requests_per_s
        names = instance.quarters
        self.alpha = {(names[r.t], r.workload, r.store): r.return_share for r in instance.rows(ReturnShare)}
        self.size = {(names[r.t], r.workload): r.kv_bytes for r in instance.rows(Parked)}
        self.ages: dict[tuple[str, str], dict[int, Age]] = defaultdict(dict)
        for age in instance.rows(Age):
            self.ages[names[age.t], age.workload][age.interval] = age
        self.tier = {r.store: r.tier for r in instance.rows(Store)}
        skus = {r.sku: r for r in instance.rows(SkuRow)}
        units = {r.store: skus[r.sku] for r in instance.rows(StoreUnit)}
        self.host = {store: unit.sku if unit.kind is SkuKind.GPU else unit.host for store, unit in units.items()}
        self.readers = {r.sku for r in instance.rows(StoreReader)}
        self.taken: dict[Place, Taken] = defaultdict(Taken)
        if self.moves or self.moved:
            self._add()

    def allowed(self, source: str, target: str) -> bool:
        """Whether copies may move: to a slower tier of the same units, or from units that read CMX to it."""
        tiers = list(Tier)
        if tiers.index(Tier(self.tier[source])) >= tiers.index(Tier(self.tier[target])):
            return False
        if self.tier[target] == Tier.CMX:
            return self.host[source] in self.readers
        return self.host[source] == self.host[target]

    def bytes_of(self, r: CacheMove) -> tuple[float, float]:
        """Bytes/s that a move reads at the store that it leaves, and writes to the one that it comes to."""
        size, alpha = self.size[r.quarter, r.workload], self.alpha[r.quarter, r.workload, r.store]
        ages = self.ages[r.quarter, r.workload]
        if self.mode == "exclusive":
            sent = r.requests_per_s * size * (1.0 - alpha * ages[r.interval - 1].mean_released)
            return sent, sent
        back = alpha * sum(ages[i].return_share for i in range(r.interval))
        least, _ = self._valid_bytes(r.quarter, r.workload, r.to_store)
        return 0.0, r.requests_per_s * (size - least * back)

    def _add(self) -> None:
        for r in self.moves:
            read, write = self.bytes_of(r)
            self.taken[r.quarter, r.site, r.workload, r.store].read_bytes_per_s += read
            target = self.taken[r.quarter, r.site, r.workload, r.to_store]
            target.write_bytes_per_s += write
            if self.mode == "write_through":
                ages = [self.ages[r.quarter, r.workload][i] for i in range(r.interval)]
                share = self._least_share(r.quarter, r.workload, r.to_store)
                seconds = sum(held_seconds(age.seconds, age.mean_released, share) for age in ages)
                target.held_bytes += r.requests_per_s * self.size[r.quarter, r.workload] * seconds
        for place, cohort in self.moved.items():
            quarter, _, workload, store = place
            share, alpha = self._least_share(quarter, workload, store), self.alpha[quarter, workload, store]
            for interval, rate in cohort.items():
                age = self.ages[quarter, workload][interval]
                seconds = held_seconds(age.seconds, age.mean_released, share)
                self.taken[place].held_bytes += rate * self.size[quarter, workload] * seconds
                if self.mode == "exclusive":
                    _, most = self._valid_bytes(quarter, workload, store)
                    self.taken[place].write_bytes_per_s += rate * alpha * age.return_share * most

    def _least_share(self, quarter: str, workload: str, target: str) -> float:
        """The least chance that a return reached a copy that lies in a store, wherever it may have come from."""
        from_where = [
            share
            for (q, w, store), share in self.alpha.items()
            if (q, w) == (quarter, workload) and (store == target or self.allowed(store, target))
        ]
        return min(from_where)

    def _valid_bytes(self, quarter: str, workload: str, store: str) -> tuple[float, float]:
        """Bytes that stay valid when a hit is parked again, at the mix of buckets: of the ways with least and most."""
        t = self.instance.position[quarter]
        found: dict[str, list[float]] = defaultdict(list)
        for way in self.instance.rows(Prefill):
            if (way.t, way.workload, way.store) == (t, workload, store) and way.store != RECOMPUTE:
                found[way.bucket].append(way.valid_bytes)
        rate = {r.bucket: r.requests_per_s for r in self.instance.rows(Rate) if (r.t, r.workload) == (t, workload)}
        total = sum(rate.values())
        return (
            sum(rate[bucket] / total * min(ways) for bucket, ways in found.items()),
            sum(rate[bucket] / total * max(ways) for bucket, ways in found.items()),
        )
