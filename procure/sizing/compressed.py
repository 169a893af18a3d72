"""DeepSeek-V4's compressed attention (CSA, HCA, window) and block-sparse attention with an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from procure.sizing.attention import Attention, Part, Work
from procure.sizing.counts import EVERY_TOKEN, PER_SEQUENCE, Entries, Pending
from procure.sizing.formats import Convention, encodings


@dataclass(frozen=True)
class Compressed(Attention):
    """One layer of DeepSeek-V4 (arXiv 2606.19348): a window beside entries that each stand for several tokens.

    An entry is one vector of c elements that serves as key and value (no factor 2), d_r of them carrying rope.

    * CSA (4 tokens per entry, with an index): stored ``floor(S/4)(c + d_i) + min(S, W) c``; loaded all index keys,
      ``min(floor(S/4), k)`` entries and the window.
    * HCA (128, no index): stored and loaded ``floor(S/128) c + min(S, W) c``.
    * 0: the window alone.

    Tokens that wait to be compressed are kept by engines in fp32: SGLang in rings of fixed size (CSA 8 slots of 8,192 B
    and 8 of 2,048 B for the index, HCA 128 slots of 4,096 B), which the papers' formula leaves out
    (convention ``formula`` as well; ``sglang`` and ``vllm`` count them).

    Attributes:
        heads: query heads.
        dim: c.
        rope_dim: d_r.
        tokens_per_entry: 4 for CSA, 128 for HCA, 0 for a window alone.
        window: W.
        index_dim: d_i, 0 without an index.
        index_heads: index queries.
        top_k: entries read, None for all.
        query_rank: rank of the query projection.
        output_rank: rank per group of the output projection.
        output_groups: groups of the output projection.
    """

    heads: int
    dim: int
    rope_dim: int
    tokens_per_entry: int
    window: int
    query_rank: int
    output_rank: int
    output_groups: int
    index_dim: int = 0
    index_heads: int = 0
    top_k: int | None = None
    family: ClassVar[str] = "compressed"

    @property
    def _overlap(self) -> int:
        """Blocks that a compressed entry looks at: two for CSA, one for HCA."""
        return 2 if self.index_dim else 1

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """Window, compressed entries, index keys, and what waits to be compressed."""
        rows = Entries(1, self.window - convention.window_rows_less)
        copies = 2 if self.tokens_per_entry == 0 and convention.compressor == "tail" else 1
        parts = self._entry("window", rows, rows, copies)
        if self.tokens_per_entry == 0:
            return parts
        held = Entries(self.tokens_per_entry)
        parts += self._entry("compressed", held, Entries(self.tokens_per_entry, self.top_k), 1)
        if self.index_dim:
            parts += (Part("index_key", "index_key", self.index_dim, 1, held, held),)
        return parts + self._waiting(convention)

    def _entry(self, component: str, held: Entries, read: Entries, copies: int) -> tuple[Part, ...]:
        return (
            Part(component, "compressed", self.dim - self.rope_dim, copies, held, read),
            Part(component, "rope", self.rope_dim, copies, held, read),
        )

    def _waiting(self, convention: Convention) -> tuple[Part, ...]:
        """Keys and scores of tokens not yet compressed, for the entries and for the index keys."""
        if convention.compressor == "no":
            return ()
        widths = [2 * self._overlap * dim for dim in (self.dim, self.index_dim) if dim]
        if convention.compressor == "tail":
            return self._tail()
        slots, fp32 = self.tokens_per_entry * self._overlap, encodings()["fp32"]
        rings = tuple(Part("compressor_state", "compressor", w, slots, PER_SEQUENCE, None, fp32) for w in widths)
        steps = tuple(Part("compressor_state", "compressor", w, 1, None, PER_SEQUENCE, fp32) for w in widths)
        return rings + steps

    def _tail(self) -> tuple[Part, ...]:
        """transformers: tokens of the open block; with overlap, half of the block before (gates in fp32)."""
        name, bf16, fp32 = "compressor_state", encodings()["bf16"], encodings()["fp32"]
        waiting, before = Pending(self.tokens_per_entry), Entries(self.tokens_per_entry, 1)
        parts: tuple[Part, ...] = ()
        for dim in (dim for dim in (self.dim, self.index_dim) if dim):
            parts += (Part(name, "compressor", 2 * self._overlap * dim, 1, waiting, waiting, bf16),)
            if self._overlap == 2:
                parts += (Part(name, "compressor", dim, self.tokens_per_entry, before, before, bf16),)
                parts += (Part(name, "compressor", dim, self.tokens_per_entry, before, before, fp32),)
        return parts

    def decode_work(self) -> Work:
        """``4 n c`` FLOP per entry read (key and value in one vector); the indexer ``2 n_i d_i`` per index key."""
        per_entry = 4.0 * self.heads * self.dim
        work: Work = ((per_entry, Entries(1, self.window)),)
        if self.tokens_per_entry:
            work += ((per_entry, Entries(self.tokens_per_entry, self.top_k)),)
        if self.index_dim:
            work += ((2.0 * self.index_heads * self.index_dim, Entries(self.tokens_per_entry)),)
        return work

    def prefill_scores(self) -> Work:
        """``n`` scores for every entry read, of the window and of the compressed ones."""
        scores: Work = ((float(self.heads), Entries(1, self.window)),)
        if self.tokens_per_entry:
            scores += ((float(self.heads), Entries(self.tokens_per_entry, self.top_k)),)
        return scores

    @property
    def indexed(self) -> bool:
        """Where compressed entries are chosen by index keys (CSA)."""
        return self.index_dim > 0

    def parameters(self, hidden: int) -> int:
        """Low-rank query, one key-value vector, grouped low-rank output, compressors and indexer."""
        wide = self.heads * self.dim
        query = hidden * self.query_rank + self.query_rank * wide
        output = wide * self.output_rank + self.output_groups * self.output_rank * hidden
        compressor = 2 * self._overlap * hidden * self.dim if self.tokens_per_entry else 0
        index = 0
        if self.index_dim:
            index = self.query_rank * self.index_heads * self.index_dim + hidden * self.index_heads
            index += 2 * self._overlap * hidden * self.index_dim
        return query + hidden * self.dim + output + compressor + index

    @property
    def label(self) -> str:
        """CSA, HCA or a window alone."""
        return f"SWA {self.window}" if self.tokens_per_entry == 0 else "CSA" if self.index_dim else "HCA"

    @property
    def shardable_heads(self) -> int:
        """One KV head: replicated on every tensor-parallel rank."""
        return 1


@dataclass(frozen=True)
class BlockSparse(Attention):
    """Grouped-query attention that reads chosen blocks (MiniMax-M3): stored ``S (2 g d + d_i) b``.

    Loaded: all index keys and at most ``blocks`` blocks of ``block_tokens`` tokens of keys and values.
    """

    query_heads: int
    kv_heads: int
    k_dim: int
    v_dim: int
    index_dim: int
    index_heads: int
    blocks: int
    block_tokens: int
    family: ClassVar[str] = "block_sparse"

    @property
    def _read(self) -> Entries:
        return Entries(1, self.blocks * self.block_tokens)

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """Keys, values and index keys of every token."""
        return (
            Part("k", "k", self.k_dim, self.kv_heads, EVERY_TOKEN, self._read),
            Part("v", "v", self.v_dim, self.kv_heads, EVERY_TOKEN, self._read),
            Part("index_key", "index_key", self.index_dim, 1, EVERY_TOKEN, EVERY_TOKEN),
        )

    def decode_work(self) -> Work:
        """``2 n (d_k + d_v)`` FLOP per token read, ``2 n_i d_i`` per index key."""
        return (
            (2.0 * self.query_heads * (self.k_dim + self.v_dim), self._read),
            (2.0 * self.index_heads * self.index_dim, EVERY_TOKEN),
        )

    def prefill_scores(self) -> Work:
        """``n`` scores for every token read."""
        return ((float(self.query_heads), self._read),)

    @property
    def indexed(self) -> bool:
        """Always: blocks are chosen by index keys."""
        return True

    def parameters(self, hidden: int) -> int:
        """Query, key, value, output, index query and key projections."""
        kv = hidden * self.kv_heads * (self.k_dim + self.v_dim)
        index = hidden * self.index_dim * (self.index_heads + 1)
        return hidden * self.query_heads * self.k_dim + kv + self.query_heads * self.v_dim * hidden + index

    @property
    def label(self) -> str:
        """Block-sparse GQA."""
        return "block-sparse GQA"

    @property
    def shardable_heads(self) -> int:
        """KV heads of the layer."""
        return self.kv_heads
