"""Finding and reading cards: packaged ones, a user's own, released configs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError, guard_reader, nearest
from procure.sizing.archetype import read_archetype
from procure.sizing.card import Card, Source
from procure.sizing.config import NESTED, Config
from procure.sizing.parameters import is_tied, read_feed_forward
from procure.sizing.reader import read_attention, read_drafts

CARD_KEYS = frozenset(
    """
    name source kind note published native_precision max_context_tokens params supplement config base attention
    num_layers feed_forward harmless
    """.split()  # noqa: SIM905
)
"""Keys of a card file; with ``base``, every other key is a changed config field."""

_MOST_NUMBER = 1e18

_CONTEXT = ("max_position_embeddings", "max_position_embedding", "model_max_length", "n_positions")


def card_names() -> list[str]:
    """Names of the packaged cards, sorted."""
    return sorted(path.stem for path in packaged_path("models").glob("*.json"))


def load_card(name_or_path: str | Path) -> Card:
    """A packaged card by name, or a user's card or released ``config.json`` by path.

    Raises:
        InputError: no such card or file, or a config that cannot be read; every field at fault is named.
    """
    text = str(name_or_path)
    if text in card_names():
        return _read_file(_packaged(text))
    path = Path(text)
    if stands(path / "config.json"):
        path = path / "config.json"
    if not stands(path) or not path.is_file():
        expected = "Name a packaged card, or the path of a card or config.json."
        raise InputError([Fault("card", 0, "", text, expected, nearest(text, card_names()))])
    return _read_file(path)


def card_files(name_or_path: str | Path) -> list[Path]:
    """Files that a card is read from: itself first, then the base that it changes.

    Args:
        name_or_path: as :func:`load_card` takes it and has read it.
    """
    if str(name_or_path) in card_names():
        return [_packaged(str(name_or_path))]
    path = Path(name_or_path)
    path = path / "config.json" if path.is_dir() else path
    base = _parse(path).get("base")
    return [path] if base is None else [path, _base(str(base), path.parent)]


def _packaged(name: str) -> Path:
    return packaged_path("models") / f"{name}.json"


def _base(name: str, folder: Path) -> Path:
    """The card that another one in a folder changes."""
    return _packaged(name) if name in card_names() else folder / name


def stands(path: Path) -> bool:
    """Whether something stands at a path; False for names that no file system takes (too long, control characters)."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _read_file(path: Path) -> Card:
    return _load(path.resolve(), path.stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _load(path: Path, changed_ns: int) -> Card:
    name = path.stem if path.name != "config.json" else path.parent.name
    words = "A card or a released config.json is expected; a field of this file holds what does not belong there."
    with guard_reader(path.name, words, "docs/sizing.md lists the fields of a card."):
        return _plausible(read_card(_parse(path), path.name, name, path.parent))


MOST_BYTES_PER_TOKEN, MOST_STATE_BYTES, MOST_PARAMS = 1e9, 1e12, 1e16
"""Beyond these a dimension is a slip: the largest LLMs store megabytes a token and hold 1e12 to 1e13 parameters."""


def _plausible(card: Card) -> Card:
    """The card, if its figures can be those of an LLM: larger ones would leave the range of whole numbers later.

    Raises:
        InputError: saying what comes out too large.
    """
    state = card.state_bytes("bf16")
    try:
        parameters = card.params.total
    except InputError:
        parameters = 0  # what the config lacks is said where parameters are asked for
    found = {
        "bytes of KV cache per token": ((card.stored_bytes(1_000, "bf16") - state) / 1_000, MOST_BYTES_PER_TOKEN),
        "bytes of state per sequence": (state, MOST_STATE_BYTES),
        "parameters": (parameters, MOST_PARAMS),
    }
    faults = [
        Fault(card.file, 0, "", f"{value:.3g}", f"At most {most:g} {what}; these follow from the fields of the card.",
              "Check its head counts and dimensions.")
        for what, (value, most) in found.items()
        if value > most
    ]  # fmt: skip
    if faults:
        raise InputError(faults)
    return card


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


def read_card(content: Mapping[str, Any], file: str, name: str, folder: Path | None = None) -> Card:
    """A card from what its file holds: a card, changes to another card, an archetype, or a released config as it is.

    Args:
        content: the file's fields.
        file: name for faults.
        name: name of the card where the file gives none.
        folder: where a ``base`` path starts.

    Raises:
        InputError: naming every field that is wrong, missing or not understood.
    """
    _check_shape(content, file)
    if isinstance(content.get("attention"), list) and "config" not in content:
        return _archetype_card(content, file, name)
    if "base" in content:
        return _changed_card(content, file, name, folder or Path())
    return _config_card(content if "config" in content else {"config": content}, file, name)


def _check_shape(content: Mapping[str, Any], file: str) -> None:
    """Groups of a card file are groups, and an archetype's attention is a list of them."""
    faults = []
    for key in ("config", "supplement", "published", "feed_forward"):
        if key in content and not isinstance(content[key], Mapping):
            faults.append(Fault(file, 0, key, str(content[key]), "A group of fields is allowed."))
    for key in ("name", "source", "kind", "note", "native_precision", "base"):
        if content.get(key) is not None and not isinstance(content[key], str):
            faults.append(Fault(file, 0, key, str(content[key])[:80], "A text is allowed."))
    numbers = {"max_context_tokens": content.get("max_context_tokens")}
    if isinstance(content.get("published"), Mapping):
        numbers |= {f"published.{key}": content["published"].get(key) for key in ("params_total", "params_active")}
    for key, value in numbers.items():
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST_NUMBER
        ):
            faults.append(Fault(file, 0, key, str(value)[:80], "A positive number is allowed."))
    blocks = content.get("attention")
    if isinstance(blocks, int | list) and not (
        isinstance(blocks, list) and all(isinstance(b, Mapping) for b in blocks)
    ):
        faults.append(Fault(file, 0, "attention", str(blocks), "A list of [[attention]] blocks is allowed."))
    if faults:
        raise InputError(faults)


def _config_card(card: Mapping[str, Any], file: str, name: str, changed: frozenset[str] = frozenset()) -> Card:
    fields = _merge(card["config"], card.get("supplement", {}).get("fields", {}))
    config = Config(fields, file, _harmless(card, file))
    attention = read_attention(config)
    drafts = read_drafts(config, attention)
    feed_forward = read_feed_forward(config, attention)
    known = {
        "hidden_size": config.optional("hidden_size", "n_embd"),
        "vocab_size": config.optional("vocab_size"),
        "max_position_embeddings": card.get("max_context_tokens") or config.optional(*_CONTEXT),
        "native_precision": card.get("native_precision") or native_precision(config),
    }
    tied = is_tied(config)
    for field in sorted(changed - config.used):
        config.fault(field, "changed", "Nothing reads this field.", nearest(field, config.used))
        config.used.add(field)
    config.finish()
    return Card(
        name=str(card.get("name") or name),
        attention=attention,
        drafts=drafts,
        feed_forward=feed_forward,
        tied=tied,
        source=_source(card, file, "user"),
        gaps=tuple(config.gaps),
        notes=tuple(config.notes),
        fields=tuple(known.items()),
        file=file,
    )


def _harmless(card: Mapping[str, Any], file: str) -> list[str]:
    """Fields that a card declares to leave the cache alone."""
    names = card.get("harmless", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError([Fault(file, 0, "harmless", str(names), "A list of field names is allowed.")])
    return names


def _source(card: Mapping[str, Any], file: str, kind: str) -> Source:
    published = card.get("published", {})
    return Source(
        str(card.get("source", file)),
        str(card.get("kind", kind)),
        str(card.get("note", "")),
        published.get("params_total"),
        published.get("params_active"),
    )


def _changed_card(content: Mapping[str, Any], file: str, name: str, folder: Path) -> Card:
    """A card that starts from another and changes fields of its config."""
    text = str(content["base"])
    path = _base(text, folder)
    if not path.is_file():
        expected = "Name a packaged card, or a path from this file."
        raise InputError([Fault(file, 0, "base", text, expected, nearest(text, card_names()))])
    base = _parse(path)
    if "attention" in base or "base" in base:
        raise InputError([Fault(file, 0, "base", text, "A base is a card with a released config.")])
    base = base if "config" in base else {"config": base}
    changes: dict[str, Any] = {key: value for key, value in content.items() if key not in CARD_KEYS} | dict(
        content.get("config", {})
    )
    own: dict[str, Any] = {
        key: content[key]
        for key in ("native_precision", "max_context_tokens", "source", "note", "harmless")
        if key in content
    }
    inherited: dict[str, Any] = {key: base[key] for key in ("native_precision", "max_context_tokens") if key in base}
    if changes.keys() & set(_CONTEXT):
        inherited.pop("max_context_tokens", None)
    if "quantization_config" in changes:
        inherited.pop("native_precision", None)
    merged = _merge(_merge(base["config"], base.get("supplement", {}).get("fields", {})), changes)
    card = {"source": f"{text} with changes: {', '.join(sorted(changes))}", **inherited, **own, "config": merged}
    return _config_card({**card, "name": content.get("name", name)}, file, name, frozenset(changes))


def _archetype_card(card: Mapping[str, Any], file: str, name: str) -> Card:
    faults = [
        Fault(file, 0, key, str(card[key]), "Not a key of an archetype card.", nearest(key, _ARCHETYPE_KEYS))
        for key in card
        if key not in _ARCHETYPE_KEYS
    ]
    if faults:
        raise InputError(faults)
    layers, feed_forward = read_archetype(card, file)
    fields = {
        "hidden_size": card.get("hidden_size"),
        "vocab_size": card.get("vocab_size"),
        "max_position_embeddings": card.get("max_context_tokens"),
        "native_precision": card.get("native_precision"),
    }
    return Card(
        name=str(card.get("name") or name),
        attention=layers,
        drafts=(),
        feed_forward=feed_forward,
        tied=bool(card.get("tie_word_embeddings", False)),
        source=_source(card, file, "archetype"),
        gaps=() if "feed_forward" in card else ("feed_forward",),
        notes=(),
        fields=tuple(fields.items()),
        file=file,
    )


_ARCHETYPE_KEYS = (CARD_KEYS - {"config", "base", "supplement", "harmless"}) | {
    "hidden_size",
    "vocab_size",
    "tie_word_embeddings",
}


def _merge(config: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The config with the fields of ``extra`` laid over its text part."""
    for nested in NESTED:
        if isinstance(config.get(nested), Mapping):
            return {**config, nested: _merge(config[nested], extra)}
    return {**config, **extra}


def native_precision(config: Config) -> str | None:
    """Weight precision that a config's quantisation block or dtype states, None where it states none.

    A quantisation that is not known is a fault: weights would be sized wrongly.
    """
    block = config.block("quantization_config", "compression_config")
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


def _first(groups: Any) -> Mapping[str, Any]:
    first: Any = next(iter(groups.values()), {}) if isinstance(groups, Mapping) else {}
    return first if isinstance(first, Mapping) else {}
