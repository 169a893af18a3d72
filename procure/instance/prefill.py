"""Ways to prefill: cost, seconds to the first token, and bytes read, in full or from each store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from procure import performance
from procure.instance import tables
from procure.instance.first_token import bucket_means, curve_nodes, late_shares, share_in_time
from procure.instance.links import links
from procure.instance.retention import Stores, store_reads
from procure.instance.service import Load, input_bytes, machines
from procure.instance.units import has_maxq, maxq_share, skus_in_play
from procure.schema import RECOMPUTE, Evidence, SkuKind

if TYPE_CHECKING:
    from procure.case import Case
    from procure.catalogue import Sku


SAME_LATE = 1e-9
"""Shares of late requests that differ by less are the same."""

Prefix = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Tokens whose cache is there already, of a length, the share that a return reuses and the shared prefix."""


def ways(case: Case, load: Load) -> Ways:
    """Ways to prefill every bucket of a workload: :func:`ways_on` every pool."""
    return ways_on(case, load, machines(case, SkuKind.GPU))


def full_power_options(case: Case, load: Load) -> list[tables.FullPowerPrefill]:
    """Ways to prefill that make more of their requests late at Max-Q than at full power."""
    modes = {sku.name: maxq_share(sku) for sku in skus_in_play(case) if has_maxq(case, sku)}
    pools = [pool for pool in machines(case, SkuKind.GPU) if pool.name in modes]
    slow = [replace(pool, throughput_factor=pool.throughput_factor * modes[pool.name]) for pool in pools]
    rows = zip(ways_on(case, load, pools).options, ways_on(case, load, slow).options, strict=True)
    return [
        tables.FullPowerPrefill(full.option) for full, slower in rows if slower.late_share > full.late_share + SAME_LATE
    ]


def ways_on(case: Case, load: Load, pools: Sequence[Sku]) -> Ways:
    """Ways to prefill every bucket of a workload, with the share of its requests that each makes late.

    In full behind the shared prefix, or from each store that the pool can read; a way that is late for all is one too,
    since some may be.
    """
    made, stores = Ways([], [], [], [], _quarters(load.buckets)), store_reads(case)
    for pool in pools:
        _full(case, load, pool, made)
        if load.buckets["reused_share"].max() > 0:
            _reused(case, load, pool, stores, made)
    return made


@dataclass(frozen=True)
class Ways:
    """Rows of the tables of ways to prefill and their first tokens, and the quarters that they are of."""

    options: list[tables.Prefill]
    curves: list[tables.FirstToken]
    ships: list[tables.Ship]
    ship_curves: list[tables.ShipFirstToken]
    quarters: list[QuarterBuckets]


@dataclass(frozen=True)
class QuarterBuckets:
    """The buckets of a workload in a quarter: their rows, names, and the shares of the requests at which they end."""

    t: int
    rows: list[int]
    names: list[str]
    ends: np.ndarray


def _quarters(buckets: pd.DataFrame) -> list[QuarterBuckets]:
    """The quarters of a workload's bucket rows, in order."""
    rows: dict[int, list[int]] = {}
    for row, t in enumerate(buckets["t"].tolist()):
        rows.setdefault(t, []).append(row)
    names, share = buckets["bucket"].astype(str).tolist(), buckets["share"].to_numpy(float)
    return [
        QuarterBuckets(t, mine, [names[row] for row in mine], np.cumsum(share[mine]) / share[mine].sum())
        for t, mine in rows.items()
    ]


@dataclass(frozen=True)
class Prefill:
    """Prefill of a workload on a pool.

    Attributes:
        gpu_s: GPU-seconds per request of a pool in service, the mean of each bucket row.
        prefix_tokens: tokens whose cache is there already, at the points of each quarter's lengths.
        first_token_s: seconds to the first token at those points, loading the prefix from a store left out.
    """

    gpu_s: np.ndarray
    prefix_tokens: dict[int, np.ndarray]
    first_token_s: dict[int, np.ndarray]


def _behind_shared_prefix(length: np.ndarray, reused: np.ndarray, shared: np.ndarray) -> np.ndarray:
    del reused
    return np.minimum(shared, length)


def _behind_own_cache(length: np.ndarray, reused: np.ndarray, shared: np.ndarray) -> np.ndarray:
    return np.maximum(reused * length, np.minimum(shared, length))


def _prefill(case: Case, load: Load, pool: Sku, prefix_of: Prefix) -> Prefill:
    """The cost is the bucket's mean of the function, which is not linear in the length.

    The first token includes handing the cache to the decoding GPUs. Later software shortens latencies, not
    GPU-seconds of work.
    """
    b = load.buckets
    gpu_s = np.zeros(len(b))
    prefix: dict[int, np.ndarray] = {}
    first: dict[int, np.ndarray] = {}
    quarter, reused, shared = (b[name].to_numpy() for name in ("t", "reused_share", "shared_prefix_tokens"))
    for length, share in load.nodes:
        kept = prefix_of(length, reused, shared)
        gpu_s += share * performance.served_prefill_gpu_seconds(
            pool, load.card, load.setup, new_tokens=length - kept, prefix_tokens=kept, end=case.settings.points
        )
    months = b["months"].to_numpy()
    for later in dict.fromkeys(months.tolist()):
        at = np.flatnonzero(months == later)
        setup = replace(load.setup, vintage=f"{load.setup.vintage}+{later}" if later else load.setup.vintage)
        quarters = list(dict.fromkeys(quarter[at].tolist()))
        whole = np.stack([load.lengths[t] for t in quarters])
        of = [quarter == t for t in quarters]
        kept = prefix_of(whole, *(np.array([[column[rows].max()] for rows in of]) for column in (reused, shared)))
        seconds = performance.first_token_s(
            pool,
            load.card,
            setup,
            new_tokens=(whole - kept).ravel(),
            prefix_tokens=kept.ravel(),
            queue=performance.Queue(case.settings.utilisation_cap, load.scenario.ttft_share),
            link_share=case.settings.store_utilisation_cap,
        )
        prefix |= dict(zip(quarters, kept, strict=True))
        first |= dict(zip(quarters, seconds.reshape(whole.shape), strict=True))
    return Prefill(gpu_s, prefix, first)


def _full(case: Case, load: Load, pool: Sku, made: Ways) -> None:
    cost = _prefill(case, load, pool, _behind_shared_prefix)
    none = np.zeros(len(load.buckets))
    tokens, shared = (load.buckets[name].to_numpy(float) for name in ("input_tokens", "shared_prefix_tokens"))
    stated = performance.prefill_is_stated(pool, load.card, load.setup, tokens, shared)
    evidence = [Evidence.USER if known else Evidence.PHYSICS for known in stated]
    _add(load, pool, RECOMPUTE, cost.gpu_s, cost.first_token_s, (none, none), evidence, made)
    for link in links(case):
        if link.t in cost.first_token_s:
            _sent(load, pool, link, cost.first_token_s[link.t], made)


def _sent(load: Load, pool: Sku, link: tables.LinkRow, first_token_s: np.ndarray, made: Ways) -> None:
    """Rows of what a pool prefills in full and sends over a link: the whole cache of the input, after the prefill.

    TTFT on the pair = TTFT at the sending site + latency + bytes of the cache / usable bytes/s of the link
    """
    quarter = next(of for of in made.quarters if of.t == link.t)
    target, asked = load.scenario.ttft_s, load.scenario.ttft_share

    size = np.asarray(load.card.transferred_bytes(load.lengths[link.t], load.setup.kv_format), dtype=float)
    sent_s = link.latency_s + size / link.bytes_per_s
    seconds = first_token_s + sent_s
    in_time = share_in_time(seconds, target)
    place = (link.from_site, link.to_site)
    if np.isfinite(target):
        nodes = curve_nodes(quarter.ends, seconds, (asked, in_time))
        made.ship_curves.extend(tables.ShipFirstToken(link.t, load.name, pool.name, *place, *node) for node in nodes)
    moved = input_bytes(load)
    columns = (bucket_means(quarter.ends, sent_s), bucket_means(quarter.ends, seconds),
               late_shares(quarter.ends, in_time))  # fmt: skip
    for i, name, *of_bucket in zip(quarter.rows, quarter.names, *(c.tolist() for c in columns), strict=True):
        option = _option(load, name, link.t, pool, RECOMPUTE)
        key = (option, *place, link.t, load.name, name, pool.name)
        made.ships.append(tables.Ship(*key, float(moved[i]), *of_bucket))


def _option(load: Load, bucket: str, t: int, pool: Sku, store: str) -> str:
    """Identifier of a way to prefill."""
    return f"{load.name}|{bucket}|{t}|{pool.name}|{store}"


def _reused(case: Case, load: Load, pool: Sku, stores: Stores, made: Ways) -> None:
    b = load.buckets
    share, shared = b["reused_share"].to_numpy(float), b["shared_prefix_tokens"].to_numpy(float)
    cost = _prefill(case, load, pool, _behind_own_cache)
    visible = b["visible_tokens"].to_numpy(float)
    read, valid = np.zeros(len(b)), np.zeros(len(b))
    for length, part in load.nodes:
        kept = _behind_own_cache(length, share, shared)
        read += part * np.asarray(load.card.transferred_bytes(kept, load.setup.kv_format), dtype=float)
        valid += part * _valid_bytes(load, length + visible, kept)
    for store, reads in stores.items():
        if reads.owner in ("", pool.name) and reads.speed(pool) > 0:
            speed = reads.speed(pool)
            seconds = {
                t: cost.first_token_s[t]
                + performance.load_s(pool, load.card, load.setup, prefix_tokens=kept, bytes_per_s_per_gpu=speed)
                for t, kept in cost.prefix_tokens.items()
            }
            whole = case.settings.flash_writes == "write_through" and reads.tier.is_flash
            stays = np.zeros(len(b)) if whole else valid
            _add(load, pool, store, cost.gpu_s, seconds, (read, stays), [Evidence.PHYSICS] * len(b), made)


def cached_tokens_table(loads: Mapping[str, Load]) -> pd.DataFrame:
    """Mean tokens of input that are in a cache already, behind the shared prefix and behind the request's own cache."""
    rows: list[tables.CachedTokens] = []
    for load in loads.values():
        b = load.buckets
        reused, shared = b["reused_share"].to_numpy(float), b["shared_prefix_tokens"].to_numpy(float)
        found = [
            sum((part * prefix_of(length, reused, shared) for length, part in load.nodes), np.zeros(len(b)))
            for prefix_of in (_behind_shared_prefix, _behind_own_cache)
        ]
        cells = zip(b["t"].tolist(), b["bucket"].tolist(), *(tokens.tolist() for tokens in found), strict=True)
        rows += [tables.CachedTokens(t, load.name, str(bucket), *tokens) for t, bucket, *tokens in cells]
    return tables.CachedTokens.frame(rows)


def _valid_bytes(load: Load, tokens: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Bytes of a copy of ``kept`` tokens that stay as they are when it is parked again with ``tokens`` in all.

    Entries of tokens stay. A recurrent state or a window is of one length, so the longer sequence's is written whole.
    """
    whole = np.asarray(load.card.stored_bytes(tokens, load.setup.kv_format), dtype=float)
    moved = np.asarray(load.card.transferred_bytes(tokens, load.setup.kv_format, cached_tokens=kept), dtype=float)
    return whole - moved


def _add(
    load: Load,
    pool: Sku,
    store: str,
    gpu_s: np.ndarray,
    first_token_s: dict[int, np.ndarray],
    moved: tuple[np.ndarray, np.ndarray],
    evidence: list[Evidence],
    made: Ways,
) -> None:
    """Rows of one store on one pool: an option for each bucket; a curve for each quarter where a TTFT is asked for."""
    read_bytes, valid_bytes = moved
    target, asked = load.scenario.ttft_s, load.scenario.ttft_share
    per_rack_s, read, valid = gpu_s / pool.gpus, read_bytes.tolist(), valid_bytes.tolist()
    for quarter in made.quarters:
        t, ends, seconds = quarter.t, quarter.ends, first_token_s[quarter.t]
        in_time = share_in_time(seconds, target)
        mean_s = bucket_means(ends, seconds)
        if np.isfinite(target):
            nodes = curve_nodes(ends, seconds, (asked, in_time))
            made.curves.extend(tables.FirstToken(t, load.name, pool.name, store, *node) for node in nodes)
        for i, name, late, ttft_s in zip(
            quarter.rows, quarter.names, late_shares(ends, in_time).tolist(), mean_s.tolist(), strict=True
        ):
            option = _option(load, name, t, pool, store)
            cost = (float(per_rack_s[i]), ttft_s, late, read[i], valid[i])
            made.options.append(tables.Prefill(option, t, load.name, name, pool.name, store, *cost, evidence[i]))
