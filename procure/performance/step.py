"""Seconds of one decode step, term by term.

A replica of g GPUs decodes B streams; with k drafted tokens it verifies T = B (1 + k) tokens a step.

    step = weights + gemm + kv + attention + network + latency

| term | formula |
|---|---|
| weights | (expert bytes of the busiest GPU + dense bytes / d + draft layers) / (HBM rate x weight efficiency) |
| gemm | 2 x parameters per token x T / (g x peak x gemm efficiency), each part at its own peak |
| kv | bytes loaded per stream x B / s / (HBM rate x kv efficiency) |
| attention | score and value FLOPs per token x T / (g x peak x attention efficiency) |
| network | bytes sent per GPU in all layers / (link rate x its efficiency), the slower of scale-up and scale-out |
| latency | layers x (l0 + l1 for latent caches + l2 log2 g + l3 outside the scale-up domain) x FP8 and server factor |

d is g under tensor parallelism and 1 under attention data parallelism (dense weights replicated); s is the number of
GPUs that share one stream's cache: min(g, KV heads) under tensor parallelism (a latent cache is read whole by each
GPU), g of B streams under data parallelism. l2 and l3 are other numbers under data parallelism. Each drafted token
costs one more layer's latency and dense weights and one more read of the head. Terms are added: on measured runs no
overlap of reads and arithmetic fitted better than a full or a partial one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from procure.performance.physics import Physics
from procure.performance.work import Work, attention_peak_flops, is_widened, peak_flops

if TYPE_CHECKING:
    from procure.catalogue import Sku

TENSOR_BYTES = 2.0
"""Bytes of an activation element in HBM and in an all-reduce: BF16."""
DISPATCH_BYTES = 3.0
"""Bytes of an activation element in expert parallelism: FP8 dispatch and BF16 combine."""


@dataclass(frozen=True)
class Layout:
    """How replicas spread a card over GPUs; arrays of equal shape.

    Attributes:
        gpus: GPUs per replica.
        data_parallel: attention data parallel; else tensor parallel.
        expert_parallel: whole experts on each GPU; else each expert sliced over all GPUs.
        gathers: attention data parallel, and every GPU is given the tokens of all before the experts; else it is given
            those of its own experts. Sliced experts need all; engines without an all-to-all do so for whole ones too.
    """

    gpus: np.ndarray
    data_parallel: np.ndarray
    expert_parallel: np.ndarray
    gathers: np.ndarray

    def names(self) -> list[str]:
        """``TP8`` or ``DP-EP16`` for each layout."""
        return [
            f"{'DP-EP' if spread else 'TP'}{int(gpus)}"
            for gpus, spread in zip(self.gpus.ravel(), self.data_parallel.ravel(), strict=True)
        ]

    @classmethod
    def best(cls, gpus: np.ndarray, spread: np.ndarray) -> Layout:
        """Layouts as a plan runs them: tensor parallel, or data parallel with whole experts and an all-to-all."""
        return cls(gpus, spread, spread, np.zeros_like(spread))

    def expand(self, axes: int) -> Layout:
        """The same layouts with ``axes`` axes of length 1 behind."""
        shape = self.gpus.shape + (1,) * axes
        return Layout(*(each.reshape(shape) for each in vars(self).values()))


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
    """Seconds of each term of a step with ``batch`` streams per replica, an array each."""
    gpus, draft = layout.gpus, streams.draft
    tokens = batch * (1.0 + draft)
    hbm, reading = pool.hbm_bytes_per_s_per_gpu, physics.cache_efficiency(streams.kv_format)
    extra_layers = 1.0 + draft / work.layers
    gemm = sum(part.flops_per_token / peak_flops(pool, part.encoding) for part in (work.experts, *work.dense))
    attention = gpus * attention_peak_flops(pool, streams.kv_format) * physics.attention_efficiency
    return {
        "weights": weight_seconds(pool, physics, work, layout, draft, batch),
        "gemm": tokens * (gemm * extra_layers / gpus / physics.gemm_efficiency),
        "kv": streams.loaded_bytes * batch / (cache_shares(work, layout) * hbm * reading),
        "attention": streams.attention_flops * tokens / attention,
        "network": network_seconds(pool, physics, work, layout, tokens) * extra_layers,
        "latency": (work.layers + draft) * layer_latency_s(pool, physics, work, layout) + 0.0 * tokens,
    }


def weight_seconds(
    pool: Sku, physics: Physics, work: Work, layout: Layout, draft: np.ndarray, batch: np.ndarray
) -> np.ndarray:
    """Seconds of reading weights in a step: the only term that does not grow in proportion to the batch."""
    extra_layers = 1.0 + draft / work.layers
    layered = work.ffn.stored_bytes + work.attention.stored_bytes
    dense = layered * extra_layers + work.head.stored_bytes * (1.0 + draft)
    experts = work.experts.stored_bytes * extra_layers
    if is_widened(pool, work.experts.encoding):
        experts = experts / physics.widening_efficiency
    read = experts * expert_share_read(work, layout, batch * (1.0 + draft))
    read = read + dense / np.where(layout.data_parallel, 1.0, layout.gpus)
    return read / (pool.hbm_bytes_per_s_per_gpu * physics.weight_efficiency)


def step_seconds(terms: dict[str, np.ndarray]) -> np.ndarray:
    """Seconds of a step: the sum of its terms."""
    return sum(terms.values(), np.zeros(()))


def network_seconds(pool: Sku, physics: Physics, work: Work, layout: Layout, tokens: np.ndarray) -> np.ndarray:
    """Seconds that the slower of scale-up and scale-out needs for the exchange of all layers."""
    return np.maximum(*network_sides(pool, physics, work, layout, tokens))


def network_sides(
    pool: Sku, physics: Physics, work: Work, layout: Layout, tokens: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of the exchange of all layers over scale-up and over scale-out links.

    Tensor parallelism: two ring all-reduces of T activations per layer. Attention data parallelism: each token goes
    once to every other GPU that holds one of its k experts (dispatch, combine), and once to every other server; where
    tokens are gathered, to every other GPU, in BF16 both ways.
    """
    gpus, domain = layout.gpus, float(pool.scale_up_domain_gpus)
    servers = np.maximum(gpus / domain, 1.0)
    inside = np.minimum(gpus, domain)
    activations = tokens * work.hidden
    reduced = 2.0 * 2.0 * work.layers * activations * TENSOR_BYTES
    sent = work.moe_layers * activations / gpus * DISPATCH_BYTES
    exchanged = np.where(
        layout.gathers,
        sent * (2.0 * TENSOR_BYTES / DISPATCH_BYTES) * (gpus - 1.0) / physics.gather_efficiency,
        sent * others_reached(gpus, work.top_k) / physics.exchange_efficiency,
    )
    up = np.where(layout.data_parallel, exchanged, reduced * (inside - 1.0) / inside / physics.reduce_efficiency)
    out = np.where(
        layout.data_parallel,
        sent * others_reached(servers, work.top_k),
        reduced * (servers - 1.0) / servers / inside,
    )
    scale_out = pool.scale_out_bytes_per_s_per_gpu * physics.scale_out_efficiency
    return up / pool.scale_up_bytes_per_s_per_gpu, np.where(servers > 1.0, out / scale_out, 0.0)


def others_reached(places: np.ndarray, picks: int) -> np.ndarray:
    """Expected number of other places that ``picks`` even choices among ``places`` reach."""
    return (places - 1.0) * (1.0 - (1.0 - 1.0 / places) ** picks)


def layer_latency_s(pool: Sku, physics: Physics, work: Work, layout: Layout) -> np.ndarray:
    """Seconds per layer that no bandwidth or arithmetic explains: launches, synchronisation, hops."""
    own = physics.layer_latency_s + (physics.latent_latency_s if work.kv_shards == 1 else 0.0)
    whole = layout.data_parallel & layout.expert_parallel
    doubling = np.where(whole, physics.spread_latency_s, physics.tensor_latency_s)
    leaving = np.where(layout.data_parallel, physics.off_domain_spread_latency_s, physics.off_domain_latency_s)
    outside = np.where(layout.gpus > pool.scale_up_domain_gpus, leaving, 0.0)
    slower = physics.fp8_latency_factor if work.ffn.encoding.startswith("fp8") else 1.0
    if pool.in_servers:
        slower = slower * physics.server_latency_factor
    return (own + doubling * np.log2(layout.gpus) + outside) * slower


def expert_share_read(work: Work, layout: Layout, tokens: np.ndarray) -> np.ndarray:
    """Share of all expert bytes that the busiest GPU of a replica reads in a step.

    Sliced experts load every GPU alike: the share p of experts hit, over g GPUs. Whole experts on each GPU do not:
    the most loaded of g GPUs with n = E/g experts reads about ``n p + sqrt(2 ln g n p (1 - p))`` of them, at most n.
    """
    if not work.expert_count:
        return np.zeros(np.broadcast(tokens, layout.gpus).shape)
    hit = work.expected_experts(tokens) / work.expert_count
    held = work.expert_count / layout.gpus
    spread = np.sqrt(2.0 * np.log(layout.gpus) * held * hit * (1.0 - hit))
    busiest = np.minimum(held * hit + np.where(layout.expert_parallel, spread, 0.0), held)
    return busiest / work.expert_count
