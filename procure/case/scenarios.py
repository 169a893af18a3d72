"""What a packaged scenario says about a workload that does not say it itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import exp, fsum, log

from procure.catalogue.fact import packaged_rows

SLA_COLUMNS = {"ttft_s": "ttft_s", "tps_user": "tps_visible", "tps_thinking": "tps_thinking"}
"""Column of ``workloads`` and the quantity of ``data/scenarios/sla.csv`` that fills it."""

LENGTH_COLUMNS = ("input_mean_tokens", "input_p50_tokens", "input_p90_tokens", "input_p99_tokens")
"""Columns of ``workloads`` that state a distribution of input lengths between them."""


@cache
def scenario_values() -> dict[str, dict[str, str]]:
    """Base values of every scenario by field, as text."""
    values: dict[str, dict[str, str]] = {}
    for row in packaged_rows("scenarios/scenarios"):
        values.setdefault(row["scenario"], {})[row["field"]] = row["base"]
    return values


@cache
def service_levels() -> dict[tuple[str, str, str], float]:
    """Targets by (scenario, tier, quantity); a TTFT of infinity is no target."""
    rows = packaged_rows("scenarios/sla")
    return {(row["scenario"], row["tier"], row["quantity"]): float(row["value"]) for row in rows}


@cache
def reuse_curves() -> tuple[str, ...]:
    """Names that ``reuse_curve`` may have: packaged curves, their low and high bands, and none."""
    names = {row["curve"] for row in packaged_rows("reuse/curves")}
    return ("none", *sorted(names | {f"{name}:{band}" for name in names for band in ("low", "base", "high")}))


@cache
def kv_formats() -> tuple[str, ...]:
    """Packaged names of ``kv_format``; changes by role may follow a name, see :func:`procure.sizing.kv_format`."""
    return tuple(sorted({row["format"] for row in packaged_rows("kv_formats/formats")}))


@cache
def weight_precisions() -> tuple[str, ...]:
    """Names that ``weight_precision`` may have."""
    return tuple(sorted({row["precision"] for row in packaged_rows("kv_formats/weights")}))


def input_lengths(scenario: str, stated: Mapping[str, float]) -> dict[str, float]:
    """Mean, p50, p90 and p99 of a workload's input in tokens: what it states, the rest in the scenario's shape.

    What is not stated is the scenario's figure times the geometric mean of stated over scenario's figure, over all
    that is stated: a doubled mean doubles the quantiles, doubled quantiles double the mean.

    Args:
        scenario: a name of the library.
        stated: tokens, above 0, by those of :data:`LENGTH_COLUMNS` that the workload states.
    """
    base = {column: float(scenario_values()[scenario][column]) for column in LENGTH_COLUMNS}
    ratios = [log(tokens / base[column]) for column, tokens in stated.items()]
    ratio = exp(fsum(ratios) / len(ratios)) if ratios else 1.0
    return {column: stated.get(column, base[column] * ratio) for column in LENGTH_COLUMNS}
