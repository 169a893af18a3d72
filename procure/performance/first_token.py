"""Seconds to the first token, the same for ``procure perf``, plans, their checks and their verification."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from procure.performance.points import prefill_gpus_per_replica, prefill_latency_s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from procure.catalogue import Sku
    from procure.performance.measured import Curves
    from procure.performance.queueing import Queue
    from procure.sizing import Card


def first_token_s(  # noqa: PLR0913 - a pool, a card, and what is asked of them by name
    pool: Sku,
    card: Card,
    *,
    weight_precision: str,
    kv_format: str,
    new_tokens: ArrayLike,
    prefix_tokens: ArrayLike,
    vintage: str,
    queue: Queue,
    link_share: float,
    curves: Curves | None = None,
) -> np.ndarray:
    """Seconds from arrival to the first token, for each request, with the reused prefix in HBM already.

        wait and prefill on one replica + bytes of the whole cache / (NIC bytes/s of the replica · link_share)

    Loading the prefix from a store comes on top: :func:`load_s`.

    Args:
        pool: GPU hardware that prefills.
        card: the LLM.
        weight_precision: format of the weights.
        kv_format: format of the cache.
        new_tokens: tokens computed, per request.
        prefix_tokens: tokens before them whose cache is there already.
        vintage: software vintage.
        queue: how full prefill replicas are planned, and the share of requests that waits no longer.
        link_share: share of the NICs' bytes/s that handing a cache to the decoding GPUs gets: a link is planned full
            to its utilisation cap only.
        curves: a user's table, whose prefill rates are used as stated.
    """
    new, prefix = np.asarray(new_tokens, dtype=float), np.asarray(prefix_tokens, dtype=float)
    formats = {"weight_precision": weight_precision, "kv_format": kv_format}
    wall = prefill_latency_s(
        pool, card, new_tokens=new, prefix_tokens=prefix, vintage=vintage, queue=queue, curves=curves, **formats
    )
    moved = np.asarray(card.transferred_bytes(new + prefix, kv_format), dtype=float)
    replica = prefill_gpus_per_replica(pool, card, weight_precision)
    return wall + moved / (pool.scale_out_bytes_per_s_per_gpu * replica * link_share)


def load_s(
    pool: Sku,
    card: Card,
    *,
    weight_precision: str,
    kv_format: str,
    prefix_tokens: ArrayLike,
    bytes_per_s_per_gpu: float,
) -> np.ndarray:
    """Seconds to load the cache of a reused prefix from a store that each GPU of a prefill replica reads at a rate."""
    replica = prefill_gpus_per_replica(pool, card, weight_precision)
    read = np.asarray(card.transferred_bytes(np.asarray(prefix_tokens, dtype=float), kv_format), dtype=float)
    return read / (bytes_per_s_per_gpu * replica)
