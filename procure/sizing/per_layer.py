"""Configs that describe layers one by one: overrides of single layers, and lists of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procure.sizing.attention import Attention
from procure.sizing.builders import build_full
from procure.sizing.config import Config
from procure.sizing.softmax import GroupedQuery

_OF_FEED_FORWARD = (
    "intermediate_size",
    "moe_intermediate_size",
    "num_experts",
    "n_routed_experts",
    "num_local_experts",
)
"""Fields of single layers that change weights and no cache: parameter counts are then not made."""


def layer_fields(config: Config, layers: int) -> dict[int, Mapping[str, Any]]:
    """Fields that single layers have of their own, by layer number counted from 0 (``per_layer_config``).

    Faults are remembered in ``config``: no such layer, or a field that nothing reads.
    """
    groups = config.block("per_layer_config") or {}
    found: dict[int, Mapping[str, Any]] = {}
    for number, fields in groups.items():
        if not str(number).isdigit() or int(number) >= layers or not isinstance(fields, Mapping):
            expected = f"A group of fields under a layer number from 0 to {layers - 1} is allowed."
            config.fault(f"per_layer_config.{number}", fields, expected)
        elif fields:
            found[int(number)] = fields
            config.gaps.extend(f"per_layer_config.{name}" for name in fields if name in _OF_FEED_FORWARD)
    return found


def check_layer_fields(config: Config) -> None:
    """Fields of single layers that nothing read are faults, as those of the whole config are."""
    groups = config.block("per_layer_config") or {}
    for number, fields in groups.items():
        for name, value in fields.items() if isinstance(fields, Mapping) else ():
            if name not in ("skip", *_OF_FEED_FORWARD) and not config.understood(name, value):
                config.fault(f"per_layer_config.{number}.{name}", value, "Nothing reads this field of a layer.")


def skips_attention(fields: Mapping[str, Any]) -> bool:
    """Whether a layer leaves its attention out."""
    return any("attn" in str(part) or "attention" in str(part) for part in fields.get("skip") or ())


_BLOCK = {"no_op", "replace_with_linear", "n_heads_in_group", "num_key_value_heads", "window_length"}
_BLOCK_OFF = (
    "sparsify",
    "num_sink_tokens",
    "mamba",
    "llama4",
    "use_prefill_window_in_sink_attention",
    "unshifted_sink",
)


def read_block_configs(config: Config) -> list[Attention | None] | None:
    """Blocks found by search (Nemotron-NAS, arXiv 2411.19146), or None where the config lists none.

    Every block names its query heads per KV head (or its KV heads); one whose attention is left out (``no_op``) or
    replaced by a linear layer keeps no cache.
    """
    blocks = config.items("block_configs")
    if blocks is None:
        return None
    count = config.need("num_hidden_layers")
    if len(blocks) != count:
        config.fault("block_configs", f"{len(blocks)} blocks", f"{count} blocks are needed.")
    config.gaps.append("block_configs")  # widths of their feed-forward layers are multiples that classes round
    return [_block(config, number, block) for number, block in enumerate(blocks)]


def _block(config: Config, number: int, block: Any) -> Attention | None:
    where = f"block_configs.{number}.attention"
    attention = block.get("attention") if isinstance(block, Mapping) else None
    if not isinstance(attention, Mapping):
        config.fault(where, block, "A group of fields is needed.")
        return None
    for name, value in attention.items():
        if name not in _BLOCK and value not in (None, False, 0, [], {}):
            known = "It must be switched off here." if name in _BLOCK_OFF else "Nothing reads this field of a block."
            config.fault(f"{where}.{name}", value, known)
    if attention.get("no_op") or attention.get("replace_with_linear"):
        return None
    heads = config.need("num_attention_heads")
    per_group = attention.get("n_heads_in_group")
    if isinstance(per_group, int) and per_group > 0 and heads % per_group:
        config.fault(f"{where}.n_heads_in_group", per_group, f"A divisor of {heads} heads is allowed.")
    if isinstance(per_group, int) and per_group > 0:
        attention = {**attention, "num_key_value_heads": max(heads // per_group, 1)}
    view = config.overlaid({"num_key_value_heads": attention.get("num_key_value_heads")})
    layer = build_full(view)
    window = attention.get("window_length")
    if isinstance(layer, GroupedQuery) and isinstance(window, int) and window > 0:
        return GroupedQuery(layer.query_heads, layer.kv_heads, layer.k_dim, layer.v_dim, window=window)
    return layer
