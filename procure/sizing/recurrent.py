"""Layers that keep a state of fixed size instead of keys and values.

GDN, KDA, Lightning, Mamba-1, Mamba-2, RWKV and short convolutions.

Every decode step reads the whole state and writes it back, so a step moves twice the state.
State dtypes differ between engines by a factor 2; see :class:`procure.sizing.formats.Convention`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from procure.sizing.attention import Attention, Part, Work
from procure.sizing.counts import PER_SEQUENCE
from procure.sizing.formats import Convention, encodings


def _state(family: str, elements: int, vectors: int, dtype: str | None, convention: Convention) -> Part:
    return Part(
        "recurrent_state",
        "state",
        elements,
        vectors,
        PER_SEQUENCE,
        PER_SEQUENCE,
        convention.state_encoding(family, dtype),
        True,
    )


def _conv(kernel: int, channels: int, convention: Convention, extra: int = 0) -> Part:
    columns = kernel - 1 + convention.extra_conv_columns + extra
    encoding = encodings()[convention.conv]
    return Part("conv_state", "conv", channels, columns, PER_SEQUENCE, PER_SEQUENCE, encoding, True)


@dataclass(frozen=True)
class GatedDelta(Attention):
    """Gated DeltaNet (arXiv 2412.06464): ``H_v d_k d_v b_s + (K - 1)(2 H_k d_k + H_v d_v) b``, no S.

    The convolution runs over queries, keys and values: 2 H_k d_k + H_v d_v channels (Qwen3-Next, Qwen3.5). A widespread
    worked figure counts K columns over the H_v d_v value channels only, in fp32 (convention ``article``).

    Attributes:
        speculative_columns: conv columns kept for tokens that a draft proposed.
    """

    key_heads: int
    value_heads: int
    k_dim: int
    v_dim: int
    kernel: int
    state_dtype: str | None = None
    speculative_columns: int = 0
    family: ClassVar[str] = "gdn"

    @property
    def _channels(self) -> int:
        return 2 * self.key_heads * self.k_dim + self.value_heads * self.v_dim

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The memory matrix of every value head and the convolution's last columns."""
        channels = self.value_heads * self.v_dim if convention.value_channels_only else self._channels
        return (
            _state("gdn", self.k_dim * self.v_dim, self.value_heads, self.state_dtype, convention),
            _conv(self.kernel, channels, convention, self.speculative_columns),
        )

    def decode_work(self) -> Work:
        """Decay 1, read 2, rank-one update 2, read 2 FLOP per state element; the convolution 2 K per channel."""
        state = 7.0 * self.value_heads * self.k_dim * self.v_dim
        return ((state + 2.0 * self.kernel * self._channels, PER_SEQUENCE),)

    def parameters(self, hidden: int) -> int:
        """Query, key, value, output gate, two scalar gates per head, convolution, output."""
        value = self.value_heads * self.v_dim
        inputs = hidden * (2 * self.key_heads * self.k_dim + 2 * value + 2 * self.value_heads)
        return inputs + self.kernel * self._channels + value * hidden


@dataclass(frozen=True)
class KimiDelta(Attention):
    """Kimi Delta Attention (arXiv 2510.26692): ``H d d b_s + (K - 1) 3 H d b``, no S; engines keep fp32 states."""

    heads: int
    dim: int
    kernel: int
    state_dtype: str | None = None
    speculative_columns: int = 0
    family: ClassVar[str] = "kda"

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The memory matrix of every head and three convolutions' last columns."""
        return (
            _state("kda", self.dim * self.dim, self.heads, self.state_dtype, convention),
            _conv(self.kernel, 3 * self.heads * self.dim, convention, self.speculative_columns),
        )

    def decode_work(self) -> Work:
        """As Gated DeltaNet, the decay being per channel."""
        state = 7.0 * self.heads * self.dim * self.dim
        return ((state + 2.0 * self.kernel * 3 * self.heads * self.dim, PER_SEQUENCE),)

    def parameters(self, hidden: int) -> int:
        """Query, key, value and output; two low-rank gates (rank d); a scalar gate per head; convolutions."""
        wide = self.heads * self.dim
        return (
            4 * hidden * wide + 2 * (hidden * self.dim + self.dim * wide) + hidden * self.heads + self.kernel * 3 * wide
        )


@dataclass(frozen=True)
class Lightning(Attention):
    """Lightning / linear attention (MiniMax-01, Ling 2.x, arXiv 2510.19338): ``H d d b_s``, no convolution, no S.

    Attributes:
        heads: heads that keep a state.
        query_heads: query heads, equal to ``heads`` in every released config.
    """

    heads: int
    dim: int
    query_heads: int
    state_dtype: str | None = None
    family: ClassVar[str] = "lightning"

    @property
    def label(self) -> str:
        """Lightning."""
        return "lightning"

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The memory matrix of every head."""
        return (_state("lightning", self.dim * self.dim, self.heads, self.state_dtype, convention),)

    def decode_work(self) -> Work:
        """Decay 1, update 2, read 2 FLOP per state element."""
        return ((5.0 * self.heads * self.dim * self.dim, PER_SEQUENCE),)

    def parameters(self, hidden: int) -> int:
        """Query, key, value, output gate, output."""
        return hidden * self.dim * (3 * self.query_heads + 2 * self.heads)


@dataclass(frozen=True)
class Mamba2(Attention):
    """Mamba-2 (arXiv 2405.21060): ``H p N b_s + (K - 1)(H p + 2 G N) b``, no S.

    Attributes:
        heads: H.
        head_dim: p.
        state_dim: N.
        groups: G, groups of the input and output matrices.
        kernel: K.
    """

    heads: int
    head_dim: int
    state_dim: int
    groups: int
    kernel: int
    state_dtype: str | None = None
    speculative_columns: int = 0
    family: ClassVar[str] = "mamba2"

    @property
    def label(self) -> str:
        """Mamba-2."""
        return "Mamba-2"

    @property
    def _channels(self) -> int:
        return self.heads * self.head_dim + 2 * self.groups * self.state_dim

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The state of every head and the convolution's last columns."""
        return (
            _state("mamba", self.head_dim * self.state_dim, self.heads, self.state_dtype, convention),
            _conv(self.kernel, self._channels, convention, self.speculative_columns),
        )

    def decode_work(self) -> Work:
        """Decay 1, update 2, read 2 FLOP per state element; the convolution 2 K per channel."""
        state = 5.0 * self.heads * self.head_dim * self.state_dim
        return ((state + 2.0 * self.kernel * self._channels, PER_SEQUENCE),)

    def parameters(self, hidden: int) -> int:
        """Input projection (gate, x, B, C, time step), convolution, output."""
        inner = self.heads * self.head_dim
        return hidden * (inner + self._channels + self.heads) + self.kernel * self._channels + inner * hidden


@dataclass(frozen=True)
class Mamba1(Attention):
    """Mamba-1 (arXiv 2312.00752; Jamba): ``E N b_s + (K - 1) E b`` with E = expand * hidden, no S."""

    inner: int
    state_dim: int
    time_step_rank: int
    kernel: int
    state_dtype: str | None = None
    speculative_columns: int = 0
    family: ClassVar[str] = "mamba1"

    @property
    def label(self) -> str:
        """Mamba-1."""
        return "Mamba-1"

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The state of every inner channel and the convolution's last columns."""
        return (
            _state("mamba", self.state_dim, self.inner, self.state_dtype, convention),
            _conv(self.kernel, self.inner, convention, self.speculative_columns),
        )

    def decode_work(self) -> Work:
        """Discretise 2, decay and update 3, read 2 FLOP per state element; the convolution 2 K per channel."""
        return ((7.0 * self.inner * self.state_dim + 2.0 * self.kernel * self.inner, PER_SEQUENCE),)

    def parameters(self, hidden: int) -> int:
        """Input projection, convolution, time-step and state projections, A, output."""
        inner = self.inner
        steps = inner * (self.time_step_rank + 2 * self.state_dim) + self.time_step_rank * inner
        return hidden * 2 * inner + self.kernel * inner + steps + inner * self.state_dim + inner * hidden


@dataclass(frozen=True)
class ShortConvolution(Attention):
    """A gated short convolution in place of attention (LFM2, arXiv 2511.23404): ``(K - 1) d b``, no S.

    Attributes:
        channels: d, the hidden size.
        kernel: K.
    """

    channels: int
    kernel: int
    speculative_columns: int = 0
    family: ClassVar[str] = "short_conv"

    @property
    def label(self) -> str:
        """Short convolution."""
        return "short convolution"

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The convolution's last columns."""
        return (_conv(self.kernel, self.channels, convention, self.speculative_columns),)

    def decode_work(self) -> Work:
        """2 K FLOP per channel, and 2 for its two gates."""
        return ((self.channels * (2.0 * self.kernel + 2.0), PER_SEQUENCE),)

    def parameters(self, hidden: int) -> int:
        """Input projection (two gates and the value), convolution, output."""
        return 3 * hidden * self.channels + self.kernel * self.channels + self.channels * hidden


@dataclass(frozen=True)
class Rwkv(Attention):
    """RWKV: what is kept of the token before (of time mixing and of channel mixing), and a state; no S.

    RWKV-4 (arXiv 2305.13048) keeps a numerator, a denominator and the largest exponent per channel:
    ``3 A b_s + 2 d b``. From RWKV-5 on (arXiv 2404.05892, 2503.14456) every head keeps a matrix of p x p:
    ``A p b_s + 2 d b``. Engines keep these states in fp32.

    Attributes:
        hidden: d, the width of the residual stream.
        channels: A, channels of time mixing.
        head_dim: p, or None for RWKV-4.
    """

    hidden: int
    channels: int
    head_dim: int | None = None
    state_dtype: str | None = None
    family: ClassVar[str] = "rwkv"

    @property
    def _per_channel(self) -> int:
        return 3 if self.head_dim is None else self.head_dim

    def parts(self, convention: Convention) -> tuple[Part, ...]:
        """The state of every channel and the last token's two vectors."""
        shift = encodings()[convention.conv]
        return (
            _state("rwkv", self.channels, self._per_channel, self.state_dtype, convention),
            Part("conv_state", "conv", self.hidden, 2, PER_SEQUENCE, PER_SEQUENCE, shift, True),
        )

    def decode_work(self) -> Work:
        """Decay 1, update 2, read 2 FLOP per state element."""
        return ((5.0 * self.channels * self._per_channel, PER_SEQUENCE),)

    def parameters(self, hidden: int) -> int:
        """Receptance, key, value and output; the gate of RWKV-5 and later."""
        return hidden * self.channels * (4 if self.head_dim is None else 5)
