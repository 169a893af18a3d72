"""Throughput that the physics predicts for measured curves, without any measured batch.

A curve is every point of one hardware, card, precision, input and output length and speculation. At a TPS/User the
measured maximum is the best tokens/s per GPU of any point at least that fast. The prediction is the envelope over
layouts and batches; where the curve counts all GPUs, prefill GPUs are added at the rate that keeps up:

    tokens/s over all GPUs = 1 / (1 / decode tokens/s per GPU + prefill GPU-seconds per request / output tokens)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from procure.performance.decode import Deployment, Elements, Practice, best_rates
from procure.performance.observations import LENGTH_DRAWN
from procure.performance.physics import Physics
from procure.performance.predict import Bench
from procure.performance.prefill import prefill_at_peak, prefill_seconds
from procure.performance.step import Layout


@dataclass(frozen=True)
class Curve:
    """One measured curve's setting."""

    sku: str
    card: str
    weight_precision: str
    kv_format: str
    isl: float
    osl: float
    speculation: bool
    length_drawn: float = LENGTH_DRAWN
    """Mean length of a request over the nominal one."""

    @classmethod
    def of(cls, key: Iterable[Any]) -> Curve:
        """A setting from the values of its columns, in the order of the attributes."""
        return cls(*key)

    def elements(self, tps_user: np.ndarray) -> Elements:
        """Its streams at several speeds."""
        return Elements.alike((self.isl + self.osl / 2) * self.length_drawn, tps_user)

    def deployment(self, bench: Bench) -> Deployment:
        """What ran, with the software of the fitted rows."""
        setup = bench.setup(self.weight_precision, self.kv_format)
        return Deployment(bench.sku(self.sku), bench.card(self.card), setup)


class Prefills:
    """Measured rates of saturated prefill pools, ready to be predicted many times."""

    def __init__(self, rows: pd.DataFrame, bench: Bench) -> None:
        """Take rows of :func:`procure.performance.observations.observe` of the phase ``prefill``."""
        self.tokens = rows["isl"].to_numpy(dtype=float)
        peaks = [
            prefill_at_peak(
                bench.sku(row["sku"]),
                bench.card(row["card"]),
                bench.setup(row["weight_precision"], row["kv_format"]),
                np.array([row["isl"]]),
                np.zeros(1),
            )
            for row in rows.to_dict("records")
        ]
        self.peak = {name: np.concatenate([peak[name] for peak in peaks]) for name in (peaks[0] if peaks else {})}

    def rates(self, physics: Physics) -> np.ndarray:
        """Input tokens/s per GPU, one for each row."""
        if not self.peak:
            return np.zeros(0)
        return self.tokens / prefill_seconds(self.peak, physics)


def predicted_maximum(
    curve: Curve, bench: Bench, physics: Physics, tps_user: np.ndarray, *, all_gpus: bool
) -> np.ndarray:
    """Highest output tokens/s per GPU at each TPS/User with the best layout; 0 where none reaches it.

    Args:
        curve: what was measured.
        bench: hardware, cards and rules.
        physics: parameters at the date of its software, bring-up included.
        tps_user: speeds to be met.
        all_gpus: count prefill GPUs too.
    """
    deployment = curve.deployment(bench)
    rates = best_rates(deployment, curve.elements(tps_user), physics, Practice(speculate=curve.speculation))
    return over_all_gpus(rates, prefill_gpu_s_per_output_token(curve, bench, physics)) if all_gpus else rates


@dataclass(frozen=True)
class Sweep:
    """How a measured sweep was run.

    Attributes:
        layout: the layouts that were tried, flat.
        kind: ``aggregated`` (prefill shares the GPUs), ``decode`` (decode GPUs alone) or ``disaggregated`` (prefill
            GPUs counted, as many as keep up).
        mixing: factor on the prefill that slows decode in aggregated serving.
    """

    layout: Layout
    kind: str
    mixing: float


def sweep_maximum(curve: Curve, bench: Bench, physics: Physics, tps_user: np.ndarray, sweep: Sweep) -> np.ndarray:
    """Highest output tokens/s per GPU that a sweep over some layouts should have found.

    Args:
        curve: what was measured.
        bench: hardware, cards and rules.
        physics: parameters of its software, bring-up included.
        tps_user: speeds to be met.
        sweep: how it was run.
    """
    prefill_s = prefill_gpu_s_per_output_token(curve, bench, physics)
    mixed = prefill_s * sweep.mixing if sweep.kind == "aggregated" else 0.0
    practice = Practice(curve.speculation, sweep.layout, mixed)
    rates = best_rates(curve.deployment(bench), curve.elements(tps_user), physics, practice)
    return over_all_gpus(rates, prefill_s) if sweep.kind == "disaggregated" else rates


def over_all_gpus(decode_rates: np.ndarray, prefill_s_per_token: float) -> np.ndarray:
    """Output tokens/s over decode and prefill GPUs, from tokens/s per decode GPU."""
    with np.errstate(divide="ignore"):
        return np.where(decode_rates > 0, 1.0 / (1.0 / decode_rates + prefill_s_per_token), 0.0)


def prefill_gpu_s_per_output_token(curve: Curve, bench: Bench, physics: Physics) -> float:
    """GPU-seconds of prefill behind one output token: a prompt's prefill over the tokens that answer it."""
    given, served = np.array([curve.isl * curve.length_drawn]), curve.deployment(bench)
    peak = prefill_at_peak(served.pool, served.card, served.setup, given, np.zeros(1))
    return float(prefill_seconds(peak, physics)[0]) / (curve.osl * curve.length_drawn)
