"""What is stored below a folder: plans and studies, so that they can be found again and compared."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from procure.errors import Fault, InputError, guard_reader
from procure.plan.summary import RESULT, read_summary
from procure.study.store import OUTCOMES, POINTS, RECORD, read_outcomes, read_record

COLUMNS = ("place", "what", "case", "status", "objective_usd", "gap", "made", "input_hash")


def stored(folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Plans and studies below a folder, the latest first; and a sentence for each file of theirs that cannot be read.

    Returns:
        a table with the columns :data:`COLUMNS`. ``what`` is plan or the verb of a study, whose points are not listed
        each; its status says how many of its changes have a plan, failed and are left, its cost is that of the case as
        it stands (of the cheapest change where it did not solve that), its gap the widest. ``made`` is ISO 8601 in UTC:
        of a plan of earlier releases when its file was written.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError([Fault(str(folder), 0, "", "", "A folder that exists.", "Name another folder.")])
    rows: list[dict[str, Any]] = []
    unread: list[str] = []
    studies = {path.parent for path in folder.rglob(RECORD)}
    plans = {p.parent for p in folder.rglob(RESULT) if not any(p.parent.parent == s / POINTS for s in studies)}
    for place in (*studies, *plans):
        try:
            row = _study(place) if place in studies else _plan(place)
        except InputError as error:
            unread += [str(fault) for fault in error.faults]
            continue
        if row is not None:
            rows.append({"place": place.relative_to(folder).as_posix(), **row})
    rows.sort(key=lambda row: (row["made"], row["place"]), reverse=True)
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object), unread


def _plan(place: Path) -> dict[str, Any] | None:
    """A row for a plan; None where the file is another program's."""
    file = place / RESULT
    with guard_reader(str(file), "A plan of procure is needed."):
        content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or "objective_usd" not in content:
        return None
    summary = read_summary(file)
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
    kept = {name: summary[name] for name in ("case", "status", "objective_usd", "gap", "input_hash")}
    return {"what": "plan", **kept, "made": summary["provenance"]["made"] or written}


def _study(place: Path) -> dict[str, Any]:
    """A row for a study."""
    record, outcomes = read_record(place), read_outcomes(place)
    done = [outcome for outcome in outcomes.values() if not outcome.failed]
    left = len(record["changes"]) - len(outcomes)
    counts = [(len(done), "with a plan"), (len(outcomes) - len(done), "failed"), (left, "left")]
    with guard_reader(str(place / OUTCOMES), "Lines written by a study are needed."):
        gaps = [outcome.facts["gap"] for outcome in done if outcome.facts["gap"] is not None]
        costs = {outcome.number: float(outcome.facts["objective_usd"]) for outcome in done}
        as_it_stands = [cost for number, cost in costs.items() if not record["changes"][number - 1]]
    return {
        "what": record["study"],
        "case": record["case"],
        "status": ", ".join(f"{count} {word}" for count, word in counts if count),
        "objective_usd": min(as_it_stands or costs.values(), default=None),
        "gap": max(gaps, default=None),
        "made": record["provenance"]["made"],
        "input_hash": record["input_hash"],
    }
