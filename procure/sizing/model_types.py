"""What is known of model types by name, as data: what their classes assume, and which fields leave the cache alone.

The tables are ``data/model_types/*.csv``:

* ``known.csv``: model types that are read by name, those of which no instance was compared with its cache, and those
  that are refused, with the reason.
* ``fields.csv``: fields that change no byte of a cache, for one model type or for all (``*``). A name may end or begin
  with ``*``. A field that nothing reads and that is not listed is refused by name.
* ``defaults.csv``: what a class takes where its config leaves a field out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from procure.catalogue.fact import packaged_rows

EVERY = "*"


@dataclass(frozen=True)
class ModelType:
    """One model type.

    Attributes:
        name: as a config's ``model_type`` says it.
        status: ``read``; ``unchecked`` (read by its fields, but no instance of it was compared); ``refused``.
        source: where it was read.
        text_type: the model type of the text part of a multimodal config, or empty.
        weights_counted: its parameter counts follow from its fields; else they are refused, bytes are not.
        reason: why it is refused.
    """

    name: str
    status: str
    source: str
    text_type: str
    weights_counted: bool
    reason: str


@dataclass(frozen=True)
class Default:
    """What a class takes for a field that its config leaves out.

    Attributes:
        value: a value, or the field (or ``hidden_size / num_attention_heads``) that it follows.
        nested_only: a size: taken in the text part of a multimodal config only, where libraries leave out what equals
            the class's default. At the top level a size that is missing was trimmed away, and is refused.
    """

    value: Any
    nested_only: bool


@cache
def known_types() -> Mapping[str, ModelType]:
    """Every known model type by name."""
    return {
        row["model_type"]: ModelType(
            row["model_type"], row["status"], row["source"], row["text_type"], not row["weights"], row["reason"]
        )
        for row in packaged_rows("model_types/known")
    }


@cache
def _fields() -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in packaged_rows("model_types/fields"):
        for model_type in row["model_types"].split():
            found[model_type].add(row["field"])
    return {model_type: frozenset(names) for model_type, names in found.items()}


@cache
def leaves_cache_alone(model_type: str, field: str) -> bool:
    """Whether the field is listed as one that changes no byte of the cache of that model type."""
    for listed in (EVERY, model_type):
        names = _fields().get(listed, frozenset())
        if field in names or any(_matches(field, name) for name in names if EVERY in name):
            return True
    return False


def _matches(field: str, pattern: str) -> bool:
    if pattern.startswith(EVERY):
        return field.endswith(pattern[1:])
    return field.startswith(pattern.removesuffix(EVERY))


@cache
def class_defaults(model_type: str) -> Mapping[str, Default]:
    """What the class of that model type takes, by field; empty where nothing is known."""
    return {
        row["field"]: Default(_value(row["value"]), row["applies"] == "nested")
        for row in packaged_rows("model_types/defaults")
        if row["model_type"] == model_type
    }


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isdigit() else text
