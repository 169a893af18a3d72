"""The rows of one quarter's service: what a fleet can serve, as a linear program of its own.

Written from the design and the docs, with no word of ``procure.instance`` or ``procure.program``; columns are tuples
that begin with the quarter.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from oracle_losses import add_losses
from oracle_reach import mean_wall, reach
from oracle_replicas import llm_of
from oracle_rows import Rows
from oracle_service import Fill, Service, Way

from procure.quarter import HOURS_PER_QUARTER

GB = 1e9
SECONDS = HOURS_PER_QUARTER * 3_600
State = dict[tuple[str, str], int]
"""Units by (site, sku)."""


class Units(defaultdict[tuple[str, str], int]):
    """Units by (site, sku); ``slow`` are those of them that run at Max-Q."""

    def __init__(self, there: State | None = None) -> None:
        super().__init__(int, there or {})
        self.slow: State = {}


Row = dict[Any, float]


def by_place() -> Any:
    """Rows by (site, pool or store), each begun when first written to."""
    return defaultdict(lambda: defaultdict(float))


@dataclass
class Asked:
    """A workload's quarter: its buckets with load, and the columns that serve and fill them so far."""

    workload: str
    buckets: dict[int, Any]
    total: float
    """Requests/s of all buckets."""
    lost: dict[int, float]
    """Requests/s out of reach by bucket."""
    served: Any = field(default_factory=lambda: defaultdict(dict))
    late: Row = field(default_factory=dict)

    @property
    def beyond(self) -> float:
        """Share out of reach."""
        return sum(self.lost.values()) / self.total


@dataclass
class Fleet:
    """One quarter ``t`` of a fleet ``own``, of which ``reserved`` units serve others, with LPX ``copies``."""

    service: Service
    rows: Rows
    t: int
    own: Units
    reserved: State
    copies: dict[tuple[str, str, str], int]
    works: Any = field(default_factory=by_place)
    beside: Any = field(default_factory=by_place)
    prompts: Any = field(default_factory=by_place)
    held: Any = field(default_factory=by_place)
    in_use: Any = field(default_factory=by_place)
    reads: Any = field(default_factory=by_place)
    readers: Any = field(default_factory=by_place)
    writes: Any = field(default_factory=by_place)
    wears: Any = field(default_factory=by_place)
    lpx: Any = field(default_factory=by_place)
    replicas: Any = field(default_factory=lambda: defaultdict(dict))
    links: Any = field(default_factory=by_place)
    sent: Any = field(default_factory=by_place)
    received: Any = field(default_factory=by_place)
    decodes: Any = field(default_factory=by_place)

    def add(self) -> None:
        """All rows of the quarter."""
        for w in self.service.workloads:
            self._workload(w)
        for pair, row in self.links.items():
            if self.service.links(self.t)[pair][2]:
                paid = (self.t, "link", *pair)
                self.rows.whole.add(paid)
                self.rows.most[paid] = 1.0
                self.rows.at_most({**row, paid: -1.0}, 0.0)
            else:
                self.rows.at_most(dict(row), 1.0)
        for (site, pool), work in self.works.items():
            self._pool(site, pool, work)
        self._instances()
        stores = {place: space for place, space in self.held.items() if not place[1].startswith("hbm:")}
        for (site, store), space in stores.items():
            self._store(site, store, {**space, **self.in_use[site, store]})
        self._near(stores)
        for (site, pool), read in self.readers.items():
            most = self.service.sku[pool].cmx_read_bytes_per_s * self.service.s.store_utilisation_cap
            self._read(site, pool, read, most)
        for (site, store), read in self.reads.items():
            pool = self.service.sku[store.partition(":")[2]].host or store.partition(":")[2]
            if self.service.lies_with_peers(store):
                tier = store.partition(":")[0]
                most = self.service.from_peers(tier, pool) * self.service.sku[pool].gpus
                self.rows.at_most(dict(read), self.service.up * self.free(site, pool) * most)  # all peaks at once
                self._read(site, pool, read, most)
        for moved in (self.sent, self.received):
            for (site, pool), row in moved.items():
                self._at_all_hours(row, self.service.up * self.free(site, pool) * self.service.nic(pool))
        for (site, card, name), time in self.lpx.items():
            racks = self.service.racks_per_copy(card, name)
            most = racks * self.service.s.utilisation_cap * self.copies[site, card, name]
            self._at_all_hours(time, most)
        add_losses(self)

    def free(self, site: str, sku: str) -> int:
        """Units that are not reserved."""
        return self.own.get((site, sku), 0) - self.reserved.get((site, sku), 0)

    def lost(self, site: str, sku: str) -> float:
        """Units' worth of work that is not done because some run at Max-Q."""
        return self.own.slow.get((site, sku), 0) * (1 - self.service.at_maxq(sku))

    def _read(self, site: str, pool: str, read: Row, most: float) -> None:
        """Reads of a pool at every hour through the ports of its units that may read then, ``most`` bytes/s each."""
        row = dict(read)
        if self.service.s.read_ports == "prefill":
            for x, racks in self.decodes[site, pool].items():
                row[x] = racks / self.service.s.utilisation_cap * most
        self._at_all_hours(row, self.service.up * self.free(site, pool) * most)

    # --- the day --------------------------------------------------------------------------------------------------

    def _in_part(self, row: Row, part: str) -> Row:
        """A row as it is in a part of the day: less of each workload; of what may wait, what is placed there."""
        here: Row = defaultdict(float)
        for x, value in row.items():
            if x[1] not in ("serve", "fill"):
                here[x] += value  # what is kept, and whole instances, are there all day
            elif not self.service.waits(x[3]):
                here[x] += value * self.service.level.get((part, x[3]), 1.0)
            elif x[1] == "fill" and x[4].store != "recompute":
                here[x] += value  # evenly over the day
            else:
                here[self.t, "placed", part, x] += value
        return dict(here)

    def _at_all_hours(self, row: Row, limit: float) -> None:
        """A row that holds in every part of the day."""
        for part, _ in self.service.parts:
            self.rows.at_most(self._in_part(row, part), limit)

    def _place(self, asked: Asked, filled: dict[int, Row], parked: Row) -> None:
        """A workload that may wait: its day in its parts, prefill when it decodes, caches of what runs evenly."""
        if not self.service.waits(asked.workload):
            return
        ways = [x for row in filled.values() for x in row if x[1] in ("serve", "fill")]
        moved = [x for x in ways if x[1] == "serve" or x[4].store == "recompute"]
        for x in moved:
            day = {(self.t, "placed", part, x): hours / 24 for part, hours in self.service.parts}
            self.rows.equals({**day, x: -1.0}, 0.0)
        for part, _ in self.service.parts:
            for row in filled.values():
                self.rows.equals(self._in_part(row, part), 0.0)
            self.rows.at_most(self._in_part(parked, part), 0.0)

    # --- what a workload takes ------------------------------------------------------------------------------------

    def _workload(self, w: str) -> None:
        """Every bucket is served, late or short; what is decoded is prefilled; hits have kept caches behind them."""
        service, t = self.service, self.t
        buckets = service.loaded(t, w)
        if not buckets:
            return
        asked = Asked(w, buckets, sum(service.rate(w, b) for b in buckets.values()), service.out_of_reach(t, w))
        least = service.workloads[w].min_served_share if t < len(service.case.planned) else 0.0
        self.rows.most[t, "short", w] = 1.0 - (least if np.isfinite(least) else 0.0)
        at: dict[str, dict[int, Row]] = {site: defaultdict(dict) for site in service.site}
        parked: dict[str, Row] = {}
        for site, filled in at.items():
            hits: dict[tuple[int, str], Row] = defaultdict(dict)
            here: Row = {}
            for way in service.ways(t, w):
                if way.bucket in buckets and self._has(site, way.pool, "decode"):
                    self._decode(site, asked, way, filled, here)
            stores = set()
            for fill in service.fills(t, w):
                if fill.bucket in buckets and self._has(site, fill.pool, "prefill"):
                    self._prefill(site, asked, fill, filled, hits)
                    stores |= {fill.store} - {"recompute"}
            parked[site] = self._keep(site, asked, stores, hits, here)
        self._send(asked, at)
        for site, filled in at.items():
            for bucket in buckets:
                if filled[bucket]:
                    self.rows.equals(filled[bucket], 0.0)
            self._place(asked, filled, parked[site])
        self._promises(asked)

    def _has(self, site: str, pool: str, what: str) -> bool:
        """Whether units stand at a site that may prefill, or decode."""
        return bool(self.own.get((site, pool))) and self.service.role.get((site, pool), what) == what

    def _send(self, asked: Asked, at: dict[str, dict[int, Row]]) -> None:
        """Prompts that were prefilled in full leave for the site that decodes them, over what the link may carry."""
        w, left = asked.workload, by_place()
        for send in self.service.sends(self.t, w):
            fill = send.fill
            if fill.bucket not in asked.buckets or not self._has(send.sends, fill.pool, "prefill"):
                continue
            x, done = (self.t, "send", w, send), (self.t, "fill", send.sends, w, fill)
            at[send.sends][fill.bucket][x] = -1.0
            at[send.receives][fill.bucket][x] = 1.0
            left[done][x] = 1.0
            self.links[send.sends, send.receives][x] = send.sent_bytes / send.most_bytes_per_s
            lost = asked.lost.get(fill.bucket, 0.0) / self.service.rate(w, asked.buckets[fill.bucket])
            more = max(send.late - lost, 0.0) / (1 - lost) - asked.late.get(done, 0.0)
            if more > 0:
                asked.late[x] = more
        for done, row in left.items():
            self._at_all_hours({**row, done: -1.0}, 0.0)

    def _decode(self, site: str, asked: Asked, way: Way, filled: dict[int, Row], here: Row) -> None:
        card = self.service.workloads[asked.workload].card
        if way.lpx and not self.copies.get((site, card, way.lpx)):
            return
        x = (self.t, "serve", site, asked.workload, way)
        asked.served[way.bucket][x] = here[x] = 1.0
        filled[way.bucket][x] = -1.0
        self.works[site, way.pool][x] = self.decodes[site, way.pool][x] = way.rack_s
        self.received[site, way.pool][x] = self.service.input_bytes(self.t, asked.workload, way.bucket)
        self.beside[site, way.pool][x] = way.free_bytes * way.rack_s
        deployment = way.pool + ("+" + way.lpx if way.lpx else "")
        self._on_instances(x, site, asked.workload, deployment, "decode", way)
        if way.lpx:
            self.lpx[site, card, way.lpx][x] = way.lpx_s

    def _prefill(self, site: str, asked: Asked, fill: Fill, filled: dict[int, Row], hits: Any) -> None:
        w, b = asked.workload, asked.buckets[fill.bucket]
        x = (self.t, "fill", site, w, fill)
        filled[fill.bucket][x] = 1.0
        self.works[site, fill.pool][x] = fill.rack_s
        self.sent[site, fill.pool][x] = self.service.input_bytes(self.t, w, fill.bucket)
        if self.service.lies_with_peers(fill.store):
            self.sent[site, fill.pool][x] += fill.read_bytes
            self.received[site, fill.pool][x] = fill.read_bytes
        first = mean_wall(self.service, self.service.as_in(self.t, w), w, fill)
        room = fill.rack_s * self.service.idle_bytes(fill.pool)  # of the racks at work on it
        self.prompts[site, fill.pool][x] = min(first * self.service.sequence_bytes(self.t, w, b), room)
        self._on_instances(x, site, w, fill.pool, "prefill", fill)
        lost = asked.lost.get(fill.bucket, 0.0) / self.service.rate(w, b)
        if fill.late > lost:
            asked.late[x] = (fill.late - lost) / (1 - lost)
        if fill.store != "recompute":
            hits[fill.bucket, fill.store][x] = 1.0
            self.reads[site, fill.store][x] = fill.read_bytes
            self.writes[site, fill.store][x] -= fill.valid_bytes
            self.wears[site, fill.store][x] -= fill.valid_bytes * self.service.mean(w, b)
            if not fill.store.startswith("hbm:"):
                self.in_use[site, fill.store][x] = fill.valid_bytes * (first + self.service.promised_s(w, b))
            if fill.store.startswith("cmx:"):
                self.readers[site, fill.pool][x] = fill.read_bytes

    def _keep(self, site: str, asked: Asked, stores: set[str], hits: Any, here: Row) -> Row:
        """Caches parked by store and age, and the hits that they allow; the row of what is parked at first."""
        service, t, w = self.service, self.t, asked.workload
        ages, at = service.reuse.get(w, []), service.path.get((service.names[t], w))
        size = service.parked_bytes(t, w)
        parked: Row = dict.fromkeys(here, -1.0)
        falls: dict[tuple[str, int], Row] = {}
        backs: dict[str, Row] = {}
        for store in sorted(stores):
            found = reach(service, t, w, store) if ages else 0.0
            back: Row = {}
            for number, age in enumerate(ages):
                x = (t, "kept", site, w, store, number)
                if number:
                    falls[store, number] = {x: 1.0, (*x[:-1], number - 1): -1.0}
                else:
                    parked[x] = 1.0
                    self.writes[site, store][x] += size
                    self.wears[site, store][x] += size * max(service.mean(w, b) for b in asked.buckets.values())
                gone = found * age.mean_return_before * at.return_scale * at.release_share
                self.held[site, store][x] = size * (age.age_to_s - age.age_from_s) * (1 - gone)
                back[x] = found * age.return_share * at.return_scale
            backs[store] = back
        if service.s.cache_moves != "none" and ages:
            self._move_down(site, asked, falls, backs)
        for row in falls.values():
            self.rows.at_most(row, 0.0)
        for store, back in backs.items():
            for bucket, b in asked.buckets.items():
                if hits[bucket, store]:
                    part = service.rate(w, b) / asked.total
                    self.rows.at_most({**hits[bucket, store], **{x: -part * v for x, v in back.items()}}, 0.0)
        self.rows.at_most(parked, 0.0)
        return parked

    def _move_down(self, site: str, asked: Asked, falls: dict[tuple[str, int], Row], backs: dict[str, Row]) -> None:
        """Copies that go to a slower store once, at the start of an age interval, and what both stores bear for it."""
        service, t, w = self.service, self.t, asked.workload
        ages, at, size = service.reuse[w], service.path[service.names[t], w], service.parked_bytes(t, w)
        through = service.s.cache_moves == "write_through"
        found = {store: reach(service, t, w, store) for store in backs}
        mean = max(service.mean(w, b) for b in asked.buckets.values())
        gone = [age.mean_return_before * at.return_scale * at.release_share for age in ages]
        back = [age.return_share * at.return_scale for age in ages]
        lasts = [age.age_to_s - age.age_from_s for age in ages]
        for below in backs:
            above = [store for store in backs if self._above(store, below)]
            bytes_left = {fill.bucket: fill.valid_bytes for fill in service.fills(t, w) if fill.store == below}
            valid = [service.rate(w, b) / asked.total * bytes_left[k] for k, b in asked.buckets.items()]
            worst = min([found[below], *(found[store] for store in above)])
            for number in range(1, len(ages) if above else 0):
                stays = (t, "moved", site, w, below, number)
                row = {stays: 1.0} | ({(*stays[:-1], number - 1): -1.0} if number > 1 else {})
                self.held[site, below][stays] = size * lasts[number] * (1 - worst * gone[number])
                backs[below][stays] = found[below] * back[number]
                if not through:  # it is parked anew elsewhere, so nothing of it is spared here
                    self.writes[site, below][stays] += found[below] * back[number] * sum(valid)
                    self.wears[site, below][stays] += found[below] * back[number] * sum(valid) * mean
                for store in above:
                    x = (t, "move", site, w, (store, below), number)
                    row[x] = -1.0
                    falls[store, number][x] = 1.0
                    if through:
                        before = sum(lasts[i] * (1 - worst * gone[i]) for i in range(number))
                        self.held[site, below][x] = size * before
                        written = size - found[store] * sum(back[:number]) * sum(valid)
                    else:
                        written = size * (1 - found[store] * gone[number - 1])
                        self.reads[site, store][x] += written
                        self.held[site, below][x] = 0.0
                    self.writes[site, below][x] += written
                    self.wears[site, below][x] += written * mean
                self.rows.at_most(row, 0.0)

    def _above(self, store: str, below: str) -> bool:
        """Whether a cache may go from one store to the other."""
        order, sku = ["hbm", "dram", "ssd", "cmx"], self.service.sku
        (tier, _, name), (lower, _, other) = store.partition(":"), below.partition(":")
        home = sku[name].host or name
        if order.index(tier) >= order.index(lower):
            return False
        return sku[home].cmx_read_bytes_per_s > 0 if lower == "cmx" else home == (sku[other].host or other)

    def _promises(self, asked: Asked) -> None:
        """What is not out of reach is served to one share; late ones beyond what may be late count as short."""
        service, w = self.service, asked.workload
        short, tardy = (self.t, "short", w), (self.t, "tardy", w)
        reached = asked.beyond < 1 - 1e-6
        for bucket, b in asked.buckets.items():
            within = (service.rate(w, b) - asked.lost.get(bucket, 0.0)) / (1 - asked.beyond) if reached else 0.0
            self.rows.equals({**asked.served[bucket], short: within, tardy: -within}, within)
        self.rows.at_most({tardy: 1.0, short: -1.0}, -asked.beyond)
        if asked.late and reached:
            share = service.scenario[w].ttft_share if np.isfinite(service.scenario[w].ttft_s) else 0.0
            everything = {x: -(1 - share) / (1 - asked.beyond) for by in asked.served.values() for x in by}
            self.rows.at_most({**asked.late, **everything, tardy: -asked.total}, 0.0)
        else:
            self.rows.most[tardy] = 0.0

    def _on_instances(self, x: Any, site: str, w: str, deployment: str, role: str, step: Any) -> None:
        """Work of instances that do it, in their role or in both."""
        llm, known = llm_of(self.service, w), self.service.replicas(self.t)
        for mine in (role, "both"):
            one, whole = known.get((llm, deployment, mine), (None, False))
            if whole:
                slower = one.shares.get((w, step.bucket), 1.0) if role == "decode" else 1.0
                self.replicas[site, llm, deployment, mine][x] = step.rack_s / slower

    def _instances(self) -> None:
        """Small loads are served by whole instances; these and the work of others share the racks of their pool."""
        service, up = self.service, self.service.up * self.service.s.utilisation_cap
        taken: Any = by_place()
        for (site, llm, deployment, role), work in self.replicas.items():
            one, _ = service.replicas(self.t)[llm, deployment, role]
            count = (self.t, "instances", site, llm, deployment, role)
            self.rows.whole.add(count)
            self._at_all_hours({**work, count: -one.works}, 0.0)
            taken[site, deployment.partition("+")[0]][count] = one.racks
        for (site, pool), row in taken.items():
            on = {x for key, work in self.replicas.items() if key[0] == site for x in work}
            others = {x: v / up for x, v in self.works[site, pool].items() if x not in on}
            self._at_all_hours({**row, **others}, self.free(site, pool) - self.lost(site, pool))
            self.rows.at_most(dict(row), self.free(site, pool) - self.own.slow.get((site, pool), 0))

    # --- what the fleet has ---------------------------------------------------------------------------------------

    def _pool(self, site: str, pool: str, work: Row) -> None:
        """Rack-seconds of a pool, and HBM of its racks: weights, running batches, prompts and parked caches."""
        service, free = self.service, self.free(site, pool)
        busy = service.up * service.s.utilisation_cap
        self._at_all_hours(work, busy * (free - self.lost(site, pool)))
        fast = {x: v for x, v in work.items() if getattr(x[4], "lpx", "") or getattr(x[4], "later", False)}
        self._at_all_hours(fast, busy * (free - self.own.slow.get((site, pool), 0)))
        space = self.held.get((site, f"hbm:{pool}"))
        if not space:
            return
        idle, row = service.idle_bytes(pool), dict(space)
        for x, value in self.beside[site, pool].items():  # racks that decode have what is beside their batch, not all
            row[x] = idle * work[x] - value
        row |= self.prompts[site, pool]
        self._at_all_hours(row, idle * service.up * free)

    def _store(self, site: str, store: str, space: Row) -> None:
        """Space, reads, writes and wear of a store, each within what its units bring."""
        sku, size, read, write, day = self.service.brings(store)
        there, place = self._there(site, sku), (site, store)
        wear = dict(self.wears[place])
        if self.service.s.flash_wear == "replace" and np.isfinite(day):
            wear[self.t, "worn", site, store] = -GB  # GB/s beyond what the drives endure
        for used, each in ((space, size), (self.reads[place], read), (self.writes[place], write), (wear, day / 86_400)):
            if np.isfinite(each):
                self.rows.at_most({**used, there: -each}, 0.0)

    def _there(self, site: str, name: str) -> Any:
        """A column with the units of a store that work for us: kits and enclosures need a host which is ours."""
        sku, rows = self.service.sku, self.rows
        free = {k: n - self.reserved.get((site, k), 0) for (place, k), n in self.own.items() if place == site}
        kind, column = sku[name].kind, (self.t, "there", site, name)
        up = self.service.s.availability if kind == "cmx_enclosure" else self.service.up
        rows.most[column] = up * free.get(name, 0)
        if kind == "ssd_kit":
            host = sku[name].host
            together = [k for k in free if sku[k].kind == kind and sku[k].host == host]
            rows.at_most({(self.t, "there", site, k): 1.0 for k in together},
                         up * free.get(host, 0) * self.service.bays(host))  # fmt: skip
        if kind == "cmx_enclosure":
            together = [k for k in free if sku[k].kind == kind]
            frames = sum(n * sku[k].enclosures_per_rack for k, n in free.items())
            rows.at_most({(self.t, "there", site, k): 1.0 for k in together}, up * frames)
        return column

    def _near(self, stores: dict[tuple[str, str], Row]) -> None:
        """Requests with caches in CMX are worked on by racks that read it, which stand in pods with a CMX rack."""
        service = self.service
        names = [p for p in service.pools if service.sku[p].cmx_read_bytes_per_s > 0]
        for site, place in service.site.items():
            work: Row = defaultdict(float)
            ports: Row = defaultdict(float)
            for (where, store), columns in stores.items():
                if where == site and store.startswith("cmx:"):
                    for x in columns:
                        if x[5] == 0 or x[1] == "move":
                            buckets = service.buckets[service.names[self.t], x[3]]
                            work[x] = sum(service.least(self.t, x[3], b)[2] for b in buckets)
            for (where, pool), columns in self.readers.items():
                if where == site:
                    each = service.up * service.sku[pool].cmx_read_bytes_per_s * service.s.store_utilisation_cap
                    for x, read in columns.items():
                        fill = x[4]
                        buckets = service.buckets[service.names[self.t], x[3]]
                        bucket = next(b for b in buckets if b.bucket == fill.bucket)
                        work[x] += fill.rack_s - service.least(self.t, x[3], bucket)[1]
                        ports[x] = read * service.sku[pool].pod_slots / each
            if not work:
                continue
            busy = service.up * service.s.utilisation_cap
            self.rows.at_most(dict(work), busy * sum(self.free(site, name) for name in names))
            if not place.cmx_crosses_pods:
                kinds = {sku: service.sku[sku].kind for where, sku in self.own if where == site}
                frames = sum(self.free(site, sku) for sku, kind in kinds.items() if kind == "cmx_rack")
                self.rows.at_most(dict(ports), service.s.nvl72_per_pod * frames)
                self.rows.at_most(dict(work), busy * service.s.nvl72_per_pod * frames)


def load_cost(service: Service, rows: Rows, t: int) -> Row:
    """USD of quarter ``t`` for power above idle and worn drives, of the columns that exist."""
    cost = {}
    for name in rows.columns:
        if name[0] == t and name[1] == "link":
            cost[name] = service.links(t)[name[2:]][2]
        if name[0] == t and name[1] == "worn":
            cost[name] = service.wear_usd(t, name[3]) * GB * SECONDS
        if name[0] != t or name[1] not in ("serve", "fill"):
            continue
        _, _, site, w, step = name
        place, hardware = service.site[site], service.sku[step.pool]
        usd_per_kw = place.pue * HOURS_PER_QUARTER * place.electricity_usd_per_kwh
        usd = step.rack_s * (service.busy_kw(step.pool, name[1]) - hardware.power_idle_kw) * usd_per_kw
        if getattr(step, "lpx", ""):
            partner = service.sku[step.lpx]
            usd += step.lpx_s * (partner.power_typical_kw - partner.power_idle_kw) * usd_per_kw
        bucket = next(b for b in service.buckets[service.names[t], w] if b.bucket == step.bucket)
        assert usd >= 0
        cost[name] = usd * service.mean(w, bucket)
    return cost


def short_price(service: Service, t: int) -> Row:
    """USD for all requests of a workload unserved in a look-ahead quarter."""
    cost = {}
    for w, row in service.workloads.items():
        buckets = service.buckets[service.names[t], w]
        requests = sum(b.requests_per_s * b.mean_to_peak for b in buckets) * SECONDS
        price = row.lookahead_short_usd_per_request
        if not np.isfinite(price):
            price = service.tokens_worth(service.names[t], w)
        if requests > 0:
            cost[t, "short", w] = price * requests
    return cost
