"""VR NVL72 with LPX: attention and caches stay on the GPUs, FFN and experts move to LPX SRAM.

No measured curve of this pair is public. The physics below is a guess with ideal overlap and is clearly too fast, so
throughput is multiplied by one scale (:attr:`procure.performance.rules.LpxRules.scale`), with which DeepSeek-R1 at
8k/1k gives the vendor's multiple of VR NVL72 alone per MW at 400 TPS/User. Every point made here is labelled
``vendor claim``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from procure.performance.physics import Physics
from procure.performance.step import Layout, Streams, cache_shares, layer_latency_s
from procure.performance.work import Work, attention_peak_flops, peak_flops

_CROSSING_BYTES = 3.0
"""Bytes that cross per hidden element and layer: FP8 out, BF16 back."""

if TYPE_CHECKING:
    from procure.catalogue import Sku
    from procure.performance.rules import LpxRules
    from procure.sizing import Card


def ffn_parameters(card: Card) -> float:
    """Parameters that move to LPX: routed experts and shared or dense FFN."""
    return float(card.params.experts + card.params.shared_ffn)


def lpx_racks_per_copy(card: Card, lpx: Sku, rules: LpxRules) -> int:
    """Whole LPX racks that hold one FP8 copy of a card's FFN.

    ``ceil(FFN parameters x 1 B / (SRAM per rack x fill))``.
    """
    return math.ceil(ffn_parameters(card) / (lpx.sram_bytes * rules.racks_fill))


def attention_resident_bytes_per_gpu(work: Work, layout: Layout) -> np.ndarray:
    """Weight bytes that stay on each GPU: attention, embedding and head."""
    kept = work.attention.stored_bytes + work.head.stored_bytes + work.embedding_bytes
    return kept / np.where(layout.data_parallel, 1.0, layout.gpus)


@dataclass(frozen=True)
class Copy:
    """One copy of a card's FFN on LPX.

    Attributes:
        racks: whole LPX racks that hold it.
        ffn_s_per_token: seconds that it computes for one token.
        rules: what the pair is taken to do.
    """

    racks: int
    ffn_s_per_token: float
    rules: LpxRules

    @classmethod
    def of(cls, card: Card, work: Work, lpx: Sku, rules: LpxRules) -> Copy:
        """The copy of a card whose sizes are ``work``."""
        racks = lpx_racks_per_copy(card, lpx, rules)
        flops = work.experts.flops_per_token + work.ffn.flops_per_token
        return cls(racks, flops / (racks * lpx.fp8_flops_per_rack * rules.flops_efficiency), rules)

    def rack_seconds_per_token(self, verified_per_token: np.ndarray) -> np.ndarray:
        """LPX rack-seconds behind one output token, before the scale.

        Replicas share a copy until its FFN is busy for ``busy_share`` of a step, so a token takes its arithmetic
        divided by that share, on all racks of the copy. ``verified_per_token`` is tokens verified for each that comes
        out.
        """
        return self.ffn_s_per_token * self.racks * verified_per_token / self.rules.busy_share


def paired_terms(
    pool: Sku,
    physics: Physics,
    work: Work,
    layout: Layout,
    streams: Streams,
    batch: np.ndarray,
    copy: Copy,
) -> dict[str, np.ndarray]:
    """Seconds of each term of a step with the FFN on LPX.

    ``network`` is the activation link (FP8 out, BF16 back, over the GPUs' NICs), ``latency`` holds the GPUs' share of
    the layer latency, two transfers and the LPX pipeline, ``lpx`` the FFN's arithmetic.
    """
    gpus, draft = layout.gpus, streams.draft
    tokens = batch * (1.0 + draft)
    hbm, reading = pool.hbm_bytes_per_s_per_gpu, physics.cache_efficiency(streams.kv_format)
    extra_layers = 1.0 + draft / work.layers
    gemm = sum(part.flops_per_token / peak_flops(pool, part.encoding) for part in (work.attention, work.head))
    attention = gpus * attention_peak_flops(pool, streams.kv_format) * physics.attention_efficiency
    crossing = work.layers * tokens * work.hidden * _CROSSING_BYTES / gpus
    layer_s = (
        copy.rules.gpu_latency_share * layer_latency_s(pool, physics, work, layout)
        + 2.0 * copy.rules.transfer_s
        + copy.rules.layer_s
    )
    return {
        "weights": paired_weight_seconds(pool, physics, work, layout, draft) + 0.0 * tokens,
        "gemm": gemm * extra_layers * tokens / gpus / physics.gemm_efficiency,
        "kv": streams.loaded_bytes * batch / (cache_shares(work, layout) * hbm * reading),
        "attention": streams.attention_flops * tokens / attention,
        "network": crossing * extra_layers / (pool.scale_out_bytes_per_s_per_gpu * copy.rules.link_efficiency),
        "latency": (work.layers + draft) * layer_s + 0.0 * tokens,
        "lpx": copy.ffn_s_per_token * tokens * extra_layers,
    }


def paired_weight_seconds(pool: Sku, physics: Physics, work: Work, layout: Layout, draft: np.ndarray) -> np.ndarray:
    """Seconds of reading the weights that stay on the GPUs: attention and head."""
    read = work.attention.stored_bytes * (1.0 + draft / work.layers) + work.head.stored_bytes * (1.0 + draft)
    held = np.where(layout.data_parallel, 1.0, layout.gpus)
    return read / held / (pool.hbm_bytes_per_s_per_gpu * physics.weight_efficiency)
