"""A study on disk: what was asked in ``study.json``, what came of it line by line in ``outcomes.jsonl``, its plans."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from procure.case import Case
from procure.errors import Fault, InputError, guard_reader
from procure.files import check_folder
from procure.plan.provenance import Provenance, provenance, versions
from procure.study.change import Change, Effort
from procure.study.outcome import Outcome

RECORD, OUTCOMES, POINTS = "study.json", "outcomes.jsonl", "points"


class Record(TypedDict):
    """Content of ``study.json``: what was asked, of what, and with what."""

    study: str
    """The verb."""
    case: str
    case_folder: str | None
    input_hash: str
    changes: list[dict[str, Any]]
    options: dict[str, Any]
    versions: dict[str, str]
    provenance: Provenance


SAME = ("study", "input_hash", "changes", "options", "versions")
"""What a study that goes on has in common with what was begun: points of two cases or solvers are no one study."""


def record_of(study: str, case: Case, changes: Sequence[Change], effort: Effort) -> Record:
    """What a study of a case is asked."""
    return {
        "study": study,
        "case": case.name,
        "case_folder": None if case.source is None else str(case.source),
        "input_hash": case.input_hash,
        "changes": [dict(change) for change in changes],
        "options": effort.facts(),
        "versions": versions(),
        "provenance": provenance(case),
    }


def read_record(folder: Path) -> Record:
    """The ``study.json`` of a folder.

    Raises:
        InputError: it cannot be read, or is not a study's.
    """
    file = folder / RECORD
    with guard_reader(str(file), "A study of procure is needed."):
        found = json.loads(file.read_text(encoding="utf-8"))
        lacking = sorted(set(Record.__annotations__) - set(found))
        if lacking:
            raise InputError([Fault(str(file), 0, name, "", "A study states this.") for name in lacking])
        _check_kinds(file, found)
    record: Record = found
    return record


_TEXT, _LIST, _OBJECT = (str, "A text."), (list, "A list."), (dict, "An object.")
_KINDS = {
    "study": _TEXT, "case": _TEXT, "input_hash": _TEXT, "changes": _LIST, "options": _OBJECT, "versions": _OBJECT,
    "provenance": _OBJECT, "provenance.made": _TEXT, "provenance.hashes": _OBJECT,
}  # fmt: skip
"""What ``study.json`` holds at the least where it is read again, and that in words."""


def _check_kinds(file: Path, found: Mapping[str, Any]) -> None:
    inner = found["provenance"] if isinstance(found["provenance"], dict) else {}
    stated = {**found, **{f"provenance.{name}": value for name, value in inner.items()}}
    wrong = [name for name, (kind, _) in _KINDS.items() if not isinstance(stated.get(name), kind)]
    if wrong:
        hint = "It was changed since the study was begun."
        raise InputError([Fault(str(file), 0, name, f"{stated.get(name)}", _KINDS[name][1], hint) for name in wrong])


class Store:
    """The folder of a study, new or begun before, held for one run until :meth:`close`."""

    def __init__(self, folder: Path, record: Record) -> None:
        """Begin a study in a folder that is new or empty, or go on with the same one.

        Raises:
            InputError: the folder holds something else, or another study, with what differs; or another run is at work
                in it.
        """
        self.folder = folder
        if not (folder / RECORD).is_file():
            check_fresh(folder)
            folder.mkdir(parents=True, exist_ok=True)
        self._held = _hold(folder)
        try:
            if (folder / RECORD).is_file():
                _check_same(folder, read_record(folder), record)
                self._drop_torn_line()
            else:
                _write_whole(folder / RECORD, json.dumps(record, indent=1, allow_nan=False) + "\n")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the folder to other runs."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    @property
    def points(self) -> Path:
        """Where plans are stored, each under its number."""
        return self.folder / POINTS

    def outcomes(self) -> dict[int, Outcome]:
        """What has come of changes so far, by number; of one that was worked out again the last."""
        return read_outcomes(self.folder)

    def add(self, outcome: Outcome) -> None:
        """One more line, on disk before anything else is done."""
        with (self.folder / OUTCOMES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome), allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _drop_torn_line(self) -> None:
        """A run that was killed may have left half a line."""
        file = self.folder / OUTCOMES
        if file.exists() and not (text := file.read_bytes()).endswith(b"\n"):
            os.truncate(file, text.rfind(b"\n") + 1)


def read_outcomes(folder: Path) -> dict[int, Outcome]:
    """What came of the changes of a stored study, by number.

    Raises:
        InputError: a line that no study wrote.
    """
    file = folder / OUTCOMES
    found: dict[int, Outcome] = {}
    if not file.exists():
        return found
    with guard_reader(str(file), "Lines written by a study are needed."):
        for line in file.read_text(encoding="utf-8").splitlines():
            stated = json.loads(line)
            outcome = Outcome(**{**stated, "stages": tuple(stated["stages"])})
            found[outcome.number] = outcome
    return found


def _hold(folder: Path) -> int | None:
    """The folder as a file of this process that no other run holds; None where the system knows no such lock.

    The system lets go of it with the process, however that ends.

    Raises:
        InputError: another run holds it.
    """
    with suppress(ImportError, OSError):  # Windows; file systems without locks
        import fcntl

        held = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            expected = "A folder in which no other run is at work."
            raise InputError([Fault(str(folder), 0, "", "", expected, "Wait, or name another folder.")]) from None
        except OSError:
            os.close(held)
            raise
        return held
    return None


def check_fresh(folder: Path) -> None:
    """Refuse a folder that holds anything, or where none can be.

    Raises:
        InputError: the same.
    """
    if folder.is_file() or (folder.exists() and any(folder.iterdir())):
        expected = "A folder that is new or empty, or holds this study."
        raise InputError([Fault(str(folder), 0, "", "", expected, "Name another folder.")])
    check_folder(folder)


def _check_same(folder: Path, begun: Record, now: Record) -> None:
    """Refuse to go on with another study, with everything that differs."""
    faults = []
    stated: Mapping[str, Any] = json.loads(json.dumps(now))
    for name in SAME:
        if begun[name] != stated[name]:  # type: ignore[literal-required]
            was, is_now = _differing(name, begun, stated)
            faults.append(Fault(str(folder / RECORD), 0, name, was, f"Here {is_now}.", "Name another folder."))
    if faults:
        raise InputError(faults)


def _differing(name: str, begun: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str]:
    """What was begun with and what is asked now, no more than differs."""
    was, is_now = begun[name], now[name]
    if name == "input_hash":
        parts = [record["provenance"]["hashes"] for record in (begun, now)]
        other = sorted(key for key in {*parts[0], *parts[1]} - {"inputs"} if parts[0].get(key) != parts[1].get(key))
        return was[:12], f"{is_now[:12]}: other {', '.join(other) or 'packaged data'}"
    if isinstance(was, dict):
        keys = [key for key in {**was, **is_now} if was.get(key) != is_now.get(key)]
        return ", ".join(f"{k} {was.get(k)}" for k in keys), ", ".join(f"{k} {is_now.get(k)}" for k in keys)
    if isinstance(was, list):
        at = next((i for i, pair in enumerate(zip(was, is_now, strict=False)) if pair[0] != pair[1]), None)
        if at is None:
            return f"{len(was)} changes", f"{len(is_now)} changes"
        return f"change {at + 1}: {was[at]}", f"change {at + 1}: {is_now[at]}"
    return str(was), str(is_now)


def _write_whole(path: Path, text: str) -> None:
    """A file that is there as a whole or not at all."""
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
