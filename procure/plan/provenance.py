"""Where a result comes from: versions, date, hashes of what was read, premises and telemetry it rests on."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, TypedDict

import pandas as pd

from procure.case.frames import in_order

if TYPE_CHECKING:
    from procure.case import Case

LIBRARIES = ("highspy", "pyomo", "pandas", "numpy")
TELEMETRY = ("reuse", "throughput", "lengths")
"""Tables of a case that hold what was measured on its own systems; `procure trace` writes the first and the last."""


class Telemetry(TypedDict):
    """A table of the case's own measurements."""

    table: str
    rows: int
    hash: str
    sources: list[str]
    """What the table's rows and the case's ``sources`` table say of where they were measured."""


class Premises(TypedDict):
    """How well the premises are known."""

    count: int
    by_kind: dict[str, int]
    """Premises by kind of evidence."""
    with_band: int
    """Premises of which a low and a high are stated: what is known of their uncertainty."""


class Provenance(TypedDict):
    """Where a result comes from."""

    made: str
    """When, ISO 8601 in UTC."""
    hashes: dict[str, str]
    """SHA-256 of ``inputs`` as a whole and of its parts: ``settings``, each table that has rows, each card."""
    telemetry: list[Telemetry]


def versions() -> dict[str, str]:
    """Versions of procure, Python and the libraries that numbers depend on."""
    return {
        "procure": _version("procure"),
        "python": platform.python_version(),
        **{name: _version(name) for name in LIBRARIES},
    }


_version = cache(version)
"""What is installed does not change while a process runs."""


def provenance(case: Case) -> Provenance:
    """Where whatever is worked out of a case now comes from."""
    parts = {"settings": _sha(case.settings.model_dump_json())}
    parts |= {f"tables/{name}": table_hash(frame) for name, frame in case.tables.items() if len(frame)}
    parts |= {f"cards/{card.name}": _sha(repr(card)) for card in case.cards.values()}
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "hashes": {"inputs": case.input_hash, **parts},
        "telemetry": telemetry(case),
    }


def premises_summary(premises: pd.DataFrame) -> Premises:
    """How well the premises of a plan's table are known."""
    banded = premises[(premises["low"].astype(str) != "") & (premises["high"].astype(str) != "")]
    kinds = premises["kind"].value_counts().sort_index()
    return {
        "count": len(premises),
        "by_kind": {str(kind): int(count) for kind, count in kinds.items()},
        "with_band": len(banded),
    }


def telemetry(case: Case) -> list[Telemetry]:
    """The case's own measurements that have rows, with what is said of their sources."""
    stated = case.tables["sources"]
    found: list[Telemetry] = []
    for name in TELEMETRY:
        rows = case.tables[name]
        if rows.empty:
            continue
        said = stated.loc[stated["table"] == name, "source"]
        own = rows["source"] if "source" in rows else pd.Series(dtype=str)
        sources = sorted({str(text) for text in (*said.dropna(), *own.dropna())})
        found.append({"table": name, "rows": len(rows), "hash": table_hash(rows), "sources": sources})
    return found


def table_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of a table's content, whatever order its rows are in."""
    return _sha(in_order(frame).to_csv(index=False, lineterminator="\n"))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
