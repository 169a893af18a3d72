"""Requests of a benchmark result as serving engines write it: lists with one entry per request in one JSON object.

vLLM writes one object (``vllm bench serve --save-result --save-detailed``), SGLang one a line
(``sglang.bench_serving --output-file F --output-details``). Both name lengths ``input_lens`` and ``output_lens``, and
seconds ``ttfts`` and ``itls``. Without ``start_times`` they do not say when requests came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from procure.demand.trace.batch import Row
from procure.errors import Fault, InputError

_LISTS = ("input_lens", "output_lens")
_TOTALS = {"completed", "duration", "request_throughput"}


def is_benchmark(record: Any) -> bool:
    """Whether a JSON value is the result of a benchmark run."""
    return isinstance(record, dict) and (set(_LISTS) <= set(record) or set(record) >= _TOTALS)


def requests(file: str, record: dict[str, Any], most_tokens: int) -> Iterator[Row | str]:
    """Each request of a run: a row, or what is wrong with it.

    Raises:
        InputError: the result holds totals alone, or lists of different lengths.
    """
    lists = {key: record[key] for key in (*_LISTS, "ttfts", "itls", "errors", "start_times") if record.get(key)}
    if not all(isinstance(lists.get(key), list) for key in _LISTS):
        expected = "Lengths of each request; this benchmark result states totals alone."
        hint = "Run it again with --save-detailed (vLLM) or --output-details (SGLang)."
        raise InputError([Fault(file, 0, "input_lens", "", expected, hint)])
    count = len(lists["input_lens"])
    for key, values in lists.items():
        if not isinstance(values, list) or len(values) != count:
            shown = f"{len(values)} entries" if isinstance(values, list) else str(values)[:40]
            raise InputError([Fault(file, 0, key, shown, f"A list of {count} entries, as in input_lens.")])
    for i in range(count):
        each = {key: values[i] for key, values in lists.items()}
        yield _request(each, most_tokens)


def _request(each: dict[str, Any], most_tokens: int) -> Row | str:
    if each.get("errors"):
        return f"the request failed: {str(each['errors']).strip().splitlines()[-1][:80]}"
    for key in _LISTS:
        value = each[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most_tokens:
            return f"{key}: read {value!r}; tokens from 0 to {most_tokens:,} are expected"
    if not each["output_lens"]:
        return "the request failed: it has no output"
    row = Row(math.nan, each["input_lens"], each["output_lens"])
    gaps = each.get("itls") or []
    numbers = [each.get("ttfts"), *(gaps if isinstance(gaps, list) else [None])]
    if all(isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v < math.inf for v in numbers):
        row.service_s = float(sum(numbers))
    start = each.get("start_times")
    if isinstance(start, int | float) and not isinstance(start, bool) and math.isfinite(start):
        row.time_s = float(start)
    return row
