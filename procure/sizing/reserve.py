"""What an engine reserves for a sequence, against the formula: pages, window blocks, padded states, replication.

Rules follow vLLM's ``kv_cache_interface.py`` and hybrid cache manager (block sizes checked against its start-up logs).
The formula is a lower bound; a limit on HBM should use the reserved bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from procure.sizing import formats
from procure.sizing.attention import Attention, Part
from procure.sizing.card import Card, Format, encoding_of
from procure.sizing.counts import Entries, InChunk, Lengths, Once
from procure.sizing.formats import Convention, KvFormat
from procure.sizing.recurrent import Mamba2


@dataclass(frozen=True)
class Engine:
    """How an engine lays caches out.

    Attributes:
        page_tokens: tokens per page (block) of full-attention layers; vLLM 16, with FlashMLA 64, SGLang 1 to 64.
        tensor_parallel: ranks that split one replica's attention heads.
        attention_data_parallel: groups of those ranks that serve different sequences (data-parallel attention); a
            sequence is then replicated inside one group only.
        chunk_tokens: tokens that one step may add to a sequence: 1 while decoding, the prefill chunk while prefilling.
        state_slots: states kept per sequence: 1, or 2 where prefix caching aligns states to blocks; plus proposals.
        state_per_block: prefix caching keeps a state for every block, so states grow with length.
        window_layers_apart: windows are freed as they pass (hybrid manager); False allocates them as full layers.
        convention: state dtypes, as in :class:`procure.sizing.formats.Convention`.
    """

    page_tokens: int = 16
    tensor_parallel: int = 1
    attention_data_parallel: int = 1
    chunk_tokens: int = 1
    state_slots: int = 1
    state_per_block: bool = False
    window_layers_apart: bool = True
    convention: str = "vllm"

    @property
    def ranks(self) -> int:
        """Ranks that share one sequence.

        Raises:
            ValueError: the groups do not divide the ranks.
        """
        if self.tensor_parallel % self.attention_data_parallel:
            raise ValueError(f"{self.attention_data_parallel} groups do not divide {self.tensor_parallel} ranks")
        return self.tensor_parallel // self.attention_data_parallel


@dataclass(frozen=True)
class Block:
    """Cache block of a hybrid: attention pages and state pages have one size.

    Attributes:
        tokens: tokens per attention block; prefix reuse is in whole blocks.
        page_bytes: bytes of one layer's block.
        padding: page bytes over state bytes, minus 1.
    """

    tokens: int
    page_bytes: int
    padding: float


def hybrid_block(card: Card, kv_format: Format, engine: Engine | None = None) -> Block | None:
    """The block of a hybrid with states: the smallest multiple of 16 tokens whose page covers one layer's state.

    None for a card without both states and growing layers. At TP both shrink alike until KV heads run out.
    """
    engine = engine or Engine()
    fmt, convention = formats.kv_format(kv_format), formats.convention(engine.convention)
    state, per_token = 0.0, 0.0
    for layer, _ in card.distinct_layers:
        parts = layer.parts(convention)
        fixed = sum(_rank_bytes(layer, part, fmt, engine) for part in parts if isinstance(part.held, Once))
        growing = sum(_rank_bytes(layer, part, fmt, engine) for part in parts if part.held == Entries())
        state, per_token = max(state, fixed), max(per_token, growing)
    if not state or not per_token:
        return None
    step = max(16, engine.page_tokens)
    tokens = ceil(ceil(state / per_token) / step) * step
    page = int(tokens * per_token)
    return Block(tokens, page, page / state - 1)


def reserved_bytes(card: Card, tokens: Lengths, kv_format: Format, engine: Engine | None = None) -> Any:
    """Bytes that an engine sets aside for one sequence, over all ranks that share it.

    Args:
        card: the LLM.
        tokens: length of the sequence, a number or an array.
        kv_format: as in :meth:`Card.stored_bytes`.
        engine: how caches are laid out; vLLM without parallelism by default.

    Returns:
        A float, or a float64 array. Never below the formula under the same convention.
    """
    engine = engine or Engine()
    fmt, convention = formats.kv_format(kv_format), formats.convention(engine.convention)
    block = hybrid_block(card, kv_format, engine)
    page = block.tokens if block else engine.page_tokens
    length = np.asarray(tokens)
    total = np.zeros(length.shape)
    for layer, layers in card.distinct_layers:
        parts = layer.parts(convention)
        if block and any(isinstance(part.held, Once) for part in parts):
            states = np.maximum(-(-length // page), 1) if engine.state_per_block else engine.state_slots
            total = total + layers * engine.ranks * states * float(block.page_bytes)
            continue
        for part in parts:
            if part.held is not None:
                each = layers * engine.ranks * _rank_bytes(layer, part, fmt, engine)
                total = total + each * _reserved_entries(part, length, page, engine)
    return total.item() if total.ndim == 0 else total


def _reserved_entries(part: Part, length: np.ndarray, page: int, engine: Engine) -> np.ndarray:
    """Entries in whole pages; a window adds the step's tokens and one block that is partly passed."""
    held = part.held
    if isinstance(held, Once):
        return np.asarray(held.at(length)) * engine.state_slots
    rounded = -(-length // page) * page
    if isinstance(held, InChunk) or not isinstance(held, Entries):
        return np.asarray(held.at(length)) if held is not None else np.zeros(length.shape)
    if held.at_most is None or not engine.window_layers_apart:
        return np.asarray(Entries(held.every).at(rounded))
    rows = held.at_most - 1 + engine.chunk_tokens
    window = -(-rows // page) * page + page
    return np.minimum(rounded, window)


def _rank_bytes(layer: Attention, part: Part, fmt: KvFormat, engine: Engine) -> float:
    """Bytes of one entry on one rank: KV heads split until one is left, a single head is replicated, states split."""
    encoding, ranks = encoding_of(part, fmt), engine.ranks
    whole = part.vectors * encoding.bytes(part.elements)
    if part.role == "conv" and isinstance(layer, Mamba2):
        groups = layer.groups if layer.groups % ranks == 0 else max(layer.groups, ranks)
        channels = layer.heads * layer.head_dim + 2 * groups * layer.state_dim
        return part.vectors * encoding.bytes(channels) / ranks
    if part.role in formats.STATE_ROLES and part.role != "compressor":
        return whole / ranks
    if part.vectors == 1 or part.role == "compressor" or layer.shardable_heads == 1:
        return float(whole)
    return -(-part.vectors // ranks) * encoding.bytes(part.elements)


def replication(card: Card, engine: Engine, kv_format: Format = "bf16", tokens: int = 131_072) -> float:
    """How many times a sequence's formula bytes are held over the ranks that share it (1 without replication).

    Data-parallel attention holds a sequence ``attention_data_parallel`` times less often than tensor parallelism.
    """
    fmt = formats.kv_format(kv_format)
    convention: Convention = formats.convention(engine.convention)
    held = single = 0.0
    for layer, layers in card.distinct_layers:
        for part in layer.parts(convention):
            if part.held is not None:
                entries = float(part.held.at(tokens))
                held += layers * entries * engine.ranks * _rank_bytes(layer, part, fmt, engine)
                single += layers * entries * _rank_bytes(layer, part, fmt, Engine(convention=engine.convention))
    return held / single if single else 1.0
