"""From one record of a trace, whatever file it stands in, to a row: which key holds what, and what each may hold."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from procure.demand.trace.batch import Row
from procure.demand.trace.clock import BURSTGPT, UNITS, Clock
from procure.demand.trace.source import Source
from procure.errors import Fault, InputError

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


def find_keys(name: str, keys: Iterable[str]) -> dict[str, str]:
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


def row_maker(source: Source, found: dict[str, str], clock: Clock) -> Callable[[dict[str, Any]], Row]:
    """A function from a record to a row; it raises ValueError, KeyError or TypeError where the record is bad."""
    time, inputs, outputs = found["time"], found["input"], found["output"]
    service, blocks, reused, shared = (found.get(k) for k in ("service", "blocks", "reused", "shared"))
    session = _session_of(source, found)
    fails_empty = clock.form is BURSTGPT  # its README: requests that failed have no response tokens

    def make(record: dict[str, Any]) -> Row:
        row = Row(clock.seconds(record[time]), tokens_of(record, inputs), tokens_of(record, outputs))
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
            row.reused_tokens = tokens_of(record, reused)
        if shared and record.get(shared) not in (None, ""):
            row.shared_tokens = tokens_of(record, shared)
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


def tokens_of(record: dict[str, Any], name: str) -> int:
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


def in_words(error: Exception) -> str:
    """What is wrong with a record, from what reading it raised."""
    if isinstance(error, KeyError):
        return f"no {error}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    return str(error) or type(error).__name__
