"""Peak requests/s from what a forecast states instead: open sessions, people and their activity, or tokens per day.

Conversions hold at the first quarter's lengths and session times: requests do not shrink when sequences grow later.
"""

from __future__ import annotations

from collections.abc import Mapping

from procure.case.rows import Cell, Rows
from procure.errors import Fault
from procure.quarter import SECONDS_PER_DAY

AGREEMENT = 0.1
"""Two measures of one row must give the same peak within this share."""

LEAST_PEAK_PER_S = 1e-6
"""Least peak of a workload that is not 0, requests/s: one request in twelve days. Less is below what a solver sees."""

MEASURES = ("peak_requests_per_s", "open_sessions", "people", "tokens_per_day", "requests_per_day")


def fill_peaks(tables: Mapping[str, Rows]) -> tuple[list[str], list[Fault]]:
    """Fill ``peak_requests_per_s`` of every forecast row that states another measure; needs filled workloads.

    - open sessions N at the peak: N / (seconds per request in session), Little's law;
    - people in the busiest hour: people · requests per person and hour / 3,600;
    - tokens per day, input and output, cached ones included: tokens / (86,400 · mean tokens of a request · mean to
      peak);
    - requests per day: requests / (86,400 · mean to peak).

    Returns:
        one sentence per measure used, and faults: rows that state nothing, people without activity, measures of one
        row that contradict each other, peaks that are next to nothing.
    """
    workloads = {row["workload"]: row for row in tables["workloads"].rows}
    used: list[str] = []
    faults: list[Fault] = []
    rows = tables["forecast"]
    for line, row in rows.numbered:
        workload = workloads.get(row.get("workload"))
        if workload is None:
            continue
        if row.get("people") is not None and row.get("requests_per_person_hour") is None:
            expected = "Needed beside people: requests that one person makes in the busiest hour."
            faults.append(Fault(rows.file, line, "requests_per_person_hour", "", expected))
            continue
        peaks = peaks_of(row, workload)
        if not peaks:
            expected = f"One of {', '.join(MEASURES)}; write 0 where nothing is expected."
            faults.append(Fault(rows.file, line, "peak_requests_per_s", "", expected))
            continue
        first = next(iter(peaks))
        for other, peak in peaks.items():
            if abs(peak - peaks[first]) > AGREEMENT * max(peak, peaks[first]):
                expected = (
                    f"What agrees with {first}: that gives {peaks[first]:,.4g} requests/s at the peak, "
                    f"this {peak:,.4g}. Leave one empty, or change session_s_per_call, mean_to_peak or the lengths."
                )
                faults.append(Fault(rows.file, line, other, f"{row[other]:g}", expected))
        if 0.0 < peaks[first] < LEAST_PEAK_PER_S:
            expected = f"0, or a peak of {LEAST_PEAK_PER_S:g} requests/s or more; this gives {peaks[first]:g}."
            faults.append(Fault(rows.file, line, first, f"{row[first]:g}", expected))
        if first != "peak_requests_per_s":
            row["peak_requests_per_s"] = peaks[first]
            used.append(f"forecast.peak_requests_per_s: from {first}")
    return sorted(set(used)), faults


def peaks_of(row: Mapping[str, Cell], workload: Mapping[str, Cell]) -> dict[str, float]:
    """Peak requests/s by each measure that a forecast row states, in the order of :data:`MEASURES`."""
    peaks: dict[str, float] = {}
    if (value := row.get("peak_requests_per_s")) is not None:
        peaks["peak_requests_per_s"] = float(value)
    if (value := row.get("open_sessions")) is not None:
        peaks["open_sessions"] = float(value) / _number(workload, "session_s_per_call")
    if (value := row.get("people")) is not None:
        peaks["people"] = float(value) * _number(row, "requests_per_person_hour") / 3_600
    if (value := row.get("tokens_per_day")) is not None:
        tokens = sum(
            _number(workload, name) for name in ("input_mean_tokens", "output_thinking_tokens", "output_visible_tokens")
        )
        peaks["tokens_per_day"] = float(value) / (SECONDS_PER_DAY * tokens * _number(workload, "mean_to_peak"))
    if (value := row.get("requests_per_day")) is not None:
        peaks["requests_per_day"] = float(value) / (SECONDS_PER_DAY * _number(workload, "mean_to_peak"))
    return peaks


def _number(row: Mapping[str, Cell], name: str) -> float:
    return float(row[name] or 0)
