"""Hardware and cards made by hand, so that these tests stand on their own figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from procure.catalogue import Catalogue
from procure.catalogue.sku import Sku
from procure.performance.rules import Rules, Setup, premises_of

CATALOGUE = Catalogue.read()
RULES = Rules.of(premises_of(CATALOGUE))


def setup(weight_precision="fp8", kv_format="fp8", vintage="base", *, curves=None, rules=RULES) -> Setup:
    """A setup on the packaged premises."""
    return Setup(weight_precision, kv_format, vintage, rules, curves)


@dataclass(frozen=True)
class Params:
    total: float
    active: float
    attention: float
    shared_ffn: float
    experts: float
    embedding: float
    lm_head: float


@dataclass(frozen=True)
class Moe:
    layers: int
    experts: int
    top_k: int
    params_per_expert: float


@dataclass(frozen=True)
class HandCard:
    """A card whose caches grow by ``kv_elements`` a token, each of them loaded in every step."""

    name: str
    layers: int
    hidden_size: int
    vocab_size: int
    params: Params
    moe: Moe | None
    kv_elements: float
    flops_per_pair: float
    scores_per_pair: float
    kv_heads_shardable: int
    drafts: tuple[str, ...] = ()
    max_context_tokens: int = 1_000_000
    native_precision: str = "fp8"

    def stored_bytes(self, tokens, kv_format):
        return np.asarray(tokens, dtype=float) * self.kv_elements * {"bf16": 2.0, "fp8": 1.0, "fp4": 0.5}[kv_format]

    hbm_bytes = stored_bytes

    def speculating(self):
        more = 1 + len(self.drafts) / self.layers
        return replace(self, kv_elements=self.kv_elements * more, drafts=())

    loaded_bytes = stored_bytes
    transferred_bytes = stored_bytes

    def decode_attention_flops(self, context_tokens):
        return np.asarray(context_tokens, dtype=float) * self.flops_per_pair

    indexed_layers = 0

    def prefill_attention_flops(self, new_tokens, prefix_tokens):
        return self.flops_per_pair * self._pairs(new_tokens, prefix_tokens)

    def prefill_softmax_scores(self, new_tokens, prefix_tokens):
        return self.scores_per_pair * self._pairs(new_tokens, prefix_tokens)

    @staticmethod
    def _pairs(new_tokens, prefix_tokens):
        new, prefix = np.asarray(new_tokens, dtype=float), np.asarray(prefix_tokens, dtype=float)
        return new * prefix + new * (new + 1) / 2


def mla_card(draft_layers: int = 1) -> HandCard:
    """The shape of DeepSeek-R1, in round numbers."""
    moe = Moe(58, 256, 8, 44.04e6)
    experts = 58 * 256 * 44.04e6
    params = Params(671e9, 37e9, 11.4e9, 3.74e9, experts, 0.93e9, 0.93e9)
    return HandCard("mla", 61, 7168, 129_280, params, moe, 576 * 61, 278_528 * 61, 128 * 61, 1, ("mtp",) * draft_layers)


def dense_card() -> HandCard:
    """A dense 8B LLM with eight KV heads."""
    params = Params(8e9, 8e9, 1.3e9, 5.6e9, 0.0, 0.525e9, 0.525e9)
    return HandCard("dense", 32, 4096, 128_256, params, None, 32 * 8 * 256, 32 * 4 * 4096, 32 * 32, 8)


def pool(name: str, **changes) -> Sku:
    """A GPU SKU by name, with fields changed."""
    figures = {
        "hgx-h200": (8, 141e9, 4.8e12, 0.0, 1.979e15, 0.989e15, 3.9e12, 450e9, 8, 50e9, 1.3),
        "hgx-b200": (8, 180e9, 8e12, 9e15, 4.5e15, 2.25e15, 4.4e12, 900e9, 8, 50e9, 1.8),
        "gb200-nvl72": (72, 186e9, 8e12, 10e15, 5e15, 2.5e15, 4.4e12, 900e9, 72, 50e9, 132 / 72),
        "gb300-nvl72": (72, 288e9, 8e12, 15e15, 5e15, 2.5e15, 8.8e12, 900e9, 72, 100e9, 142 / 72),
        "vr-nvl72": (72, 288e9, 22e12, 35e15, 17.5e15, 4e15, 12.3e12, 1800e9, 72, 200e9, 227 / 72),
    }
    gpus, hbm, rate, fp4, fp8, bf16, exponentials, up, domain, out, kw = figures[name]
    given = {
        "name": name,
        "kind": "gpu",
        "depreciation_class": "compute",
        "gpus": gpus,
        "hbm_bytes_per_gpu": hbm,
        "hbm_bytes_per_s_per_gpu": rate,
        "fp4_flops_per_gpu": fp4,
        "fp8_flops_per_gpu": fp8,
        "bf16_flops_per_gpu": bf16,
        "exponentials_per_s_per_gpu": exponentials,
        "scale_up_bytes_per_s_per_gpu": up,
        "scale_up_domain_gpus": domain,
        "scale_out_bytes_per_s_per_gpu": out,
        "power_kw": kw * gpus,
    }
    return Sku(**(given | changes))


def lpx_rack(**changes) -> Sku:
    """One Groq 3 LPX rack."""
    given = {
        "name": "lpx",
        "kind": "lpx",
        "depreciation_class": "compute",
        "sram_bytes": 128e9,
        "fp8_flops_per_rack": 307e15,
    }
    return Sku(**(given | changes))
