"""Readers of trace files: rows one at a time, so that a file may be larger than memory."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from procure.demand.trace.batch import Batch, Collector, Row
from procure.demand.trace.benchmark import is_benchmark, requests
from procure.demand.trace.clock import Clock, form_of
from procure.demand.trace.records import MOST_TOKENS, find_keys, in_words, row_maker, tokens_of
from procure.demand.trace.source import BadLines, Source
from procure.errors import Fault, InputError, guard_reader

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
                found = find_keys(source.name, record)
                clock = Clock(source.name, found["time"], form_of(record), source.time_unit, source.say)
                make = row_maker(source, found, clock)
            row = make(record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            source.bad.add(source.name, number, in_words(error))
            continue
        yield row


def _csv(source: Source, lines: Iterator[str]) -> Iterator[Row]:
    reader = csv.DictReader(lines)
    found = find_keys(source.name, reader.fieldnames or [])
    clock = Clock(source.name, found["time"], form_of(reader.fieldnames or []), source.time_unit, source.say)
    make = row_maker(source, found, clock)
    while True:
        try:
            record = next(reader)
            if None in record:
                raise ValueError("more values than the heading has columns")
            row = make(record)
        except StopIteration:
            break
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            source.bad.add(source.name, reader.line_num, in_words(error))
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
            source.bad.add(source.name, number, in_words(error))
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
            source.bad.add(source.name, number, in_words(error))
            continue
        yield from rows


def _session(source: Source, record: dict[str, Any]) -> list[Row]:
    """One session with its requests inside, as the WEKA traces have it; those of subagents in order of time.

    Raises:
        ValueError, TypeError: the session itself is wrong; wrong requests of it are counted.
    """
    session = record.get("id", source.name)
    local = record.get("hash_id_scope", "local") == "local"
    shared = sum(tokens_of(record, key) for key in ("tool_tokens", "system_tokens") if key in record) or float("nan")
    if not isinstance(session, str | int):
        raise ValueError(f"id: read {session!r}; a text or a whole number is expected")
    rows: list[Row] = []
    for number, request in enumerate(sorted(_flat(record["requests"]), key=_start_of), 1):
        place = f"{source.name}, session {session}"
        try:
            found = find_keys(source.name, request)
        except InputError as error:
            source.bad.add(place, number, in_words(error))
            continue
        stated = source.time_unit or ("s" if found["time"] == "t" else None)  # seconds, as WEKA documents its traces
        try:
            row = row_maker(source, {**found, "parent": ""}, Clock(source.name, found["time"], stated=stated))(request)
        except (ValueError, KeyError, TypeError) as error:
            source.bad.add(place, number, in_words(error))
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
