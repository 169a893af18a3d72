"""From a released ``config.json`` to layers: recognised by the fields that it carries, never guessed.

A model type that is not known by name is read by its fields when they say enough, with a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from procure.errors import Fault, InputError
from procure.sizing.attention import Attention
from procure.sizing.builders import (
    build_block_sparse,
    build_chunked,
    build_compressed,
    build_convolution,
    build_full,
    build_linear,
    build_mamba,
    build_parallel,
    build_rwkv,
    build_window,
)
from procure.sizing.config import Config
from procure.sizing.model_types import known_types
from procure.sizing.patterns import layer_kinds
from procure.sizing.per_layer import build_layer, layer_fields, read_block_configs
from procure.sizing.softmax import GroupedQuery, Latent

_BUILD: dict[str, Callable[[Config], Attention]] = {
    "full": build_full,
    "window": build_window,
    "chunked": build_chunked,
    "linear": build_linear,
    "mamba": build_mamba,
    "blocks": build_block_sparse,
    "parallel": build_parallel,
    "conv": build_convolution,
    "rwkv": build_rwkv,
}

_SETTLED = (
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    "sliding_window_pattern",
    "_sliding_window_pattern",
)
"""Fields that say nothing more once every layer's kind is known."""

_SETTLED_OF = {
    "llama4": ("no_rope_layers", "no_rope_layer_interval"),
    "mimo": ("attention_chunk_size", "sliding_window_size"),
    "afmoe": ("global_attn_every_n_layers",),
}
"""The same for model types that begin so: they say again which layers have the chunk or window, or how long it is."""


def read_attention(config: Config) -> tuple[Attention | None, ...]:
    """Every layer's attention, None for MLP and MoE positions; faults are remembered in ``config``.

    Raises:
        InputError: a model type that is refused.
    """
    _check_type(config)
    ratios = _ratios(config)
    if ratios is not None:
        return tuple(build_compressed(config, ratio) for ratio in ratios)
    layers = read_block_configs(config)
    if layers is None:
        layers = _layers_by_kind(config)
    if config.kind == "longcat_flash" and config.has("num_layers") and not config.has("num_hidden_layers"):
        layers = [layer for layer in layers for _ in range(2)]  # every layer has two attentions
    layers = _repeated(config, _indexed(config, layers))
    return _shared(config, layers)


def _check_type(config: Config) -> None:
    """Say what is known of the model type.

    Raises:
        InputError: a type that is known to keep its cache in a way that is not counted here.
    """
    known = known_types().get(config.kind)
    if known is None:
        config.notes.append(f"model_type {config.kind!r} is not known by name; its layers were read from its fields")
    elif known.status == "refused":
        raise InputError([Fault(config.file, 0, "model_type", config.kind, f"Not counted: {known.reason}.")])
    elif known.status == "unchecked":
        config.notes.append(f"no instance of model_type {config.kind!r} was compared; read from its fields")
    if known is not None and not known.weights_counted:
        config.gaps.append("model_type")


def _layers_by_kind(config: Config) -> list[Attention | None]:
    """One attention per kind of layer, and one more for every layer that has fields of its own."""
    kinds = layer_kinds(config)
    config.used.update(_SETTLED)
    for beginning, names in _SETTLED_OF.items():
        if config.kind.startswith(beginning):
            config.used.update(names)
    if config.get("use_bidirectional_attention") == "all":
        config.fault("use_bidirectional_attention", "all", "An LLM that looks ahead keeps other windows.")
    own = layer_fields(config, len(kinds))
    shared = {kind for layer, kind in enumerate(kinds) if layer not in own and kind != "none"}
    made = {kind: _BUILD[kind](config) for kind in sorted(shared)}
    layers: list[Attention | None] = [made.get(kind) for kind in kinds]
    for layer, fields in own.items():
        kind = kinds[layer]
        if kind == "window" and not config.overlaid(fields).has("sliding_window", "sliding_window_size"):
            kind, fields = "full", {name: value for name, value in fields.items() if value is not None}
        layers[layer] = None if kind == "none" else build_layer(config, layer, fields, _BUILD[kind])
    return layers


def _repeated(config: Config, layers: list[Attention | None]) -> list[Attention | None]:
    """Looped LLMs run their stack several times, and every pass keeps a cache of its own.

    Ouro (arXiv 2510.25741) runs all layers ``total_ut_steps`` times; HRM-Text's ``num_hidden_layers`` counts the
    passes already where ``num_layers_per_stack`` stands beside it.
    """
    if config.kind == "ouro":
        return layers * config.whole("total_ut_steps", default=1)
    if config.kind == "hrm_text":
        passes = config.need("H_cycles") * (config.need("L_cycles") + 1)
        return layers if config.has("num_layers_per_stack") else layers * passes
    return layers


_MOST_DRAFTS = 100

_RATIOS = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}


def _ratios(config: Config) -> list[int] | None:
    """DeepSeek-V4: tokens per entry for every layer; one more entry than layers is the draft layer's."""
    types = config.items("layer_types") or []
    listed = config.items("compress_ratios")
    if listed is not None:
        ratios = [ratio if isinstance(ratio, int) else -1 for ratio in listed]
    elif any(
        name.endswith("_compressed_attention") or name == "compressed_sparse_attention" for name in map(str, types)
    ):
        rates = config.block("compress_rates") or {}
        ratios = [int(rates.get(name, _RATIOS.get(name, -1))) for name in types]
    else:
        return None
    config.used.update(("compress_ratios", "compress_rates", "sliding_window"))
    count = config.need("num_hidden_layers")
    if len(ratios) not in (count, count + 1):
        allowed = f"{count} entries (or one more, for the draft layer) are allowed."
        config.fault("compress_ratios", f"{len(ratios)} entries", allowed)
    if set(ratios) - {0, 4, 128}:
        config.fault(
            "compress_ratios", sorted(set(ratios) - {0, 4, 128}), "0 (window), 4 (CSA) and 128 (HCA) are known."
        )
    return ratios[:count]


def _index_marks(config: Config, layers: int) -> list[str] | None:
    """Which layers keep index keys: a list, a pattern of F and S, or every ``index_topk_freq``-th layer (GLM-5.2)."""
    marks = config.get("indexer_types", "index_topk_pattern")
    if isinstance(marks, str):
        return [{"F": "full", "S": "shared"}.get(mark, mark) for mark in marks]
    if marks is None and config.has("index_topk_freq"):
        every, offset = config.need("index_topk_freq"), config.whole("index_skip_topk_offset", default=2)
        return ["full" if max(layer - offset + 1, 0) % every == 0 else "shared" for layer in range(layers)]
    config.used.update(("index_topk_freq", "index_skip_topk_offset"))
    return config.items("indexer_types", "index_topk_pattern")


def _indexed(config: Config, layers: list[Attention | None]) -> list[Attention | None]:
    """Layers that are marked "shared" reuse the choice made before and keep no index keys."""
    marks = _index_marks(config, len(layers))
    if marks is None:
        return layers
    if len(marks) != len(layers) or set(marks) - {"full", "shared"} or marks[0] != "full":
        allowed = f"{len(layers)} entries, full or shared, the first full, are allowed."
        config.fault("indexer_types", marks, allowed)
        return layers
    result: list[Attention | None] = []
    for layer, mark in zip(layers, marks, strict=True):
        if isinstance(layer, Latent) and layer.index is not None and mark == "shared":
            layer = replace(layer, index=replace(layer.index, owner=False))
        result.append(layer)
    return result


def _shared(config: Config, layers: list[Attention | None]) -> tuple[Attention | None, ...]:
    """Layers that read another layer's cache and keep none of their own.

    ``num_kv_shared_layers``: that many last layers; ``kv_source_layers``: each layer names its source; ``use_cla``:
    of every ``cla_share_factor`` layers the first owns the cache that all of them read (cross-layer attention,
    arXiv 2405.12981; HunYuan-Large, arXiv 2411.02265).
    """
    shared = min(config.whole("num_kv_shared_layers"), len(layers))
    sources = config.items("kv_source_layers")
    if sources is not None and len(sources) != len(layers):
        config.fault("kv_source_layers", f"{len(sources)} entries", f"{len(layers)} entries are needed.")
        sources = None
    sharing = next((name for name in ("kv_source_layers", "use_cla") if config.get(name)), "num_kv_shared_layers")
    borrowed = set(range(len(layers) - shared, len(layers)))
    borrowed |= {layer for layer, source in enumerate(sources or ()) if source != layer}
    if config.get("use_cla"):
        every = config.need("cla_share_factor")
        borrowed |= {layer for layer in range(len(layers)) if layer % every}
    elif "use_cla" in config.text:
        config.used.add("cla_share_factor")
    result = list(layers)
    for position in borrowed:
        layer = layers[position]
        if isinstance(layer, GroupedQuery | Latent):
            result[position] = replace(layer, owner=False)
        elif layer is not None:
            config.fault(sharing, position, f"A {layer.label} layer cannot share its cache.")
    return tuple(result)


def read_drafts(config: Config, layers: tuple[Attention | None, ...]) -> tuple[Attention, ...]:
    """MTP or draft layers: as many as the config names, each like the last full layer (V4: window only)."""
    names = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers")
    count = config.whole(*names)
    if count > _MOST_DRAFTS:
        config.fault(names[0], count, f"At most {_MOST_DRAFTS} draft layers are allowed.")
        return ()
    if not count:
        return ()
    ratios = config.items("compress_ratios")
    if ratios is not None and len(ratios) > len(layers) and ratios[-1] in (0, 4, 128):
        return (build_compressed(config, int(ratios[-1])),) * count
    full = [layer for layer in layers if layer is not None and layer.shardable_heads]
    growing = [
        layer for layer in full if getattr(layer, "window", None) is None and getattr(layer, "chunk", None) is None
    ]
    return ((growing or full)[-1],) * count if full else ()
