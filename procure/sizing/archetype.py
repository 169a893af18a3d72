"""Archetype cards: an LLM that is not released yet, as layer families with their counts or ratio.

A card file names ``[[attention]]`` blocks (family, its dimensions, and ``count`` or ``ratio``), ``num_layers``
where ratios are used, and a ``[feed_forward]`` block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from procure.errors import Fault, InputError, nearest
from procure.sizing.attention import Attention
from procure.sizing.compressed import BlockSparse, Compressed
from procure.sizing.memory_sparse import MemorySparse
from procure.sizing.parameters import FeedForward, Moe
from procure.sizing.recurrent import GatedDelta, KimiDelta, Lightning, Mamba1, Mamba2, Rwkv, ShortConvolution
from procure.sizing.softmax import GroupedQuery, Latent, SparseIndex

FAMILIES: dict[str, type[Attention]] = {
    "gqa": GroupedQuery,
    "mla": Latent,
    "gdn": GatedDelta,
    "kda": KimiDelta,
    "lightning": Lightning,
    "mamba1": Mamba1,
    "mamba2": Mamba2,
    "rwkv": Rwkv,
    "short_conv": ShortConvolution,
    "compressed": Compressed,
    "block_sparse": BlockSparse,
    "msa": MemorySparse,
    "none": type(None),  # type: ignore[dict-item]
}
"""Families that an ``[[attention]]`` block may name.

MHA, MQA, MFA, windows and chunks are ``gqa``; DSA is ``mla`` with an ``index`` table.
"""

_WORDS = {"int": "a positive whole number", "bool": "true or false"}

_FEED_FORWARD = (
    "dense_layers",
    "dense_width",
    "moe_layers",
    "experts",
    "top_k",
    "expert_width",
    "shared_width",
    "matrices",
)


def read_archetype(card: Mapping[str, Any], file: str) -> tuple[tuple[Attention | None, ...], FeedForward]:
    """Layers and feed-forward weights of an archetype card.

    Raises:
        InputError: naming every block and field that is wrong or missing.
    """
    faults: list[Fault] = []
    blocks = [_block(block, number, file, faults) for number, block in enumerate(card["attention"], start=1)]
    counts = _counts(card, file, faults)
    feed_forward = _feed_forward(card, sum(counts), file, faults)
    if faults:
        raise InputError(faults)
    layers = tuple(layer for layer, count in zip(blocks, counts, strict=True) for _ in range(count))
    return layers, feed_forward


def _counts(card: Mapping[str, Any], file: str, faults: list[Fault]) -> list[int]:
    """Layers of every block, from ``count``, or from ``ratio`` and ``num_layers``."""
    blocks = card["attention"]
    shares = [block.get("ratio") for block in blocks]
    given = [block.get("count") for block in blocks]
    wrong = [value for value in (*shares, *given) if value is not None and (not isinstance(value, int) or value < 1)]
    mixed = any((share is None) == (count is None) for share, count in zip(shares, given, strict=True))
    if wrong or mixed or (any(shares) and any(given)):
        expected = "Give every block `count`, or every block `ratio`: positive whole numbers."
        faults.append(Fault(file, 0, "attention.count / attention.ratio", str(wrong or ""), expected))
        return [1] * len(blocks)
    if all(given):
        return [int(count) for count in given if count]
    total, whole = card.get("num_layers"), sum(share for share in shares if share)
    if not isinstance(total, int) or total < 1 or total % whole:
        expected = f"A multiple of {whole}, the sum of the ratios, is needed."
        faults.append(Fault(file, 0, "num_layers", "" if total is None else str(total), expected))
        return [1] * len(blocks)
    return [share * total // whole for share in shares if share]


def _block(block: Mapping[str, Any], number: int, file: str, faults: list[Fault]) -> Attention | None:
    where = f"attention[{number}]"
    family = block.get("family")
    if family not in FAMILIES:
        faults.append(Fault(file, 0, f"{where}.family", str(family), "Name a family.", nearest(str(family), FAMILIES)))
        return None
    if family == "none":
        return None
    return _filled(FAMILIES[family], block, {"family", "count", "ratio"}, where, file, faults)


def _filled(kind: type, block: Mapping[str, Any], other: set[str], where: str, file: str, faults: list[Fault]) -> Any:
    """An instance of a dataclass from a block of fields, each checked; faults are remembered."""
    known = {field.name: field for field in fields(kind)}
    before = len(faults)
    for name in block.keys() - known.keys() - other:
        faults.append(Fault(file, 0, f"{where}.{name}", str(block[name]), "Not a field of it.", nearest(name, known)))
    values: dict[str, Any] = {}
    for name, field in known.items():
        if name not in block:
            if field.default is MISSING and "None" not in str(field.type):
                faults.append(
                    Fault(
                        file,
                        0,
                        f"{where}.{name}",
                        "",
                        f"This field is needed ({_WORDS.get(str(field.type), str(field.type))}).",
                    )
                )
            elif field.default is MISSING:
                values[name] = None
            continue
        values[name] = _value(block[name], field, where, file, faults)
    return kind(**values) if len(faults) == before else None


def _value(value: Any, field: Field[Any], where: str, file: str, faults: list[Fault]) -> Any:
    kind = str(field.type)
    if "SparseIndex" in kind and isinstance(value, Mapping):
        return _filled(SparseIndex, value, set(), f"{where}.{field.name}", file, faults)
    if "bool" in kind and isinstance(value, bool):
        return value
    if "str" in kind and value in ("float32", "bfloat16", "float16"):
        return value
    zero = field.name in ("tokens_per_entry", "index_dim", "index_heads", "sinks", "rope_dim", "speculative_columns")
    if "int" in kind and isinstance(value, int) and not isinstance(value, bool) and value >= (0 if zero else 1):
        return value
    faults.append(Fault(file, 0, f"{where}.{field.name}", str(value), f"{kind}, positive, is allowed."))
    return None


def _feed_forward(card: Mapping[str, Any], layers: int, file: str, faults: list[Fault]) -> FeedForward:
    """``dense_layers`` of ``dense_width``, ``moe_layers`` of ``experts`` with ``top_k`` used (widths: intermediate)."""
    block, hidden = card.get("feed_forward", {}), card.get("hidden_size")
    for name, value in block.items():
        if name not in _FEED_FORWARD:
            hint = nearest(name, _FEED_FORWARD)
            faults.append(Fault(file, 0, f"feed_forward.{name}", str(value), "Not a field of it.", hint))
        elif not isinstance(value, int) or value < 0:
            faults.append(Fault(file, 0, f"feed_forward.{name}", str(value), "A whole number, 0 or more, is allowed."))
    if not isinstance(hidden, int):
        return FeedForward(0, None)
    matrices, dense = block.get("matrices", 3), block.get("dense_layers", 0)
    needed = ["dense_width"] if dense else []
    needed += ["top_k", "expert_width"] if block.get("experts") else []
    for name in needed:
        if not block.get(name):
            faults.append(Fault(file, 0, f"feed_forward.{name}", "", "This field is needed (a positive whole number)."))
    if faults:
        return FeedForward(0, None)
    shared = dense * matrices * hidden * block.get("dense_width", 0)
    if not block.get("experts"):
        return FeedForward(shared, None)
    moe_layers = block.get("moe_layers", layers - dense)
    shared += moe_layers * hidden * (block["experts"] + matrices * block.get("shared_width", 0))
    per_expert = matrices * hidden * block["expert_width"]
    return FeedForward(shared, Moe(moe_layers, block["experts"], block["top_k"], per_expert))
