"""Which ways of spreading a card over GPUs are tried, and what fits into their HBM."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from procure.performance.step import Layout, cache_shares, resident_bytes_per_gpu
from procure.performance.work import Work

if TYPE_CHECKING:
    from procure.catalogue import Sku
    from procure.performance.rules import Layouts


Resident = Callable[[Work, Layout], np.ndarray]
"""Weight bytes that each GPU holds under a layout."""


def layouts(pool: Sku, work: Work, tried: Layouts, resident: Resident = resident_bytes_per_gpu) -> Layout:
    """Every layout whose weights fit the pool's HBM, as flat arrays; possibly none.

    Tensor parallelism and, for MoE cards, attention data parallelism with experts spread over all GPUs. In a
    pool of racks a replica stays inside its scale-up domain, while servers of 8 GPUs may be joined over their NICs.
    """
    domain = pool.scale_up_domain_gpus
    reach = domain if domain > 8 else tried.joined_servers_gpus
    tensor = [gpus for gpus in tried.tensor_gpus if gpus <= reach]
    spread = [gpus for gpus in tried.expert_gpus if gpus <= reach] if work.expert_count else []
    gpus = np.array([*tensor, *spread], dtype=float)
    parallel = np.arange(gpus.size) >= len(tensor)
    fits = room_bytes_per_gpu(pool, work, Layout.best(gpus, parallel), tried, resident) > 0
    return Layout.best(gpus[fits], parallel[fits])


def usable_hbm_bytes(pool: Sku, rules: Layouts) -> float:
    """HBM of one GPU that weights and caches may fill; the rest holds activations, graphs and buffers."""
    return pool.hbm_bytes_per_gpu * rules.usable_hbm


def room_bytes_per_gpu(
    pool: Sku, work: Work, layout: Layout, rules: Layouts, resident: Resident = resident_bytes_per_gpu
) -> np.ndarray:
    """Bytes that each GPU has for caches beside its weights; negative where the weights do not fit."""
    return usable_hbm_bytes(pool, rules) - resident(work, layout)


def largest_batch_in_hbm(
    work: Work, layout: Layout, room: np.ndarray, stored_mean: np.ndarray, stored_upper: np.ndarray
) -> np.ndarray:
    """Streams per replica whose caches fit, sized at the mean; 0 where one sequence of the upper length does not fit.

    Args:
        work: the card's sizes.
        layout: how replicas are spread.
        room: bytes that each GPU has for caches.
        stored_mean: cache bytes of a stream of mean length.
        stored_upper: cache bytes of the longest stream that must fit.
    """
    shares = cache_shares(work, layout)
    alone = np.where(layout.data_parallel, 1.0, shares)
    return np.where(stored_upper <= room * alone, room * shares / np.maximum(stored_mean, 1.0), 0.0)


def smallest_batch(layout: Layout) -> np.ndarray:
    """Streams below which a layout makes no sense: one for each rank that holds its own caches."""
    return np.where(layout.data_parallel, layout.gpus, 1.0)
