"""Fitting the physics on measured points, and the split that keeps rows out of the fit.

Rows are split by run before anything is fitted: every third run of a hardware, card and speculation (in the order of a
checksum) is kept out. The split is data: ``data/performance/split.csv``. What hardware or an LLM that was never seen
costs in accuracy is found by leaving each out in turn and fitting again.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from procure.performance.frontier import Prefills
from procure.performance.physics import REFERENCE_SOFTWARE, Months, Physics, Software
from procure.performance.predict import Bench, Runs

HELD_EVERY = 3
ROBUST_AT = 0.1
"""Log error beyond which a row pulls linearly, not squared: some runs are plainly faulty."""
PRIOR_WEIGHT = 0.05
MOST_EFFICIENT = 0.95
_PENALTY = 5.0
PREFILL_WEIGHT = 3.0
"""Weight of all prefill rows of one source and hardware together: a dozen such groups against hundreds of runs."""

PRIOR = {
    "weight_efficiency": 0.85,
    "widening_efficiency": 0.8,
    "kv_efficiency": 0.8,
    "gemm_efficiency": 0.3,
    "reduce_efficiency": 0.2,
    "exchange_efficiency": 0.3,
    "gather_efficiency": 0.3,
    "prefill_efficiency": 0.6,
    "prefill_attention_efficiency": 0.9,
    "exposed_exponentials": 0.45,
    "activation_passes": 12.0,
    "prefill_exchange_efficiency": 0.7,
    "layer_latency_s": 45e-6,
    "latent_latency_s": 40e-6,
    "tensor_latency_s": 5e-6,
    "spread_latency_s": 11e-6,
    "off_domain_latency_s": 58e-6,
    "off_domain_spread_latency_s": 58e-6,
    "server_latency_factor": 1.0,
    "fp8_latency_factor": 1.25,
}
"""Where the search starts and what it is held to, weakly: published kernel efficiencies and a prototype's latencies."""
HELD = ("attention_efficiency", "scale_out_efficiency", "wide_kv_efficiency", "index_s")
"""Parameters that the points do not identify: premises, not fitted."""
SOFTWARE_PRIOR = {
    "latency_per_month": 0.97,
    "early_spread_per_month": 1.0,
    f"acceptance.{REFERENCE_SOFTWARE}": 0.65,
    "acceptance.sglang": 0.5,
    "latency.vllm": 1.4,
    "latency.sglang": 1.0,
    f"mixing.{REFERENCE_SOFTWARE}": 1.0,
    "mixing.vllm": 1.0,
    "mixing.sglang": 1.2,
}


def run_key(rows: pd.DataFrame) -> pd.Series:
    """What a run is: its number where the source gives one, else the source; for each hardware, card, speculation."""
    run = rows["source"].str.extract(r"run (\d+)", expand=False).fillna(rows["source"])
    return rows["hardware"] + "|" + rows["model"] + "|" + rows["speculation"].astype(str) + "|" + run


def split_runs(seen: pd.DataFrame, before: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Assign every run to ``fit`` or ``test``: columns run, part, rows.

    A group with one run gives it to the fit.

    Args:
        seen: observed rows of use.
        before: part of runs that were split before: what was kept out once stays kept out as rows are added.
    """
    keys, before = run_key(seen), before or {}
    rows = []
    for _, group in seen.groupby(["sku", "card", "speculation"]):
        runs = sorted(set(keys[group.index]), key=lambda run: (zlib.crc32(run.encode()), run))
        for position, run in enumerate(runs):
            part = before.get(run, "test" if position % HELD_EVERY == 1 else "fit")
            rows.append((run, part, int((keys == run).sum())))
    return pd.DataFrame(rows, columns=["run", "part", "rows"]).sort_values("run", ignore_index=True)


def parts(seen: pd.DataFrame, split: pd.DataFrame) -> pd.Series:
    """``fit`` or ``test`` of each row; rows of runs that the split does not know are ``test``.

    Prefill rows are too few to keep any out: all are fitted, and each source is left out in turn instead.
    """
    known = dict(zip(split["run"], split["part"], strict=True))
    part = run_key(seen).map(lambda run: known.get(run, "test"))
    return part.where(seen["phase"] != "prefill", "fit")


def prefill_sources(rows: pd.DataFrame) -> pd.Series:
    """Name of the source of each row, without address and remarks."""
    return rows["source"].str.split(r" http| \(", regex=True).str[0]


def prefill_groups(rows: pd.DataFrame) -> pd.Series:
    """Source and hardware of prefill rows: rows of one group are not independent of one another."""
    return prefill_sources(rows) + "|" + rows["sku"]


def decode_runs(seen: pd.DataFrame) -> pd.DataFrame:
    """Rows with a layout, one per run and load: of a disaggregated run its decode row, not the twin over all GPUs."""
    usable = seen[(seen["reason"] == "") & seen["streams"].notna()]
    key = usable["source"] + usable["software"] + usable["isl"].astype(str) + usable["osl"].astype(str)
    key += usable["tps_user"].astype(str)
    return usable[~key.where(usable["phase"] != "decode").isin(set(key[usable["phase"] == "decode"]))]


def prefill_rows(seen: pd.DataFrame) -> pd.DataFrame:
    """Rows of saturated prefill pools."""
    return seen[(seen["reason"] == "") & (seen["phase"] == "prefill")]


@dataclass(frozen=True)
class Fit:
    """Fitted numbers, and how far the fit rows lie from them."""

    physics: Physics
    frameworks: dict[str, Software]
    months: Months
    rows: int

    def software(self, framework: str) -> Software:
        """Factors of a framework; the reference's for one that was not fitted."""
        return self.frameworks.get(framework.removeprefix("dynamo-"), self.frameworks[REFERENCE_SOFTWARE])


def fit(runs: pd.DataFrame, saturated_prefill: pd.DataFrame, bench: Bench) -> Fit:
    """Fit the physics on runs by robust least squares of log errors of TPS/User and prefill rate.

    Args:
        runs: decode and aggregated rows of the fit part.
        saturated_prefill: prefill rows of the fit part; may be empty.
        bench: hardware, cards, and the rules from which what is not fitted is taken.
    """
    ready, filled = Runs(runs, bench), Prefills(saturated_prefill, bench)
    held = {name: getattr(bench.rules.reference, name) for name in HELD}
    measured = runs["tps_user"].to_numpy(dtype=float)
    prefilled = saturated_prefill["tps_per_gpu"].to_numpy(dtype=float)
    names = [*PRIOR, *SOFTWARE_PRIOR]
    start = np.log([*PRIOR.values(), *SOFTWARE_PRIOR.values()])
    capped = np.array([name.endswith("efficiency") or name.startswith("acceptance") for name in names])
    growing = np.array([name == "early_spread_per_month" for name in names])  # newer software is never slower
    groups = prefill_groups(saturated_prefill)
    weight = PREFILL_WEIGHT / np.sqrt(groups.map(groups.value_counts()).to_numpy(dtype=float))

    def error(logs: np.ndarray) -> np.ndarray:
        found = _unpack(names, logs, held, len(runs))
        speed = np.log(ready.tps_user(found.physics, found.software, found.months) / measured)
        rate = np.log(filled.rates(found.physics) / prefilled)
        over = np.concatenate([np.maximum(0.0, logs[capped] - np.log(MOST_EFFICIENT)), np.minimum(0.0, logs[growing])])
        return np.concatenate([speed, weight * rate, _PENALTY * over, PRIOR_WEIGHT * (logs - start)])

    solved = least_squares(error, start, loss="soft_l1", f_scale=ROBUST_AT)
    return _unpack(names, solved.x, held, len(runs))


def _unpack(names: list[str], logs: np.ndarray, held: dict[str, float], rows: int) -> Fit:
    values = dict(zip(names, np.exp(logs), strict=True))
    capped = {name: min(float(value), 0.99) for name, value in values.items() if name.startswith("acceptance")}
    values |= capped
    acceptance = values[f"acceptance.{REFERENCE_SOFTWARE}"]
    given = {name: float(values[name]) for name in PRIOR}
    physics = Physics(**given, **held, acceptance=acceptance)
    frameworks = {
        name: Software(
            latency=float(values.get(f"latency.{name}", 1.0)),
            acceptance=float(values.get(f"acceptance.{name}", acceptance)),
            mixing=float(values[f"mixing.{name}"]),
        )
        for name in (REFERENCE_SOFTWARE, "sglang", "vllm")
    }
    months = Months(float(values["latency_per_month"]), float(values["early_spread_per_month"]))
    return Fit(physics, frameworks, months, rows)
