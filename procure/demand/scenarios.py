"""Resolve each workload of a case: its own numbers first, its scenario's where it gives none."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from procure.demand.packaged import TIERS, defaults, scenario_names, targets
from procure.demand.reuse import curve_names
from procure.errors import Fault, InputError, nearest

FILE = "workloads.csv"
DEFAULT_TIER = "good"
_LENGTHS = ("input_mean_tokens", "input_p50_tokens", "input_p90_tokens", "input_p99_tokens")
_PLAIN = (
    "output_thinking_tokens",
    "output_visible_tokens",
    "calls_per_task",
    "tool_s",
    "subtasks",
    "mean_to_peak",
    "shared_prefix_tokens",
    "session_s_per_call",
    "context_cap_tokens",
    "burst_tokens",
)


@cache
def _library() -> tuple[dict[str, dict[str, Any]], dict[tuple[str, str], dict[str, float]]]:
    """Defaults by scenario, and targets by scenario and tier."""
    asked = targets().reset_index().to_dict("records")
    by_scenario = defaults().reset_index().to_dict("records")
    return (
        {str(row["scenario"]): {str(k): v for k, v in row.items()} for row in by_scenario},
        {(row["scenario"], row["tier"]): {str(k): v for k, v in row.items()} for row in asked},
    )


def resolve(workloads: pd.DataFrame, ttft_share: float = 0.9, own_curves: tuple[str, ...] = ()) -> pd.DataFrame:
    """One row per workload with every field of its scenario, the workload's own numbers in place of the library's.

    Lengths go together: a workload that gives some of mean, p50, p90 and p99 has the others scaled by the (geometric
    mean) ratio of what it gives to the scenario's values, so that the shape stays. ``tps_user`` sets the speed of the
    visible output, ``tps_thinking`` that of the thinking before it; a burst keeps its tier's speed.

    Args:
        workloads: the case's table; columns that a row leaves empty are taken from the scenario.
        ttft_share: share of the requests that must meet their TTFT, where a row has no ``ttft_share`` of its own.
        own_curves: names of the case's reuse curves, beside the packaged ones.

    Returns:
        columns: workload, scenario, card, sla_tier; ttft_s (``inf``: none asked), tps_thinking, tps_visible, tps_burst,
        tps_user (the fastest phase that has tokens); ttft_share; lengths, outputs and burst_tokens in tokens per
        request; calls_per_task, subtasks, tool_s (per task); mean_to_peak, shared_prefix_tokens, session_s_per_call,
        context_cap_tokens, context_cap_given (whether it is not the scenario's); reuse_curve, deferrable.

    Raises:
        InputError: unknown scenario, tier or reuse curve; lengths that fall from p50 to p99 or contradict the
            mean; a shared prefix longer than the mean prompt; a share outside 0 to 1.
    """
    faults: list[Fault] = []
    curves = (*curve_names(), *own_curves)
    rows = [_row(i, row, ttft_share, curves, faults) for i, row in enumerate(rows_of(workloads))]
    if faults:
        raise InputError(faults)
    return pd.DataFrame(rows)


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table as dictionaries."""
    return [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]


def _given(row: dict[str, Any], name: str) -> Any:
    """What the row gives under a name, or None where the cell is empty or absent."""
    value = row.get(name)
    return None if value is None or value == "" or (isinstance(value, float) and np.isnan(value)) else value


def _row(
    i: int, row: dict[str, Any], ttft_share: float, curves: tuple[str, ...], faults: list[Fault]
) -> dict[str, Any]:
    def fault(column: str, value: Any, expected: str, hint: str = "") -> None:
        faults.append(Fault(FILE, i + 2, column, str(value), expected, hint))

    name = str(row["scenario"])
    if name not in scenario_names():
        fault("scenario", name, "A scenario of the library is expected.", nearest(name, scenario_names()))
        return {}
    tier = _given(row, "sla_tier") or DEFAULT_TIER
    if tier not in TIERS:
        fault("sla_tier", tier, "ok, good or great is expected.", nearest(tier, TIERS))
        return {}
    base = _library()[0][name]
    out: dict[str, Any] = {
        "workload": row["workload"],
        "scenario": name,
        "card": row.get("card"),
        "sla_tier": tier,
    }
    out |= {f: base[f] if (v := _given(row, f)) is None else float(v) for f in _PLAIN}
    own_share = _given(row, "ttft_share")
    out["ttft_share"] = ttft_share if own_share is None else float(own_share)
    out |= _lengths(row, base)
    out |= _speeds(row, name, tier, out)
    out["context_cap_given"] = out["context_cap_tokens"] != base["context_cap_tokens"]
    curve = str(_given(row, "reuse_curve") or base["reuse_curve"])
    if curve not in curves:
        fault("reuse_curve", curve, "A packaged reuse curve, or one of reuse.csv, is expected.", nearest(curve, curves))
    out["reuse_curve"] = curve
    flag = _given(row, "deferrable")
    out["deferrable"] = bool(base["deferrable"]) if flag is None else bool(flag)

    p50, p90, p99 = (out[f"input_p{q}_tokens"] for q in (50, 90, 99))
    if not 0 < p50 <= p90 <= p99:
        fault("input_p50_tokens", f"{p50:g}, {p90:g}, {p99:g}", "p50, p90 and p99 must be above 0 and not fall.")
    elif not 0.1 * p50 < out["input_mean_tokens"] <= p99:
        expected = f"A mean between p50 / 10 and p99 ({p99:g}) is expected."
        fault("input_mean_tokens", f"{out['input_mean_tokens']:g}", expected)
    if out["shared_prefix_tokens"] >= out["input_mean_tokens"]:
        fault(
            "shared_prefix_tokens",
            f"{out['shared_prefix_tokens']:g}",
            f"Less than the mean prompt ({out['input_mean_tokens']:g} tokens) is expected: the prefix is a part of it.",
        )
    for share in ("mean_to_peak", "ttft_share"):
        if not 0 < out[share] <= 1:
            fault(share, f"{out[share]:g}", "A share above 0 and at most 1 is expected.")
    return out


def _lengths(row: dict[str, Any], base: dict[str, Any]) -> dict[str, float]:
    given = {f: float(v) for f in _LENGTHS if (v := _given(row, f)) is not None}
    ratios = [v / base[f] for f, v in given.items()]
    ratio = float(np.exp(np.mean(np.log(ratios)))) if ratios and min(ratios) > 0 else 1.0
    return {f: given.get(f, base[f] * ratio) for f in _LENGTHS}


def _speeds(row: dict[str, Any], name: str, tier: str, out: dict[str, Any]) -> dict[str, float]:
    asked = _library()[1][name, tier]
    ttft, user, thinking = (_given(row, f) for f in ("ttft_s", "tps_user", "tps_thinking"))
    speeds = {
        "tps_thinking": float(asked["tps_thinking"] if thinking is None else thinking),
        "tps_visible": float(asked["tps_visible"] if user is None else user),
        "tps_burst": asked["tps_burst"],
    }
    if not out["burst_tokens"]:
        speeds["tps_burst"] = 0.0
    active = [speeds["tps_visible"], speeds["tps_burst"]]
    if out["output_thinking_tokens"] > 0:
        active.append(speeds["tps_thinking"])
    return {"ttft_s": float(asked["ttft_s"] if ttft is None else ttft), **speeds, "tps_user": max(active)}
