"""Parameter counts by component, from a config: what weights occupy and what one token computes with."""

from __future__ import annotations

from dataclasses import dataclass

from procure.sizing.attention import Attention
from procure.sizing.builders import PURE_MAMBA
from procure.sizing.config import Config

_PLAIN_MLP = frozenset(
    """
    apertus apertus1p5_text arcee biogpt bloom codegen falcon gpt2 gpt_bigcode gpt_neox gptj jais2 nanochat nemotron
    nemotron_h opt persimmon phi starcoder2
    """.split()  # noqa: SIM905
)
"""Model types whose feed-forward layers have two matrices instead of three."""

_FOUR_TIMES = ("gpt2", "gpt_bigcode", "gptj", "opt", "falcon", "bloom")


@dataclass(frozen=True)
class Params:
    """Parameter counts of an LLM (draft layers and vision parts left out).

    Attributes:
        total: all of them.
        active: what one token computes with: attention, shared FFN, top-k experts, head (not the input table).
        attention: projections, convolutions and indexers of all layers.
        shared_ffn: dense FFN layers, shared experts and routers.
        experts: all routed experts of all layers.
        embedding: input table.
        lm_head: output projection (0 where tied to the embedding).
    """

    total: int
    active: int
    attention: int
    shared_ffn: int
    experts: int
    embedding: int
    lm_head: int


@dataclass(frozen=True)
class Moe:
    """Routed experts.

    Attributes:
        layers: layers that have them.
        experts: routed experts per layer.
        top_k: routed experts per token.
        params_per_expert: weights of one expert of one layer.
    """

    layers: int
    experts: int
    top_k: int
    params_per_expert: int


@dataclass(frozen=True)
class FeedForward:
    """Feed-forward part of the stack.

    Attributes:
        shared_params: weights that every token uses.
        moe: routed experts.
        extra_embedding: weights of per-layer input tables (Gemma 3n).
    """

    shared_params: int
    moe: Moe | None
    extra_embedding: int = 0


def read_feed_forward(config: Config, attention: tuple[Attention | None, ...]) -> FeedForward:
    """Dense, shared and routed weights; fields that a trimmed config lacks are remembered in ``config.gaps``."""
    hidden = config.want("hidden_size", "n_embd") or 0
    matrices = 2 if config.kind in _PLAIN_MLP else 3
    experts = config.optional("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
    moe_layers = _moe_layers(config, attention) if experts else set()
    dense_layers = _ffn_positions(config, attention) - moe_layers
    if config.get("enable_moe_block"):
        dense_layers = dense_layers | moe_layers
    shared, tables = _per_layer_input(config, hidden, len(attention))
    if dense_layers:
        width = config.optional("intermediate_size_mlp", "dense_intermediate_size") or config.optional(
            "intermediate_size", "n_inner", "ffn_dim", *(("ffn_hidden_size",) if config.kind == "falcon" else ())
        )
        if width is None and config.kind in _FOUR_TIMES:
            width = 4 * hidden
        width = _adjusted(config, width or config.want("intermediate_size") or 0)
        shared += len(dense_layers) * matrices * hidden * width
    if not experts:
        return FeedForward(shared, None, tables)
    width = config.optional("moe_intermediate_size") or config.want("intermediate_size") or 0
    inner = config.optional("moe_latent_size") or hidden
    per_expert = matrices * inner * width
    top_k = (
        config.want("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_top_k", "top_k_experts")
        or 0
    )
    router = hidden * experts + (2 * hidden * inner if inner != hidden else 0)
    shared += len(moe_layers) * (router + matrices * hidden * _shared_width(config, width))
    return FeedForward(shared, Moe(len(moe_layers), experts, top_k, per_expert), tables)


def _adjusted(config: Config, width: int) -> int:
    """LFM2 takes two thirds of the width, scales them and rounds up to a multiple where its config says so."""
    if not config.get("block_auto_adjust_ff_dim"):
        return width
    multiple, factor = config.need("block_multiple_of"), config.get("block_ffn_dim_multiplier", default=1.0)
    if not isinstance(factor, int | float) or isinstance(factor, bool) or not 0 < factor < 1e3:
        config.fault("block_ffn_dim_multiplier", factor, "A positive number is allowed.")
        return width
    return -(-int(factor * (2 * width // 3)) // multiple) * multiple


def _per_layer_input(config: Config, hidden: int, layers: int) -> tuple[int, int]:
    """Projections and tables of per-layer input embeddings (Gemma 3n), 0 for other LLMs."""
    width = config.whole("hidden_size_per_layer_input")
    if not width:
        return 0, 0
    rows = config.want("vocab_size_per_layer_input", "vocab_size") or 0
    return 3 * layers * hidden * width, rows * layers * width


def _shared_width(config: Config, width: int) -> int:
    """Total width of the experts that every token passes."""
    named = (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "share_expert_dim",
        "shared_intermediate_size",
    )
    if config.get(*named) is not None:
        return config.whole(*named)
    if config.kind == "llama4_text":
        return width
    return width * config.whole("n_shared_experts", "num_shared_experts")


def _ffn_positions(config: Config, attention: tuple[Attention | None, ...]) -> set[int]:
    """Positions with a feed-forward block: every layer, or those without attention where a pattern lists them."""
    if config.kind in PURE_MAMBA:
        return set()
    if config.get("hybrid_override_pattern") or config.get("layers_block_type"):
        return {position for position, layer in enumerate(attention) if layer is None}
    return set(range(len(attention)))


def _moe_layers(config: Config, attention: tuple[Attention | None, ...]) -> set[int]:
    pattern = config.get("hybrid_override_pattern") or config.get("layers_block_type")
    if isinstance(pattern, str | list):
        return {position for position, mark in enumerate(pattern) if mark in ("E", "moe")}
    everywhere = range(len(attention))
    types = config.items("mlp_layer_types")
    if types is not None:
        return {layer for layer, name in enumerate(types) if name != "dense"}
    listed = config.get("moe_layers_enum")
    if listed is not None:
        marks = [str(mark).strip() for mark in (listed.split(",") if isinstance(listed, str) else _list(listed))]
        if not marks or not all(mark.isdigit() for mark in marks):
            config.fault("moe_layers_enum", listed, "Layer numbers are allowed.")
        return {int(mark) for mark in marks if mark.isdigit()} & set(everywhere)
    frequency = config.get("moe_layer_freq", default=1)
    if isinstance(frequency, list):
        return {layer for layer, mark in enumerate(frequency) if mark}
    every = config.optional("moe_layer_freq") or 1
    if config.has("expert_layer_period"):
        period, offset = config.need("expert_layer_period"), config.whole("expert_layer_offset")
        return {layer for layer in everywhere if layer % period == offset}
    step = config.optional("decoder_sparse_step", "interleave_moe_layer_step") or 1
    dense = set(map(str, config.items("mlp_only_layers") or ()))
    first = min(config.whole("first_k_dense_replace", "num_dense_layers"), len(attention))
    sparse = (layer for layer in everywhere if layer >= first and str(layer) not in dense)
    return {layer for layer in sparse if (layer + 1) % step == 0 and layer % every == 0}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def count_parameters(
    hidden: int, vocabulary: int, tied: bool, attention: tuple[Attention | None, ...], ffn: FeedForward
) -> Params:
    """Add the components up."""
    in_attention = sum(layer.parameters(hidden) for layer in attention if layer is not None)
    moe = ffn.moe
    experts = moe.layers * moe.experts * moe.params_per_expert if moe else 0
    routed = moe.layers * moe.top_k * moe.params_per_expert if moe else 0
    table = vocabulary * hidden
    lm_head, embedding = 0 if tied else table, table + ffn.extra_embedding
    return Params(
        total=in_attention + ffn.shared_params + experts + embedding + lm_head,
        active=in_attention + ffn.shared_params + routed + table,
        attention=in_attention,
        shared_ffn=ffn.shared_params,
        experts=experts,
        embedding=embedding,
        lm_head=lm_head,
    )


def is_tied(config: Config) -> bool:
    """Whether the output projection is the embedding table."""
    return bool(config.get("tie_word_embeddings"))
