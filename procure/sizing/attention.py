"""What every attention family tells of itself: the parts of its cache, its arithmetic and its weights.

Symbols used in all families: S tokens of a sequence, b bytes per element, W window, K kernel of a short convolution.
Dimensions are elements, counts are per layer and per sequence, FLOP count a multiply-add as two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from procure.sizing.counts import Count
from procure.sizing.formats import Convention, Encoding

Work = tuple[tuple[float, Count], ...]
"""FLOP per entry, and how many entries the newest token meets."""

COMPONENTS = (
    "latent",
    "rope",
    "k",
    "v",
    "index_key",
    "window",
    "compressed",
    "scales",
    "recurrent_state",
    "conv_state",
    "compressor_state",
    "host_memory",
)
"""Components that bytes are split into; ``scales`` holds all scale and padding bytes."""

STATE_COMPONENTS = ("recurrent_state", "conv_state", "compressor_state")
"""Components that a sequence holds whatever its length."""


@dataclass(frozen=True)
class Part:
    """One thing that a layer caches.

    Attributes:
        component: the name its bytes are reported under (one of :data:`COMPONENTS`).
        role: which encoding of a KV format applies.
        elements: elements of one vector (what a per-vector scale covers).
        vectors: vectors per entry, e.g. KV heads.
        held: entries kept for a sequence; None where another layer keeps them.
        read: entries that one decode step reads; None where it reads none.
        default_encoding: what applies where the format does not name the role (states).
        written_back: the step also writes all of it back.
    """

    component: str
    role: str
    elements: int
    vectors: int
    held: Count | None
    read: Count | None
    default_encoding: Encoding | None = None
    written_back: bool = False


class Attention(ABC):
    """One layer's attention (or the recurrent layer in its place)."""

    family: ClassVar[str]

    @abstractmethod
    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """What the layer caches, under an engine's convention."""

    @abstractmethod
    def decode_work(self) -> Work:
        """FLOP of the attention core for one new token (scores, values, state updates; no projections)."""

    def prefill_work(self) -> Work:
        """The same for a token of a prefill, where it differs."""
        return self.decode_work()

    def prefill_scores(self) -> Work:
        """Softmax scores of a token of a prefill, one exponential each: scores per entry, and the entries it meets.

        None for layers without a softmax (recurrent states).
        """
        return ()

    @property
    def indexed(self) -> bool:
        """Whether the layer chooses what it attends to by an index of its own (DSA and its kin)."""
        return False

    @abstractmethod
    def parameters(self, hidden: int) -> int:
        """Weights of the layer's attention (projections and convolutions; norms and biases, under 0.1%, left out)."""

    def missing(self) -> tuple[str, ...]:
        """Config fields that are not known and that :meth:`parameters` or :meth:`prefill_work` needs."""
        return ()

    def apart(self) -> tuple[Attention, ...]:
        """The attentions that the layer runs: itself, where it does not run several side by side."""
        return (self,)

    @property
    def label(self) -> str:
        """Usual name of the layer's attention."""
        return self.family.upper()

    @property
    def shardable_heads(self) -> int | None:
        """KV heads that tensor parallelism can split; None where the layer keeps no KV heads."""
        return None
