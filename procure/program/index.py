"""Index sets and groupings, computed once so that no rule filters a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import pandas as pd

from procure.instance import Instance
from procure.instance.placeable import Placeable, rent_windows
from procure.instance.tables import (
    Age,
    Expansion,
    Fixed,
    LpxCopy,
    PodPlaces,
    RentOffer,
    Reservation,
    SkuRow,
    StoreUnit,
    Task,
    Workload,
)
from procure.rules.places import hosts_of
from procure.schema import RECOMPUTE, Row, cells_of
from procure.timekey import TimeKey, time_keys

T = TypeVar("T")

ALL = 1.0 - 1e-6
"""A share above this is everything."""


class Point(NamedTuple):
    """One row of the instance's ``serve`` table, with the rate of its bucket."""

    point: str
    at: TimeKey
    workload: str
    bucket: str
    card: str
    deployment: str
    sku: str
    rack_s: float
    lpx_sku: str
    lpx_rack_s: float
    free_hbm_bytes: float
    rate: float
    mean_per_peak: float


class Option(NamedTuple):
    """One row of the instance's ``prefill`` table, with the rate of its bucket."""

    option: str
    at: TimeKey
    workload: str
    bucket: str
    sku: str
    store: str
    rack_s: float
    ttft_s: float
    late_share: float
    read_bytes: float
    valid_bytes: float
    rate: float
    mean_per_peak: float


class Step(NamedTuple):
    """An order of a step of a site in a quarter; ``reservation`` by which it was kept, empty while it is on offer."""

    site: str
    expansion: str
    reservation: str
    t: int

    def decision(self, m: Any) -> Any:
        """How many are ordered so."""
        return m.exercise[self.reservation, self.t] if self.reservation else m.expand[self.site, self.expansion, self.t]


def served_by(m: Any, what: Point | Option, site: str) -> Any:
    """The decision on a way to serve at a site: the share of its bucket's rate that is decoded, or prefilled, so."""
    return m.serve[what.point, site] if isinstance(what, Point) else m.prefill[what.option, site]


class Pair(NamedTuple):
    """One row of the instance's ``ships`` table, with the rate of its bucket."""

    option: str
    from_site: str
    to_site: str
    at: TimeKey
    workload: str
    bucket: str
    sku: str
    bytes: float
    transfer_s: float
    late_share: float
    rate: float
    mean_per_peak: float

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of its decision: the way to prefill, where, and where it is decoded."""
        return self.option, self.from_site, self.to_site


def group(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    """Lists of items by key, in order."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def lookup(table: pd.DataFrame | Mapping[str, list[Any]], keys: Sequence[str], value: str) -> dict[Any, Any]:
    """Dictionary from one key column of a table, or a tuple of several, to a value column."""
    cells = cells_of(table) if isinstance(table, pd.DataFrame) else table
    index = cells[keys[0]] if len(keys) == 1 else zip(*(cells[key] for key in keys), strict=True)
    return dict(zip(index, cells[value], strict=True))


R = TypeVar("R", bound=Row)


class Index:
    """What is indexed by what. Rows whose rate is zero have no variables.

    ``stock``: (site, sku, t) where units may stand. ``orders``: (site, sku, t) where an order may be placed.
    ``serve`` and ``prefill``: (point or option, site) whose SKU may stand at the site in that quarter and may do so;
    ``ships``: ways to prefill at one site what another one decodes. What only one family needs is made by that family:
    :meth:`of`.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        quarters = instance["quarters"]
        self.t = quarters["t"].tolist()
        self.planned = [t for t, planned in zip(self.t, quarters["planned"], strict=True) if planned]
        self.blocks = instance.blocks
        self.discount = dict(zip(self.t, quarters["discount_factor"], strict=True))
        self.horizon = len(self.t)
        last = self.discount[self.t[-1]]
        self.end_discount = last * (last / self.discount[self.t[-2]] if len(self.t) > 1 else 1.0)
        """Present value of one USD at the end of the horizon, where residual values stand."""
        self._made: dict[Any, Any] = {}
        self.sku = {row.sku: row for row in instance.rows(SkuRow)}
        self.sites = instance["pods"]["site"].tolist()
        self.allowed = set(zip(instance["resource_use"]["site"], instance["resource_use"]["sku"], strict=True))
        self.placeable = Placeable.of(instance.tables)
        self._supply()
        self._demand()
        self._service()
        self._caches()

    def timed_rows(self, of: type[R]) -> list[tuple[TimeKey, R]]:
        """The rows of a table of the instance, each with its time key."""
        table = self.instance[of.schema.name]
        return list(zip(time_keys(table), of.rows(table), strict=True))

    def timed(self, name: str) -> dict[str, list[Any]]:
        """The cells of a table of the instance by column, with the time key of each row as a column ``at``."""
        table = self.instance[name]
        return {**cells_of(table), "at": time_keys(table)}

    def _supply(self) -> None:
        instance = self.instance
        self.orders = [
            (site, name, t)
            for site in self.sites
            for name, sku in self.sku.items()
            if (site, name) in self.allowed
            for t in range(int(sku.first_order_t), int(sku.last_order_t) + 1)
        ]
        self.ordered_at: dict[tuple[str, str], list[int]] = defaultdict(list)
        for site, name, t in self.orders:
            self.ordered_at[site, name].append(t)
        self.fixed = {row.group: row for row in instance.rows(Fixed)}
        self._rent()
        self.in_stock = self.placeable.units
        self.stock = sorted(self.in_stock)
        self.price = lookup(instance["prices"], ["sku", "t"], "price_usd")
        self.supply = lookup(instance["supply"], ["sku", "t"], "most_units")
        """Units that can be ordered of a SKU in a quarter of which the case says it."""
        self.support = lookup(instance["prices"], ["sku", "t"], "support_usd_per_quarter")
        self.reserved = lookup(instance["reserved"], ["t", "site", "sku"], "count")
        self.places = {name: hosts for name in self.sku if (hosts := hosts_of(name, self.sku))}
        self.pods_at = {row.site: row for row in instance.rows(PodPlaces)}
        self.expansion = {(row.site, row.expansion): row for row in instance.rows(Expansion)}
        self.reservation = {row.reservation: row for row in instance.rows(Reservation)}
        self.steps = [
            Step(site, name, "", t)
            for (site, name), row in self.expansion.items()
            for t in self.t
            if t <= row.last_order_t
        ] + [
            Step(row.site, row.expansion, name, t)
            for name, row in self.reservation.items()
            if row.counted
            for t in range(row.first_t, row.last_t + 1)
        ]

    def _rent(self) -> None:
        """``rentable``: (offer, t) in which units of an offer may stand; ``rented_at``: those of (site, SKU, t)."""
        self.offer = {row.offer: row for row in self.instance.rows(RentOffer)}
        self.rentable = [(offer.offer, t) for offer, t in rent_windows(self.instance.tables)]
        self.rented_at = group(self.rentable, lambda key: (self.offer[key[0]].site, self.offer[key[0]].sku, key[1]))

    def _demand(self) -> None:
        instance = self.instance
        rates = self.timed("rates")
        self.rate = lookup(rates, ["at", "workload", "bucket"], "requests_per_s")
        self.mean_per_peak = lookup(rates, ["at", "workload", "bucket"], "mean_per_peak")
        self.workload = {row.workload: row for row in instance.rows(Workload)}
        self.task = {(at, task.workload): task for at, task in self.timed_rows(Task)}
        self.buckets = [key for key, rate in self.rate.items() if rate > 0]
        self.loads = sorted({(at, w) for at, w, _ in self.buckets})
        self.load_rate: dict[tuple[TimeKey, str], float] = defaultdict(float)
        for at, w, b in self.buckets:
            self.load_rate[at, w] += self.rate[at, w, b]
        self._out_of_reach()

    def _asked(self, name: str, kind: Any) -> list[Any]:
        """Rows of a table for buckets that are asked for, each with the rate of its bucket."""
        named = kind._fields[:-2]
        made = []
        table = self.timed(name)
        for values in zip(*(table[field] for field in named), strict=True):
            fields = dict(zip(named, values, strict=True))
            key = (fields["at"], fields["workload"], fields["bucket"])
            if self.rate.get(key, 0.0) > 0:
                made.append(kind(**fields, rate=self.rate[key], mean_per_peak=self.mean_per_peak[key]))
        return made

    def _service(self) -> None:
        instance = self.instance
        points: list[Point] = self._asked("serve", Point)
        options: list[Option] = self._asked("prefill", Option)
        self.copies = {(row.card, row.sku): row for row in instance.rows(LpxCopy)}
        self.serve = [
            (p, site)
            for p in points
            for site in self.sites
            if self.placeable.decodes(site, p.sku, p.at.t)
            and (not p.lpx_sku or ((site, p.lpx_sku, p.at.t) in self.in_stock and (p.card, p.lpx_sku) in self.copies))
        ]
        self.store_units = group(instance.rows(StoreUnit), lambda row: row.store)
        self.prefill = [
            (o, site)
            for o in options
            for site in self.sites
            if self.placeable.prefills(site, o.sku, o.at.t)
            and (o.store == RECOMPUTE or any((site, u.sku, o.at.t) in self.in_stock for u in self.store_units[o.store]))
        ]
        ways = {(o.option, site) for o, site in self.prefill}
        decoded = {(p.at, p.workload, p.bucket, site) for p, site in self.serve}
        pairs: list[Pair] = self._asked("ships", Pair)
        self.ships = [
            pair
            for pair in pairs
            if (pair.option, pair.from_site) in ways and (pair.at, pair.workload, pair.bucket, pair.to_site) in decoded
        ]
        self.serve_by_pool = group(self.serve, lambda x: (x[1], x[0].sku, x[0].at))
        self.prefill_by_pool = group(self.prefill, lambda x: (x[1], x[0].sku, x[0].at))

    def _caches(self) -> None:
        instance = self.instance
        self.tier = lookup(instance["stores"], ["store"], "tier")
        self.return_share = lookup(self.timed("return_shares"), ["at", "workload", "store"], "return_share")
        self.reader_bytes_per_s = lookup(instance["store_readers"], ["sku"], "read_bytes_per_s")
        self.ages: dict[tuple[TimeKey, str], list[Age]] = defaultdict(list)
        for at, age in self.timed_rows(Age):
            self.ages[at, age.workload].append(age)
        self.kept = [
            (at, site, w, age.interval, store)
            for at, site, w, store in sorted({
                (o.at, site, o.workload, o.store) for o, site in self.prefill if o.store != RECOMPUTE
            })
            for age in self.ages[at, w]
        ]  # fmt: skip
        self.kv_bytes = lookup(self.timed("parked"), ["at", "workload"], "kv_bytes")
        self.reads = group((x for x in self.prefill if x[0].store != RECOMPUTE), lambda x: (x[0].at, x[1], x[0].store))
        self.kept_by_store = group(self.kept, lambda k: (k[0], k[1], k[4]))

    def _out_of_reach(self) -> None:
        """Requests that no hardware brings in time beyond what may be late: shares of their bucket and workload."""
        self.out_of_reach = dict.fromkeys(self.buckets, 0.0)
        self.beyond = dict.fromkeys(self.loads, 0.0)
        for key, share in lookup(self.timed("out_of_reach"), ["at", "workload", "bucket"], "share").items():
            self.out_of_reach[key] = share
            self.beyond[key[:2]] += share * self.rate[key] / self.load_rate[key[:2]]
        self.reachable = {
            (at, w, b): (1.0 - self.out_of_reach[at, w, b]) / (1.0 - self.beyond[at, w])
            if self.beyond[at, w] < ALL
            else 0.0
            for at, w, b in self.buckets
        }
        """Share of a bucket's rate that is served for each share of the workload's rate that is."""

    def delivered(self, site: str, sku: str, t: int) -> list[tuple[str, str, int]]:
        """Orders that have been delivered by quarter ``t``."""
        lead = int(self.sku[sku].lead_quarters)
        return [(site, sku, o) for o in self.ordered_at.get((site, sku), []) if o + lead <= t]

    def most_ordered(self, sku: str, t: int) -> float:
        """Units that the supplier of a SKU sells in a quarter, over all sites; infinite where nothing limits them."""
        return float(self.supply.get((sku, t), self.sku[sku].supply_per_quarter))

    def discount_of(self, t: int) -> float:
        """Present value of one USD paid in a quarter, in the horizon or after it."""
        if t < self.horizon:
            return float(self.discount[t])
        return float(self.end_discount * (self.end_discount / self.discount[self.t[-1]]) ** (t - self.horizon))

    def of(self, make: Callable[[Index], T]) -> T:
        """An index set that only one family needs, made once by its function."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])
