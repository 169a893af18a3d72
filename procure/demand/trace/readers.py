"""Readers of trace files: rows one at a time, so that a file may be larger than memory."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from procure.demand.trace.batch import Batch, Collector, Row
from procure.errors import Fault, InputError, guard_reader

NAMES = {
    "time": ("timestamp", "time", "t_s", "t", "time_s", "arrival_s", "arrival_time", "timestamp_ms", "time_ms"),
    "input": ("input_length", "input_tokens", "contexttokens", "prompt_tokens", "in"),
    "output": ("output_length", "output_tokens", "generatedtokens", "completion_tokens", "out"),
    "service": ("service_s", "api_time", "duration_s", "e2e_s", "latency_s"),
    "session": ("session", "session_id", "conversation_id", "chat_id", "parent_session"),
    "blocks": ("hash_ids", "block_hashes", "blocks"),
    "reused": ("reused_tokens", "prefix_tokens_seen_before", "cached_tokens"),
    "shared": ("shared_prefix_tokens", "shared_system_prefix_tokens"),
}
"""Column or key names that are understood, in lower case."""

MOST_TOKENS = 10**8
"""No prompt is longer: a larger number is a mistake of the trace."""

KEPT_LINES = 1_000
"""Bad lines that are listed one by one; all are counted."""


@dataclass
class Options:
    """How to read.

    Attributes:
        session_clock: whether each session counts time from its own start. None: yes where every session of the
            first batch begins at the same time 0.
        block_tokens: tokens per block; None: the power of two that fits the first prompts.
        service_ttft_s: assumed time to first token where the trace does not say when requests complete.
        service_tps: assumed output speed in tokens/s for the same; None leaves the clock at the start of requests.
    """

    session_clock: bool | None = None
    block_tokens: int | None = None
    service_ttft_s: float = 1.0
    service_tps: float | None = None


@dataclass
class BadLines:
    """Lines that could not be read: all counted, the first thousand kept as (file, line, what is wrong)."""

    count: int = 0
    kept: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, file: str, line: int, what: str) -> None:
        """Count a bad line."""
        self.count += 1
        if len(self.kept) < KEPT_LINES:
            self.kept.append((file, line, what))


Progress = Callable[[int, int], None]
"""Called now and then with compressed bytes read so far and in all."""


def batches(paths: list[Path], bad: BadLines, progress: Progress | None = None) -> Iterator[Batch]:
    """Requests of the files, one file after the other.

    Args:
        paths: Mooncake JSONL, Azure CSV, one-session JSON, generic CSV or JSONL; plain or gz.
        bad: gets the lines that could not be read.
        progress: called at every batch.

    Raises:
        InputError: a file that does not exist, is empty, or lacks a column that is needed.
    """
    faults = [Fault(str(p), 0, "", "", "No such file.") for p in paths if not p.is_file()]
    if faults:
        raise InputError(faults)
    total, done = sum(p.stat().st_size for p in paths), 0
    collector = Collector()
    for path in paths:
        # What makes one line wrong is counted below: what is raised here is wrong with the whole file.
        words = "This file cannot be read as a trace, or its compression is cut off or damaged."
        with guard_reader(str(path), words), path.open("rb") as raw:
            stream = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
            text = io.TextIOWrapper(cast(IO[bytes], stream), encoding="utf-8-sig", errors="replace", newline="")
            for row in _rows(str(path), text, bad):
                if collector.add(row):
                    yield collector.flush()
                    if progress:
                        progress(done + raw.tell(), total)
            done += path.stat().st_size
            if progress:
                progress(done, total)
    last = collector.flush()
    if len(last):
        yield last


def _rows(name: str, text: IO[str], bad: BadLines) -> Iterator[Row]:
    first = text.readline()
    while first and not first.strip():
        first = text.readline()
    if not first:
        raise InputError([Fault(name, 0, "", "", "The file is empty; one request per line is expected.")])
    lines = itertools.chain([first], text)
    if first.lstrip().startswith("{"):
        try:
            whole = json.loads(first)
        except (ValueError, RecursionError):
            whole = None
        if whole is None and first.strip() == "{":
            yield from _sessions(name, iter([(1, "".join(lines))]), bad)
        elif isinstance(whole, dict) and isinstance(whole.get("requests"), list):
            yield from _sessions(name, enumerate(lines, 1), bad)
        else:
            yield from _jsonl(name, lines, bad)
    else:
        yield from _csv(name, lines, bad)


def _finder(name: str, keys: Iterable[str]) -> dict[str, str]:
    """Which key holds what. Raises InputError where time, input or output is missing."""
    lower = {k.strip().lower(): k for k in keys}
    found = {
        what: next(lower[n] for n in names if n in lower) for what, names in NAMES.items() if set(names) & set(lower)
    }
    faults = [
        Fault(name, 1, what, ", ".join(lower), f"One of {', '.join(NAMES[what])} is expected.")
        for what in ("time", "input", "output")
        if what not in found
    ]
    if faults:
        raise InputError(faults)
    return found


def _maker(found: dict[str, str], milliseconds: bool) -> Callable[[dict[str, Any]], Row]:
    """A function from a record to a row; it raises ValueError, KeyError or TypeError where the record is bad."""
    time, inputs, outputs = found["time"], found["input"], found["output"]
    service, session, blocks, reused, shared = (
        found.get(k) for k in ("service", "session", "blocks", "reused", "shared")
    )
    unit = 1e-3 if milliseconds or time.lower().endswith("_ms") else 0.0

    def make(record: dict[str, Any]) -> Row:
        nonlocal unit
        if not unit:
            unit = _unit(record[time])
        row = Row(_time(record[time], unit), _tokens(record, inputs), _tokens(record, outputs))
        if not math.isfinite(row.time_s):
            raise ValueError(f"{time}: read {record[time]!r}; a number or an ISO date and time is expected")
        if service and record.get(service) not in (None, ""):
            row.service_s = _number(record, service)
            if row.service_s < 0:
                raise ValueError(f"{service}: read {record[service]!r}; 0 s or more is expected")
        if session and record.get(session) not in (None, ""):
            row.session = _name(record, session)
        if blocks and record.get(blocks):
            row.blocks = _blocks(record[blocks])
        if reused and record.get(reused) not in (None, ""):
            row.reused_tokens = _tokens(record, reused)
        if shared and record.get(shared) not in (None, ""):
            row.shared_tokens = _tokens(record, shared)
        return row

    return make


def _tokens(record: dict[str, Any], name: str) -> int:
    """A whole number of tokens. Raises ValueError for anything else, KeyError where the record has none."""
    value = record[name]
    if type(value) is str and value.isdigit():
        value = int(value)
    if type(value) is not int:
        number = _number(record, name)
        if not number.is_integer():
            raise ValueError(f"{name}: read {value!r}; a whole number of tokens is expected")
        value = int(number)
    if not 0 <= value <= MOST_TOKENS:
        raise ValueError(f"{name}: read {value!r}; tokens from 0 to {MOST_TOKENS:,} are expected")
    return int(value)


def _name(record: dict[str, Any], name: str) -> str | int:
    """What a session is called. Raises ValueError for lists and groups."""
    value = record[name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int):
        raise ValueError(f"{name}: read {value!r}; a text or a whole number is expected")
    return value


def _number(record: dict[str, Any], name: str) -> float:
    value = record[name]
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name}: read {value!r}; a number is expected")
    return number


def _unit(value: Any) -> float:
    """Seconds per unit of a time stamp: an epoch time of that size is in milli-, micro- or nanoseconds."""
    try:
        size = abs(float(value))
    except (TypeError, ValueError):
        size = math.inf
    if not math.isfinite(size):
        return 0.0  # left open: the next row that states a number settles it
    return next((unit for least, unit in ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3)) if size > least), 1.0)


def _time(value: Any, unit: float) -> float:
    """Seconds; of an ISO date and time those since 1970, in UTC where it states no offset. NaN for anything else."""
    try:
        return float(value) * unit
    except (TypeError, ValueError):
        try:
            moment = datetime.fromisoformat(str(value).strip())
        except ValueError:
            return math.nan
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _blocks(value: Any) -> list[Any]:
    if isinstance(value, list):
        if not set(map(type, value)) <= {int, str}:
            raise ValueError("block hashes must be whole numbers or texts")
        return value
    text = str(value).strip()
    if text.startswith("["):
        return _blocks(json.loads(text))
    parts = text.replace(";", " ").split()
    return [int(p) for p in parts] if all(p.isdigit() for p in parts) else list(parts)


def _jsonl(name: str, lines: Iterator[str], bad: BadLines) -> Iterator[Row]:
    make: Callable[[dict[str, Any]], Row] | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("a JSON object is expected")
            if make is None:
                found = _finder(name, record)
                # Mooncake traces state milliseconds under this name.
                make = _maker(found, found["time"] == "timestamp" and found.get("blocks") == "hash_ids")
            row = make(record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            bad.add(name, number, _words(error))
            continue
        yield row


def _csv(name: str, lines: Iterator[str], bad: BadLines) -> Iterator[Row]:
    reader = csv.DictReader(lines)
    make = _maker(_finder(name, reader.fieldnames or []), False)
    while True:
        try:
            record = next(reader)
            if None in record:
                raise ValueError("more values than the heading has columns")
            row = make(record)
        except StopIteration:
            return
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            bad.add(name, reader.line_num, _words(error))
            continue
        yield row


def _sessions(name: str, texts: Iterator[tuple[int, str]], bad: BadLines) -> Iterator[Row]:
    for number, text in texts:
        if not text.strip():
            continue
        try:
            record = json.loads(text)
            if not isinstance(record.get("requests"), list):
                raise ValueError("no list of requests")
            rows = _session(name, record, bad)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            bad.add(name, number, _words(error))
            continue
        yield from rows


def _session(name: str, record: dict[str, Any], bad: BadLines) -> list[Row]:
    """One session with its requests inside, as the WEKA traces have it; those of subagents in order of time.

    Raises:
        ValueError, TypeError: the session itself is wrong; wrong requests of it are counted.
    """
    session = record.get("id", name)
    local = record.get("hash_id_scope", "local") == "local"
    shared = sum(_tokens(record, key) for key in ("tool_tokens", "system_tokens") if key in record) or float("nan")
    if not isinstance(session, str | int):
        raise ValueError(f"id: read {session!r}; a text or a whole number is expected")
    rows: list[Row] = []
    requests = sorted(_flat(record["requests"]), key=_start_of)
    for number, request in enumerate(requests, 1):
        try:
            make = _maker(_finder(name, request), False)
            row = make(request)
        except (ValueError, KeyError, TypeError, InputError) as error:
            bad.add(f"{name}, session {session}", number, _words(error))
            continue
        row.session, row.blocks_of_session, row.shared_tokens = session, local, shared
        rows.append(row)
    return rows


def _start_of(request: dict[str, Any]) -> float:
    """Order of requests; one whose time cannot be read is told of later."""
    value = request.get("t", 0)
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else 0.0


def _flat(requests: list[Any]) -> Iterator[dict[str, Any]]:
    for request in requests:
        if not isinstance(request, dict):
            raise ValueError(f"requests: read {str(request)[:40]!r}; JSON objects are expected")
        if isinstance(request.get("requests"), list):
            yield from _flat(request["requests"])
        else:
            yield request


def _words(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no {error}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    return str(error) or type(error).__name__
