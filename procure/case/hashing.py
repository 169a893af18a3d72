"""The hash by which a plan knows its inputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from procure.catalogue import packaged_path


def hash_inputs(settings: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], cards: Sequence[str]) -> str:
    """SHA-256 over settings, tables (in any row order), the cards used by content, and the packaged data."""
    digests = {name: _digest(Path(name) if Path(name).is_file() else _packaged_card(name)) for name in cards}
    content = {
        "settings": dict(settings),
        "tables": {name: _records(frame, digests if name == "workloads" else {}) for name, frame in tables.items()},
        "packaged": _packaged_digests(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _records(frame: pd.DataFrame, cards: Mapping[str, str]) -> list[str]:
    """Rows as text, sorted; a card by its content, so that its place does not matter."""
    records = frame.to_dict("records")
    for record in records:
        if cards:
            record["card"] = cards[record["card"]]
    return sorted(json.dumps(record, sort_keys=True, default=str) for record in records)


def _packaged_card(name: str) -> Path:
    return packaged_path(f"models/{name}.json")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _packaged_digests() -> dict[str, str]:
    """Digests of every packaged data file, example cases apart."""
    data = packaged_path("data")
    return {
        path.relative_to(data).as_posix(): _digest(path)
        for path in sorted(data.rglob("*"))
        if path.suffix in {".csv", ".toml", ".json"} and path.relative_to(data).parts[0] != "cases"
    }
