"""Number formats of caches, states and weights, as data: bits per element and scale bytes per group.

The tables are ``data/kv_formats/*.csv``. A *format* names an encoding for each role (``k``, ``v``, ``latent``,
``rope``, ``index_key``, ``compressed``, and for states ``state``, ``conv``, ``compressor``); a *convention* says
what an engine keeps beside the papers' formula (state dtypes, convolution columns, window rows, compressor buffers).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from procure.catalogue.fact import packaged_rows
from procure.errors import Fault, InputError, nearest

ROLES = ("k", "v", "latent", "rope", "index_key", "compressed", "state", "conv", "compressor")
STATE_ROLES = ("state", "conv", "compressor")
_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float8_e4m3fn": "fp8"}


@dataclass(frozen=True)
class Encoding:
    """How one vector of elements is stored.

    Attributes:
        bits: bits per element.
        group: elements that share one scale; 0 where there are none, -1 for one scale per vector.
        scale_bytes: bytes of one scale.
        pad_bytes: bytes that fill the vector up.
    """

    name: str
    bits: int
    group: int
    scale_bytes: int
    pad_bytes: int

    def payload_bytes(self, elements: int) -> int:
        """Bytes of the elements alone, rounded up to whole bytes."""
        return -(-elements * self.bits // 8)

    def overhead_bytes(self, elements: int) -> int:
        """Bytes of scales and padding that come with one vector."""
        groups = 0 if self.group == 0 else 1 if self.group < 0 else -(-elements // self.group)
        return groups * self.scale_bytes + self.pad_bytes

    def bytes(self, elements: int) -> int:
        """Bytes of one vector with its scales and padding."""
        return self.payload_bytes(elements) + self.overhead_bytes(elements)


@dataclass(frozen=True)
class KvFormat:
    """An encoding for each role of a cache; states follow the convention unless their role is named."""

    name: str
    encodings: tuple[tuple[str, Encoding], ...]

    def encoding(self, role: str) -> Encoding | None:
        """The encoding of a role, or None for a state that the convention decides."""
        return dict(self.encodings).get(role)


@dataclass(frozen=True)
class Convention:
    """What an engine keeps beside the formula.

    Attributes:
        state: encoding of recurrent states by family (``gdn``, ``kda``, ``lightning``, ``mamba``, ``rwkv``); ``config``
            means the dtype that the config names, else ``fallback``.
        conv: encoding of short-convolution states.
        extra_conv_columns: columns kept beyond kernel - 1.
        value_channels_only: the convolution is counted over the value channels alone.
        window_rows_less: rows of a window that are not kept (the step's own token).
        compressor: ``no``, ``ring`` (fixed fp32 buffers) or ``tail`` (tokens waiting to be compressed).
    """

    name: str
    fallback: str
    state: tuple[tuple[str, str], ...]
    conv: str
    extra_conv_columns: int
    value_channels_only: bool
    window_rows_less: int
    compressor: str
    note: str

    def state_encoding(self, family: str, config_dtype: str | None) -> Encoding:
        """Encoding of a recurrent state of a family whose config names ``config_dtype`` (or nothing)."""
        name = dict(self.state)[family]
        if name == "config":
            name = _DTYPES[config_dtype] if config_dtype else self.fallback
        return encodings()[name]


@cache
def encodings() -> dict[str, Encoding]:
    """Every known encoding by name."""
    return {
        row["encoding"]: Encoding(
            row["encoding"],
            int(row["bits_per_element"]),
            -1 if row["group_elements"] == "head" else int(row["group_elements"]),
            int(row["scale_bytes_per_group"]),
            int(row["pad_bytes"]),
        )
        for row in packaged_rows("kv_formats/encodings")
    }


@cache
def format_names() -> tuple[str, ...]:
    """Names of the packaged formats."""
    return tuple(dict.fromkeys(row["format"] for row in packaged_rows("kv_formats/formats")))


@cache
def kv_format(spec: str | KvFormat) -> KvFormat:
    """Read a format: a packaged name, and changes by role after ``+``.

    ``fp8`` is one byte per element; ``fp8+rope=bf16+index_key=mxfp4`` is a mixture.

    Raises:
        InputError: a format, role or encoding is not known.
    """
    if isinstance(spec, KvFormat):
        return spec
    base, *changes = str(spec).strip().lower().split("+")
    faults = []
    if base not in format_names():
        faults.append(Fault("kv_format", 0, "", spec, "Name a known KV format.", nearest(base, format_names())))
    rows = {row["role"]: row["encoding"] for row in packaged_rows("kv_formats/formats") if row["format"] == base}
    default = rows.pop("*", None)
    chosen = {role: default for role in ROLES if role not in STATE_ROLES} | rows
    for change in changes:
        role, _, encoding = change.partition("=")
        if role not in ROLES:
            faults.append(Fault("kv_format", 0, role, spec, "Name a role of the cache.", nearest(role, ROLES)))
        elif encoding not in encodings():
            faults.append(Fault("kv_format", 0, role, spec, "Name a known encoding.", nearest(encoding, encodings())))
        chosen[role] = encoding
    if faults:
        raise InputError(faults)
    return KvFormat(spec, tuple((role, encodings()[name]) for role, name in chosen.items() if name))


@cache
def convention(name: str | Convention) -> Convention:
    """A packaged convention: ``formula``, ``vllm``, ``sglang``, ``transformers`` or ``article``.

    Raises:
        InputError: the convention is not known.
    """
    if isinstance(name, Convention):
        return name
    table = {row["convention"]: row for row in packaged_rows("kv_formats/conventions")}
    if name not in table:
        raise InputError([Fault("convention", 0, "", name, "Name a known convention.", nearest(name, table))])
    row = table[name]
    return Convention(
        name=name,
        fallback=row["state"],
        state=tuple((family, row[family]) for family in ("gdn", "kda", "lightning", "mamba", "rwkv")),
        conv=row["conv"],
        extra_conv_columns={"K-1": 0, "K": 1}[row["conv_columns"]],
        value_channels_only=row["conv_channels"] == "value",
        window_rows_less={"W": 0, "W-1": 1}[row["window_rows"]],
        compressor=row["compressor"],
        note=row["note"],
    )


def precision_names() -> tuple[str, ...]:
    """Names of the packaged weight precisions."""
    return tuple(row["precision"] for row in packaged_rows("kv_formats/weights"))


@cache
def weight_encodings(precision: str) -> dict[str, Encoding]:
    """Encoding of ``experts``, ``ffn``, ``attention`` and ``embedding`` weights at a named precision.

    Raises:
        InputError: the precision is not known.
    """
    table = {row["precision"]: row for row in packaged_rows("kv_formats/weights")}
    if precision not in table:
        raise InputError(
            [Fault("weight_precision", 0, "", precision, "Name a known weight precision.", nearest(precision, table))]
        )
    return {part: encodings()[table[precision][part]] for part in ("experts", "ffn", "attention", "embedding")}
