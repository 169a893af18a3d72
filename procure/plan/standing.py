"""What a plan's tables say stands, works and is stored: what the checks of several families start from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import PodPlaces, PowerMode, Rate, Reserved, Serve, SkuRow, StoreUnit
from procure.plan.day import PartOfDay, parts_of_day
from procure.plan.tables import Batch, Modes, Placement, Pods, Serving, Sold
from procure.quarter import SECONDS_PER_DAY
from procure.rules.places import hosts_of
from procure.schema import Origin


@dataclass
class Stored:
    """What a store holds and moves in a quarter, the bytes of all workloads together."""

    bytes: float = 0.0
    read_bytes_per_s: float = 0.0
    write_bytes_per_s: float = 0.0
    write_bytes_per_day: float = 0.0
    """At the mean rate."""


class Standing:
    """Units that stand at a site in a quarter, of a SKU, and what the tables say they do."""

    def __init__(self, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
        self.instance, self.tables = instance, tables
        self.quarters, self.position = instance.quarters, instance.position
        self.sku = {r.sku: r for r in instance.rows(SkuRow)}
        self.sites = instance["pods"]["site"].tolist()
        self.own: dict[tuple[str, str, str], float] = defaultdict(float)
        self.rented: dict[tuple[str, str, str], float] = defaultdict(float)
        """Of the units in ``own`` those that are rented."""
        for r in Batch.rows(tables["fleet"]):
            self.own[r.quarter, r.site, r.sku] += r.closing
            if r.origin is Origin.RENT:
                self.rented[r.quarter, r.site, r.sku] += r.closing
        self.leaving: dict[tuple[str, str, str], float] = defaultdict(float)
        """Units sold and not yet removed."""
        for gone in Sold.rows(tables["sales"]):
            t = self.position[gone.quarter]
            for quarter in self.quarters[t : t + self.sku[gone.sku].removal_quarters]:
                self.leaving[quarter, gone.site, gone.sku] += gone.count
        self.maxq: dict[tuple[str, str, str], float] = defaultdict(float)
        """Units that run at Max-Q."""
        self.not_done = {r.sku: 1.0 - r.throughput_factor for r in instance.rows(PowerMode)}
        """Share of a unit's work that it does not do at Max-Q, of SKUs that may run so."""
        for mode in Modes.rows(tables["power_modes"]):
            self.maxq[mode.quarter, mode.site, mode.sku] += mode.maxq
        self.reserved: dict[tuple[str, str, str], float] = defaultdict(float)
        for held in instance.rows(Reserved):
            self.reserved[self.quarters[held.t], held.site, held.sku] += held.count
        self.busy: dict[tuple[str, str, str], float] = defaultdict(float)
        """Racks that work keeps busy in the busiest part of the day."""
        for part in self.day:
            here: dict[tuple[str, str, str], float] = defaultdict(float)
            for row in part.works:
                here[row.quarter, row.site, row.sku] += row.racks
            for key, racks in here.items():
                self.busy[key] = max(self.busy[key], racks)
        self.pods = {(r.quarter, r.site): r.pods for r in Pods.rows(tables["pods"])}
        self.places = {r.site: r for r in instance.rows(PodPlaces)}

    def there(self, quarter: str, site: str, sku: str) -> float:
        """Units that take a place: those that stand, and those sold that are not yet removed."""
        return self.own[quarter, site, sku] + self.leaving[quarter, site, sku]

    def serving(self, quarter: str, site: str, sku: str) -> float:
        """Units that are up, no spares and not held for other purposes, whatever their hosts are used for."""
        return float(self.sku[sku].present_share * (self.own[quarter, site, sku] - self.reserved[quarter, site, sku]))

    def slowed(self, quarter: str, site: str, sku: str) -> float:
        """Units whose work is lost where some of a SKU run at Max-Q."""
        return self.not_done.get(sku, 0.0) * self.maxq[quarter, site, sku]

    def at_work(self, quarter: str, site: str, sku: str) -> float:
        """Units of a pool that are not held for other purposes, less those whose work Max-Q loses."""
        key = (quarter, site, sku)
        return self.own[key] - self.reserved[key] - self.slowed(*key)

    def hosts(self, sku: str) -> dict[str, float]:
        """SKUs that a part stands in, with places per unit; none for what stands alone."""
        return hosts_of(sku, self.sku)

    @cached_property
    def tier(self) -> dict[str, str]:
        """Tier of each store."""
        return dict(zip(self.instance["stores"]["store"], self.instance["stores"]["tier"], strict=True))

    @cached_property
    def points(self) -> dict[str, Serve]:
        """Operating points of the instance by their identifier."""
        return {r.point: r for r in self.instance.rows(Serve)}

    @cached_property
    def day(self) -> list[PartOfDay]:
        """Service in each part of the day, or at the one peak."""
        return parts_of_day(self.instance, self.tables)

    @cached_property
    def decoding(self) -> list[Serving]:
        """Rows of the plan's ``serving``."""
        return Serving.rows(self.tables["serving"])

    @cached_property
    def units(self) -> dict[str, list[StoreUnit]]:
        """Rows of ``store_units`` by store."""
        units: dict[str, list[StoreUnit]] = defaultdict(list)
        for r in self.instance.rows(StoreUnit):
            units[r.store].append(r)
        return units

    @cached_property
    def stored(self) -> dict[tuple[str, str, str], Stored]:
        """What each store that is used holds and moves, by (quarter, site, store)."""
        mean: dict[tuple[int, str], float] = {}
        for r in self.instance.rows(Rate):
            mean[r.t, r.workload] = max(mean.get((r.t, r.workload), 0.0), r.mean_per_peak)
        found: dict[tuple[str, str, str], Stored] = defaultdict(Stored)
        for placed in Placement.rows(self.tables["kv_placement"]):
            use = found[placed.quarter, placed.site, placed.store]
            use.bytes += placed.parked_bytes
            use.read_bytes_per_s += placed.read_bytes_per_s
            use.write_bytes_per_s += placed.write_bytes_per_s
            share = mean[self.position[placed.quarter], placed.workload]
            use.write_bytes_per_day += placed.write_bytes_per_s * share * SECONDS_PER_DAY
        return dict(sorted(found.items()))

    def brought(self, key: tuple[str, str, str], attribute: str) -> float:
        """What the units that serve bring to a (quarter, site, store) of an attribute of ``store_units``."""
        quarter, site, store = key
        own = [(self.serving(quarter, site, unit.sku), unit) for unit in self.units[store]]
        return float(sum(count * getattr(unit, attribute) for count, unit in own if count))
