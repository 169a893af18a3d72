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

from procure.performance.decode import Deployment, Lengths, Practice, best_rates
from procure.performance.observations import LENGTH_DRAWN
from procure.performance.physics import Physics
from procure.performance.predict import catalogue
from procure.performance.prefill import prefill_at_peak, prefill_seconds
from procure.performance.step import Layout
from procure.sizing import load_card


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

    def lengths(self, count: int) -> Lengths:
        """Mean context of its streams, for so many elements."""
        context = np.full(count, (self.isl + self.osl / 2) * self.length_drawn)
        return Lengths(context, context)


class Prefills:
    """Measured rates of saturated prefill pools, ready to be predicted many times."""

    def __init__(self, rows: pd.DataFrame) -> None:
        """Take rows of :func:`procure.performance.observations.observe` of the phase ``prefill``."""
        self.tokens = rows["isl"].to_numpy(dtype=float)
        peaks = [
            prefill_at_peak(
                catalogue().sku(row["sku"]),
                load_card(row["card"]),
                weight_precision=row["weight_precision"],
                kv_format=row["kv_format"],
                new_tokens=np.array([row["isl"]]),
                prefix_tokens=np.zeros(1),
            )
            for row in rows.to_dict("records")
        ]
        self.peak = {name: np.concatenate([peak[name] for peak in peaks]) for name in (peaks[0] if peaks else {})}

    def rates(self, rules: Physics) -> np.ndarray:
        """Input tokens/s per GPU, one for each row."""
        if not self.peak:
            return np.zeros(0)
        return self.tokens / prefill_seconds(self.peak, rules)


def predicted_maximum(curve: Curve, rules: Physics, tps_user: np.ndarray, *, all_gpus: bool) -> np.ndarray:
    """Highest output tokens/s per GPU at each TPS/User with the best layout; 0 where none reaches it.

    Args:
        curve: what was measured.
        rules: parameters at the date of its software, bring-up included.
        tps_user: speeds to be met.
        all_gpus: count prefill GPUs too.
    """
    rates = _best(curve, rules, tps_user, Practice(speculate=curve.speculation))
    return over_all_gpus(rates, prefill_gpu_s_per_output_token(curve, rules)) if all_gpus else rates


def sweep_maximum(
    curve: Curve, rules: Physics, tps_user: np.ndarray, layout: Layout, kind: str, mixing: float
) -> np.ndarray:
    """Highest output tokens/s per GPU that a sweep over some layouts should have found.

    Args:
        curve: what was measured.
        rules: parameters of its software, bring-up included.
        tps_user: speeds to be met.
        layout: the layouts that were tried, flat.
        kind: ``aggregated`` (prefill shares the GPUs), ``decode`` (decode GPUs alone) or ``disaggregated`` (prefill
            GPUs counted, as many as keep up).
        mixing: factor on the prefill that slows decode in aggregated serving.
    """
    prefill_s = prefill_gpu_s_per_output_token(curve, rules)
    mixed = prefill_s * mixing if kind == "aggregated" else 0.0
    rates = _best(curve, rules, tps_user, Practice(curve.speculation, layout, mixed))
    return over_all_gpus(rates, prefill_s) if kind == "disaggregated" else rates


def _best(curve: Curve, rules: Physics, tps_user: np.ndarray, practice: Practice) -> np.ndarray:
    deployment = Deployment(
        catalogue().sku(curve.sku), load_card(curve.card), curve.weight_precision, curve.kv_format, "none"
    )
    return best_rates(deployment, curve.lengths(len(tps_user)), tps_user, rules, practice)


def over_all_gpus(decode_rates: np.ndarray, prefill_s_per_token: float) -> np.ndarray:
    """Output tokens/s over decode and prefill GPUs, from tokens/s per decode GPU."""
    with np.errstate(divide="ignore"):
        return np.where(decode_rates > 0, 1.0 / (1.0 / decode_rates + prefill_s_per_token), 0.0)


def prefill_gpu_s_per_output_token(curve: Curve, rules: Physics) -> float:
    """GPU-seconds of prefill behind one output token: a prompt's prefill over the tokens that answer it."""
    given = np.array([curve.isl * curve.length_drawn])
    peak = prefill_at_peak(
        catalogue().sku(curve.sku),
        load_card(curve.card),
        weight_precision=curve.weight_precision,
        kv_format=curve.kv_format,
        new_tokens=given,
        prefix_tokens=np.zeros(1),
    )
    return float(prefill_seconds(peak, rules)[0]) / (curve.osl * curve.length_drawn)
