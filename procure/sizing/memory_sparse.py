"""Memory sparse attention (MSA, arXiv 2603.23516): a compressed document memory beside the LLM.

Documents are encoded once; keys, values and routing keys of ``chunk_tokens`` tokens are averaged to one. Routing
keys stay in HBM (sharded over GPUs), averaged keys and values wait in host memory until a document is chosen.
Only the upper layers route; lower layers keep nothing of the documents once they are encoded.

Public: the placement, the pooling, that only upper layers route, and the claim of 100M tokens on two 80 GB GPUs
(paper and its repository). Not found in a source that was re-read: the chunk length and the number of routed
layers of the released LLM, so both must be given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from procure.sizing.attention import Attention, Part, Work
from procure.sizing.counts import Entries
from procure.sizing.formats import Convention


@dataclass(frozen=True)
class MemorySparse(Attention):
    """One routed layer's document memory for S tokens of documents: ``floor(S / P)`` entries of each kind.

    Stored in HBM: ``floor(S/P) g_r d_r b``; in host memory: ``floor(S/P) g (d_k + d_v) b``. Loaded per step: every
    routing key, and the content of ``top_k_chunks`` chunks. The conversation's own tokens are the LLM's ordinary
    cache and not counted here.

    Attributes:
        query_heads: query heads.
        kv_heads: g.
        k_dim: d_k.
        v_dim: d_v.
        routing_heads: g_r, heads of the routing key.
        routing_dim: d_r.
        chunk_tokens: P, tokens averaged to one entry.
        top_k_chunks: chunks whose content a step attends to.
    """

    query_heads: int
    kv_heads: int
    k_dim: int
    v_dim: int
    routing_heads: int
    routing_dim: int
    chunk_tokens: int
    top_k_chunks: int
    family: ClassVar[str] = "msa"

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """Routing keys in HBM, averaged keys and values in host memory."""
        held, read = Entries(self.chunk_tokens), Entries(self.chunk_tokens, self.top_k_chunks)
        return (
            Part("index_key", "index_key", self.routing_dim, self.routing_heads, held, held),
            Part("host_memory", "k", self.k_dim, self.kv_heads, held, read),
            Part("host_memory", "v", self.v_dim, self.kv_heads, held, read),
        )

    def decode_work(self) -> Work:
        """Routing ``2 n d_r`` FLOP per routing key, attention ``2 n (d_k + d_v)`` per fetched entry."""
        return (
            (2.0 * self.query_heads * self.routing_dim, Entries(self.chunk_tokens)),
            (2.0 * self.query_heads * (self.k_dim + self.v_dim), Entries(self.chunk_tokens, self.top_k_chunks)),
        )

    def prefill_scores(self) -> Work:
        """``n`` scores for every fetched entry."""
        return ((float(self.query_heads), Entries(self.chunk_tokens, self.top_k_chunks)),)

    def parameters(self, hidden: int) -> int:
        """Router query and key projections; the layer's ordinary attention is counted where it stands."""
        return hidden * self.routing_dim * (self.query_heads + self.routing_heads)

    @property
    def shardable_heads(self) -> int:
        """KV heads of the layer."""
        return self.kv_heads
