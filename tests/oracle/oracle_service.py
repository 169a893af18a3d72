"""What serving a tiny case takes, from sizing, performance and demand alone.

Written from the design and the docs, with no word of ``procure.instance`` or ``procure.program``: requests/s instead of
shares, bytes instead of TB.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from oracle_once import once
from oracle_rent import Offers
from oracle_replicas import Llm, Replica, replicas

from procure import demand, performance
from procure.demand.lengths import SHARES
from procure.quarter import Quarter


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
    output_s: float


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
    later: bool
    """Whether more of its requests are late at Max-Q."""
    walls: Any = field(compare=False)
    """Seconds to the first token by lengths."""


@dataclass(frozen=True)
class Send:
    """Prefilling one bucket in full at a site for another, over the link between them."""

    fill: Fill
    sends: str
    receives: str
    late: float
    sent_bytes: float
    most_bytes_per_s: float


PROVIDER = SimpleNamespace(pods_max=10**6, cmx_crosses_pods=False, pue=1.0, electricity_usd_per_kwh=0.0,
                           space_usd_per_kw_month=0.0, floor_load_kg_per_m2=0.0)  # fmt: skip
"""The location of a provider: power and space are in the rent, and nothing that is bought may stand there."""


class Service:
    """Everything that serving takes, quarter by quarter."""

    def __init__(self, case: Any) -> None:
        self.case, self.s = case, case.settings
        self.asked = demand.build(case)
        self.records = {name: list(frame.itertuples()) for name, frame in case.tables.items()}
        self.names = [str(q) for q in case.quarters]
        tables = ("fleet", "orders", "rent")
        self.owned = sorted(set(case.settings.may_buy).union(*(case.tables[name]["sku"] for name in tables)))
        self.sku = {name: case.catalogue.sku(name) for name in self.owned}
        self.pools = [name for name in self.owned if self.sku[name].kind == "gpu"]
        self.lpx = [name for name in self.owned if self.sku[name].kind == "lpx"]
        self.kits: dict[str, list[Any]] = defaultdict(list)
        for sku in case.catalogue.skus.values():
            if sku.kind == "ssd_kit":
                self.kits[sku.host].append(sku)
        elsewhere = {r.site for r in self.records["rent"]} - {r.site for r in self.records["sites"]}
        self.site = dict.fromkeys(elsewhere, PROVIDER) | {r.site: r for r in self.records["sites"]}
        self.scenario = {r.workload: r for r in self.asked.scenarios.itertuples()}
        self.workloads = {r.workload: r for r in self.records["workloads"]}
        table = self.asked.buckets.merge(self.asked.rates, on=["quarter", "workload", "bucket"])
        self.buckets = {key: list(rows.itertuples()) for key, rows in table.groupby(["quarter", "workload"])}
        self.nodes = {
            key: (rows["share"].to_numpy(dtype=float), rows["input_tokens"].to_numpy(dtype=float))
            for key, rows in self.asked.nodes.groupby(["quarter", "workload", "bucket"])
        }
        self.path = {(r.quarter, r.workload): r for r in self.asked.reuse_path.itertuples()}
        self.reuse = {w: list(rows.itertuples()) for w, rows in self.asked.reuse.groupby("workload")}
        self.rules = performance.Rules.of(performance.premises_of(case.catalogue))
        self.up = self.s.availability * (1 - self.s.spare_share)
        planned = {str(q) for q in case.planned}
        self.role = {(r.site, r.sku): r.role for r in self.records["pools"]}
        self.weight: dict[tuple[int, str], float] = defaultdict(float)
        for t, name in enumerate(self.names):
            for w in self.workloads:
                if name in planned:
                    self.weight[t, w] = self.workloads[w].priority * sum(
                        b.requests_per_s * b.mean_to_peak * self.counted(b) for b in self.buckets[name, w]
                    )
        total = sum(self.weight.values())
        self.weight = {key: value / total for key, value in self.weight.items()}
        self.parts = [(r.daypart, r.hours_per_day) for r in self.asked.dayparts.itertuples()]
        self.level = {(r.daypart, r.workload): r.of_peak for r in self.asked.daypart_rates.itertuples()}
        if self.s.dayparts == "peak":
            self.parts, self.level = [("", 24)], {}
        self._kept: dict[Any, Any] = {}

    def waits(self, w: str) -> bool:
        """Whether it is placed in parts of the day."""
        return bool(self.level) and bool(self.scenario[w].deferrable)

    def setup(self, t: int, row: Any) -> performance.Setup:
        """How a workload is served in a quarter: software is as it is when the quarter begins."""
        vintage = self.rules.software.vintage_at(self.s.vintage, self.names[t])
        return performance.Setup(row.weight_precision, row.kv_format, vintage, self.rules)

    @once
    def as_in(self, t: int, w: str) -> int:
        """The first quarter in which requests differ in their rates alone: what one takes is worked out there, once."""
        software = [self.rules.software.vintage_at(self.s.vintage, name) for name in self.names[: t + 1]]
        return next(q for q in range(t + 1) if software[q] == software[t] and self._alone(q, w) == self._alone(t, w))

    @once
    def _alone(self, t: int, w: str) -> Any:
        """What is asked of one request of each bucket."""
        name, columns = self.names[t], [column for column in self.asked.buckets if column != "quarter"]
        buckets = [[getattr(b, column) for column in columns] for b in self.buckets[name, w]]
        nodes = [array.tolist() for b in self.buckets[name, w] for array in self.nodes[name, w, b.bucket]]
        reused = self.path[name, w].reused_share if (name, w) in self.path else 0.0
        return buckets, nodes, reused, np.asarray(self.asked.lengths[name, w]).tolist()

    def mean_of(self, t: int, w: str, b: Any, function: Any) -> float:
        """A bucket's mean of a function of lengths."""
        shares, tokens = self.nodes[self.names[t], w, b.bucket]
        return float(shares @ function(tokens))

    def rate(self, w: str, b: Any) -> float:
        """Requests/s that a bucket is sized for."""
        return b.requests_per_s * (b.mean_to_peak if self.scenario[w].deferrable else 1.0)

    def mean(self, w: str, b: Any) -> float:
        """Mean over that rate."""
        return 1.0 if self.scenario[w].deferrable else b.mean_to_peak

    @once
    def loaded(self, t: int, w: str) -> dict[int, Any]:
        """Buckets with requests, by number."""
        return {b.bucket: b for b in self.buckets[self.names[t], w] if self.rate(w, b) > 0}

    def racks_per_copy(self, card: str, lpx: str) -> int:
        """LPX racks that hold one copy of a card."""
        return performance.lpx_racks_per_copy(self.case.cards[card], self.sku[lpx], self.rules.lpx)

    @once
    def replicas(self, t: int) -> dict[tuple[Llm, str, str], tuple[Replica, bool]]:
        """Instances by (LLM, deployment, role), each with whether they are counted in whole ones."""
        return replicas(self, t)

    def ways(self, t: int, w: str) -> list[Way]:
        """Points of every bucket: the parts of the answer at their own speeds, largest batches with largest."""
        return self._ways(self.as_in(t, w), w)

    @once
    def _ways(self, t: int, w: str) -> list[Way]:
        return [way for pool in self.pools for way in self._decode(t, w, pool)]

    def phases(self, w: str, b: Any) -> list[tuple[float, float]]:
        """Tokens of each part of an answer, and the speed promised for it."""
        s = self.scenario[w]
        first = min(b.visible_tokens, s.burst_tokens)
        parts = ((b.thinking_tokens, s.tps_thinking), (first, s.tps_burst), (b.visible_tokens - first, s.tps_visible))
        return [(tokens, tps) for tokens, tps in parts if tokens > 0]

    def _decode(self, t: int, w: str, pool: str) -> list[Way]:
        row = self.workloads[w]
        card, hardware = self.case.cards[row.card], self.sku[pool]
        made = []
        partners = [None]
        if hardware.pairs_with_lpx:
            partners += [self.sku[name] for name in self.lpx]
        for partner in partners:
            answers = {b: self.phases(w, b) for b in self.buckets[self.names[t], w]}
            asked = list(dict.fromkeys((b, tps) for b, parts in answers.items() for _, tps in parts))
            table = performance.decode_points(
                hardware, card, self.setup(t, row), lpx=partner, tps_user=[max(tps, 1.0) for _, tps in asked],
                context_mean=[b.input_tokens + (b.thinking_tokens + b.visible_tokens) / 2 for b, _ in asked],
                context_upper=[b.input_upper_tokens + b.thinking_tokens + b.visible_tokens for b, _ in asked],
            )  # fmt: skip
            at: dict[Any, list[Any]] = {ask: [] for ask in asked}
            for point in table.itertuples():
                at[asked[point.element]].append(point)
            for b, parts in answers.items():
                output = b.thinking_tokens + b.visible_tokens
                points = [at[b, tps] for _, tps in parts]
                lengths = [tokens for tokens, _ in parts]
                for rank in range(min(len(p) for p in points)):
                    chosen = [p[rank] for p in points]
                    seconds = [
                        n / (p.tokens_per_s_per_gpu * hardware.gpus) for n, p in zip(lengths, chosen, strict=True)
                    ]
                    free = [p.free_hbm_bytes_per_gpu * hardware.gpus for p in chosen]
                    lpx = sum(n * p.lpx_rack_s_per_token for n, p in zip(lengths, chosen, strict=True))
                    output_s = output / min(p.tps_user for p in chosen)
                    made.append(
                        Way(b.bucket, pool, rank, sum(seconds), partner.name if partner else "", lpx,
                            float(np.average(free, weights=seconds)), output_s)
                    )  # fmt: skip
        return made

    def stores(self, pool: str) -> dict[str, float]:
        """Stores that a pool may read, with bytes/s of one of its GPUs."""
        hardware, cap = self.sku[pool], self.s.store_utilisation_cap
        found = {f"hbm:{pool}": hardware.hbm_bytes_per_s_per_gpu}
        if hardware.dram_kv_bytes > 0:
            found[f"dram:{pool}"] = min(hardware.dram_bytes_per_s * cap / hardware.gpus, self.from_peers("dram", pool))
        if hardware.ssd_included_bytes > 0:
            drives = self.inside(pool).store_read_bytes_per_s * cap / hardware.gpus
            found[f"ssd:{pool}"] = min(drives, self.from_peers("ssd", pool))
        for kit in self.kits[pool]:
            if kit.name in self.sku:
                drives = kit.store_read_bytes_per_s * cap / hardware.gpus
                found[f"ssd:{kit.name}"] = min(drives, self.from_peers("ssd", pool))
        for name in self.owned:
            if self.sku[name].kind == "cmx_enclosure" and hardware.cmx_read_bytes_per_s > 0:
                found[f"cmx:{name}"] = hardware.cmx_read_bytes_per_s * cap / hardware.gpus
        return found

    def at_maxq(self, pool: str) -> float:
        """Work of a unit at Max-Q over that at full power; 1 where it has no such mode, or the case wants none."""
        sku = self.sku[pool]
        saves = 0 < sku.power_maxq_kw < sku.power_kw and self.s.power_modes == "by_quarter"
        return min(1.0, sku.maxq_throughput_factor / sku.throughput_factor) if saves else 1.0

    def from_peers(self, tier: str, pool: str) -> float:
        """Bytes/s of one GPU where racks read each other's caches; no limit where they do not."""
        if getattr(self.s, f"{tier}_home") in ("tray", "rack"):
            return float("inf")
        return min(getattr(self.s, f"peer_{tier}_bytes_per_s_per_gpu"), self.nic(pool) / self.sku[pool].gpus)

    def nic(self, pool: str) -> float:
        """Bytes/s that a unit sends, or receives, over the scale-out network."""
        hardware = self.sku[pool]
        return hardware.gpus * hardware.scale_out_bytes_per_s_per_gpu * self.s.store_utilisation_cap

    def lies_with_peers(self, store: str) -> bool:
        """Whether units read each other's part of a store."""
        return store[:4] in ("dram", "ssd:") and getattr(self.s, f"{store[:4].strip(':')}_home") in ("pod", "site")

    def inside(self, pool: str) -> Any:
        """The kit that drives inside a rack's price are like."""
        included = self.sku[pool].ssd_included_bytes
        return min(self.kits[pool], key=lambda kit: (abs(kit.store_bytes - included), kit.name))

    @once
    def bays(self, pool: str) -> float:
        """Share of the drive bays of a rack that is free for kits."""
        hardware = self.case.catalogue.sku(pool)
        if hardware.ssd_included_bytes <= 0:
            return 1.0
        return max(0.0, 1.0 - hardware.ssd_included_bytes / self.inside(pool).store_bytes)

    def fills(self, t: int, w: str) -> list[Fill]:
        """Ways to prefill every bucket, with the share of its requests that comes late."""
        return self._fills(self.as_in(t, w), w)

    @once
    def _fills(self, t: int, w: str) -> list[Fill]:
        return [fill for pool in self.pools for fill in self._prefill(t, w, pool)]

    def _prefill(self, t: int, w: str, pool: str) -> list[Fill]:
        row = self.workloads[w]
        card, hardware = self.case.cards[row.card], self.sku[pool]
        p = self.path[self.names[t], w].reused_share if (self.names[t], w) in self.path else 0.0
        setup = self.setup(t, row)
        gpus = performance.prefill_gpus_per_replica(hardware, card, setup)
        queue = performance.Queue(self.s.utilisation_cap, self.scenario[w].ttft_share)

        def moved(tokens: Any) -> Any:
            return card.transferred_bytes(tokens, row.kv_format)

        def work(lengths: Any, held: Any) -> Any:
            given = {"new_tokens": lengths - held, "prefix_tokens": held}
            alone = performance.prefill_gpu_seconds(hardware, card, setup, **given) / hardware.gpus
            return alone / self.rules.prefill.service_factor

        def unchanged(lengths: Any, held: Any) -> Any:
            """Bytes that are not written again when sequences of these lengths are parked after a hit."""
            new = card.transferred_bytes(lengths, row.kv_format, cached_tokens=held)
            return card.stored_bytes(lengths, row.kv_format) - new

        links = hardware.scale_out_bytes_per_s_per_gpu * gpus
        made = []
        for b in self.buckets[self.names[t], w]:
            for store, bytes_per_s in {"recompute": np.inf, **(self.stores(pool) if p > 0 else {})}.items():
                reuse = store != "recompute"

                def held(lengths: Any, reuse: bool = reuse, b: Any = b) -> Any:
                    shared = np.minimum(b.shared_prefix_tokens, lengths)
                    return np.maximum(p * lengths, shared) if reuse else shared

                def walls(lengths: Any, reuse: bool = reuse, held: Any = held, rate: float = bytes_per_s,
                          on: Any = hardware) -> Any:  # fmt: skip
                    lengths = np.asarray(lengths, dtype=float)
                    prefix = held(lengths)
                    given = {"new_tokens": lengths - prefix, "prefix_tokens": prefix}
                    seconds = performance.prefill_latency_s(on, card, setup, **given, queue=queue)
                    links_at = links * self.s.store_utilisation_cap
                    seconds = seconds + card.transferred_bytes(lengths, row.kv_format) / links_at
                    read = card.transferred_bytes(prefix, row.kv_format) / (rate * gpus)
                    return seconds + (read if reuse else 0.0)

                every = self.asked.lengths[self.names[t], w]
                late = self.share_longer(t, w, b, walls(every))
                later, less = False, self.at_maxq(pool)
                if less < 1:
                    slow = replace(hardware, throughput_factor=hardware.throughput_factor * less)
                    later = self.share_longer(t, w, b, walls(every, on=slow)) > late + 1e-9
                busy = self.mean_of(t, w, b, lambda n, held=held: work(n, held(n)))
                read = self.mean_of(t, w, b, lambda n, held=held: moved(held(n))) if reuse else 0.0
                valid = (
                    self.mean_of(t, w, b, lambda n, held=held, b=b: unchanged(n + b.visible_tokens, held(n)))
                    if reuse and not (self.s.flash_writes == "write_through" and store[:3] in ("ssd", "cmx"))
                    else 0.0
                )
                made.append(Fill(b.bucket, pool, store, busy, late, read, valid, later, walls))
        return made

    def share_longer(self, t: int, w: str, b: Any, walls: Any) -> float:
        """Share of a bucket that is longer than the longest prompt whose first token is in time, found by halving.

        ``walls`` are the seconds to the first token at the points of the distribution of lengths. The share below a
        length is read off these points, each in the middle of its cell.
        """
        target, upto = self.scenario[w].ttft_s, np.cumsum(SHARES)
        low, high = 0, len(walls)  # points in time, by halving, then the place between two of them
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if walls[middle] <= target else (low, middle)
        if low in (0, len(walls)):
            in_time = float(low > 0)
        else:
            before, after = float(walls[low - 1]), float(walls[low])
            part = (target - before) / (after - before)
            middles = [upto[i] - SHARES[i] / 2 for i in (low - 1, low)]
            in_time = middles[0] + part * (middles[1] - middles[0])
        rows = self.buckets[self.names[t], w]
        start = sum(x.share for x in rows if x.bucket < b.bucket)
        late = min(max((start + b.share - max(start, in_time)) / b.share, 0.0), 1.0)
        return late if late >= 1e-6 else 0.0

    @once
    def out_of_reach(self, t: int, w: str) -> dict[int, float]:
        """Requests by bucket that no pool brings in time beyond what may be late, the longest first; requests/s."""
        if not np.isfinite(self.scenario[w].ttft_s):
            return {}
        rows = self.loaded(t, w)
        returns = any(age.return_share > 0 for age in self.reuse.get(w, []))
        least = {
            bucket: min(
                [f.late for f in self.fills(t, w)
                 if f.bucket == bucket and (f.store == "recompute" or returns) and self.at_home(f.pool, t)]
                + [x.late for x in self.sends(t, w) if x.fill.bucket == bucket],
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

    @once
    def ready(self, site: str, pool: str, t: int) -> bool:
        """Whether a unit may stand at a site: it is owned or on order by then, or can be ordered in time."""
        position = {name: i for i, name in enumerate(self.names)}
        orders = [position[str(r.delivery)] for r in self.records["orders"] if (r.site, r.sku) == (site, pool)]
        if any((r.site, r.sku) == (site, pool) for r in self.records["fleet"]) or any(at <= t for at in orders):
            return True
        offers = Offers(self.case)
        runs = {
            r.offer: Quarter(r.from_quarter) for r in offers.running if Quarter(r.from_quarter) <= self.case.quarters[t]
        }
        for offer in offers.offers.values():
            began = any(c.first <= t for c in offers.contracts(offer)) or offer.offer in runs
            if (offer.site, offer.sku) == (site, pool) and began and t <= offers.window(offer)[-1]:
                return True
        hardware, floor = self.sku[pool], self.site[site].floor_load_kg_per_m2
        if hardware.footprint_m2 and hardware.weight_kg / hardware.footprint_m2 > floor:
            return False
        return pool in self.s.may_buy and any(
            (not hardware.available_from or self.case.quarters[at] >= Quarter(hardware.available_from))
            and (not hardware.last_order or self.case.quarters[at - lead] <= Quarter(hardware.last_order))
            for lead in [math.ceil(hardware.lead_quarters)]
            for at in range(lead, t + 1)
        )

    def does(self, site: str, pool: str, t: int, what: str) -> bool:
        """Whether units may stand at a site and prefill, or decode, there."""
        return self.ready(site, pool, t) and self.role.get((site, pool), what) == what

    def anywhere(self, pool: str, t: int, what: str) -> bool:
        """Whether units may stand at some site and prefill, or decode, there."""
        return any(self.does(site, pool, t, what) for site in self.site)

    @once
    def at_home(self, pool: str, t: int) -> bool:
        """Whether a pool may prefill at a site at which something may decode."""
        return any(
            self.does(site, pool, t, "prefill") and any(self.does(site, other, t, "decode") for other in self.pools)
            for site in self.site
        )

    @once
    def links(self, t: int) -> dict[tuple[str, str], tuple[float, float, float]]:
        """Bytes/s that a link may carry of ours, its delay, and USD for the quarter, by both its sites."""
        found: dict[tuple[str, str], Any] = {}
        for r in sorted(self.records["links"], key=lambda r: Quarter(r.from_quarter).index):
            if Quarter(r.from_quarter) <= self.case.quarters[t]:
                ours = r.bandwidth_gbit_per_s * 125e6 * (1 - r.other_traffic_share)
                found[r.from_site, r.to_site] = (ours, r.latency_s, 3 * r.usd_per_month)
        return {pair: link for pair, link in found.items() if link[0] > 0}

    @once
    def sends(self, t: int, w: str) -> list[Send]:
        """Prefill for other sites that somebody may want: not late throughout where the other site does without."""
        row = self.workloads[w]
        card = self.case.cards[row.card]
        lengths = self.asked.lengths[self.names[t], w]
        made = []
        for (sends, receives), (rate, delay, _) in self.links(t).items():
            for fill in self.fills(t, w):
                b = next(b for b in self.buckets[self.names[t], w] if b.bucket == fill.bucket)
                if fill.store != "recompute" or not self.does(sends, fill.pool, t, "prefill"):
                    continue
                if not any(x.bucket == b.bucket and self.does(receives, x.pool, t, "decode") for x in self.ways(t, w)):
                    continue
                first = fill.walls(lengths) + delay + card.transferred_bytes(lengths, row.kv_format) / rate
                late = self.share_longer(t, w, b, first)
                own = any(f.bucket == b.bucket and self.does(receives, f.pool, t, "prefill") for f in self.fills(t, w))
                if late < 1 - 1e-6 or not own:
                    size = self.mean_of(t, w, b, lambda n: card.transferred_bytes(n, row.kv_format))
                    made.append(Send(fill, sends, receives, late, size, rate))
        return made

    @once
    def wear_usd(self, t: int, store: str) -> float:
        """USD for each byte that a store is given beyond what its drives endure: they are bought again."""
        name = store.partition(":")[2]
        unit = self.inside(name) if self.sku[name].kind == "gpu" else self.sku[name]
        catalogue, quarter = self.case.catalogue, self.names[t]
        price = catalogue.prices.get((unit.name, quarter))
        if price is None:  # flash gets dearer and cheaper by its own path, apart from what is around it
            price = unit.price_usd * catalogue.fact("flash-tlc", quarter).value
        price *= unit.price_flash_share
        writes = unit.endurance_dwpd * unit.store_bytes * 365 * self.s.flash_rated_years / self.s.write_amplification
        return price / writes

    @once
    def parked_bytes(self, t: int, w: str) -> float:
        """Mean bytes of a parked sequence."""
        rows = self.buckets[self.names[t], w]
        size = [self.sequence_bytes(t, w, b) for b in rows]
        return float(np.average(size, weights=[self.rate(w, b) for b in rows]))

    @once
    def sequence_bytes(self, t: int, w: str, b: Any) -> float:
        """Mean bytes of a sequence of a bucket, with its visible output."""
        row = self.workloads[w]
        card = self.case.cards[row.card]

        def stored(tokens: Any) -> Any:
            return card.stored_bytes(tokens, row.kv_format)

        return self.mean_of(t, w, b, lambda n: stored(n + b.visible_tokens))

    @once
    def input_bytes(self, t: int, w: str, bucket: int) -> float:
        """Mean bytes of the cache of an input, which prefill hands to decode."""
        row = self.workloads[w]
        b = next(b for b in self.buckets[self.names[t], w] if b.bucket == bucket)
        return self.mean_of(t, w, b, lambda n: self.case.cards[row.card].transferred_bytes(n, row.kv_format))

    def promised_s(self, w: str, b: Any) -> float:
        """Seconds from the first token to the last at the speeds promised."""
        return float(sum(tokens / tps for tokens, tps in self.phases(w, b) if tps > 0))

    def brings(self, store: str) -> tuple[str, float, float, float, float]:
        """SKU behind a store, and bytes, read B/s, write B/s and written B/day of one of its units."""
        tier, _, name = store.partition(":")
        cap, inf = self.s.store_utilisation_cap, float("inf")
        unit, part = self.sku[name], 1.0
        if tier == "dram":
            speed = unit.dram_bytes_per_s * cap
            return name, unit.dram_kv_bytes * cap, min(speed, self.from_peers("dram", name) * unit.gpus), speed, inf
        peers = inf
        if unit.kind == "gpu":
            peers = self.from_peers("ssd", name) * unit.gpus
            included, unit = unit.ssd_included_bytes, self.inside(name)
            part = included / unit.store_bytes
        elif unit.kind == "ssd_kit":
            peers = self.from_peers("ssd", unit.host) * self.sku[unit.host].gpus
        return (
            name, part * unit.store_bytes * cap, min(part * unit.store_read_bytes_per_s * cap, peers),
            part * unit.store_write_bytes_per_s * cap,
            part * unit.store_bytes * unit.endurance_dwpd / self.s.write_amplification,
        )  # fmt: skip

    @once
    def least(self, t: int, w: str, b: Any) -> tuple[float, float, float]:
        """Least rack-seconds on racks that read CMX: decode, full prefill, and both by a bucket's share of requests."""

        def reads(name: str) -> bool:
            return self.sku[name].cmx_read_bytes_per_s > 0

        decode = min((x.rack_s for x in self.ways(t, w) if x.bucket == b.bucket and reads(x.pool)), default=0.0)
        full = min((x.rack_s for x in self.fills(t, w)
                    if x.bucket == b.bucket and x.store == "recompute" and reads(x.pool)), default=0.0)  # fmt: skip
        total = sum(self.rate(w, x) for x in self.buckets[self.names[t], w])
        return decode, full, self.rate(w, b) / total * (decode + full)

    @once
    def idle_bytes(self, pool: str) -> float:
        """HBM of an idle unit beside the weights of the heaviest card."""
        room = [
            performance.idle_hbm_bytes_per_gpu(self.sku[pool], self.case.cards[r.card], r.weight_precision, self.rules)
            for r in self.workloads.values()
        ]
        return max(min(room), 0.0) * self.sku[pool].gpus

    @once
    def busy_kw(self, pool: str, work: str) -> float:
        """kW of a busy GPU unit: what the case itself states, else a share of its maximum by kind of work."""
        rows = self.case.tables["hardware"]
        own = rows[(rows["sku"] == pool) & (rows["attribute"] == "power_typical_kw")]
        if len(own):
            return float(own["value"].iloc[0])
        shares = {"serve": self.s.energy_share_of_nameplate_decode, "fill": self.s.energy_share_of_nameplate_prefill}
        return max(shares[work] * self.sku[pool].power_kw, self.sku[pool].power_idle_kw)

    def counted(self, b: Any) -> float:
        """What a request of a bucket counts in the shortfall: one, or its tokens."""
        tokens = b.input_tokens + b.thinking_tokens + b.visible_tokens
        return float(tokens) if self.s.objective == "max_served_tokens" else 1.0

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
