"""A released ``config.json`` to ask: which fields were read, which are missing, which are not understood."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from procure.errors import Fault, InputError, nearest

_NESTED = ("text_config", "llm_config", "language_config")

_LARGEST = 2**31
"""No dimension of an LLM comes near; larger ones are slips."""

_TOUCHES_CACHE = re.compile(
    r"attn|attention|kv|window|index|ssm|mamba|linear|conv|sparse|compress|chunk|layer_type|layers_type|pattern|latent|"
    r"lora|sink(?!horn)|recurrent|delta|full_|global_|block_size|share_layer|memory|retention|rwkv|head"
)

_SUFFIXES = ("_bias", "_dropout", "_multiplier", "_theta", "_alpha", "_beta", "_factor", "_eps", "_std", "_softcapping")

HARMLESS = frozenset(
    """
    attention_bias attention_dropout attention_probs_dropout_prob attn_pdrop attention_value_scale
    attention_softmax_in_fp32 attn_implementation _attn_implementation add_swa_attention_sink_bias
    add_full_attention_sink_bias add_cross_attention cross_attention_hidden_size pruned_heads
    use_bidirectional_attention attn_logit_softcapping attention_multiplier swa_num_attention_heads
    swa_rope_theta indexer_rope_interleave group_norm_size attention_k_eq_v mamba_hidden_act mamba_proj_bias
    mamba_conv_bias use_mamba_kernels use_mambapy use_conv_bias chunk_size chunk_size_feed_forward
    scale_attention_softmax_in_fp32 compress_rope_theta rope_head_dim qk_head_dim linear_silu linear_rope
    attention_type encoder_no_repeat_ngram_size prefix_lm_head rotary_kv layernorm_full_attention_alpha
    layernorm_full_attention_beta layernorm_linear_attention_alpha layernorm_linear_attention_beta
    output_attentions scale_attn_weights attention_function lm_head_bias mamba_ssm_dtype use_qk_norm_per_head
    norm_head partial_rotary_factor num_attention_heads lm_head bias_lm_head
    apply_residual_connection_post_layernorm mlp_linear_bias num_key_value_heads head_dim
    full_attention_interval query_pre_attn_scalar rotary_dim use_mla mla_use_nope hidden_act rope_interleave
    activation_sparsity_pattern parallel_attn attn_scale
    use_attention_bias fuse_attention_qkv attn_temperature_tuning num_logits_to_keep
    """.split()  # noqa: SIM905
)
"""Fields whose names look like cache layout and that change no byte of it."""


class Config:
    """Fields of a config, the text part of a multimodal one first.

    Reading collects faults instead of stopping: ask :meth:`finish` at the end.
    """

    def __init__(self, config: Mapping[str, Any], file: str) -> None:
        self.file = file
        self.outer = config
        nested = next((config[key] for key in _NESTED if isinstance(config.get(key), Mapping)), None)
        self.text: Mapping[str, Any] = config if nested is None else nested
        self.used: set[str] = set()
        self.faults: list[Fault] = []
        self.gaps: list[str] = []
        self.notes: list[str] = []

    def has(self, *names: str) -> bool:
        """Whether one of the fields is given and not null."""
        return any(self.get(name) is not None for name in names)

    def get(self, *names: str, default: Any = None) -> Any:
        """The first of the fields that is given and not null."""
        found = default
        for name in reversed(names):
            self.used.add(name)
            if self.text.get(name) is not None:
                found = self.text[name]
            elif self.outer.get(name) is not None:
                found = self.outer[name]
        return found

    def need(self, *names: str) -> int:
        """The first of the fields that is given, a positive whole number; a fault where none is."""
        value = self.get(*names)
        if value is None:
            self.fault(names[0], "", f"This field is needed (a positive whole number{_also(names)}).")
            return 1
        return self._positive(names[0], value)

    def want(self, *names: str) -> int | None:
        """A field that cache bytes can do without, but parameter counts cannot: remembered where it is missing."""
        value = self.get(*names)
        if value is None:
            self.gaps.append(names[0])
            return None
        return self._positive(names[0], value)

    def optional(self, *names: str) -> int | None:
        """A positive whole number, or None where the field is left out."""
        value = self.get(*names)
        return None if value is None else self._positive(names[0], value)

    def whole(self, *names: str, default: int = 0) -> int:
        """A whole number, 0 or more; the default where none of the fields is given."""
        value = self.get(*names)
        if value is None or value is False or value == 0:
            return default if value is None else 0
        return self._positive(names[0], value)

    def items(self, *names: str) -> list[Any] | None:
        """A list, or None where none of the fields is given."""
        value = self.get(*names)
        if value is None or isinstance(value, list | tuple):
            return None if value is None else list(value)
        self.fault(names[0], value, "A list is allowed.")
        return None

    def block(self, *names: str) -> Mapping[str, Any] | None:
        """A group of fields, or None where it is not given."""
        value = self.get(*names)
        if value is None or isinstance(value, Mapping):
            return value
        self.fault(names[0], value, "A group of fields is allowed.")
        return None

    def _positive(self, name: str, value: Any) -> int:
        if isinstance(value, list) and value and all(item == value[0] for item in value):
            value = value[0]  # one entry per layer, all the same
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value < _LARGEST or value != int(value):
            self.fault(name, value, "A positive whole number is allowed.")
            return 1
        return int(value)

    def fault(self, field: str, value: Any, expected: str, hint: str = "") -> None:
        """Remember that a field is wrong."""
        self.faults.append(Fault(self.file, 0, field, "" if value == "" else str(value), expected, hint))

    def finish(self) -> None:
        """Raise what was found, including fields that look like cache layout and that nothing read.

        Raises:
            InputError: naming every field.
        """
        for name, value in self.text.items():
            ignored = name in self.used or name in HARMLESS or name.endswith(_SUFFIXES)
            ignored = ignored or not _TOUCHES_CACHE.search(name)
            if not ignored and value not in (None, False, 0, "", [], {}) and not name.startswith("vision"):
                near = nearest(name, self.used)
                self.fault(
                    name,
                    value,
                    "This field may change the cache and is not understood.",
                    near if "mean" in near else "",
                )
        if self.faults:
            raise InputError(self.faults)


def _also(names: tuple[str, ...]) -> str:
    return f"; also read as {', '.join(names[1:])}" if len(names) > 1 else ""
