"""From a points file to ``fitted.toml``: fit, vintages, bring-up, LPX scale, bands, cost of leaving a group out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError
from procure.performance.calibrate import calibrate, frontier_errors, lpx_scale
from procure.performance.fit import Fit, decode_runs, fit, parts, prefill_rows, prefill_sources, split_runs
from procure.performance.frontier import Prefills
from procure.performance.observations import observe, read_points
from procure.performance.physics import FACTORS, fitted
from procure.performance.predict import Runs

REFERENCE_MONTH = "2026-02"
VINTAGE_MONTH = "2026-07"
BRING_UP_POOLS = ("vr-nvl72",)
"""Pools measured only as engineering samples: they get factors of their own on top of the vintage."""
LEFT_OUT = {
    "sku": ("gb300-nvl72", "hgx-b300", "gb200-nvl72"),
    "card": ("kimi-k2.5", "minimax-m2.5", "glm-5", "gpt-oss-120b"),
}
"""Hardware and cards that are left out in turn, to see what the fit says about what it never saw."""
BAND_QUANTILES = (0.1, 0.9)
LEAST_BAND = 10
LEAST_FRONTIER = 3
"""Frontier points below which shipped vintages, bring-up factors and LPX scale are kept."""


def refit(path: str | Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Everything that ``fitted.toml`` holds, and the split of runs it rests on.

    Args:
        path: a points file.

    Raises:
        InputError: the file cannot be read, or holds no row that the physics can use.
    """
    seen = observe(read_points(path))
    shipped = pd.read_csv(packaged_path("data") / "performance" / "split.csv")
    split = split_runs(seen[seen["reason"] == ""], dict(zip(shipped["run"], shipped["part"], strict=True)))
    seen["part"] = parts(seen, split)
    runs, prefill = decode_runs(seen), prefill_rows(seen)
    learned, kept = runs[runs["part"] == "fit"], runs[runs["part"] == "test"]
    measured_prefill = prefill[~prefill["software"].str.contains("derived")]
    if learned.empty:
        expected = "Rows of decode or aggregated runs on hardware of the catalogue, with lengths, speed and throughput."
        raise InputError([Fault(Path(path).name, 0, "", f"{len(seen)} rows, none of use", expected)])
    found = fit(learned, measured_prefill)
    frontier = seen[seen["frontier"] & (seen["date"] == VINTAGE_MONTH) & (seen["reason"] == "")]
    bring_up = frontier["sku"].isin(BRING_UP_POOLS)
    base = _vintage(frontier[~bring_up], found)
    at_base = found.rules.scaled(**{name: base[name] for name in FACTORS})
    pools = fitted()["pool"] | {
        sku: calibrate(rows, at_base) for sku, rows in frontier[bring_up].groupby("sku") if len(rows) >= LEAST_FRONTIER
    }
    rubin = frontier[frontier["sku"] == "vr-nvl72"]
    scale = fitted()["lpx"]["scale"]
    if len(rubin) >= LEAST_FRONTIER:
        scale = lpx_scale(at_base.scaled(**pools["vr-nvl72"]))
    answer = {
        "source": {
            "text": f"physics fitted on {len(learned)} measured runs ({Path(path).name})",
            "fit_rows": len(learned),
            "test_rows": len(kept),
        },
        "band": {
            "without_speculation": band(found, kept[~kept["speculation"]], "without_speculation"),
            "with_speculation": band(found, kept[kept["speculation"]], "with_speculation"),
        },
        "physics": dict(vars(found.rules)),
        "software": {"reference_month": REFERENCE_MONTH, "latency_per_month": found.latency_per_month},
        "software.framework": {name: dict(vars(each)) for name, each in found.frameworks.items()},
        "vintage.base": base,
        "pool": pools,
        "lpx": {"scale": scale},
        "errors": {
            "fit": errors(found, learned),
            "test": errors(found, kept),
            "frontier": {
                "blackwell": log_errors(frontier_errors(frontier[~bring_up], at_base)),
                **{
                    str(sku): log_errors(frontier_errors(rows, at_base.scaled(**pools[sku])))
                    for sku, rows in frontier[bring_up].groupby("sku")
                },
            },
            "prefill": prefill_errors(found, measured_prefill),
            "prefill_left_out": prefill_left_out(learned, measured_prefill),
            "left_out": left_out(runs, measured_prefill),
        },
    }
    return answer, split


def _vintage(frontier: pd.DataFrame, found: Fit) -> dict[str, Any]:
    """Factors of vintage ``base`` with their date; those shipped where the file has too few frontier points."""
    if len(frontier) < LEAST_FRONTIER:
        return dict(fitted()["vintage"]["base"])
    factors = calibrate(frontier, found.rules, newer=True)
    return {**factors, "date": VINTAGE_MONTH, "fit_rows": len(frontier)}


def band(found: Fit, rows: pd.DataFrame, kind: str) -> list[float]:
    """Measured over predicted TPS/User at the measured batch, 10th and 90th percentile.

    The shipped band of ``kind`` where fewer than :data:`LEAST_BAND` rows were kept out.
    """
    if len(rows) < LEAST_BAND:
        return list(fitted()["band"][kind])
    ratio = rows["tps_user"].to_numpy(dtype=float) / _predicted(found, rows)
    return [round(float(each), 3) for each in np.quantile(ratio, BAND_QUANTILES)]


def _predicted(found: Fit, rows: pd.DataFrame) -> np.ndarray:
    return Runs(rows).tps_user(found.rules, found.software, found.latency_per_month)


def log_errors(logs: np.ndarray) -> dict[str, float | int]:
    """Count, MAPE, median absolute error and bias of log(predicted / measured)."""
    if not len(logs):
        return {"n": 0}
    off = np.abs(np.expm1(logs))
    return {
        "n": len(logs),
        "mape": round(float(off.mean()), 4),
        "median_ape": round(float(np.median(off)), 4),
        "bias": round(float(np.expm1(logs.mean())), 4),
    }


def errors(found: Fit, rows: pd.DataFrame) -> dict[str, Any]:
    """Errors of TPS/User with and without speculation."""
    logs = np.log(_predicted(found, rows) / rows["tps_user"].to_numpy(dtype=float))
    drafted = rows["speculation"].to_numpy(dtype=bool)
    kinds = {"without_speculation": ~drafted, "with_speculation": drafted}
    return {name: log_errors(logs[mask]) for name, mask in kinds.items() if mask.any()}


def prefill_errors(found: Fit, rows: pd.DataFrame) -> dict[str, float | int]:
    """Errors of prefill rates, with the largest ``factor`` between computed and measured."""
    logs = np.log(Prefills(rows).rates(found.rules) / rows["tps_per_gpu"].to_numpy(dtype=float))
    worst = {"factor": round(float(np.exp(np.abs(logs).max())), 3)} if len(rows) else {}
    return log_errors(logs) | {"mean_log": round(float(np.abs(logs).mean()), 4)} | worst if len(rows) else {"n": 0}


def prefill_left_out(runs: pd.DataFrame, prefill: pd.DataFrame) -> dict[str, Any]:
    """Errors on the prefill rows of each source when the fit never saw that source."""
    source = prefill_sources(prefill)
    return {
        str(name): prefill_errors(fit(runs, prefill[source != name]), prefill[source == name])
        for name in sorted(source.unique())
    }


def left_out(runs: pd.DataFrame, prefill: pd.DataFrame) -> dict[str, Any]:
    """Errors on each hardware and card when the fit never saw it."""
    found = {}
    for column, names in LEFT_OUT.items():
        for name in names:
            theirs = runs[column] == name
            if theirs.any():
                without = fit(runs[(runs["part"] == "fit") & ~theirs], prefill[prefill[column] != name])
                found[name] = errors(without, runs[theirs])
    return found


def to_toml(answer: dict[str, Any]) -> str:
    """The text of ``fitted.toml``: tables of numbers, lists and short texts."""
    lines = ["# Written by `procure perf --fit`; do not edit. Factors of the vintages are " + ", ".join(FACTORS) + "."]

    def walk(name: str, table: dict[str, Any]) -> None:
        plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
        if plain:
            lines.extend(["", f"[{name}]"])
            lines.extend(f"{key} = {_toml(value)}" for key, value in plain.items())
        for key, value in table.items():
            if isinstance(value, dict):
                walk(f"{name}.{key if key.replace('-', '').replace('_', '').isalnum() else _toml(key)}", value)

    for name, table in answer.items():
        walk(name, table)
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    return str(value) if isinstance(value, int) else f"{float(value):.6g}"
