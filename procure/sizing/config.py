"""A released ``config.json`` to ask: which fields were read, which are missing, which are not understood."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from procure.errors import Fault, InputError, nearest
from procure.sizing.model_types import class_defaults, known_types, leaves_cache_alone

NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
"""Groups of a multimodal config that hold (or lead to) its text part, in the order in which they are looked for."""

_LARGEST = 2**31
"""No dimension of an LLM comes near; larger ones are slips."""

_DRAFTS = ("mtp_", "nextn_", "num_mtp_", "num_nextn_", "draft_", "eagle_")
"""Beginnings of fields that describe draft layers only."""

_BY_CLASS = {
    "GPT2LMHeadModel": "gpt2",
    "GPTBigCodeForCausalLM": "gpt_bigcode",
    "OPTForCausalLM": "opt",
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "FalconForCausalLM": "falcon",
    "Qwen2ForCausalLM": "qwen2",
}


class Config:
    """Fields of a config, the text part of a multimodal one first, then what the class of its model type takes.

    Reading collects faults instead of stopping: ask :meth:`finish` at the end.

    Args:
        config: the fields.
        file: name for faults.
        harmless: fields that the user's card declares to leave the cache alone.
    """

    def __init__(self, config: Mapping[str, Any], file: str, harmless: Iterable[str] = ()) -> None:
        self.file = file
        self.harmless = tuple(harmless)
        self.outer: tuple[Mapping[str, Any], ...] = ()
        self.text: Mapping[str, Any] = config
        while (
            inner := next((self.text[k] for k in NESTED if isinstance(self.text.get(k), Mapping)), None)
        ) is not None:
            self.outer, self.text = (self.text, *self.outer), inner
        self.used: set[str] = set()
        self.faults: list[Fault] = []
        self.gaps: list[str] = []
        self.notes: list[str] = []
        self.assumed: dict[str, Any] = {}
        self.groups: list[tuple[str, Config]] = []
        self.kind = self._kind()
        self.kinds = (self.kind, *(str(part.get("model_type", "")) for part in self.outer))
        self.defaults = class_defaults(self.kind)

    def _kind(self) -> str:
        """The text part's model type; where a trimmed config lacks it, what its outer type or class stands for."""
        self.used.update(("model_type", "architectures"))
        if self.text.get("model_type") is not None:
            return str(self.text["model_type"])
        for part in self.outer:
            named = known_types().get(str(part.get("model_type", "")))
            if named is not None:
                return named.text_type or named.name
        classes = self.text.get("architectures")
        classes = classes if isinstance(classes, list | tuple) else ()
        return next((_BY_CLASS[name] for name in map(str, classes) if name in _BY_CLASS), "")

    def group(self, name: str) -> Config | None:
        """A group of fields to ask as one asks the config, or None where it is not given.

        Its faults are remembered here, and :meth:`finish` looks at its fields too, under ``name.field``.
        """
        fields = self.block(name)
        if fields is None:
            return None
        inner = next((group for known, group in self.groups if known == name and group.text is fields), None)
        if inner is None:
            inner = Config(fields, f"{self.file}: {name}")
            inner.faults = self.faults
            self.groups.append((name, inner))
        return inner

    def overlaid(self, fields: Mapping[str, Any]) -> Config:
        """The same config with other fields for one layer.

        What is found is remembered in both, what is read in the copy alone.
        """
        view = copy.copy(self)
        view.text, view.used = {**self.text, **fields}, set()
        return view

    def has(self, *names: str) -> bool:
        """Whether one of the fields is given and not null."""
        return any(self.get(name) is not None for name in names)

    def get(self, *names: str, default: Any = None) -> Any:
        """The first of the fields that is given and not null, else what the class takes."""
        self.used.update(names)
        for part in (self.text, *self.outer):
            for name in names:
                if part.get(name) is not None:
                    return part[name]
        if any(name in self.text for name in names):  # null, as released: no size is assumed for it
            return next((d.value for name in names if (d := self._default(name)) and not d.nested_only), default)
        for name in names:
            assumed = self._default(name)
            if assumed is not None and not (assumed.nested_only and not self.outer):
                if assumed.nested_only:
                    self.assumed[name] = assumed.value
                return assumed.value
        return default

    def _default(self, name: str) -> Any:
        return self.defaults.get(name)

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

    def harmless_field(self, field: str, value: Any) -> bool:
        """Whether a field is switched off, or known or declared to change no byte of the cache."""
        return (
            value in (None, False, 0, "", [], {})
            or field in self.harmless
            or any(leaves_cache_alone(kind, field) for kind in self.kinds)
        )

    def finish(self) -> None:
        """Raise what was found, including every field that nothing read and that is not known to be harmless.

        Raises:
            InputError: naming every field.
        """
        drafts = []
        for name, value in {**self._outer_fields(), **self.text}.items():
            if name in self.used or self.harmless_field(name, value):
                continue
            if name.startswith(_DRAFTS):
                drafts.append(name)
                continue
            near = nearest(name, self.used)
            self.fault(name, value, _UNKNOWN, near if "mean" in near else _DECLARE)
        for group, inner in self.groups:
            for name, value in inner.text.items():
                if name not in inner.used and not self.harmless_field(f"{group}.{name}", value):
                    self.fault(f"{group}.{name}", value, _UNKNOWN, _DECLARE)
        inner_fields = {f"{group}.{name}" for group, inner in self.groups for name in inner.text}
        for name in sorted(set(self.harmless) - set(self.text) - set(self._outer_fields()) - inner_fields):
            self.fault("harmless", name, "Fields of the config are allowed.", nearest(name, self.text))
        if self.faults:
            raise InputError(self.faults)
        if self.harmless:
            self.notes.append(f"declared by the card to leave the cache alone: {', '.join(self.harmless)}")
        if drafts:
            self.notes.append(f"draft layers are taken to be like the last full layer; not read: {', '.join(drafts)}")
        if self.assumed:
            taken = ", ".join(f"{name} {value}" for name, value in sorted(self.assumed.items()))
            self.notes.append(f"left out of the config and taken from the class of {self.kind}: {taken}")

    def _outer_fields(self) -> dict[str, Any]:
        """Fields around the text part, without the groups that hold it or another modality."""
        fields: dict[str, Any] = {}
        for part in self.outer:
            fields |= {name: value for name, value in part.items() if not isinstance(value, Mapping)}
        return fields


_UNKNOWN = "This field is not known to leave the cache alone."
_DECLARE = "If it changes no byte of the cache, name it under `harmless` in a card."


def _also(names: tuple[str, ...]) -> str:
    return f"; also read as {', '.join(names[1:])}" if len(names) > 1 else ""
