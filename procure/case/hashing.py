"""The hash by which a plan knows its inputs: what the case states, and of the packaged data what the case uses.

Of the premises those count that a plan of the case rests on (:attr:`procure.case.Case.rests_on`), so that a new SKU,
scenario or curve leaves stored plans valid. A test changes everything that is left out and holds that no coefficient
moves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from procure.case.resolved import Resolved
from procure.catalogue import Fact, packaged_path
from procure.catalogue.fact import packaged_rows
from procure.sizing import card_files

AS_PREMISES = ("hardware", "attach", "premises", "sources")
"""Tables that count by the premises which they state of what the case uses, or are for readers only."""
STATES = ("bf16", "fp32")
"""Encodings that sizing reads by name: states and short convolutions of the formula convention."""


def hash_inputs(case: Resolved, rests_on: Mapping[str, Fact]) -> str:
    """SHA-256 over the premises that the plan rests on, what its tables state, the cards, and packaged shapes used."""
    cards = {name: _card(name) for name in case.cards}
    content = {
        "premises": {path: list(astuple(fact)) for path, fact in rests_on.items()},
        "tables": {
            name: records
            for name in case.tables
            if name not in AS_PREMISES and (records := _records(case, name, cards))
        },
        "packaged": {**_shapes(case), **_formats(case)},
        "measured": _digest(packaged_path("data/performance/measured.csv")),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _records(case: Resolved, name: str, cards: Mapping[str, str]) -> list[str]:
    """What the rows of a table state, sorted; a card by its content, so that its place does not matter."""
    records: list[dict[Any, Any]] = []
    for row, stated in zip(case.tables[name].to_dict("records"), case.stated_rows(name).rows, strict=True):
        records.append({column: value for column, value in row.items() if stated.get(str(column)) is not None})
        if name == "workloads":
            records[-1]["card"] = cards[row["card"]]
    return sorted(json.dumps(record, sort_keys=True, default=str) for record in records)


def _shapes(case: Resolved) -> dict[str, Any]:
    """Packaged days and shapes of the packaged reuse curves that workloads name."""
    workloads, packaged = case.tables["workloads"], case.catalogue.packaged
    curves = {str(name).partition(":")[0] for name in workloads["reuse_curve"]}
    return {
        "profiles": {
            name: packaged.profiles[name] for name in sorted(set(workloads["day_shape"]) & set(packaged.profiles))
        },
        "returns": {name: list(astuple(shape)) for name, shape in packaged.returns.items() if name in curves},
    }


def _formats(case: Resolved) -> dict[str, Any]:
    """The KV formats, weight precisions and states used, and the encodings that they are made of."""
    workloads = case.tables["workloads"]
    mixtures = [str(spec).strip().lower().split("+") for spec in workloads["kv_format"]]
    found = {
        "formats.csv": _rows("kv_formats/formats.csv", "format", {base for base, *_ in mixtures}),
        "weights.csv": _rows("kv_formats/weights.csv", "precision", set(workloads["weight_precision"])),
        "conventions.csv": _rows("kv_formats/conventions.csv", "convention", {"formula"}),
    }
    encodings = {cell for rows in found.values() for row in rows for cell in row.values()} | set(STATES)
    encodings |= {change.partition("=")[2] for _, *changes in mixtures for change in changes}
    found["encodings.csv"] = _rows("kv_formats/encodings.csv", "encoding", encodings)
    return {f"kv_formats/{name}": rows for name, rows in found.items()}


def _rows(name: str, column: str, wanted: Collection[str]) -> list[dict[str, str]]:
    """Rows of a packaged table under ``data`` whose column holds one of the names."""
    return [row for row in packaged_rows(name.removesuffix(".csv")) if row[column] in wanted]


def _card(name: str) -> str:
    """A card by the content of what it is read from: its file, and the base that it changes."""
    digests = [_digest(path) for path in card_files(name)]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
