"""Seconds to the first token, the same for ``procure perf``, plans, their checks and their verification."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from procure.performance.points import prefill_gpus_per_replica, prefill_latency_s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from procure.catalogue import Sku
    from procure.performance.queueing import Queue
    from procure.performance.rules import Setup
    from procure.sizing import Card


def first_token_s(
    pool: Sku,
    card: Card,
    setup: Setup,
    *,
    new_tokens: ArrayLike,
    prefix_tokens: ArrayLike,
    queue: Queue,
    link_share: float,
) -> np.ndarray:
    """Seconds from arrival to the first token, for each request, with the reused prefix in HBM already.

        wait and prefill on one replica + bytes of the whole cache / (NIC bytes/s of the replica · link_share)

    Loading the prefix from a store comes on top: :func:`load_s`.

    Args:
        pool: GPU hardware that prefills.
        card: the LLM.
        setup: formats, software, rules and own measurements.
        new_tokens: tokens computed, per request.
        prefix_tokens: tokens before them whose cache is there already.
        queue: how full prefill replicas are planned, and the share of requests that waits no longer.
        link_share: share of the NICs' bytes/s that handing a cache to the decoding GPUs gets: a link is planned full
            to its utilisation cap only.
    """
    new, prefix = np.asarray(new_tokens, dtype=float), np.asarray(prefix_tokens, dtype=float)
    wall = prefill_latency_s(pool, card, setup, new_tokens=new, prefix_tokens=prefix, queue=queue)
    moved = np.asarray(card.transferred_bytes(new + prefix, setup.kv_format), dtype=float)
    replica = prefill_gpus_per_replica(pool, card, setup)
    return wall + moved / (pool.scale_out_bytes_per_s_per_gpu * replica * link_share)


def load_s(pool: Sku, card: Card, setup: Setup, *, prefix_tokens: ArrayLike, bytes_per_s_per_gpu: float) -> np.ndarray:
    """Seconds to load the cache of a reused prefix from a store that each GPU of a prefill replica reads at a rate."""
    replica = prefill_gpus_per_replica(pool, card, setup)
    read = np.asarray(card.transferred_bytes(np.asarray(prefix_tokens, dtype=float), setup.kv_format), dtype=float)
    return read / (bytes_per_s_per_gpu * replica)
