"""Ways to prefill: cost, seconds to the first token, and bytes read, in full or from each store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from procure import performance
from procure.instance.instance import table
from procure.instance.service import Load, own_curves, vintages

if TYPE_CHECKING:
    from procure.case import Case
    from procure.catalogue import Sku
    from procure.performance import Curves

Stores = dict[str, tuple[str, Callable[[Any], float]]]
"""Store → (GPU SKU that alone reads it, or ``""``; bytes/s that one GPU of a pool reads it at)."""


def prefill_table(case: Case, all_loads: list[Load], pools: list[Sku], stores: Stores) -> pd.DataFrame:
    """Ways to prefill every bucket: in full behind the shared prefix, or from each store that the pool can read.

    Reuse whose first token would be late is not a way; a full prefill that is late is one, and says so.
    """
    rows: list[tuple[Any, ...]] = []
    curves = own_curves(case)
    for load in all_loads:
        for pool in pools:
            rows += _full(case, load, pool, curves)
            if load.buckets["reused_share"].max() > 0:
                rows += _reused(case, load, pool, stores, curves)
    return table("prefill", rows)


@dataclass(frozen=True)
class Prefill:
    """Prefill of every bucket of a workload on a pool: GPU-seconds, and seconds to the first token without loading."""

    gpu_s: np.ndarray
    first_token_s: np.ndarray
    replica_gpus: int


def _prefill(
    case: Case, load: Load, pool: Sku, prefix_of: Callable[[np.ndarray], np.ndarray], curves: Curves | None
) -> Prefill:
    """``prefix_of`` gives the tokens, of a length per bucket, whose cache is there already.

    The cost is the bucket's mean of the function, which is not linear in the length; the first token is judged at the
    longest prompt of the bucket, and includes handing the cache to the decoding GPUs.
    """
    b = load.buckets
    longest = b["input_upper_tokens"].to_numpy(float)
    replica = performance.prefill_gpus_per_replica(pool, load.card, load.weight_precision)
    gpu_s, first_token_s = np.zeros(len(b)), np.zeros(len(b))
    formats: dict[str, Any] = {"weight_precision": load.weight_precision, "kv_format": load.kv_format, "curves": curves}
    for length, share in load.nodes:  # at once: later software on a path shortens latencies, not GPU-seconds of work
        kept = prefix_of(length)
        formats["vintage"] = case.settings.vintage
        gpu_s += share * performance.prefill_gpu_seconds(
            pool, load.card, new_tokens=length - kept, prefix_tokens=kept, **formats
        )
    kept = prefix_of(longest)
    for vintage, at in vintages(case, b).items():
        formats["vintage"] = vintage
        first_token_s[at] = performance.first_token_s(
            pool,
            load.card,
            new_tokens=(longest - kept)[at],
            prefix_tokens=kept[at],
            link_share=case.settings.store_utilisation_cap,
            **formats,
        )
    return Prefill(gpu_s, first_token_s, replica)


def _full(case: Case, load: Load, pool: Sku, curves: Curves | None) -> list[tuple[Any, ...]]:
    shared = load.buckets["shared_prefix_tokens"].to_numpy(float)
    cost = _prefill(case, load, pool, lambda length: np.minimum(shared, length), curves)
    none = np.zeros(len(shared))
    tokens = load.buckets["input_tokens"].to_numpy(float)
    stated = performance.prefill_is_stated(pool, load.card, load.weight_precision, tokens, shared, curves)
    evidence = np.where(stated, "user", "physics").tolist()
    return _rows(load, pool, "recompute", cost, cost.first_token_s, none, none, evidence)


def _reused(case: Case, load: Load, pool: Sku, stores: Stores, curves: Curves | None) -> list[tuple[Any, ...]]:
    b = load.buckets
    share, shared = b["reused_share"].to_numpy(float), b["shared_prefix_tokens"].to_numpy(float)

    def kept(length: np.ndarray) -> np.ndarray:
        return np.maximum(share * length, np.minimum(shared, length))

    cost = _prefill(case, load, pool, kept, curves)
    visible = b["visible_tokens"].to_numpy(float)
    read, valid = np.zeros(len(b)), np.zeros(len(b))
    for length, part in load.nodes:
        read += part * np.asarray(load.card.transferred_bytes(kept(length), load.kv_format), dtype=float)
        valid += part * _valid_bytes(load, length + visible, kept(length))
    longest = b["input_upper_tokens"].to_numpy(float)
    most = np.asarray(load.card.transferred_bytes(kept(longest), load.kv_format), dtype=float)
    rows: list[tuple[Any, ...]] = []
    for store, (owner, speed) in stores.items():
        if owner in ("", pool.name) and speed(pool) > 0:
            late = cost.first_token_s + most / (speed(pool) * cost.replica_gpus)
            physics = ["physics"] * len(b)
            rows += [r for r in _rows(load, pool, store, cost, late, read, valid, physics) if r[8]]
    return rows


def _valid_bytes(load: Load, tokens: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Bytes of a copy of ``kept`` tokens that stay as they are when it is parked again with ``tokens`` in all.

    Entries of tokens stay. A recurrent state or a window is of one length, so the longer sequence's is written whole.
    """
    whole = np.asarray(load.card.stored_bytes(tokens, load.kv_format), dtype=float)
    moved = np.asarray(load.card.transferred_bytes(tokens, load.kv_format, cached_tokens=kept), dtype=float)
    return whole - moved


def _rows(
    load: Load,
    pool: Sku,
    store: str,
    cost: Prefill,
    ttft_s: np.ndarray,
    read_bytes: np.ndarray,
    valid_bytes: np.ndarray,
    evidence: list[str],
) -> list[tuple[Any, ...]]:
    return [
        (
            f"{load.name}|{bucket.bucket}|{bucket.t}|{pool.name}|{store}",
            bucket.t,
            load.name,
            bucket.bucket,
            pool.name,
            store,
            cost.gpu_s[i] / pool.gpus,
            ttft_s[i],
            int(ttft_s[i] <= load.scenario.ttft_s),
            read_bytes[i],
            valid_bytes[i],
            evidence[i],
        )
        for i, bucket in enumerate(load.buckets.itertuples())
    ]
