"""Which kind of layer stands where: the many ways in which configs say so, brought to one list.

Kinds: ``full``, ``window``, ``chunked``, ``blocks`` (block-sparse with an index), ``linear`` (GDN, KDA or lightning),
``mamba``, ``parallel`` (attention beside Mamba-2), ``conv`` (short convolution), ``rwkv``, ``none`` (MLP or MoE
position).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from procure.sizing.builders import PURE_MAMBA
from procure.sizing.config import Config

_TYPE_NAMES = {
    "full_attention": "full",
    "attention": "full",
    "global": "full",
    "deepseek_sparse_attention": "full",
    "indexed_attention": "full",
    "minimax_m3_sparse": "blocks",
    "sliding_attention": "window",
    "sliding_window": "window",
    "sliding_window_attention": "window",
    "local": "window",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "kda": "linear",
    "mamba": "mamba",
    "mamba2": "mamba",
    "hybrid": "parallel",
    "conv": "conv",
    "moe": "none",
    "mlp": "none",
}
_LETTERS = {"*": "full", "M": "mamba", "E": "none", "-": "none"}


def layer_kinds(config: Config) -> list[str]:
    """The kind of every layer, in order.

    Faults are remembered in ``config``: a list of another length than ``num_hidden_layers``, an unknown kind, or two
    fields that describe the layers differently.
    """
    told = {field: _settled(config, kinds) for field, way in _LISTS.items() if (kinds := way(config)) is not None}
    if not told:
        kinds = next((kinds for way in _RULES if (kinds := way(config)) is not None), None)
        told = {"num_hidden_layers": ["full"] * _layers(config) if kinds is None else kinds}
    first, kinds = next(iter(told.items()))
    for field, other in told.items():
        if other != kinds:
            config.fault(field, "", f"It describes other layers than {first} does; they must agree.")
    count = config.optional("num_hidden_layers", "n_layer", "num_layers")
    if count is not None and len(kinds) != count:
        config.fault("num_hidden_layers", count, f"{first} describes {len(kinds)} layers; they must agree.")
    return kinds


def _settled(config: Config, kinds: list[str]) -> list[str]:
    """ "linear" also names Mamba layers in newer configs: the fields tell which they are."""
    mamba = any(name in config.text for name in ("ssm_state_size", "mamba_num_heads", "mamba_d_state"))
    return ["mamba" if kind == "linear" and mamba else kind for kind in kinds]


_MOST_LAYERS = 10_000


def _layers(config: Config) -> int:
    count = config.need("num_hidden_layers", "n_layer", "num_layers")
    if count > _MOST_LAYERS:
        config.fault("num_hidden_layers", count, f"At most {_MOST_LAYERS:,} layers are allowed.")
        return 1
    return count


def _named(config: Config, field: str, names: Any) -> list[str]:
    unknown = sorted({str(name) for name in names} - _TYPE_NAMES.keys())
    if unknown:
        config.fault(field, ", ".join(unknown), f"Known layer types: {', '.join(_TYPE_NAMES)}.")
    return [_TYPE_NAMES.get(str(name), "full") for name in names]


def _letters(config: Config) -> list[str] | None:
    pattern = config.get("hybrid_override_pattern")
    if not pattern:
        return None
    if not isinstance(pattern, str):
        config.fault("hybrid_override_pattern", pattern, "A text of letters is allowed.")
        return None
    unknown = sorted(set(pattern) - _LETTERS.keys())
    if unknown:
        config.fault("hybrid_override_pattern", "".join(unknown), "Letters: * attention, M Mamba, E MoE, - MLP.")
    return [_LETTERS.get(letter, "none") for letter in pattern]


def _blocks(config: Config) -> list[str] | None:
    names = config.items("layers_block_type")
    return None if names is None else _named(config, "layers_block_type", names)


def _types(config: Config) -> list[str] | None:
    """A name for every layer; Step-3.5 goes on with those of its draft layers."""
    names = config.items("layer_types")
    if names is None:
        return None
    count, drafts = config.optional("num_hidden_layers"), config.whole("num_nextn_predict_layers")
    if count is not None and drafts and len(names) == count + drafts:
        names = names[:count]
    return _named(config, "layer_types", names)


def _block_sparse(config: Config) -> list[str] | None:
    block = config.block("sparse_attention_config") or {}
    marks = block.get("sparse_attention_freq")
    if not isinstance(marks, list) or block.get("use_sparse_attention") is False:
        return None
    return _marks(config, "sparse_attention_config.sparse_attention_freq", marks, {0: "full", 1: "blocks"})


def _jamba(config: Config) -> list[str] | None:
    if not config.has("attn_layer_period"):
        return None
    period, offset = config.need("attn_layer_period"), config.whole("attn_layer_offset")
    return ["full" if layer % period == offset else "mamba" for layer in range(_layers(config))]


def _kimi(config: Config) -> list[str] | None:
    """Two lists of layer numbers that together name every layer, counted from 1 (Kimi-Linear) or from 0."""
    linear = config.block("linear_attn_config")
    if linear is None or "kda_layers" not in linear:
        return None
    count = _layers(config)
    full, other = ({str(n) for n in linear.get(name) or ()} for name in ("full_attn_layers", "kda_layers"))
    for first in (1, 0):
        if full | other == {str(n) for n in range(first, first + count)} and not full & other:
            return ["full" if str(layer + first) in full else "linear" for layer in range(count)]
    config.fault(
        "linear_attn_config",
        f"full_attn_layers {sorted(full)}, kda_layers {sorted(other)}",
        f"The two lists must name each of the {count} layers once, counted from 1 or from 0.",
    )
    return ["full"] * count


def _minimax(config: Config) -> list[str] | None:
    marks = config.items("attn_type_list")
    if marks is None:
        return None
    return _marks(config, "attn_type_list", marks, {1: "full", 0: "linear"})


def _mimo(config: Config) -> list[str] | None:
    marks = config.items("hybrid_layer_pattern")
    if marks is None:
        return None
    return _marks(config, "hybrid_layer_pattern", marks, {0: "full", 1: "window"})


def _marks(config: Config, field: str, marks: list[Any], meaning: dict[int, str]) -> list[str]:
    if not set(marks) <= meaning.keys():
        config.fault(field, marks, f"Entries may be {', '.join(map(str, sorted(meaning)))}.")
    return [meaning.get(mark, "full") for mark in marks]


def _bailing(config: Config) -> list[str] | None:
    """The last layer of every group of ``layer_group_size`` is full; an explicit list goes first."""
    if not config.has("layer_group_size"):
        return None
    count, group = _layers(config), config.need("layer_group_size")
    listed = config.items("full_attention_layers_0based")
    full = set(listed) if listed is not None else {n for n in range(count) if (n + 1) % group == 0}
    return ["full" if layer in full else "linear" for layer in range(count)]


def _interval(config: Config) -> list[str] | None:
    if not config.has("full_attention_interval"):
        return None
    interval = config.need("full_attention_interval")
    return ["full" if (layer + 1) % interval == 0 else "linear" for layer in range(_layers(config))]


def _of_one_kind(config: Config) -> list[str] | None:
    """Model types whose layers are all of one kind, which no field names."""
    one = {"falcon_h1": "parallel", "rwkv": "rwkv", "rwkv5": "rwkv", "rwkv6": "rwkv", "rwkv7": "rwkv"}
    one |= dict.fromkeys(PURE_MAMBA, "mamba")
    return [one[config.kind]] * _layers(config) if config.kind in one else None


def _convolutions(config: Config) -> list[str] | None:
    full = config.items("full_attn_idxs")
    return None if full is None else ["full" if layer in full else "conv" for layer in range(_layers(config))]


def _bamba(config: Config) -> list[str] | None:
    full = config.items("attn_layer_indices")
    return None if full is None else ["full" if layer in full else "mamba" for layer in range(_layers(config))]


def _llama4(config: Config) -> list[str] | None:
    """Chunked layers use rope; every fourth layer (or those with 0 in ``no_rope_layers``) is full and has none."""
    if not config.has("attention_chunk_size") or config.kind.startswith("mimo"):
        return None
    config.need("attention_chunk_size")
    count = _layers(config)
    ropes = config.items("no_rope_layers")
    if ropes:
        return ["chunked" if mark else "full" for mark in ropes]
    interval = config.optional("no_rope_layer_interval")
    if interval is None and not config.kind.startswith("llama4"):
        config.fault("no_rope_layer_interval", "", "Needed beside attention_chunk_size: which layers are full.")
    every = interval or 4
    return ["full" if (layer + 1) % every == 0 else "chunked" for layer in range(count)]


def _windows(config: Config) -> list[str] | None:
    """Which layers have the window: a pattern, or every layer from ``max_window_layers`` on.

    A pattern is a text that repeats, L for a window and G for a full layer, or a number n: every n-th layer is full.
    ``use_sliding_window: false`` switches all windows off.
    """
    switch = config.get("use_sliding_window")
    if not config.has("sliding_window", "sliding_window_size") or switch is False:
        return None
    count, first = _layers(config), config.whole("max_window_layers") if switch else 0
    names = ("sliding_window_pattern", "_sliding_window_pattern")
    pattern = config.get(*names, *(("global_attn_every_n_layers",) if config.kind == "afmoe" else ()))
    if isinstance(pattern, int) and not isinstance(pattern, bool) and 0 < pattern <= _MOST_LAYERS:
        pattern = "L" * (pattern - 1) + "G"
    if pattern is None:
        name = "sliding_window" if config.has("sliding_window") else "sliding_window_size"
        expected = f"Needed beside {name}: which layers have the window (full_attention, sliding_attention)."
        config.fault("layer_types", "", expected)
        pattern = "G"
    if not isinstance(pattern, str) or set(pattern) - {"L", "G"} or not pattern:
        config.fault("sliding_window_pattern", pattern, "A number of layers, or a text of L (window) and G (full).")
        pattern = "G"
    marks = (pattern * (count // len(pattern) + 1))[:count]
    return ["window" if mark == "L" and layer >= first else "full" for layer, mark in enumerate(marks)]


_LISTS: dict[str, Callable[[Config], list[str] | None]] = {
    "hybrid_override_pattern": _letters,
    "layers_block_type": _blocks,
    "layer_types": _types,
    "sparse_attention_config": _block_sparse,
    "attn_layer_period": _jamba,
    "attn_layer_indices": _bamba,
    "full_attn_idxs": _convolutions,
    "linear_attn_config": _kimi,
    "attn_type_list": _minimax,
    "layer_group_size": _bailing,
    "full_attention_interval": _interval,
    "hybrid_layer_pattern": _mimo,
}
"""Fields that name the kind of every layer."""

_RULES: tuple[Callable[[Config], list[str] | None], ...] = (_of_one_kind, _llama4, _windows)
"""What a window or chunk means where no field names the layers."""
