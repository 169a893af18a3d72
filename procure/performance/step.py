"""Seconds of one decode step, term by term.

A replica of g GPUs decodes B streams; with k drafted tokens it verifies T = B (1 + k) tokens a step.

    step = max(weights, gemm) + max(kv, attention) + network + latency

| term | formula |
|---|---|
| weights | (experts hit x bytes / g + dense bytes / d + k draft layers' share) / (HBM rate x weight efficiency) |
| gemm | 2 x parameters per token x T / (g x peak x gemm efficiency), each part at its own peak |
| kv | bytes loaded per stream x B / s / (HBM rate x kv efficiency) |
| attention | score and value FLOPs per token x T / (g x peak x attention efficiency) |
| network | bytes exchanged per layer x layers / (link rate x network efficiency) |
| latency | layers x (l0 + l1 log2 g + l2 outside the scale-up domain) |

d is g under tensor parallelism and 1 under attention data parallelism (dense weights replicated); s is the number of
GPUs that share one stream's cache: min(g, KV heads) under tensor parallelism (a latent cache is read whole by each
GPU), g of B streams under data parallelism. Each drafted token costs one more layer's latency and dense weights
and one more read of the head. Weights and arithmetic overlap, as do cache reads and attention arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from procure.performance.physics import Physics
from procure.performance.work import Work, attention_peak_flops, peak_flops

if TYPE_CHECKING:
    from procure.catalogue import Sku

TERMS = ("weights", "gemm", "kv", "attention", "network", "latency")
_TENSOR_BYTES = 2.0  # an activation crosses in BF16 in an all-reduce
_DISPATCH_BYTES = 3.0  # FP8 dispatch and BF16 combine of expert parallelism


@dataclass(frozen=True)
class Layout:
    """How replicas spread a card over GPUs; arrays of equal shape.

    Attributes:
        gpus: GPUs per replica.
        data_parallel: attention data parallel with experts spread over all GPUs; else tensor parallel.
    """

    gpus: np.ndarray
    data_parallel: np.ndarray

    def names(self) -> list[str]:
        """``TP8`` or ``DP-EP16`` for each layout."""
        return [
            f"{'DP-EP' if spread else 'TP'}{int(gpus)}"
            for gpus, spread in zip(self.gpus.ravel(), self.data_parallel.ravel(), strict=True)
        ]

    def expand(self, axes: int) -> Layout:
        """The same layouts with ``axes`` axes of length 1 behind."""
        shape = self.gpus.shape + (1,) * axes
        return Layout(self.gpus.reshape(shape), self.data_parallel.reshape(shape))


def cache_shares(work: Work, layout: Layout) -> np.ndarray:
    """Over how many GPUs of a replica the caches of its streams are spread without copies."""
    return np.where(layout.data_parallel, layout.gpus, np.minimum(layout.gpus, work.kv_shards))


def resident_bytes_per_gpu(work: Work, layout: Layout) -> np.ndarray:
    """Weight bytes that each GPU holds, draft layers included."""
    draft_experts, draft_others = work.draft_bytes
    whole = work.dense_bytes + work.embedding_bytes + draft_others
    spread = work.experts.stored_bytes + draft_experts
    return spread / layout.gpus + whole / np.where(layout.data_parallel, 1.0, layout.gpus)


@dataclass(frozen=True)
class Streams:
    """What the streams of a step bring along; arrays broadcast against layouts and batches.

    Attributes:
        kv_format: number format of the caches.
        draft: drafted tokens per stream and step, 0 without speculation.
        loaded_bytes: cache bytes that one stream loads in a step.
        attention_flops: score and value FLOPs of one token of one stream.
    """

    kv_format: str
    draft: np.ndarray
    loaded_bytes: np.ndarray
    attention_flops: np.ndarray


def decode_terms(
    pool: Sku, physics: Physics, work: Work, layout: Layout, streams: Streams, batch: np.ndarray
) -> dict[str, np.ndarray]:
    """Seconds of each term of a step with ``batch`` streams per replica: one array for each name in :data:`TERMS`."""
    gpus, spread = layout.gpus, layout.data_parallel
    draft = streams.draft
    tokens = batch * (1.0 + draft)
    hbm = pool.hbm_bytes_per_s_per_gpu
    hit = work.expected_experts(tokens) / max(work.expert_count, 1)
    extra_layers = 1.0 + draft / work.layers
    dense = (work.ffn.stored_bytes + work.attention.stored_bytes) * extra_layers + work.head.stored_bytes * (
        1.0 + draft
    )
    read = work.experts.stored_bytes * hit * extra_layers / gpus + dense / np.where(spread, 1.0, gpus)
    gemm = sum(part.flops_per_token / peak_flops(pool, part.encoding) for part in (work.experts, *work.dense))
    return {
        "weights": read / (hbm * physics.weight_efficiency),
        "gemm": gemm * extra_layers * tokens / gpus / physics.gemm_efficiency,
        "kv": streams.loaded_bytes * batch / cache_shares(work, layout) / (hbm * physics.kv_efficiency),
        "attention": streams.attention_flops
        * tokens
        / gpus
        / (attention_peak_flops(pool, streams.kv_format) * physics.attention_efficiency),
        "network": network_bytes(work, layout, tokens) * extra_layers / link_bytes_per_s(pool, physics, gpus),
        "latency": (work.layers + draft) * layer_latency_s(pool, physics, gpus) + 0.0 * tokens,
    }


def step_seconds(terms: dict[str, np.ndarray]) -> np.ndarray:
    """Seconds of a step from its terms; ``lpx`` is there for paired hardware only."""
    weights = np.maximum(terms["weights"], terms["gemm"])
    cache = np.maximum(terms["kv"], terms["attention"])
    return weights + cache + terms["network"] + terms["latency"] + terms.get("lpx", 0.0)


def network_bytes(work: Work, layout: Layout, tokens: np.ndarray) -> np.ndarray:
    """Bytes that one GPU sends in a step: two ring all-reduces per layer, or dispatch and combine of experts."""
    gpus = layout.gpus
    others = (gpus - 1.0) / gpus
    reduce = work.layers * 2.0 * 2.0 * tokens * work.hidden * _TENSOR_BYTES * others
    exchange = work.moe_layers * tokens / gpus * np.minimum(work.top_k, gpus) * work.hidden * _DISPATCH_BYTES * others
    return np.where(layout.data_parallel, exchange, reduce)


def link_bytes_per_s(pool: Sku, physics: Physics, gpus: np.ndarray) -> np.ndarray:
    """One-way bytes/s per GPU that a replica's exchange reaches: scale-up inside the domain, else scale-out."""
    inside = gpus <= pool.scale_up_domain_gpus
    link = np.where(inside, pool.scale_up_bytes_per_s_per_gpu, pool.scale_out_bytes_per_s_per_gpu)
    return link * physics.network_efficiency


def layer_latency_s(pool: Sku, physics: Physics, gpus: np.ndarray) -> np.ndarray:
    """Seconds per layer that no bandwidth or arithmetic explains: launches, synchronisation, hops."""
    outside = np.where(gpus > pool.scale_up_domain_gpus, physics.layer_latency_off_domain_s, 0.0)
    return physics.layer_latency_s + physics.layer_latency_per_doubling_s * np.log2(gpus) + outside
