"""A layer with more than one attention: softmax attention beside a recurrent layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from procure.sizing.attention import Attention, Part, Work
from procure.sizing.formats import Convention


@dataclass(frozen=True)
class Parallel(Attention):
    """Attention and Mamba-2 in one layer; each keeps what it keeps alone, so bytes are their sum.

    Falcon-H1 (arXiv 2507.22448) runs both on the same input: ``S g (d_k + d_v) b + H p N b_s + (K-1)(H p + 2 G N) b``.
    Zamba2 (arXiv 2411.15242) puts a shared attention block before some of its Mamba-2 layers: its weights are shared,
    its cache is not, since every use meets other keys and values.

    Attributes:
        members: what the layer runs, in order.
    """

    members: tuple[Attention, ...]
    family: ClassVar[str] = "parallel"

    def apart(self) -> tuple[Attention, ...]:
        """The members."""
        return self.members

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The parts of all members."""
        return tuple(part for member in self.members for part in member.parts(convention))

    def decode_work(self) -> Work:
        """The arithmetic of all members."""
        return tuple(work for member in self.members for work in member.decode_work())

    def prefill_work(self) -> Work:
        """The same for a token of a prefill."""
        return tuple(work for member in self.members for work in member.prefill_work())

    def parameters(self, hidden: int) -> int:
        """The weights of all members."""
        return sum(member.parameters(hidden) for member in self.members)

    def missing(self) -> tuple[str, ...]:
        """What any member lacks."""
        return tuple(field for member in self.members for field in member.missing())

    @property
    def label(self) -> str:
        """The members' names."""
        return " with ".join(member.label for member in self.members)

    @property
    def shardable_heads(self) -> int | None:
        """KV heads of the attention."""
        heads = [member.shardable_heads for member in self.members if member.shardable_heads]
        return min(heads, default=None)
