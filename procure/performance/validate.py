"""How far the shipped physics lies from measured points, row by row and curve by curve; no row is lost silently."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from procure.catalogue.paths import packaged_path
from procure.performance.fit import parts
from procure.performance.frontier import Curve, Prefills, Sweep, predicted_maximum, sweep_maximum
from procure.performance.observations import observe, read_points
from procure.performance.predict import Bench, months_after, predict_runs
from procure.performance.ratios import hardware_ratios
from procure.performance.refit import log_errors
from procure.performance.step import Layout

SPEED_BANDS = (0.0, 25.0, 50.0, 100.0, 200.0, np.inf)
CURVE_KEYS = ["sku", "card", "weight_precision", "kv_format", "isl", "osl", "speculation", "length_drawn"]
LEAST_POINTS = 3
"""Points that a curve needs before its maximum is compared."""
UNREACHED = 0.01
"""A maximum that the physics does not reach at all is reported as 1% of the measured one."""


def validate(path: str | Path, bench: Bench | None = None) -> dict[str, Any]:
    """Errors of the physics on a points file, as fractions.

    Args:
        path: a points file.
        bench: hardware, cards and rules; the packaged ones by default.

    Returns:
        ``overall``: TPS/User of decode and end-to-end rows at their measured batch; ``groups``: the same by hardware,
        card, TPS/User band, phase, speculation and part of the split (``fit`` rows saw the data), prefill rates and
        frontier throughput apart; ``curves``: predicted maximum tokens/s per GPU against measured ones, without any
        measured batch; ``ratios``: hardware against hardware at one TPS/User
        (:func:`procure.performance.ratios.hardware_ratios`); ``unpredicted``: every other row with the reason;
        ``rows``: counts.

    Raises:
        InputError: the file cannot be read.
    """
    bench = bench or Bench.packaged()
    return summary(predicted_rows(path, bench), Path(path).name, bench)


def summary(seen: pd.DataFrame, file: str, bench: Bench) -> dict[str, Any]:
    """What :func:`validate` returns, from rows that are predicted already."""
    usable, runs, prefill, frontier = (seen[name] for name in ("usable", "is_run", "is_prefill", "is_frontier"))
    lost = seen[~usable]
    return {
        "file": file,
        "rows": {"all": len(seen), "predicted": int(usable.sum()), "unpredicted": len(lost)},
        "overall": _errors(seen[runs]),
        "groups": _groups(seen[runs])
        | {
            "prefill rate": _errors(seen[prefill]),
            "frontier throughput": _errors(seen[frontier]),
            **{f"frontier throughput: {name}": _errors(rows) for name, rows in seen[frontier].groupby("hardware")},
        },
        "curves": curve_errors(seen[usable & ~seen["frontier"] & seen["phase"].isin(["decode", "e2e"])], bench),
        "ratios": hardware_ratios(seen[runs], bench),
        "unpredicted": [
            {name: row[name] for name in ("line", "hardware", "model", "reason")} for row in lost.to_dict("records")
        ],
    }


def predicted_rows(path: str | Path, bench: Bench) -> pd.DataFrame:
    """Rows of a points file as :func:`procure.performance.observations.observe` sees them, with what is predicted.

    Further columns: ``line`` of the file, ``part`` of the split, ``usable``, ``is_run``, ``is_prefill``,
    ``is_frontier``, ``predicted`` and ``measured`` (TPS/User of runs, else tokens/s per GPU), ``error`` (log of their
    ratio) and ``band`` of TPS/User.

    Raises:
        InputError: the file cannot be read.
    """
    seen = observe(read_points(path), bench.catalogue, bench.cards)
    seen["line"] = np.arange(len(seen)) + 2
    seen["part"] = parts(seen, pd.read_csv(packaged_path("data") / "performance" / "split.csv"))
    usable = seen["reason"] == ""
    runs, prefill = usable & seen["streams"].notna(), usable & (seen["phase"] == "prefill")
    frontier = usable & seen["frontier"]
    seen["predicted"] = np.nan
    if runs.any():
        seen.loc[runs, "predicted"] = predict_runs(seen[runs], bench)
    if prefill.any():
        seen.loc[prefill, "predicted"] = Prefills(seen[prefill], bench).rates(bench.rules.reference)
    if frontier.any():
        seen.loc[frontier, "predicted"] = _maximum(seen[frontier], bench)
    seen["measured"] = np.where(runs, seen["tps_user"], seen["tps_per_gpu"])
    seen["error"] = np.log(np.maximum(seen["predicted"] / seen["measured"], UNREACHED))
    seen["band"] = [_band(speed) for speed in seen["tps_user"]]
    return seen.assign(usable=usable, is_run=runs, is_prefill=prefill, is_frontier=frontier)


def _band(speed: float) -> str:
    if not speed > 0:
        return "TPS/User unknown"
    place = int(np.searchsorted(SPEED_BANDS, speed, side="right")) - 1
    low, high = SPEED_BANDS[place], SPEED_BANDS[place + 1]
    return f"over {low:g} TPS/User" if np.isinf(high) else f"{low:g}-{high:g} TPS/User"


def _errors(rows: pd.DataFrame) -> dict[str, Any]:
    return log_errors(rows["error"].to_numpy(dtype=float)) if len(rows) else {"n": 0}


def _groups(rows: pd.DataFrame) -> dict[str, Any]:
    found = {}
    for column, prefix in (
        ("hardware", "hardware"),
        ("card", "card"),
        ("band", "band"),
        ("phase", "phase"),
        ("part", "part"),
    ):
        for name, group in rows.groupby(column):
            found[f"{prefix}: {name}"] = _errors(group)
    for drafted, group in rows.groupby("speculation"):
        word = "with" if drafted else "without"
        found[f"speculation: {word}"] = _errors(group)
        for part, inner in group.groupby("part"):
            found[f"speculation: {word}, part: {part}"] = _errors(inner)
    return found


def _maximum(rows: pd.DataFrame, bench: Bench) -> np.ndarray:
    """Predicted maximum over all GPUs for rows that give the best of a sweep."""
    found = np.zeros(len(rows))
    place = pd.Series(np.arange(len(rows)), index=rows.index)
    for (*key, date), group in rows.groupby([*CURVE_KEYS, "date"]):
        curve, speeds = Curve.of(key), group["tps_user"].to_numpy(dtype=float)
        physics = bench.rules.physics_of_month(_months(str(date), bench), curve.sku)
        best = predicted_maximum(curve, bench, physics, speeds, all_gpus=True)
        found[place[group.index].to_numpy()] = best
    return found


def _months(date: str, bench: Bench) -> float:
    """Months of a date after the reference month."""
    return float(months_after(pd.Series([date]), bench.rules.software.reference_month)[0])


def curve_errors(rows: pd.DataFrame, bench: Bench) -> dict[str, Any]:
    """Predicted maximum tokens/s per GPU against every point on the edge of a measured curve.

    A curve is all rows of one setting, framework and kind; its edge are the points that no other one beats in both
    throughput and TPS/User. Software is taken at the curve's median date, layouts are those that the curve tried. In a
    disaggregated sweep the prefill pool is whatever its operator chose, mostly too large; the prediction has just
    enough.
    """
    kinds = np.where(rows["aggregated"], "aggregated", np.where(rows["phase"] == "decode", "decode", "disaggregated"))
    curves, every = [], []
    for (*key, framework, kind), group in rows.assign(kind=kinds).groupby([*CURVE_KEYS, "framework", "kind"]):
        if len(group) < LEAST_POINTS:
            continue
        date = sorted(group["date"].astype(str))[len(group) // 2]
        edge = _edge(group, Curve.of(key), date, str(framework), bench)
        every.append(edge)
        curves.append(
            {
                **dict(zip(CURVE_KEYS, key, strict=True)),
                "framework": framework,
                "kind": kind,
                "date": date,
                "points": [
                    {"tps_user": float(u), "measured": float(t), "predicted": float(p)}
                    for u, t, p in zip(edge["tps_user"], edge["tps_per_gpu"], edge["predicted"], strict=True)
                ],
                **log_errors(edge["error"].to_numpy(dtype=float)),
            }
        )
    if not curves:
        return {"overall": {"n": 0}, "groups": {}, "curves": []}
    edges = pd.concat(every)
    groups = {
        f"{prefix}: {name}": _errors(group)
        for column, prefix in (("kind", "kind"), ("hardware", "hardware"), ("band", "band"))
        for name, group in edges.groupby(column)
    }
    groups |= {f"{kind}, {band}": _errors(group) for (kind, band), group in edges.groupby(["kind", "band"])}
    return {"overall": _errors(edges), "groups": groups, "curves": curves}


def _edge(group: pd.DataFrame, curve: Curve, date: str, framework: str, bench: Bench) -> pd.DataFrame:
    """The edge of a measured curve with what is predicted for it."""
    ordered = group.sort_values("tps_user", ascending=False)
    edge = ordered[ordered["tps_per_gpu"].cummax() == ordered["tps_per_gpu"]].drop_duplicates("tps_user")
    made = bench.rules.framework(framework)
    physics = bench.rules.physics_of_month(_months(date, bench), curve.sku).scaled(latency=made.latency)
    sweep = Sweep(_tried(group), str(group["kind"].iloc[0]), made.mixing)
    speeds = edge["tps_user"].to_numpy(dtype=float)
    found = sweep_maximum(curve, bench, replace(physics, acceptance=made.acceptance), speeds, sweep)
    error = np.log(np.maximum(found / edge["tps_per_gpu"].to_numpy(dtype=float), UNREACHED))
    return edge.assign(predicted=found, error=error)


def _tried(rows: pd.DataFrame) -> Layout:
    """Layouts of a curve's rows, each once."""
    distinct = rows[["gpus_per_replica", "data_parallel", "expert_parallel", "gathers"]].drop_duplicates()
    return Layout(
        distinct["gpus_per_replica"].to_numpy(dtype=float),
        distinct["data_parallel"].to_numpy(dtype=bool),
        distinct["expert_parallel"].to_numpy(dtype=bool),
        distinct["gathers"].to_numpy(dtype=bool),
    )
