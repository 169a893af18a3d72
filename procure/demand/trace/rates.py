"""Traces that state rates of windows instead of requests: columns t_s and requests_per_s."""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path

from procure.demand.trace.arrivals import LONGEST_S
from procure.demand.trace.trace import Trace
from procure.errors import Fault, InputError, guard_reader

COLUMNS = ("t_s", "requests_per_s")


def rates(paths: list[Path], trace: Trace) -> bool:
    """Take the arrivals of files of rates into a trace; false where the first file is not one.

    Windows are as wide as the step between the first two rows.

    Raises:
        InputError: a file of rates with fewer than two rows, or with rows that are not numbers.
    """
    if not paths[0].is_file() or paths[0].suffix != ".csv" or _header(paths[0]) != COLUMNS:
        return False
    for path in paths:
        with (
            guard_reader(str(path), "Rows of t_s and requests_per_s in UTF-8 are expected."),
            path.open(encoding="utf-8-sig", newline="") as text,
        ):
            rows = list(csv.reader(text))[1:]
        values: list[tuple[float, float]] = []
        for number, row in enumerate(rows, 2):
            try:
                start, rate = float(row[0]), float(row[1])
                if not (math.isfinite(start) and 0 <= rate < math.inf):
                    raise ValueError
                values.append((start, rate))
            except (ValueError, IndexError):
                trace.bad.add(str(path), number, "two numbers are expected")
        if len(values) < 2:
            raise InputError([Fault(str(path), 0, "", "", "At least two rows of t_s and requests_per_s are expected.")])
        width = round(values[1][0] - values[0][0])
        if width < 1 or any(b[0] <= a[0] for a, b in pairwise(values)):
            raise InputError([Fault(str(path), 0, "t_s", "", "Times that rise by at least 1 s are expected.")])
        first = values[0][0] if math.isnan(trace.arrivals.start_s) else trace.arrivals.start_s
        if values[0][0] < first or values[-1][0] + width - first > LONGEST_S:
            expected = f"At most {LONGEST_S / 86_400:,.0f} days from the first row to the last, files in order of time."
            raise InputError([Fault(str(path), 0, "t_s", f"{values[-1][0]:g}", expected)])
        for start, rate in values:
            trace.arrivals.add_rate(start, width, rate)
    trace.sentences.append(f"Rates of windows of {width} s: no lengths and no reuse follow from this trace.")
    return True


def _header(path: Path) -> tuple[str, ...]:
    with path.open(encoding="utf-8-sig", errors="replace") as text:
        return tuple(c.strip() for c in text.readline().split(","))
