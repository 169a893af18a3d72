"""Finding and reading cards: packaged ones, a user's own, released configs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError, nearest
from procure.sizing.card import Card, Source
from procure.sizing.config import Config
from procure.sizing.parameters import is_tied, read_feed_forward
from procure.sizing.reader import read_attention, read_drafts

CARD_KEYS = frozenset(
    "name source kind note published native_precision max_context_tokens params supplement config base".split()  # noqa: SIM905
)


def card_names() -> list[str]:
    """Names of the packaged cards, sorted."""
    return sorted(path.stem for path in packaged_path("models").glob("*.json"))


def load_card(name_or_path: str | Path) -> Card:
    """See :meth:`procure.sizing.Card.load`."""
    text = str(name_or_path)
    if text in card_names():
        return _load(packaged_path("models") / f"{text}.json")
    path = Path(text)
    if path.is_dir() and (path / "config.json").exists():
        path = path / "config.json"
    if not path.is_file():
        expected = "Name a packaged card, or the path of a card or config.json."
        raise InputError([Fault("card", 0, "", text, expected, nearest(text, card_names()))])
    return _load(path)


@lru_cache(maxsize=512)
def _load(path: Path) -> Card:
    return read_card(_parse(path), path.name, path.stem if path.name != "config.json" else path.resolve().parent.name)


def _parse(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        value = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            [Fault(path.name, 0, "", "", f"This is not valid {path.suffix or 'JSON'}: {error}.")]
        ) from error
    if not isinstance(value, dict):
        raise InputError([Fault(path.name, 0, "", "", "A card is an object of fields.")])
    return value


def read_card(content: Mapping[str, Any], file: str, name: str) -> Card:
    """A card from what its file holds: a card, or a released config as it is.

    Raises:
        InputError: naming every field that is wrong, missing or not understood.
    """
    card = content if "config" in content else {"config": content}
    merged = _merge(card["config"], card.get("supplement", {}).get("fields", {}))
    config = Config(merged, file)
    attention = read_attention(config)
    drafts = read_drafts(config, attention)
    feed_forward = read_feed_forward(config, attention)
    fields = {
        "hidden_size": config.optional("hidden_size", "n_embd"),
        "vocab_size": config.optional("vocab_size"),
        "max_position_embeddings": card.get("max_context_tokens") or _max_context(config),
        "native_precision": card.get("native_precision") or native_precision(config),
    }
    tied = is_tied(config)
    config.finish()
    published = card.get("published", {})
    return Card(
        name=str(card.get("name") or name),
        attention=attention,
        drafts=drafts,
        feed_forward=feed_forward,
        tied=tied,
        source=Source(
            str(card.get("source", file)),
            str(card.get("kind", "user")),
            str(card.get("note", "")),
            published.get("params_total"),
            published.get("params_active"),
        ),
        gaps=tuple(config.gaps),
        notes=tuple(config.notes),
        fields=tuple(fields.items()),
        file=file,
    )


def _merge(config: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The config with the fields of ``extra`` laid over its text part."""
    for nested in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(nested), Mapping):
            return {**config, nested: {**config[nested], **extra}}
    return {**config, **extra}


def _max_context(config: Config) -> int | None:
    names = (
        "max_position_embeddings",
        "max_position_embedding",
        "model_max_length",
        "n_positions",
        "seq_length",
        "max_sequence_length",
    )
    return config.optional(*names)


def native_precision(config: Config) -> str | None:
    """Weight precision that a config's quantisation block or dtype states, None where it states none.

    A quantisation that is not known is a fault: weights would be sized wrongly.
    """
    block = config.get("quantization_config", "compression_config")
    if block is None:
        dtype = config.get("torch_dtype", "dtype")
        return {"bfloat16": "bf16", "float16": "fp16", "float32": "bf16"}.get(str(dtype))
    method = str(block.get("quant_method", ""))
    if method == "fp8":
        return "mxfp4_fp8" if config.get("expert_dtype") == "fp4" else "fp8"
    if method == "mxfp4":
        return "mxfp4"
    if method in ("compressed-tensors", "awq", "gptq"):
        return _compressed_tensors(config, block)
    if method == "modelopt":
        return "nvfp4" if "FP4" in str(block.get("quant_algo", "")).upper() else "fp8"
    known = "fp8, mxfp4, modelopt, compressed-tensors, awq and gptq are known."
    config.fault("quantization_config.quant_method", method, known)
    return None


def _compressed_tensors(config: Config, block: Mapping[str, Any]) -> str | None:
    bits: Any
    kind: Any
    if "bits" in block:
        bits, kind, group = block["bits"], "int", block.get("group_size")
    else:
        weights = _first(block.get("config_groups")).get("weights") or {}
        bits, kind, group = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    if (bits, kind) == (4, "int"):
        return "int4"
    if (bits, kind) == (4, "float"):
        return "nvfp4" if group == 16 else "mxfp4"
    if bits == 8:
        return "int8" if kind == "int" else "fp8"
    config.fault("quantization_config", f"{bits} bits, {kind}", "4- or 8-bit int or float weights are known.")
    return None


def _first(groups: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return next(iter(groups.values())) if groups else {}
