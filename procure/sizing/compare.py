"""Architectures against each other at one length, and where sparse attention (DSA) starts to pay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from procure.errors import Fault, InputError
from procure.sizing.attention import Attention
from procure.sizing.card import Card
from procure.sizing.compressed import BlockSparse, Compressed
from procure.sizing.formats import kv_format
from procure.sizing.softmax import GroupedQuery, Latent

DEFAULT_CARDS = (
    "deepseek-v3.2",
    "deepseek-v4-pro",
    "glm-4.7",
    "glm-5.1",
    "gpt-oss-120b",
    "kimi-k2.5",
    "kimi-linear-48b-a3b",
    "llama-3.1-405b",
    "mimo-v2-flash",
    "minimax-m2.5",
    "minimax-text-01",
    "nemotron-3-nano-30b-a3b",
    "qwen3-235b-a22b",
    "qwen3.5-122b-a10b",
    "qwen3.5-397b-a17b",
    "ring-2.5-1t",
    "step-3",
)
"""Flagship LLMs of the families, compared where none are named."""

CLASSES = ("sparse", "hybrid", "compressed", "latent", "dense")
"""What an architecture does to the cache, see :func:`architecture_class`."""


def architecture_class(card: Card) -> str:
    """The class of :data:`CLASSES` that a card belongs to.

    ``sparse`` reads a chosen part, ``hybrid`` has few growing layers, ``compressed`` keeps an entry for many tokens,
    ``latent`` shares one small vector between heads (MLA, MFA, MQA), ``dense`` keeps and reads every KV head.
    """
    layers = [part for layer in card.attention if layer is not None for part in layer.apart()]
    if any(isinstance(layer, Compressed) for layer in layers):
        return "compressed"
    growing = [layer for layer in layers if _grows(layer)]
    if len(growing) < len(layers):
        return "hybrid"
    if any(isinstance(layer, BlockSparse) or getattr(layer, "index", None) is not None for layer in layers):
        return "sparse"
    return "latent" if all(layer.shardable_heads == 1 for layer in growing) else "dense"


def _grows(layer: Attention) -> bool:
    if isinstance(layer, GroupedQuery):
        return layer.window is None and layer.chunk is None
    return isinstance(layer, Latent | BlockSparse)


def compare_rows(cards: Iterable[Card], tokens: int, fmt: str, rule: str = "formula") -> list[dict[str, Any]]:
    """One row per card, least loaded bytes first, with its rank by loaded and by stored bytes at that length."""
    found: list[dict[str, Any]] = [
        {
            "model": card.name,
            "attention": card.description,
            "class": architecture_class(card),
            "tokens": tokens,
            "kv_format": fmt,
            "stored_bytes": card.stored_bytes(tokens, fmt, rule),
            "loaded_bytes": card.loaded_bytes(tokens, fmt, rule),
            "transferred_bytes": card.transferred_bytes(tokens, fmt, rule),
            "state_bytes": card.state_bytes(fmt, rule),
            "bytes_per_token": card.bytes_per_token(tokens, fmt, rule),
            "flops_per_loaded_byte": card.decode_attention_flops(tokens) / card.loaded_bytes(tokens, fmt, rule),
        }
        | _dsa_columns(card)
        for card in cards
    ]
    by_stored = sorted(found, key=lambda row: row["stored_bytes"])
    by_loaded = sorted(found, key=lambda row: row["loaded_bytes"])
    for row in found:
        row["rank_loaded"], row["rank_stored"] = by_loaded.index(row) + 1, by_stored.index(row) + 1
    return by_loaded


def _dsa_columns(card: Card) -> dict[str, float | None]:
    """DSA's two lengths at equal dtypes, None for a card without DSA."""
    names = ("dsa_index_equals_read_tokens", "dsa_starts_to_save_tokens")
    if not any(getattr(layer, "index", None) is not None for layer in card.attention):
        return dict.fromkeys(names)
    points = dsa_points(card)
    return dict(zip(names, (points.index_equals_read, points.starts_to_save), strict=True))


@dataclass(frozen=True)
class DsaPoints:
    """Two lengths that are often mixed up (tokens, not rounded).

    Attributes:
        index_equals_read: the index scan moves as many bytes as the top-k entries: entry / index * k.
        starts_to_save: a step moves fewer bytes than plain MLA above this: entry * k / (entry - index).
        saving_limit: plain MLA over DSA for very long sequences: entry / index.
    """

    entry_bytes: int
    index_bytes: int
    top_k: int
    index_equals_read: float
    starts_to_save: float
    saving_limit: float


def dsa_points(card: Card, fmt: str = "bf16") -> DsaPoints:
    """The two lengths of a card with DSA; with equal dtypes (576 and 128 elements, k = 2,048) 9,216 and 2,633 tokens.

    Raises:
        InputError: the card has no DSA layer.
    """
    for layer in card.attention:
        if isinstance(layer, Latent) and layer.index is not None:
            chosen = dict(kv_format(fmt).encodings)
            entry = chosen["latent"].bytes(layer.latent_dim) + chosen["rope"].bytes(layer.rope_dim)
            index, k = chosen["index_key"].bytes(layer.index.dim), layer.index.top_k
            return DsaPoints(entry, index, k, entry / index * k, entry * k / (entry - index), entry / index)
    raise InputError([Fault(card.file, 0, "index_topk", "", f"{card.name} has no DSA layer.")])
