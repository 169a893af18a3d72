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
from pathlib import Path
from typing import IO, Any, cast

from procure.demand.trace.batch import Batch, Collector, Row
from procure.demand.trace.benchmark import is_benchmark, requests
from procure.demand.trace.clock import BURSTGPT, UNITS, Clock, form_of
from procure.errors import Fault, InputError, guard_reader

NAMES = {
    "time": (
        "timestamp",
        "time",
        "t",
        "arrival_time",
        *(f"{name}_{unit}" for name in ("t", "time", "arrival", "timestamp") for unit in UNITS),
    ),
    "input": ("input_length", "input_tokens", "contexttokens", "prompt_tokens", "request tokens", "in"),
    "output": ("output_length", "output_tokens", "generatedtokens", "completion_tokens", "response tokens", "out"),
    "service": ("service_s", "api_time", "duration_s", "e2e_s", "latency_s", "elapsed time"),
    "session": ("session", "session_id", "session id", "conversation_id", "chat_id", "parent_session"),
    "id": ("chat_id", "request_id", "id"),
    "parent": ("parent_chat_id", "parent_request_id", "parent_id"),
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
        time_unit: unit of the times, one of :data:`procure.demand.trace.clock.UNITS`; None: what each file proves.
    """

    session_clock: bool | None = None
    block_tokens: int | None = None
    service_ttft_s: float = 1.0
    service_tps: float | None = None
    time_unit: str | None = None


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


@dataclass
class Source:
    """A file as it is read: its name, the unit that the user states, the lines that are wrong, and what was found out.

    ``parents``: root of each request that another may name as its parent; one for all files of a trace.
    """

    name: str
    bad: BadLines
    time_unit: str | None = None
    parents: dict[Any, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def say(self, sentence: str) -> None:
        """Keep a sentence, once."""
        if sentence and sentence not in self.said:
            self.said.append(sentence)


Progress = Callable[[int, int], None]
"""Called now and then with compressed bytes read so far and in all."""


def batches(
    paths: list[Path],
    bad: BadLines,
    progress: Progress | None = None,
    time_unit: str | None = None,
    said: list[str] | None = None,
) -> Iterator[Batch]:
    """Requests of the files, one file after the other.

    Args:
        paths: Mooncake or Qwen-Bailian JSONL, Azure or BurstGPT CSV, one-session JSON, benchmark results of vLLM and
            SGLang, generic CSV or JSONL; plain or gz.
        bad: gets the lines that could not be read.
        progress: called at every batch.
        time_unit: unit of the times; None: what each file proves.
        said: gets what was found out about the files, in sentences.

    Raises:
        InputError: a file that does not exist, is empty, lacks a column that is needed, or does not prove the unit of
            its times.
    """
    parents: dict[Any, Any] = {}
    said = [] if said is None else said
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
            for row in _rows(Source(str(path), bad, time_unit, parents, said), text):
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


def _rows(source: Source, text: IO[str]) -> Iterator[Row]:
    name = source.name
    first = text.readline()
    while first and not first.strip():
        first = text.readline()
    if not first:
        raise InputError([Fault(name, 0, "", "", "The file is empty; one request per line is expected.")])
    lines = itertools.chain([first], text)
    if not first.lstrip().startswith("{"):
        yield from _csv(source, lines)
        return
    try:
        whole = json.loads(first)
    except (ValueError, RecursionError):
        whole = None
    if whole is None and first.strip() == "{":
        content = "".join(lines)
        read = _benchmarks if '"input_lens"' in content or '"request_throughput"' in content else _sessions
        yield from read(source, iter([(1, content)]))
    elif is_benchmark(whole):
        yield from _benchmarks(source, enumerate(lines, 1))
    elif isinstance(whole, dict) and isinstance(whole.get("requests"), list):
        yield from _sessions(source, enumerate(lines, 1))
    else:
        yield from _jsonl(source, lines)


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


def _maker(source: Source, found: dict[str, str], clock: Clock) -> Callable[[dict[str, Any]], Row]:
    """A function from a record to a row; it raises ValueError, KeyError or TypeError where the record is bad."""
    time, inputs, outputs = found["time"], found["input"], found["output"]
    service, blocks, reused, shared = (found.get(k) for k in ("service", "blocks", "reused", "shared"))
    session = _session_of(source, found)
    fails_empty = clock.form is BURSTGPT  # its README: requests that failed have no response tokens

    def make(record: dict[str, Any]) -> Row:
        row = Row(clock.seconds(record[time]), _tokens(record, inputs), _tokens(record, outputs))
        if not math.isfinite(row.time_s):
            raise ValueError(f"{time}: read {record[time]!r}; a number or an ISO date and time is expected")
        if fails_empty and not row.output_tokens:
            raise ValueError("the request failed: it has no response tokens")
        if service and record.get(service) not in (None, ""):
            row.service_s = _number(record, service)
            if row.service_s < 0:
                raise ValueError(f"{service}: read {record[service]!r}; 0 s or more is expected")
        row.session = session(record)
        if blocks and record.get(blocks):
            row.blocks = _blocks(record[blocks])
        if reused and record.get(reused) not in (None, ""):
            row.reused_tokens = _tokens(record, reused)
        if shared and record.get(shared) not in (None, ""):
            row.shared_tokens = _tokens(record, shared)
        return row

    return make


def _session_of(source: Source, found: dict[str, str]) -> Callable[[dict[str, Any]], Any]:
    """The session of a record: as it names it, or the first request of the chain that its parents lead to.

    A parent before the start of the trace stands for the session itself.
    """
    named, own, parent = (found.get(k) for k in ("session", "id", "parent"))
    if not own or not parent:

        def by_name(record: dict[str, Any]) -> Any:
            return None if not named or record.get(named) in (None, "") else _name(record, named)

        return by_name
    source.say(f"Sessions are chains of requests: {own}, {parent}.")

    def by_chain(record: dict[str, Any]) -> Any:
        if record.get(own) in (None, ""):
            return None
        me, roots = _name(record, own), source.parents
        before = None if record.get(parent) in (None, "", -1, "-1") else _name(record, parent)
        root = me if before is None else roots.get(before, before)
        roots[me] = root
        return root

    return by_chain


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


def _jsonl(source: Source, lines: Iterator[str]) -> Iterator[Row]:
    make: Callable[[dict[str, Any]], Row] | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("a JSON object is expected")
            if make is None:
                found = _finder(source.name, record)
                clock = Clock(source.name, found["time"], form_of(record), source.time_unit, source.say)
                make = _maker(source, found, clock)
            row = make(record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            source.bad.add(source.name, number, _words(error))
            continue
        yield row


def _csv(source: Source, lines: Iterator[str]) -> Iterator[Row]:
    reader = csv.DictReader(lines)
    found = _finder(source.name, reader.fieldnames or [])
    clock = Clock(source.name, found["time"], form_of(reader.fieldnames or []), source.time_unit, source.say)
    make = _maker(source, found, clock)
    while True:
        try:
            record = next(reader)
            if None in record:
                raise ValueError("more values than the heading has columns")
            row = make(record)
        except StopIteration:
            break
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            source.bad.add(source.name, reader.line_num, _words(error))
            continue
        yield row


def _benchmarks(source: Source, texts: Iterator[tuple[int, str]]) -> Iterator[Row]:
    """Runs of a benchmark, see :mod:`procure.demand.trace.benchmark`; one file may hold several."""
    for number, text in texts:
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            source.bad.add(source.name, number, _words(error))
            continue
        if not is_benchmark(record):
            source.bad.add(source.name, number, "not the result of a benchmark run")
            continue
        for place, row in enumerate(requests(source.name, record, MOST_TOKENS), 1):
            if isinstance(row, str):
                source.bad.add(f"{source.name}, run {number}", place, row)
            else:
                yield row
    source.say("Requests of a benchmark: their lengths are those that were asked for, not those of users.")


def _sessions(source: Source, texts: Iterator[tuple[int, str]]) -> Iterator[Row]:
    for number, text in texts:
        if not text.strip():
            continue
        try:
            record = json.loads(text)
            if not isinstance(record.get("requests"), list):
                raise ValueError("no list of requests")
            rows = _session(source, record)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            source.bad.add(source.name, number, _words(error))
            continue
        yield from rows


def _session(source: Source, record: dict[str, Any]) -> list[Row]:
    """One session with its requests inside, as the WEKA traces have it; those of subagents in order of time.

    Raises:
        ValueError, TypeError: the session itself is wrong; wrong requests of it are counted.
    """
    session = record.get("id", source.name)
    local = record.get("hash_id_scope", "local") == "local"
    shared = sum(_tokens(record, key) for key in ("tool_tokens", "system_tokens") if key in record) or float("nan")
    if not isinstance(session, str | int):
        raise ValueError(f"id: read {session!r}; a text or a whole number is expected")
    rows: list[Row] = []
    for number, request in enumerate(sorted(_flat(record["requests"]), key=_start_of), 1):
        place = f"{source.name}, session {session}"
        try:
            found = _finder(source.name, request)
        except InputError as error:
            source.bad.add(place, number, _words(error))
            continue
        stated = source.time_unit or ("s" if found["time"] == "t" else None)  # seconds, as WEKA documents its traces
        try:
            row = _maker(source, {**found, "parent": ""}, Clock(source.name, found["time"], stated=stated))(request)
        except (ValueError, KeyError, TypeError) as error:
            source.bad.add(place, number, _words(error))
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
