"""What a card asks of the hardware: bytes and FLOPs of one decode step and of prefill, without any speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from procure.sizing.formats import weight_encodings

if TYPE_CHECKING:
    from procure.catalogue import Sku
    from procure.sizing import Card
    from procure.sizing.formats import Encoding

_WIDE_CACHES = ("bf16", "fp16")


@dataclass(frozen=True)
class Part:
    """One group of weights: how much lies in HBM, how much a token multiplies with, and at which peak."""

    stored_bytes: float
    params_per_token: float
    encoding: str

    @property
    def flops_per_token(self) -> float:
        """Two FLOPs for each parameter that a token multiplies with."""
        return 2.0 * self.params_per_token


@dataclass(frozen=True)
class Work:
    """Sizes of a card at one weight precision: all layers, one copy.

    ``experts`` are routed experts (empty for a dense LLM), ``ffn`` shared experts and dense FFN layers, ``head`` the
    output projection. ``embedding_bytes`` lie in HBM but are read by row only. ``draft_layers`` were trained to
    predict further tokens; 0 means that the card cannot speculate by itself.
    """

    layers: int
    hidden: int
    expert_count: int
    top_k: int
    moe_layers: int
    experts: Part
    ffn: Part
    attention: Part
    head: Part
    embedding_bytes: float
    kv_shards: int
    draft_layers: int

    @property
    def dense(self) -> tuple[Part, Part, Part]:
        """Weights that every step reads whole."""
        return self.ffn, self.attention, self.head

    @property
    def dense_bytes(self) -> float:
        """Bytes of all weights but routed experts and the embedding."""
        return sum(part.stored_bytes for part in self.dense)

    @property
    def weight_bytes(self) -> float:
        """Bytes of all weights, draft layers left out."""
        return self.experts.stored_bytes + self.dense_bytes + self.embedding_bytes

    @property
    def draft_bytes(self) -> tuple[float, float]:
        """Bytes of the draft layers' routed experts and of their other weights, each like an average layer."""
        experts = self.experts.stored_bytes / max(self.moe_layers, 1)
        others = (self.ffn.stored_bytes + self.attention.stored_bytes) / self.layers
        return self.draft_layers * experts, self.draft_layers * others

    def expected_experts(self, tokens: np.ndarray) -> np.ndarray:
        """Distinct experts of one MoE layer that so many tokens hit under even routing.

        ``E (1 - (1 - k/E)^T)``: each of E experts is missed by one token with chance 1 - k/E.
        """
        if not self.expert_count:
            return np.zeros_like(np.asarray(tokens, dtype=float))
        return self.expert_count * -np.expm1(tokens * np.log1p(-self.top_k / self.expert_count))


def work_of(card: Card, weight_precision: str) -> Work:
    """Sizes of a card at a weight precision known to ``data/kv_formats/weights.csv``, or ``native``."""
    precision = card.native_precision if weight_precision == "native" else weight_precision
    encodings, params, moe = weight_encodings(precision), card.params, card.moe
    active = moe.layers * moe.top_k * moe.params_per_expert if moe else 0
    return Work(
        layers=card.layers,
        hidden=card.hidden_size,
        expert_count=moe.experts if moe else 0,
        top_k=moe.top_k if moe else 0,
        moe_layers=moe.layers if moe else 0,
        experts=_part(params.experts, active, encodings["experts"]),
        ffn=_part(params.shared_ffn, params.shared_ffn, encodings["ffn"]),
        attention=_part(params.attention, params.attention, encodings["attention"]),
        head=_part(params.lm_head, params.lm_head, encodings["embedding"]),
        embedding_bytes=params.embedding * _bytes_each(encodings["embedding"]),
        kv_shards=card.kv_heads_shardable,
        draft_layers=len(card.drafts),
    )


def _bytes_each(encoding: Encoding) -> float:
    return encoding.bits / 8 + (encoding.scale_bytes / encoding.group if encoding.group > 0 else 0.0)


def _part(stored: float, per_token: float, encoding: Encoding) -> Part:
    return Part(stored * _bytes_each(encoding), float(per_token), encoding.name)


def is_widened(pool: Sku, encoding: str) -> bool:
    """Whether kernels widen weights of an encoding to BF16 on the way.

    INT4 anywhere, 4-bit floats on a GPU without FP4 units, 8-bit formats on a GPU without FP8 units.
    """
    if encoding.startswith("int4"):
        return True
    if encoding in ("nvfp4", "mxfp4", "fp4"):
        return not pool.fp4_flops_per_gpu
    return encoding.startswith(("fp8", "int8")) and not pool.fp8_flops_per_gpu


def peak_flops(pool: Sku, encoding: str) -> float:
    """Dense peak of one GPU for weights of an encoding, FLOP/s.

    NVFP4 multiplies at the FP4 peak, MXFP4 (with FP8 activations) at the FP8 peak; widened weights at the BF16 peak.
    """
    if is_widened(pool, encoding):
        return pool.bf16_flops_per_gpu
    if encoding in ("nvfp4", "fp4"):
        return pool.fp4_flops_per_gpu
    if encoding == "mxfp4" or encoding.startswith(("fp8", "int8")):
        return pool.fp8_flops_per_gpu
    return pool.bf16_flops_per_gpu


def attention_peak_flops(pool: Sku, kv_format: str) -> float:
    """Dense peak of one GPU for score and value products, FLOP/s.

    The FP8 peak needs a cache of 8 bits or fewer and a GPU with FP8 and FP4 units (Blackwell and later); Hopper's
    kernels widen the cache to BF16 first, as does a GPU without FP8.
    """
    narrow = pool.fp4_flops_per_gpu > 0 and pool.fp8_flops_per_gpu > 0 and not is_wide(kv_format)
    return pool.fp8_flops_per_gpu if narrow else pool.bf16_flops_per_gpu


def is_wide(kv_format: str) -> bool:
    """Whether a cache's keys and values have 16 bits."""
    return kv_format.split("+")[0] in _WIDE_CACHES
