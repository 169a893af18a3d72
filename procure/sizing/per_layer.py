"""Configs that describe layers one by one: overrides of single layers, and lists of blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
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

    Faults are remembered in ``config``: no such layer, or a part left out (``skip``) that is not known.
    """
    groups = config.block("per_layer_config") or {}
    found: dict[int, Mapping[str, Any]] = {}
    for number, fields in groups.items():
        if not str(number).isdecimal() or int(number) >= layers or not isinstance(fields, Mapping):
            expected = f"A group of fields under a layer number from 0 to {layers - 1} is allowed."
            config.fault(f"per_layer_config.{number}", fields, expected)
            continue
        skip = fields.get("skip") or []
        if not isinstance(skip, list) or {str(part) for part in skip} - (_ATTENTION | _REST):
            expected = f"A list of parts is allowed: {', '.join(sorted(_ATTENTION | _REST))}."
            config.fault(f"per_layer_config.{number}.skip", skip, expected)
            continue
        if fields:
            found[int(number)] = fields
            config.gaps.extend(f"per_layer_config.{name}" for name in fields if name in _OF_FEED_FORWARD)
            config.gaps.extend(f"per_layer_config.skip {part}" for part in skip if part in _REST)
    return found


_ATTENTION, _REST = frozenset(("self_attn", "attention", "attn")), frozenset(("mlp", "moe", "feed_forward"))
"""Parts of a layer that ``skip`` may name."""


def build_layer(
    config: Config, number: int, fields: Mapping[str, Any], build: Callable[[Config], Attention]
) -> Attention | None:
    """One layer with fields of its own, None where it leaves its attention out.

    A field of it that nothing reads is a fault, remembered in ``config``.
    """
    if _ATTENTION & set(fields.get("skip") or ()):
        return None
    view = config.overlaid(fields)
    layer = build(view)
    for name, value in fields.items():
        if name not in ("skip", *_OF_FEED_FORWARD) and name not in view.used and not config.harmless_field(name, value):
            config.fault(f"per_layer_config.{number}.{name}", value, "Nothing reads this field of a layer.")
    config.used |= view.used
    return layer


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
    heads, own = config.need("num_attention_heads"), Config(attention, f"{config.file}: {where}")
    per_group, kv_heads = own.optional("n_heads_in_group"), own.optional("num_key_value_heads")
    window = own.optional("window_length")
    config.faults.extend(own.faults)
    if per_group is not None and heads % per_group:
        config.fault(f"{where}.n_heads_in_group", per_group, f"A divisor of {heads} heads is allowed.")
    view = config.overlaid({"num_key_value_heads": max(heads // per_group, 1) if per_group else kv_heads})
    layer = build_full(view)
    config.used |= view.used
    return replace(layer, window=window) if isinstance(layer, GroupedQuery) and window else layer
