"""The service of a tiny case as its own linear program, from sizing, performance and demand alone.

Written from the design and the docs, with no word of ``procure.instance`` or ``procure.program``: requests/s instead of
shares, bytes instead of TB, one dictionary of coefficients per row, solved by scipy.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from procure import demand, performance
from procure.demand.lengths import SHARES
from procure.quarter import HOURS_PER_QUARTER, Quarter

TB = 1e12
SECONDS = HOURS_PER_QUARTER * 3_600
State = dict[tuple[str, str], int]
"""Units by (site, sku)."""


@dataclass
class Rows:
    """A linear program with named columns, all at least zero."""

    columns: dict[Any, int] = field(default_factory=dict)
    upper: list[tuple[dict[Any, float], float]] = field(default_factory=list)
    equal: list[tuple[dict[Any, float], float]] = field(default_factory=list)
    most: dict[Any, float] = field(default_factory=dict)

    def at_most(self, row: dict[Any, float], limit: float) -> None:
        if not row:
            assert limit >= 0
            return
        self.upper.append((row, limit))
        for name in row:
            self.columns.setdefault(name, len(self.columns))

    def equals(self, row: dict[Any, float], value: float) -> None:
        self.equal.append((row, value))
        for name in row:
            self.columns.setdefault(name, len(self.columns))

    def minimise(self, cost: dict[Any, float]) -> float | None:
        """Least cost, None where nothing fits."""
        for name in cost:
            self.columns.setdefault(name, len(self.columns))
        if not self.columns:
            return 0.0
        c = np.zeros(len(self.columns))
        for name, value in cost.items():
            c[self.columns[name]] += value
        bounds = [(0.0, self.most.get(name)) for name in self.columns]
        scale = float(np.median(np.abs(c[c != 0]))) if c.any() else 1.0  # unserved requests cost 1e6 times as much
        rows = (*self._matrix(self.upper), *self._matrix(self.equal))
        for method, tolerance in (("highs-ds", 1e-9), ("highs-ipm", 1e-9), ("highs-ds", 1e-7)):
            options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
            answer = linprog(c / scale, *rows, bounds, method=method, options=options)
            if answer.status in (0, 2):
                return None if answer.status == 2 else float(answer.fun) * scale
        raise AssertionError(answer.message)

    def _matrix(self, rows: list[tuple[dict[Any, float], float]]) -> tuple[Any, Any]:
        if not rows:
            return None, None
        data, where, limits = [], [], []
        for number, (row, limit) in enumerate(rows):
            size = max((abs(v) for v in row.values()), default=1.0) or 1.0
            limits.append(limit / size)
            for name, value in row.items():
                data.append(value / size)
                where.append((number, self.columns[name]))
        return csr_matrix((data, tuple(zip(*where, strict=True))), shape=(len(rows), len(self.columns))), limits


@dataclass(frozen=True)
class Way:
    """Decoding one bucket on a pool at an operating point."""

    bucket: int
    pool: str
    rank: int
    rack_s: float
    lpx: str
    lpx_s: float
    free_bytes: float


@dataclass(frozen=True)
class Fill:
    """Prefilling one bucket on a pool from a store."""

    bucket: int
    pool: str
    store: str
    rack_s: float
    late: float
    read_bytes: float
    valid_bytes: float


class Service:
    """Everything that serving takes, quarter by quarter."""

    def __init__(self, case: Any) -> None:
        self.case, self.s = case, case.settings
        self.asked = demand.build(case)
        self.names = [str(q) for q in case.quarters]
        self.owned = sorted(
            set(case.settings.may_buy) | set(case.tables["fleet"]["sku"]) | set(case.tables["orders"]["sku"])
        )
        self.sku = {name: case.catalogue.sku(name) for name in self.owned}
        self.pools = [name for name in self.owned if self.sku[name].kind == "gpu"]
        self.lpx = [name for name in self.owned if self.sku[name].kind == "lpx"]
        self.kits: dict[str, list[Any]] = defaultdict(list)
        for sku in case.catalogue.skus.values():
            if sku.kind == "ssd_kit":
                self.kits[sku.host].append(sku)
        self.site = {r.site: r for r in case.tables["sites"].itertuples()}
        self.scenario = {r.workload: r for r in self.asked.scenarios.itertuples()}
        self.workloads = {r.workload: r for r in case.tables["workloads"].itertuples()}
        table = self.asked.buckets.merge(self.asked.rates, on=["quarter", "workload", "bucket"])
        self.buckets = {key: list(rows.itertuples()) for key, rows in table.groupby(["quarter", "workload"])}
        self.nodes = {
            key: [(r.share, r.input_tokens) for r in rows.itertuples()]
            for key, rows in self.asked.nodes.groupby(["quarter", "workload", "bucket"])
        }
        self.path = {(r.quarter, r.workload): r for r in self.asked.reuse_path.itertuples()}
        self.reuse = {w: list(rows.itertuples()) for w, rows in self.asked.reuse.groupby("workload")}
        self.up = self.s.availability * (1 - self.s.spare_share)
        planned = {str(q) for q in case.planned}
        self.weight: dict[tuple[int, str], float] = defaultdict(float)
        for t, name in enumerate(self.names):
            for w in self.workloads:
                if name in planned:
                    self.weight[t, w] = self.workloads[w].priority * sum(
                        b.requests_per_s * b.mean_to_peak for b in self.buckets[name, w]
                    )
        total = sum(self.weight.values())
        self.weight = {key: value / total for key, value in self.weight.items()}
        self._cache: dict[Any, Any] = {}

    def vintage(self, t: int) -> str:
        """Software of a quarter: as it is when the quarter begins."""
        return performance.vintage_at(self.s.vintage, self.names[t])

    def mean_of(self, t: int, w: str, b: Any, function: Any) -> float:
        """A bucket's mean of a function of the length."""
        return sum(share * function(tokens) for share, tokens in self.nodes[self.names[t], w, b.bucket])

    def rate(self, w: str, b: Any) -> float:
        """Requests/s that a bucket is sized for."""
        return b.requests_per_s * (b.mean_to_peak if self.scenario[w].deferrable else 1.0)

    def mean(self, w: str, b: Any) -> float:
        """Mean over that rate."""
        return 1.0 if self.scenario[w].deferrable else b.mean_to_peak

    def ways(self, t: int, w: str) -> list[Way]:
        """Points of every bucket: the parts of the answer at their own speeds, largest batches with largest."""
        key = ("ways", t, w)
        if key not in self._cache:
            self._cache[key] = [way for pool in self.pools for way in self._decode(t, w, pool)]
        return self._cache[key]

    def _decode(self, t: int, w: str, pool: str) -> list[Way]:
        row, s = self.workloads[w], self.scenario[w]
        card, hardware = self.case.cards[row.card], self.sku[pool]
        made = []
        partners = [None]
        if hardware.pairs_with_lpx:
            partners += [self.sku[name] for name in self.lpx]
        for partner in partners:
            for b in self.buckets[self.names[t], w]:
                first = min(b.visible_tokens, s.burst_tokens)
                parts = [
                    (b.thinking_tokens, s.tps_thinking), (first, s.tps_burst), (b.visible_tokens - first, s.tps_visible)
                ]  # fmt: skip
                output = b.thinking_tokens + b.visible_tokens
                points = [
                    performance.decode_points(
                        hardware, card, weight_precision=row.weight_precision, kv_format=row.kv_format,
                        context_mean=[b.input_tokens + output / 2], context_upper=[b.input_upper_tokens + output],
                        tps_user=[max(tps, 1.0)], vintage=self.vintage(t), lpx=partner,
                    )
                    for tokens, tps in parts if tokens > 0
                ]  # fmt: skip
                lengths = [tokens for tokens, _ in parts if tokens > 0]
                for rank in range(min(len(p) for p in points)):
                    chosen = [p.iloc[rank] for p in points]
                    seconds = [
                        n / (p.tokens_per_s_per_gpu * hardware.gpus) for n, p in zip(lengths, chosen, strict=True)
                    ]
                    free = [p.free_hbm_bytes_per_gpu * hardware.gpus for p in chosen]
                    lpx = sum(n * p.lpx_rack_s_per_token for n, p in zip(lengths, chosen, strict=True))
                    made.append(
                        Way(b.bucket, pool, rank, sum(seconds), partner.name if partner else "", lpx,
                            float(np.average(free, weights=seconds)))
                    )  # fmt: skip
        return made

    def stores(self, pool: str) -> dict[str, float]:
        """Stores that a pool may read, with bytes/s of one of its GPUs."""
        hardware, cap = self.sku[pool], self.s.store_utilisation_cap
        found = {f"hbm:{pool}": hardware.hbm_bytes_per_s_per_gpu}
        if hardware.dram_kv_bytes > 0:
            found[f"dram:{pool}"] = hardware.dram_bytes_per_s * cap / hardware.gpus
        if hardware.ssd_included_bytes > 0:
            found[f"ssd:{pool}"] = self.inside(pool).store_read_bytes_per_s * cap / hardware.gpus
        for kit in self.kits[pool]:
            if kit.name in self.sku:
                found[f"ssd:{kit.name}"] = kit.store_read_bytes_per_s * cap / hardware.gpus
        for name in self.owned:
            if self.sku[name].kind == "cmx_enclosure" and hardware.cmx_read_bytes_per_s > 0:
                found[f"cmx:{name}"] = hardware.cmx_read_bytes_per_s * cap / hardware.gpus
        return found

    def inside(self, pool: str) -> Any:
        """The kit that drives inside a rack's price are like."""
        included = self.sku[pool].ssd_included_bytes
        return min(self.kits[pool], key=lambda kit: (abs(kit.store_bytes - included), kit.name))

    def bays(self, pool: str) -> float:
        """Share of the drive bays of a rack that is free for kits."""
        hardware = self.case.catalogue.sku(pool)
        if hardware.ssd_included_bytes <= 0:
            return 1.0
        return max(0.0, 1.0 - hardware.ssd_included_bytes / self.inside(pool).store_bytes)

    def fills(self, t: int, w: str) -> list[Fill]:
        """Ways to prefill every bucket, with the share of its requests that comes late."""
        key = ("fills", t, w)
        if key not in self._cache:
            self._cache[key] = [fill for pool in self.pools for fill in self._prefill(t, w, pool)]
        return self._cache[key]

    def _prefill(self, t: int, w: str, pool: str) -> list[Fill]:
        row = self.workloads[w]
        card, hardware = self.case.cards[row.card], self.sku[pool]
        p = self.path[self.names[t], w].reused_share if (self.names[t], w) in self.path else 0.0
        kinds = {"weight_precision": row.weight_precision, "kv_format": row.kv_format, "vintage": self.vintage(t)}
        gpus = performance.prefill_gpus_per_replica(hardware, card, row.weight_precision)
        queue = performance.Queue(self.s.utilisation_cap, self.scenario[w].ttft_share)

        def moved(tokens: float) -> float:
            return float(card.transferred_bytes(np.array([tokens]), row.kv_format)[0])

        def work(length: float, held: float) -> float:
            given = {"new_tokens": [length - held], "prefix_tokens": [held]}
            return float(performance.prefill_gpu_seconds(hardware, card, **given, **kinds)[0]) / hardware.gpus

        def unchanged(length: float, held: float) -> float:
            """Bytes that are not written again when a sequence of this length is parked after a hit."""
            whole = float(card.stored_bytes(np.array([length]), row.kv_format)[0])
            new = card.transferred_bytes(np.array([length]), row.kv_format, cached_tokens=np.array([held]))
            return whole - float(new[0])

        links = hardware.scale_out_bytes_per_s_per_gpu * gpus
        made = []
        for b in self.buckets[self.names[t], w]:
            for store, bytes_per_s in {"recompute": np.inf, **(self.stores(pool) if p > 0 else {})}.items():
                reuse = store != "recompute"

                def held(length: float, reuse: bool = reuse, b: Any = b) -> float:
                    shared = min(b.shared_prefix_tokens, length)
                    return max(p * length, shared) if reuse else shared

                def wall(length: float, reuse: bool = reuse, held: Any = held, rate: float = bytes_per_s) -> float:
                    given = {"new_tokens": [length - held(length)], "prefix_tokens": [held(length)]}
                    seconds = performance.prefill_latency_s(hardware, card, **given, **kinds, queue=queue)[0]
                    seconds += moved(length) / (links * self.s.store_utilisation_cap)
                    return seconds + (moved(held(length)) / (rate * gpus) if reuse else 0.0)

                late = self.share_longer(t, w, b, wall)
                busy = self.mean_of(t, w, b, lambda n, held=held: work(n, held(n)))
                read = self.mean_of(t, w, b, lambda n, held=held: moved(held(n))) if reuse else 0.0
                valid = (
                    self.mean_of(t, w, b, lambda n, held=held, b=b: unchanged(n + b.visible_tokens, held(n)))
                    if reuse
                    else 0.0
                )
                made.append(Fill(b.bucket, pool, store, busy, late, read, valid))
        return made

    def share_longer(self, t: int, w: str, b: Any, wall: Any) -> float:
        """Share of a bucket that is longer than the longest prompt whose first token is in time, found by halving.

        The share below a length is read off the points of the distribution, each in the middle of its cell.
        """
        lengths, target = self.asked.lengths[self.names[t], w], self.scenario[w].ttft_s
        upto = np.cumsum(SHARES)
        low, high = 0, len(lengths)  # points in time, by halving, then the place between two of them
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if wall(lengths[middle]) <= target else (low, middle)
        if low in (0, len(lengths)):
            in_time = float(low > 0)
        else:
            before, after = wall(lengths[low - 1]), wall(lengths[low])
            part = (target - before) / (after - before)
            middles = [upto[i] - SHARES[i] / 2 for i in (low - 1, low)]
            in_time = middles[0] + part * (middles[1] - middles[0])
        rows = self.buckets[self.names[t], w]
        start = sum(x.share for x in rows if x.bucket < b.bucket)
        late = min(max((start + b.share - max(start, in_time)) / b.share, 0.0), 1.0)
        return late if late >= 1e-6 else 0.0

    def out_of_reach(self, t: int, w: str) -> dict[int, float]:
        """Requests by bucket that no pool brings in time beyond what may be late, the longest first; requests/s."""
        if not np.isfinite(self.scenario[w].ttft_s):
            return {}
        rows = {b.bucket: b for b in self.buckets[self.names[t], w] if self.rate(w, b) > 0}
        returns = any(age.return_share > 0 for age in self.reuse.get(w, []))
        least = {
            bucket: min(
                (f.late for f in self.fills(t, w)
                 if f.bucket == bucket and (f.store == "recompute" or returns) and self.ready(f.pool, t)),
                default=0.0,
            )
            for bucket in rows
        }  # fmt: skip
        left = sum(least[k] * self.rate(w, b) for k, b in rows.items())
        left -= (1 - self.scenario[w].ttft_share) * sum(self.rate(w, b) for b in rows.values())
        lost = {}
        for bucket in sorted(rows, reverse=True):
            lost[bucket] = max(min(left, least[bucket] * self.rate(w, rows[bucket])), 0.0)
            left -= lost[bucket]
        return lost

    def ready(self, pool: str, t: int) -> bool:
        """Whether a unit may stand in a quarter: it is owned or on order by then, or can be ordered in time."""
        position = {name: i for i, name in enumerate(self.names)}
        orders = [position[str(r.delivery)] for r in self.case.tables["orders"].itertuples() if r.sku == pool]
        if pool in set(self.case.tables["fleet"]["sku"]) or any(at <= t for at in orders):
            return True
        hardware = self.sku[pool]
        return pool in self.s.may_buy and any(
            (not hardware.available_from or self.case.quarters[at] >= Quarter(hardware.available_from))
            and (not hardware.last_order or self.case.quarters[at - lead] <= Quarter(hardware.last_order))
            for lead in [math.ceil(hardware.lead_quarters)]
            for at in range(lead, t + 1)
        )

    def parked_bytes(self, t: int, w: str) -> float:
        """Mean bytes of a parked sequence."""
        rows, row = self.buckets[self.names[t], w], self.workloads[w]
        card = self.case.cards[row.card]

        def stored(tokens: float) -> float:
            return float(card.stored_bytes(np.array([tokens]), row.kv_format)[0])

        size = [self.mean_of(t, w, b, lambda n, b=b: stored(n + b.visible_tokens)) for b in rows]
        return float(np.average(size, weights=[self.rate(w, b) for b in rows]))

    def brings(self, store: str) -> tuple[str, float, float, float, float]:
        """SKU behind a store, and bytes, read B/s, write B/s and written B/day of one of its units."""
        tier, _, name = store.partition(":")
        cap, inf = self.s.store_utilisation_cap, float("inf")
        unit, part = self.sku[name], 1.0
        if tier == "dram":
            speed = unit.dram_bytes_per_s * cap
            return name, unit.dram_kv_bytes * cap, speed, speed, inf
        if unit.kind == "gpu":
            included, unit = unit.ssd_included_bytes, self.inside(name)
            part = included / unit.store_bytes
        return (
            name, part * unit.store_bytes * cap, part * unit.store_read_bytes_per_s * cap,
            part * unit.store_write_bytes_per_s * cap, part * unit.store_bytes * unit.endurance_dwpd
        )  # fmt: skip

    def add_quarter(
        self, rows: Rows, t: int, own: State, reserved: State, copies: dict[tuple[str, str, str], int]
    ) -> None:
        """All rows of one quarter; columns are tuples that begin with the quarter."""
        works: dict[tuple[str, str], dict[Any, float]] = defaultdict(dict)
        beside: dict[tuple[str, str], dict[Any, float]] = defaultdict(dict)
        held: dict[tuple[str, str], dict[Any, float]] = defaultdict(dict)
        reads: dict[tuple[str, str], dict[Any, float]] = defaultdict(dict)
        readers: dict[tuple[str, str], dict[Any, float]] = defaultdict(dict)
        writes: dict[tuple[str, str], dict[Any, float]] = defaultdict(lambda: defaultdict(float))
        wears: dict[tuple[str, str], dict[Any, float]] = defaultdict(lambda: defaultdict(float))
        lpx: dict[tuple[str, str, str], dict[Any, float]] = defaultdict(dict)
        for w, row in self.workloads.items():
            buckets = {b.bucket: b for b in self.buckets[self.names[t], w] if self.rate(w, b) > 0}
            if not buckets:
                continue
            total = sum(self.rate(w, b) for b in buckets.values())
            served: dict[Any, dict[Any, float]] = defaultdict(dict)
            late: dict[Any, float] = {}
            short, tardy = (t, "short", w), (t, "tardy", w)
            rows.most[short] = 1.0
            lost = self.out_of_reach(t, w)
            beyond = sum(lost.values()) / total
            for site in self.site:
                hits: dict[tuple[int, str], dict[Any, float]] = defaultdict(dict)
                filled: dict[int, dict[Any, float]] = defaultdict(dict)
                here: dict[Any, float] = {}
                for way in self.ways(t, w):
                    if way.bucket not in buckets or not own.get((site, way.pool)):
                        continue
                    if way.lpx and not copies.get((site, row.card, way.lpx)):
                        continue
                    x = (t, "serve", site, w, way)
                    served[way.bucket][x] = here[x] = 1.0
                    filled[way.bucket][x] = -1.0
                    works[site, way.pool][x] = way.rack_s
                    beside[site, way.pool][x] = way.free_bytes * way.rack_s
                    if way.lpx:
                        lpx[site, row.card, way.lpx][x] = way.lpx_s
                used_stores = set()
                for fill in self.fills(t, w):
                    if fill.bucket not in buckets or not own.get((site, fill.pool)):
                        continue
                    x = (t, "fill", site, w, fill)
                    filled[fill.bucket][x] = 1.0
                    works[site, fill.pool][x] = fill.rack_s
                    here_lost = lost.get(fill.bucket, 0.0) / self.rate(w, buckets[fill.bucket])
                    if fill.late > here_lost:
                        late[x] = (fill.late - here_lost) / (1 - here_lost)
                    if fill.store != "recompute":
                        used_stores.add(fill.store)
                        hits[fill.bucket, fill.store][x] = 1.0
                        reads[site, fill.store][x] = fill.read_bytes
                        writes[site, fill.store][x] -= fill.valid_bytes
                        wears[site, fill.store][x] -= fill.valid_bytes * self.mean(w, buckets[fill.bucket])
                        if fill.store.startswith("cmx:"):
                            readers[site, fill.pool][x] = fill.read_bytes
                for bucket in buckets:
                    if filled[bucket]:
                        rows.equals(filled[bucket], 0.0)
                self._keep(rows, t, site, w, used_stores, hits, here, buckets, total, held, writes, wears)
            for (
                bucket,
                b,
            ) in buckets.items():  # what is not out of reach is served to one share, late ones beyond it too
                within = (self.rate(w, b) - lost.get(bucket, 0.0)) / (1 - beyond) if beyond < 1 - 1e-6 else 0.0
                rows.equals({**served[bucket], short: within, tardy: -within}, within)
            rows.at_most({tardy: 1.0, short: -1.0}, -beyond)
            if late and beyond < 1 - 1e-6:
                share = self.scenario[w].ttft_share if np.isfinite(self.scenario[w].ttft_s) else 0.0
                everything = {x: -(1 - share) / (1 - beyond) for by in served.values() for x in by}
                rows.at_most({**late, **everything, tardy: -total}, 0.0)
            else:
                rows.most[tardy] = 0.0
        for (site, pool), work in works.items():
            free = own[site, pool] - reserved.get((site, pool), 0)
            rows.at_most(work, self.up * self.s.utilisation_cap * free)
            idle = self.idle_bytes(pool)
            space = held.pop((site, f"hbm:{pool}"), None)
            if space:
                row = dict(space)
                for x, value in beside[site, pool].items():
                    row[x] = row.get(x, 0.0) - value
                for x, value in work.items():
                    row[x] = row.get(x, 0.0) + idle * value
                rows.at_most(row, idle * self.up * free)
        for (site, store), space in held.items():
            sku, size, read, write, day = self.brings(store)
            there = self.there(rows, t, site, sku, own, reserved)
            for used, each in (
                (space, size), (reads[site, store], read), (dict(writes[site, store]), write),
                (dict(wears[site, store]), day / 86_400),
            ):  # fmt: skip
                if np.isfinite(each):
                    rows.at_most({**used, there: -each}, 0.0)
        self._near(rows, t, own, reserved, held, readers)
        for (site, pool), read in readers.items():
            most = self.sku[pool].cmx_read_bytes_per_s * self.s.store_utilisation_cap
            rows.at_most(read, self.up * (own[site, pool] - reserved.get((site, pool), 0)) * most)
        for (site, card, name), time in lpx.items():
            racks = performance.lpx_racks_per_copy(self.case.cards[card], self.sku[name])
            rows.at_most(time, racks * self.s.utilisation_cap * copies[site, card, name])

    def _near(self, rows, t, own, reserved, held, readers) -> None:
        """Requests with caches in CMX are worked on by racks that read it, which stand in pods with a CMX rack."""
        names = [p for p in self.pools if self.sku[p].cmx_read_bytes_per_s > 0]
        for site, place in self.site.items():
            work: dict[Any, float] = defaultdict(float)
            ports: dict[Any, float] = defaultdict(float)
            for (where, store), columns in held.items():
                if where != site or not store.startswith("cmx:"):
                    continue
                for x in columns:
                    if x[5] == 0:
                        work[x] = sum(self.least(t, x[3], b)[2] for b in self.buckets[self.names[t], x[3]])
            for (where, pool), columns in readers.items():
                if where == site:
                    for x, read in columns.items():
                        fill = x[4]
                        bucket = next(b for b in self.buckets[self.names[t], x[3]] if b.bucket == fill.bucket)
                        work[x] += fill.rack_s - self.least(t, x[3], bucket)[1]
                        ports[x] = read * self.sku[pool].pod_slots / (
                            self.up * self.sku[pool].cmx_read_bytes_per_s * self.s.store_utilisation_cap)  # fmt: skip
            if not work:
                continue
            ours = {sku: n - reserved.get((site, sku), 0) for (s, sku), n in own.items() if s == site}
            busy = self.up * self.s.utilisation_cap
            rows.at_most(dict(work), busy * sum(ours.get(name, 0) for name in names))
            if not place.cmx_crosses_pods:
                frames = sum(n for sku, n in ours.items() if self.sku[sku].kind == "cmx_rack")
                rows.at_most(dict(ports), self.s.nvl72_per_pod * frames)
                rows.at_most(dict(work), busy * self.s.nvl72_per_pod * frames)

    def least(self, t: int, w: str, b: Any) -> tuple[float, float, float]:
        """Least rack-seconds on racks that read CMX: decode, full prefill, and both by a bucket's share of requests."""
        key = ("least", t, w, b.bucket)
        if key not in self._cache:

            def reads(name: str) -> bool:
                return self.sku[name].cmx_read_bytes_per_s > 0

            decode = min((x.rack_s for x in self.ways(t, w) if x.bucket == b.bucket and reads(x.pool)), default=0.0)
            full = min((x.rack_s for x in self.fills(t, w)
                        if x.bucket == b.bucket and x.store == "recompute" and reads(x.pool)), default=0.0)  # fmt: skip
            total = sum(self.rate(w, x) for x in self.buckets[self.names[t], w])
            self._cache[key] = decode, full, self.rate(w, b) / total * (decode + full)
        return self._cache[key]

    def there(self, rows: Rows, t: int, site: str, name: str, own: State, reserved: State) -> Any:
        """A column with the units of a store that work for us: kits and enclosures need a host which is ours."""
        free = {sku: n - reserved.get((site, sku), 0) for (place, sku), n in own.items() if place == site}
        kind, column = self.sku[name].kind, (t, "there", site, name)
        up = self.s.availability if kind == "cmx_enclosure" else self.up
        rows.most[column] = up * free.get(name, 0)
        if kind == "ssd_kit":
            together = [sku for sku in free if self.sku[sku].kind == kind and self.sku[sku].host == self.sku[name].host]
            rows.at_most({(t, "there", site, sku): 1.0 for sku in together},
                         up * free.get(self.sku[name].host, 0) * self.bays(self.sku[name].host))  # fmt: skip
        if kind == "cmx_enclosure":
            together = [sku for sku in free if self.sku[sku].kind == kind]
            frames = sum(n * self.sku[sku].enclosures_per_rack for sku, n in free.items())
            rows.at_most({(t, "there", site, sku): 1.0 for sku in together}, up * frames)
        return column

    def _keep(self, rows, t, site, w, stores, hits, here, buckets, total, held, writes, wears) -> None:
        """Caches parked by store and age, and the hits that they allow."""
        ages, at = self.reuse.get(w, []), self.path.get((self.names[t], w))
        size = self.parked_bytes(t, w)
        parked: dict[Any, float] = dict.fromkeys(here, -1.0)
        for store in sorted(stores):
            reach = self.s.pod_return_share if store.startswith("cmx:") else self.s.rack_local_return_share
            back: dict[Any, float] = {}
            for number, age in enumerate(ages):
                x = (t, "kept", site, w, store, number)
                if number:
                    rows.at_most({x: 1.0, (*x[:-1], number - 1): -1.0}, 0.0)
                else:
                    parked[x] = 1.0
                    writes[site, store][x] += size
                    wears[site, store][x] += size * max(self.mean(w, b) for b in buckets.values())
                gone = reach * age.mean_return_before * at.return_scale * at.release_share
                held[site, store][x] = size * (age.age_to_s - age.age_from_s) * (1 - gone)
                back[x] = reach * age.return_share * at.return_scale
            for bucket, b in buckets.items():
                if hits[bucket, store]:
                    part = self.rate(w, b) / total
                    rows.at_most({**hits[bucket, store], **{x: -part * v for x, v in back.items()}}, 0.0)
        rows.at_most(parked, 0.0)

    def idle_bytes(self, pool: str) -> float:
        """HBM of an idle unit beside the weights of the heaviest card."""
        room = [
            performance.idle_hbm_bytes_per_gpu(self.sku[pool], self.case.cards[r.card], r.weight_precision)
            for r in self.workloads.values()
        ]
        return max(min(room), 0.0) * self.sku[pool].gpus

    def busy_kw(self, pool: str, work: str) -> float:
        """kW of a busy GPU unit: what the case itself states, else a share of its maximum by kind of work."""
        rows = self.case.tables["hardware"]
        own = rows[(rows["sku"] == pool) & (rows["attribute"] == "power_typical_kw")]
        if len(own):
            return float(own["value"].iloc[0])
        shares = {"serve": self.s.energy_share_of_nameplate_decode, "fill": self.s.energy_share_of_nameplate_prefill}
        return max(shares[work] * self.sku[pool].power_kw, self.sku[pool].power_idle_kw)

    def load_cost(self, rows: Rows, t: int) -> dict[Any, float]:
        """USD of quarter ``t`` for power above idle, of the columns that exist."""
        cost = {}
        for name in rows.columns:
            if name[0] != t or name[1] not in ("serve", "fill"):
                continue
            _, _, site, w, step = name
            place, hardware = self.site[site], self.sku[step.pool]
            usd_per_kw = place.pue * HOURS_PER_QUARTER * place.electricity_usd_per_kwh
            usd = step.rack_s * (self.busy_kw(step.pool, name[1]) - hardware.power_idle_kw) * usd_per_kw
            if getattr(step, "lpx", ""):
                partner = self.sku[step.lpx]
                usd += step.lpx_s * (partner.power_typical_kw - partner.power_idle_kw) * usd_per_kw
            bucket = next(b for b in self.buckets[self.names[t], w] if b.bucket == step.bucket)
            cost[name] = usd * self.mean(w, bucket)
        return cost

    def tokens_worth(self, quarter: str, w: str) -> float:
        """USD of a mean request: each token at its price, input by what an hour of keeping finds of it."""
        row, at = self.workloads[w], self.path[quarter, w]
        returns = at.return_scale * sum(r.return_share for r in self.reuse[w]) if w in self.reuse else 0.0
        usd = 0.0
        for b in self.buckets[quarter, w]:
            found = returns * at.reused_share * b.input_tokens + (1 - returns) * b.shared_prefix_tokens
            usd += b.share * found * row.lookahead_short_usd_per_million_cached_input_tokens
            usd += b.share * (b.input_tokens - found) * row.lookahead_short_usd_per_million_computed_input_tokens
            output = b.thinking_tokens + b.visible_tokens
            usd += b.share * output * row.lookahead_short_usd_per_million_output_tokens
        return usd / 1e6

    def short_price(self, t: int) -> dict[Any, float]:
        """USD for all requests of a workload unserved in a look-ahead quarter."""
        cost = {}
        for w, row in self.workloads.items():
            requests = sum(b.requests_per_s * b.mean_to_peak for b in self.buckets[self.names[t], w]) * SECONDS
            price = row.lookahead_short_usd_per_request
            if not np.isfinite(price):
                price = self.tokens_worth(self.names[t], w)
            if requests > 0:
                cost[t, "short", w] = price * requests
        return cost
