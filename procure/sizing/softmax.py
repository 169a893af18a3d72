"""Softmax attention over stored keys and values: MHA, GQA, MQA, MFA, MLA, with windows, chunks and a sparse index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from procure.sizing.attention import Attention, Part, Work
from procure.sizing.counts import EVERY_TOKEN, Count, Entries, InChunk
from procure.sizing.formats import Convention


@dataclass(frozen=True)
class GroupedQuery(Attention):
    """MHA, GQA and MQA: ``g`` heads of keys and values, each read by ``n/g`` query heads.

    Stored and loaded per layer: ``S * g * (d_k + d_v) * b``; MHA is g = n, MQA is g = 1, and MFA (Step-3,
    arXiv 2507.19427) is one head with a low-rank query: ``S * (d_k + d_v) * b``. K and V may differ (MiMo-V2).

    A window of W tokens with s sink tokens keeps ``min(S, W + s)`` of them (arXiv 2309.17453). Chunked attention with
    chunk C (Llama 4) keeps ``min(S, C)`` and reads ``((S - 1) mod C) + 1``. A learned sink *bias* (gpt-oss) keeps none.

    A layer that shares the cache of an earlier layer (``owner=False``) reads it and keeps nothing.

    Attributes:
        query_heads: n.
        kv_heads: g.
        k_dim: d_k, elements of one key.
        v_dim: d_v, elements of one value.
        window: W in tokens, or None.
        sinks: s in tokens.
        chunk: C in tokens, or None.
        query_rank: rank of the query projection (MFA), or None.
        output_gate: a gate as wide as the query output (Qwen3-Next, Qwen3.5).
        owner: keeps its own cache.
        values_are_keys: V is the key projection (Gemma 4 global layers): no V weights, but engines keep both.
    """

    query_heads: int
    kv_heads: int
    k_dim: int
    v_dim: int
    window: int | None = None
    sinks: int = 0
    chunk: int | None = None
    query_rank: int | None = None
    output_gate: bool = False
    owner: bool = True
    values_are_keys: bool = False
    family: ClassVar[str] = "gqa"

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """Keys and values; windows are reported as one component."""
        held, read = self._counts(convention.window_rows_less)
        bounded = self.window is not None or self.chunk is not None
        keep = held if self.owner else None
        return (
            Part("window" if bounded else "k", "k", self.k_dim, self.kv_heads, keep, read),
            Part("window" if bounded else "v", "v", self.v_dim, self.kv_heads, keep, read),
        )

    def _counts(self, rows_less: int) -> tuple[Count, Count]:
        if self.chunk is not None:
            return Entries(1, self.chunk - rows_less), InChunk(self.chunk)
        if self.window is not None:
            rows = Entries(1, self.window + self.sinks - rows_less)
            return rows, rows
        return EVERY_TOKEN, EVERY_TOKEN

    def decode_work(self) -> Work:
        """``2 n (d_k + d_v)`` FLOP for every token met."""
        return ((2.0 * self.query_heads * (self.k_dim + self.v_dim), self._counts(0)[1]),)

    def prefill_scores(self) -> Work:
        """``n`` scores for every token met."""
        return ((float(self.query_heads), self._counts(0)[1]),)

    def parameters(self, hidden: int) -> int:
        """Query (and gate), key, value and output projections."""
        query_out = self.query_heads * self.k_dim * (2 if self.output_gate else 1)
        if self.query_rank is None:
            query = hidden * query_out
        else:
            query = hidden * self.query_rank + self.query_rank * query_out
        kv = 0
        if self.owner:
            kv = hidden * self.kv_heads * (self.k_dim + (0 if self.values_are_keys else self.v_dim))
        return query + kv + self.query_heads * self.v_dim * hidden

    @property
    def label(self) -> str:
        """MHA, GQA, MQA or MFA, with its window or chunk."""
        name = "MHA" if self.kv_heads == self.query_heads else "GQA" if self.kv_heads > 1 else "MQA"
        name = "MFA" if self.query_rank is not None else name
        name = name if self.window is None else f"SWA {self.window}"
        name = f"chunked {self.chunk}" if self.chunk is not None else name
        return name if self.owner else f"{name} (shared cache)"

    @property
    def shardable_heads(self) -> int:
        """KV heads of the layer."""
        return self.kv_heads


@dataclass(frozen=True)
class SparseIndex:
    """A lightning indexer: one key of ``dim`` elements per token, ``heads`` queries; the best ``top_k`` are read.

    Attributes:
        owner: keeps its own index keys; False where an earlier layer's choice is used again (GLM-5.2).
    """

    dim: int
    heads: int
    top_k: int
    owner: bool = True

    def parameters(self, hidden: int, query_rank: int) -> int:
        """Index query, key and head-weight projections."""
        return query_rank * self.heads * self.dim + hidden * self.dim + hidden * self.heads if self.owner else 0


@dataclass(frozen=True)
class Latent(Attention):
    """MLA: one compressed vector per token serves keys and values of all heads; optionally DSA on top.

    Stored: ``S * (r + d_r) * b`` once, without a factor 2 or a head count (DeepSeek-V2, arXiv 2405.04434). Plain MLA
    loads the same, in one pass, when weights are absorbed. With DSA (arXiv 2512.02556) an index key is stored for
    every token as well, and a step loads ``index * S + min(S, k) * (r + d_r) * b``: the index scan equals the top-k
    read at (r + d_r)/d_i * k tokens, but DSA only loads less than plain MLA above
    (r + d_r) * k / (r + d_r - d_i) tokens.

    Attributes:
        heads: query heads n.
        latent_dim: r.
        rope_dim: d_r.
        nope_dim: key elements per head without rope (needed for weights and prefill arithmetic).
        v_dim: value elements per head (needed for the same).
        query_rank: rank of the query projection, or None for a full one.
        index: the DSA index, or None.
        owner: keeps its own latent; False where it reads an earlier layer's.
    """

    heads: int
    latent_dim: int
    rope_dim: int
    nope_dim: int | None
    v_dim: int | None
    query_rank: int | None = None
    index: SparseIndex | None = None
    owner: bool = True
    family: ClassVar[str] = "mla"

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """Latent and rope of every token, and the index keys of DSA."""
        read = EVERY_TOKEN if self.index is None else Entries(1, self.index.top_k)
        held = EVERY_TOKEN if self.owner else None
        parts: tuple[Part, ...] = (
            Part("latent", "latent", self.latent_dim, 1, held, read),
            Part("rope", "rope", self.rope_dim, 1, held, read),
        )
        if self.index is not None and self.index.owner:
            parts += (Part("index_key", "index_key", self.index.dim, 1, EVERY_TOKEN, EVERY_TOKEN),)
        return parts

    def decode_work(self) -> Work:
        """Absorbed: ``2 n ((r + d_r) + r)`` FLOP per entry read; the indexer ``2 n_i d_i`` per token."""
        absorbed = 2.0 * self.heads * (2 * self.latent_dim + self.rope_dim)
        if self.index is None:
            return ((absorbed, EVERY_TOKEN),)
        work: Work = ((absorbed, Entries(1, self.index.top_k)),)
        if self.index.owner:
            work += ((2.0 * self.index.heads * self.index.dim, EVERY_TOKEN),)
        return work

    def prefill_work(self) -> Work:
        """Plain MLA expands heads: ``2 n (d_nope + d_r + d_v)`` per pair; with DSA the absorbed form is used."""
        if self.index is not None:
            return self.decode_work()
        assert self.nope_dim is not None
        assert self.v_dim is not None
        return ((2.0 * self.heads * (self.nope_dim + self.rope_dim + self.v_dim), EVERY_TOKEN),)

    def prefill_scores(self) -> Work:
        """``n`` scores for every token met, with DSA for every token chosen; the indexer takes no softmax."""
        return ((float(self.heads), EVERY_TOKEN if self.index is None else Entries(1, self.index.top_k)),)

    @property
    def indexed(self) -> bool:
        """With DSA, where the layer does not use an earlier layer's choice."""
        return self.index is not None and self.index.owner

    def missing(self) -> tuple[str, ...]:
        """Head dimensions that trimmed configs leave out."""
        known = {"qk_nope_head_dim": self.nope_dim, "v_head_dim": self.v_dim}
        return tuple(field for field, value in known.items() if value is None)

    def parameters(self, hidden: int) -> int:
        """Query (low rank or full), latent down and up, output, and the indexer."""
        assert self.nope_dim is not None
        assert self.v_dim is not None
        query_out = self.heads * (self.nope_dim + self.rope_dim)
        if self.query_rank is None:
            query = hidden * query_out
        else:
            query = hidden * self.query_rank + self.query_rank * query_out
        down = hidden * (self.latent_dim + self.rope_dim) if self.owner else 0
        up = self.latent_dim * self.heads * (self.nope_dim + self.v_dim)
        output = self.heads * self.v_dim * hidden
        index = 0 if self.index is None else self.index.parameters(hidden, self.query_rank or hidden)
        return query + down + up + output + index

    @property
    def label(self) -> str:
        """MLA, with DSA where it has an index."""
        name = "MLA" if self.index is None else "MLA+DSA"
        if self.index is not None and not self.index.owner:
            name += " (shared index)"
        return name if self.owner else f"{name} (shared cache)"

    @property
    def shardable_heads(self) -> int:
        """One: every tensor-parallel rank holds the whole latent."""
        return 1
