"""From a points file to fitted premises: fit, vintages, bring-up, LPX basis, bands, cost of leaving a group out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from procure.catalogue import Fact
from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError
from procure.performance.calibrate import calibrate, frontier_errors, lpx_basis
from procure.performance.distance import measured_runs
from procure.performance.fit import Fit, decode_runs, fit, parts, prefill_rows, prefill_sources, split_runs
from procure.performance.fitted_premises import band_facts, factor_facts, fitted_facts, lpx_facts
from procure.performance.frontier import Prefills
from procure.performance.observations import observe, read_points
from procure.performance.physics import Factors, Physics
from procure.performance.predict import Bench, Runs

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
"""Frontier points below which the rules' vintages, bring-up factors and LPX basis are kept."""


@dataclass(frozen=True)
class Rows:
    """Rows of a points file by what they serve for; ``part`` says whether the fit may see them."""

    runs: pd.DataFrame
    prefill: pd.DataFrame
    frontier: pd.DataFrame
    split: pd.DataFrame
    seen: pd.DataFrame

    @classmethod
    def read(cls, path: str | Path, bench: Bench) -> Rows:
        """Take a points file apart.

        Raises:
            InputError: the file cannot be read, or holds no row that the physics can use.
        """
        seen = observe(read_points(path), bench.catalogue, bench.cards)
        shipped = pd.read_csv(packaged_path("data") / "performance" / "split.csv")
        split = split_runs(seen[seen["reason"] == ""], dict(zip(shipped["run"], shipped["part"], strict=True)))
        seen["part"] = parts(seen, split)
        runs, prefill = decode_runs(seen), prefill_rows(seen)
        if not (runs["part"] == "fit").any():
            expected = "Rows of decode or aggregated runs on hardware of the catalogue, with lengths, speed and rate."
            raise InputError([Fault(Path(path).name, 0, "", f"{len(seen)} rows, none of use", expected)])
        frontier = seen[seen["frontier"] & (seen["date"] == VINTAGE_MONTH) & (seen["reason"] == "")]
        return cls(runs, prefill[~prefill["software"].str.contains("derived")], frontier, split, seen)

    @property
    def learned(self) -> pd.DataFrame:
        """Runs that the fit sees."""
        return self.runs[self.runs["part"] == "fit"]

    @property
    def kept(self) -> pd.DataFrame:
        """Runs kept out of it."""
        return self.runs[self.runs["part"] == "test"]


@dataclass(frozen=True)
class Refit:
    """What a fit gives.

    Attributes:
        premises: fitted premises by path.
        errors: how far off they are, by what was fitted, kept out and left out.
        split: which runs were fitted.
        measured: settings at which decode was measured.
    """

    premises: dict[str, Fact]
    errors: dict[str, Any]
    split: pd.DataFrame
    measured: pd.DataFrame


def refit(path: str | Path, bench: Bench | None = None) -> Refit:
    """Fit everything on a points file.

    Args:
        path: a points file.
        bench: hardware, cards and rules; what is not fitted, and what too few rows speak of, is taken from the rules.

    Raises:
        InputError: the file cannot be read, or holds no row that the physics can use.
    """
    bench = bench or Bench.packaged()
    rows = Rows.read(path, bench)
    found = fit(rows.learned, rows.prefill, bench)
    sources, groups = _without(prefill_sources(rows.prefill), rows, bench), _without_groups(rows, bench)
    source = f"physics fitted on {len(rows.learned)} measured runs ({Path(path).name})"
    base, pools = _vintage(rows, found, bench), {}
    at_base = found.physics.scaled(**vars(base))
    for name, sample in rows.frontier[_sampled(rows.frontier)].groupby("sku"):
        if len(sample) >= LEAST_FRONTIER:
            pools[str(name)] = Factors(**calibrate(sample, bench, at_base))
    pools = dict(bench.rules.bring_up) | pools
    basis = {each: getattr(bench.rules.lpx, each) for each in ("paired_s", "alone_tokens_per_s", "alone_prefill_s")}
    if (rows.frontier["sku"] == "vr-nvl72").sum() >= LEAST_FRONTIER:
        basis = lpx_basis(bench, at_base.scaled(**vars(pools["vr-nvl72"])))
    drafted = rows.kept["speculation"]
    bands = {
        "without_speculation": band(found, rows.kept[~drafted], bench, bench.rules.band.plain),
        "with_speculation": band(found, rows.kept[drafted], bench, bench.rules.band.drafted),
    }
    premises = {
        **fitted_facts(found, [*sources.values(), *groups.values()], source, REFERENCE_MONTH),
        **factor_facts(base, pools, VINTAGE_MONTH),
        **band_facts(bands, len(rows.kept)),
        **lpx_facts(basis),
    }
    errors = _all_errors(rows, found, bench, (at_base, pools), (sources, groups))
    return Refit(premises, errors, rows.split, measured_of(rows.seen, bench))


def measured_of(seen: pd.DataFrame, bench: Bench) -> pd.DataFrame:
    """What ``measured.csv`` holds."""
    cards = {name: bench.card(name) for name in seen["card"].unique() if name}
    return measured_runs(seen, bench.catalogue.skus, cards)


def _sampled(frontier: pd.DataFrame) -> pd.Series:
    return frontier["sku"].isin(BRING_UP_POOLS)


def _vintage(rows: Rows, found: Fit, bench: Bench) -> Factors:
    """Factors of vintage ``base``; those of the rules where the file has too few frontier points."""
    frontier = rows.frontier[~_sampled(rows.frontier)]
    if len(frontier) < LEAST_FRONTIER:
        return bench.rules.software.base
    return Factors(**calibrate(frontier, bench, found.physics, newer=True))


def _without(source: pd.Series, rows: Rows, bench: Bench) -> dict[str, Fit]:
    """Fits that never saw one source of prefill rates, by source."""
    return {str(name): fit(rows.learned, rows.prefill[source != name], bench) for name in sorted(source.unique())}


def _without_groups(rows: Rows, bench: Bench) -> dict[str, Fit]:
    """Fits that never saw one hardware or card, by its name."""
    found = {}
    for column, names in LEFT_OUT.items():
        for name in names:
            if (rows.runs[column] == name).any():
                others = rows.learned[rows.learned[column] != name]
                found[name] = fit(others, rows.prefill[rows.prefill[column] != name], bench)
    return found


def _all_errors(
    rows: Rows,
    found: Fit,
    bench: Bench,
    calibrated: tuple[Physics, dict[str, Factors]],
    left: tuple[dict[str, Fit], dict[str, Fit]],
) -> dict[str, Any]:
    """Errors on what the fit saw, on what was kept out, on frontiers, and of fits that never saw a group."""
    (at_base, pools), (sources, groups) = calibrated, left
    sampled, source = _sampled(rows.frontier), prefill_sources(rows.prefill)
    blackwell = frontier_errors(rows.frontier[~sampled], bench, at_base)
    samples = rows.frontier[sampled].groupby("sku")
    column = {name: column for column, names in LEFT_OUT.items() for name in names}
    return {
        "rows": {"fit": len(rows.learned), "test": len(rows.kept), "frontier": int((~sampled).sum())},
        "fit": errors(found, rows.learned, bench),
        "test": errors(found, rows.kept, bench),
        "frontier": {
            "blackwell": log_errors(blackwell),
            **{
                str(sku): log_errors(frontier_errors(each, bench, at_base.scaled(**vars(pools[str(sku)]))))
                for sku, each in samples
            },
        },
        "prefill": prefill_errors(found, rows.prefill, bench),
        "prefill_left_out": {
            name: prefill_errors(each, rows.prefill[source == name], bench) for name, each in sources.items()
        },
        "left_out": {
            name: errors(each, rows.runs[rows.runs[column[name]] == name], bench) for name, each in groups.items()
        },
    }


def band(found: Fit, rows: pd.DataFrame, bench: Bench, shipped: tuple[float, float]) -> tuple[float, float]:
    """Measured over predicted TPS/User at the measured batch, 10th and 90th percentile.

    The shipped one where fewer than :data:`LEAST_BAND` rows were kept out.
    """
    if len(rows) < LEAST_BAND:
        return shipped
    ratio = rows["tps_user"].to_numpy(dtype=float) / _predicted(found, rows, bench)
    low, high = (round(float(each), 3) for each in np.quantile(ratio, BAND_QUANTILES))
    return low, high


def _predicted(found: Fit, rows: pd.DataFrame, bench: Bench) -> np.ndarray:
    return Runs(rows, bench).tps_user(found.physics, found.software, found.months)


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


def errors(found: Fit, rows: pd.DataFrame, bench: Bench) -> dict[str, Any]:
    """Errors of TPS/User with and without speculation."""
    logs = np.log(_predicted(found, rows, bench) / rows["tps_user"].to_numpy(dtype=float))
    drafted = rows["speculation"].to_numpy(dtype=bool)
    kinds = {"without_speculation": ~drafted, "with_speculation": drafted}
    return {name: log_errors(logs[mask]) for name, mask in kinds.items() if mask.any()}


def prefill_errors(found: Fit, rows: pd.DataFrame, bench: Bench) -> dict[str, float | int]:
    """Errors of prefill rates, with the largest ``factor`` between computed and measured."""
    if not len(rows):
        return {"n": 0}
    logs = np.log(Prefills(rows, bench).rates(found.physics) / rows["tps_per_gpu"].to_numpy(dtype=float))
    worst = round(float(np.exp(np.abs(logs).max())), 3)
    return log_errors(logs) | {"mean_log": round(float(np.abs(logs).mean()), 4), "factor": worst}


def to_toml(errors: dict[str, Any]) -> str:
    """The text of ``errors.toml``: tables of numbers."""
    lines = ["# Written by `procure perf --fit`; do not edit."]

    def walk(name: str, table: dict[str, Any]) -> None:
        plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
        if plain or not table:
            lines.extend(["", f"[{name}]"])
            lines.extend(f"{key} = {value}" for key, value in plain.items())
        for key, value in table.items():
            if isinstance(value, dict):
                walk(f"{name}.{key if key.replace('-', '').replace('_', '').isalnum() else _quoted(key)}", value)

    for name, table in errors.items():
        walk(name, table)
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
