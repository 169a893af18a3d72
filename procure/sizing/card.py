"""A card: an LLM's architecture as a list of layers, and the bytes, arithmetic and weights that follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from procure.errors import Fault, InputError
from procure.sizing import formats
from procure.sizing.attention import STATE_COMPONENTS, Attention, Part, Work
from procure.sizing.counts import Count, Entries, Lengths, visited
from procure.sizing.formats import Convention, KvFormat
from procure.sizing.parallel import Parallel
from procure.sizing.parameters import FeedForward, Moe, Params, count_parameters

Format = str | KvFormat
Bytes = Any
"""An int for one length, an int64 (or float64, for fractional lengths) array of the same shape for an array."""


@dataclass(frozen=True)
class Source:
    """Where a card comes from.

    Attributes:
        text: where the config was read.
        kind: ``released-config``, ``report``, ``transformers-defaults``, ``archetype`` or ``user``.
        note: what to know about it.
        published_total: parameters that the vendor states, or None.
        published_active: parameters per token that the vendor states, or None.
    """

    text: str
    kind: str
    note: str = ""
    published_total: float | None = None
    published_active: float | None = None


@dataclass(frozen=True)
class Card:
    """An LLM's architecture. Frozen; :func:`procure.sizing.load_card` makes one.

    Attributes:
        name: name of the LLM.
        attention: every layer's attention in order; None for a position without (MLP or MoE of a Mamba hybrid).
        drafts: MTP or draft layers; they hold a cache only under speculation, see :meth:`speculating`.
        feed_forward: dense and routed feed-forward weights.
        tied: the output projection is the embedding table.
        source: where the card comes from.
        gaps: config fields that parameter counts need and that are missing, or whose weights are not known.
        notes: what a reader should be told when the card is used.
        fields: hidden size, vocabulary, maximum context and native precision as far as known.
        file: where faults point to.
        running_drafts: draft layers whose caches are counted, see :meth:`speculating`.
    """

    name: str
    attention: tuple[Attention | None, ...]
    drafts: tuple[Attention, ...]
    feed_forward: FeedForward
    tied: bool
    source: Source
    gaps: tuple[str, ...]
    notes: tuple[str, ...]
    fields: tuple[tuple[str, Any], ...]
    file: str
    running_drafts: tuple[Attention, ...] = ()

    # --- what the config says -------------------------------------------------------------------------------------

    @property
    def layers(self) -> int:
        """Layers of the stack, including positions without attention; draft layers left out."""
        return len(self.attention)

    @property
    def hidden_size(self) -> int:
        """Width of the residual stream.

        Raises:
            InputError: the config does not say.
        """
        return self._field("hidden_size")

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding table.

        Raises:
            InputError: the config does not say.
        """
        return self._field("vocab_size")

    @property
    def max_context_tokens(self) -> int:
        """Longest context the card allows.

        Raises:
            InputError: the config does not say.
        """
        return self._field("max_position_embeddings")

    @property
    def native_precision(self) -> str:
        """Precision of the released weights: a row of ``data/kv_formats/weights.csv``.

        Raises:
            InputError: the config does not say.
        """
        return self._field("native_precision")

    def known(self, field: str) -> Any:
        """A field as :attr:`fields` has it, or None."""
        return dict(self.fields).get(field)

    def _field(self, field: str) -> Any:
        value = self.known(field)
        if value is None:
            raise InputError([Fault(self.file, 0, field, "", "This field is needed and missing.", _ADD)])
        return value

    @cached_property
    def params(self) -> Params:
        """Parameter counts by component, computed from the config.

        Raises:
            InputError: naming the fields that the config lacks.
        """
        missing = set(self.gaps) | {field for layer in self.attention if layer for field in layer.missing()}
        missing |= {field for field in ("hidden_size", "vocab_size") if self.known(field) is None}
        if missing:
            raise InputError(
                Fault(
                    self.file,
                    0,
                    field,
                    "",
                    "Parameter counts need this; it is missing, or what it means for weights is not known.",
                    _ADD,
                )
                for field in missing
            )
        return count_parameters(self.hidden_size, self.vocab_size, self.tied, self.attention, self.feed_forward)

    @property
    def moe(self) -> Moe | None:
        """Routed experts, None for a dense LLM."""
        return self.feed_forward.moe

    def weight_bytes(self, precision: str) -> float:
        """Bytes of all weights (draft layers left out) at a precision; ``native`` is the released one.

        Raises:
            InputError: the precision is not known, or parameters cannot be counted.
        """
        encoding = formats.weight_encodings(self.native_precision if precision == "native" else precision)
        params = self.params
        count = {
            "experts": params.experts,
            "ffn": params.shared_ffn,
            "attention": params.attention,
            "embedding": params.embedding + params.lm_head,
        }
        return float(sum(count[part] * weight_bytes_per_param(encoding[part]) for part in count))

    @property
    def kv_heads_shardable(self) -> int:
        """KV heads that tensor parallelism can split (least of all layers); 1 for MLA and MQA: replicated."""
        heads = [layer.shardable_heads for layer in self.attention if layer is not None and layer.shardable_heads]
        return min(heads, default=1)

    @property
    def families(self) -> dict[str, int]:
        """Layers by attention family, in order of first appearance."""
        return dict(Counter(layer.family for layer in self.attention if layer is not None))

    @property
    def description(self) -> str:
        """Layers by attention, such as ``45 GDN + 15 GQA``."""
        labels = Counter(layer.label for layer in self.attention if layer is not None)
        return " + ".join(f"{count} {label}" for label, count in labels.items())

    def speculating(self, tokens: int = 1, draft_layers: int | None = None) -> Card:
        """The card with its draft layers' caches and the convolution columns of ``tokens`` proposed tokens.

        Bytes and attention arithmetic count them; parameters and the number of layers stay those of the stack.

        Args:
            tokens: tokens proposed per step.
            draft_layers: how many of the card's draft layers run; all by default.
        """
        extra = self.drafts if draft_layers is None else self.drafts[:draft_layers]
        widened = tuple(_with_columns(layer, tokens) for layer in self.attention)
        return replace(self, attention=widened, running_drafts=extra)

    @property
    def cached_layers(self) -> tuple[Attention | None, ...]:
        """Layers whose caches are counted: the stack and the draft layers that run."""
        return self.attention + self.running_drafts

    @cached_property
    def distinct_layers(self) -> tuple[tuple[Attention, int], ...]:
        """Distinct attentions among them with how often each occurs; those side by side in one layer come apart."""
        parts = (part for layer in self.cached_layers if layer is not None for part in layer.apart())
        return tuple(Counter(parts).items())

    # --- bytes ----------------------------------------------------------------------------------------------------

    def stored_bytes(self, tokens: Lengths, kv_format: Format, convention: str | Convention = "formula") -> Bytes:
        """Bytes that one sequence of ``tokens`` tokens occupies, its fixed state included.

        Args:
            tokens: length of the sequence, a number or an array.
            kv_format: a packaged format, changes by role after ``+`` (see :func:`procure.sizing.formats.kv_format`).
            convention: what is kept beside the formula (see ``data/kv_formats/conventions.csv``).

        Raises:
            InputError: the format or convention is not known.
            ValueError: a length is negative or not a number.
        """
        return self._evaluate("held", tokens, kv_format, convention)

    def hbm_bytes(self, tokens: Lengths, kv_format: Format, convention: str | Convention = "formula") -> Bytes:
        """The part of :meth:`stored_bytes` that lies in HBM: all but what MSA keeps in host memory."""
        host = self.components(tokens, kv_format, convention)["host_memory"] if "msa" in self.families else 0
        return self.stored_bytes(tokens, kv_format, convention) - host

    def loaded_bytes(self, tokens: Lengths, kv_format: Format, convention: str | Convention = "formula") -> Bytes:
        """Bytes that one decode step of one sequence moves: entries read, states read and written back."""
        return self._evaluate("read", tokens, kv_format, convention)

    def transferred_bytes(
        self, tokens: Lengths, kv_format: Format, convention: str | Convention = "formula", cached_tokens: Lengths = 0
    ) -> Bytes:
        """Bytes handed over for a sequence (prefill to decode, or a store to HBM).

        Entries of the tokens that the receiver does not hold yet, and every state and window in full: those are
        reusable at exactly the length they were made for, so a prefix at the receiver does not save them.

        Args:
            tokens, kv_format, convention: as in :meth:`stored_bytes`.
            cached_tokens: length of the prefix that the receiver holds.
        """
        whole = self.stored_bytes(tokens, kv_format, convention)
        linear = _linear_form(
            self.distinct_layers, formats.kv_format(kv_format), formats.convention(convention), "growing"
        )
        _check(cached_tokens)
        cached_tokens = np.minimum(cached_tokens, tokens)
        saved = sum((count.at(cached_tokens) * size for count, size in linear), 0)
        return _plain(np.maximum(whole - saved, 0)) if np.any(cached_tokens) else whole

    def state_bytes(self, kv_format: Format, convention: str | Convention = "formula") -> int:
        """Bytes that a sequence holds whatever its length: recurrent and convolution states, compressor rings."""
        split = self.components(0, kv_format, convention)
        return int(sum(split.get(name, 0) for name in STATE_COMPONENTS))

    def bytes_per_token(self, tokens: Lengths, kv_format: Format, convention: str | Convention = "formula") -> Any:
        """Bytes that one more token adds at that length, averaged over the longest compression block."""
        block = max(getattr(layer, "tokens_per_entry", 1) or 1 for layer in self.cached_layers)
        length = np.asarray(tokens)
        ahead = self.stored_bytes(length + block, kv_format, convention)
        more = ahead - self.stored_bytes(length, kv_format, convention)
        return _plain(more / block if block > 1 else more)

    def components(
        self, tokens: Lengths, kv_format: Format, convention: str | Convention = "formula", quantity: str = "stored"
    ) -> dict[str, Bytes]:
        """Bytes by component (:data:`procure.sizing.attention.COMPONENTS`); they sum to the quantity exactly.

        Args:
            tokens: length of the sequence.
            kv_format: as in :meth:`stored_bytes`.
            convention: as in :meth:`stored_bytes`.
            quantity: ``stored``, ``loaded`` or ``transferred`` (of a whole sequence: what is stored).
        """
        _check(tokens)
        fmt, conv = formats.kv_format(kv_format), formats.convention(convention)
        which = {"stored": "held", "transferred": "held", "loaded": "read"}[quantity]
        split: dict[str, Any] = {}
        for layer, layers in self.distinct_layers:
            for part in layer.parts(conv):
                count = getattr(part, which)
                if count is None:
                    continue
                encoding = encoding_of(part, fmt)
                times = layers * part.vectors * (2 if which == "read" and part.written_back else 1)
                entries = count.at(tokens)
                split[part.component] = split.get(part.component, 0) + entries * (
                    times * encoding.payload_bytes(part.elements)
                )
                overhead = encoding.overhead_bytes(part.elements)
                if overhead:
                    split["scales"] = split.get("scales", 0) + entries * (times * overhead)
        return {name: _plain(value) for name, value in split.items()}

    def _evaluate(self, which: str, tokens: Lengths, kv_format: Format, convention: str | Convention) -> Bytes:
        _check(tokens)
        linear = _linear_form(self.distinct_layers, formats.kv_format(kv_format), formats.convention(convention), which)
        total = np.zeros(np.shape(tokens), dtype=np.result_type(np.asarray(tokens), np.int64))
        for count, size in linear:
            total = total + count.at(tokens) * size
        return _plain(total)

    # --- arithmetic -----------------------------------------------------------------------------------------------

    def decode_attention_flops(self, context_tokens: Lengths) -> Any:
        """FLOP of the attention core of all layers for one new token at that context (no projections), float64."""
        _check(context_tokens)
        length = np.asarray(context_tokens)
        total = np.zeros(length.shape)
        for layer, layers in self.distinct_layers:
            for flop, count in layer.decode_work():
                total = total + layers * flop * count.at(length)
        return _plain(total)

    def prefill_attention_flops(self, new_tokens: Lengths, prefix_tokens: Lengths = 0) -> Any:
        """FLOP of the attention core of all layers for a causal prefill after a cached prefix, float64.

        Raises:
            InputError: the config lacks the head dimensions that an expanded MLA prefill needs.
        """
        missing = sorted({field for layer in self.cached_layers if layer is not None for field in layer.missing()})
        if missing:
            raise InputError(
                Fault(self.file, 0, field, "", "Prefill arithmetic needs this field.", _ADD) for field in missing
            )
        return self._prefill_total(lambda layer: layer.prefill_work(), new_tokens, prefix_tokens)

    def prefill_softmax_scores(self, new_tokens: Lengths, prefix_tokens: Lengths = 0) -> Any:
        """Softmax scores of all layers for the same prefill, one exponential each, float64."""
        return self._prefill_total(lambda layer: layer.prefill_scores(), new_tokens, prefix_tokens)

    @property
    def indexed_layers(self) -> int:
        """Layers that choose what they attend to by an index of their own."""
        return sum(layer is not None and layer.indexed for layer in self.cached_layers)

    def _prefill_total(self, work_of: Callable[[Attention], Work], new_tokens: Lengths, prefix_tokens: Lengths) -> Any:
        """Work of all layers summed over the positions that a prefill computes after a cached prefix."""
        _check(new_tokens)
        _check(prefix_tokens)
        start, new = np.asarray(prefix_tokens, dtype=float), np.asarray(new_tokens, dtype=float)
        total = np.zeros(np.broadcast(start, new).shape)
        for layer, layers in self.distinct_layers:
            for amount, count in work_of(layer):
                total = total + layers * amount * visited(count, start, start + new)
        return _plain(total)


_ADD = "Add it to the config, or to `supplement` of a card with its source."


def weight_bytes_per_param(encoding: formats.Encoding) -> float:
    """Bytes of one weight with its share of a group's scale."""
    scale = encoding.scale_bytes / encoding.group if encoding.group > 0 else 0.0
    return encoding.bits / 8 + scale


def _with_columns(layer: Attention | None, tokens: int) -> Attention | None:
    if isinstance(layer, Parallel):
        return Parallel(tuple(member for part in layer.members if (member := _with_columns(part, tokens))))
    if layer is None or not hasattr(layer, "speculative_columns"):
        return layer
    return replace(layer, speculative_columns=tokens)  # type: ignore[type-var]


def encoding_of(part: Part, kv_format: KvFormat) -> formats.Encoding:
    """The format's encoding of a part, or the convention's where the format leaves a state open."""
    chosen = kv_format.encoding(part.role) or part.default_encoding
    assert chosen is not None, part
    return chosen


@lru_cache(maxsize=4096)
def _linear_form(
    distinct: tuple[tuple[Attention, int], ...], kv_format: KvFormat, convention: Convention, which: str
) -> tuple[tuple[Count, int], ...]:
    """Bytes per entry of every distinct count: a footprint is their product, summed.

    ``which`` is ``held``, ``read``, or ``growing`` (held entries without windows and states).
    """
    sizes: Counter[Count] = Counter()
    for layer, layers in distinct:
        for part in layer.parts(convention):
            count = part.read if which == "read" else part.held
            if count is None or (which == "growing" and not (isinstance(count, Entries) and count.at_most is None)):
                continue
            times = 2 if which == "read" and part.written_back else 1
            sizes[count] += layers * times * part.vectors * encoding_of(part, kv_format).bytes(part.elements)
    return tuple(sizes.items())


def _check(tokens: Lengths) -> None:
    array = np.asarray(tokens)
    if array.dtype.kind not in "iuf" or (array.size and not bool(np.all(array >= 0))):
        raise ValueError(f"lengths are numbers of tokens, 0 or more; got {tokens!r}")


def _plain(value: Any) -> Any:
    """A Python number for one length, the array otherwise."""
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array
