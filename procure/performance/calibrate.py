"""Software vintages and bring-up: three factors that bring the predicted frontier to a measured one.

A frontier is the best of a whole sweep at some TPS/User, so it tests the envelope, not a step. Three factors
(latency, decode efficiency, prefill efficiency) stand against a handful of points: they are loose, and they absorb
what the envelope leaves out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from procure.performance.decode import Deployment, Lengths, best_rates, engine
from procure.performance.frontier import Curve, predicted_maximum, prefill_gpu_s_per_output_token
from procure.performance.lpx import lpx_racks_per_copy, rack_seconds_per_token
from procure.performance.measured import packaged_curves
from procure.performance.observations import LENGTH_DRAWN
from procure.performance.physics import FACTORS, Physics, premises
from procure.performance.predict import catalogue
from procure.sizing import load_card

CLAIM = Curve("vr-nvl72", "deepseek-r1", "nvfp4", "fp8", 8_000.0, 1_000.0, True)
"""What the vendor's multiple is taken to be about; lengths are not drawn."""

PRIOR_WEIGHT = 0.1
LEAST_SHARE = 0.05
"""A frontier that is not reached at all counts as 5% of the measured throughput."""
_STARTS = (0.7, 0.85, 1.0)
_STEP = -0.25


def frontier_errors(rows: pd.DataFrame, rules: Physics) -> np.ndarray:
    """Log of predicted over measured maximum tokens/s over all GPUs, one for each frontier row."""
    errors = np.zeros(len(rows))
    keys = ["sku", "card", "weight_precision", "kv_format", "isl", "osl", "speculation"]
    place = pd.Series(np.arange(len(rows)), index=rows.index)
    for key, group in rows.groupby(keys):
        found = predicted_maximum(Curve.of(key), rules, group["tps_user"].to_numpy(dtype=float), all_gpus=True)
        measured = group["tps_per_gpu"].to_numpy(dtype=float)
        errors[place[group.index].to_numpy()] = np.log(np.maximum(found / measured, LEAST_SHARE))
    return errors


def calibrate(rows: pd.DataFrame, rules: Physics, *, newer: bool = False) -> dict[str, float]:
    """Factors on latency, decode and prefill efficiency that bring the predicted maximum to frontier rows.

    Args:
        rows: frontier rows of one software date.
        rules: physics to be scaled.
        newer: the rows are of newer software on the same hardware, which is never slower: latency at most 1,
            efficiencies at least 1.
    """
    ceiling = np.array([0.0, np.inf, np.inf]) if newer else np.full(len(FACTORS), np.inf)
    floor = np.array([-np.inf, 0.0, 0.0]) if newer else np.full(len(FACTORS), -np.inf)

    def factors(logs: np.ndarray) -> dict[str, float]:
        return {name: float(each) for name, each in zip(FACTORS, np.exp(np.clip(logs, floor, ceiling)), strict=True)}

    def loss(logs: np.ndarray) -> float:
        error = np.mean(np.abs(frontier_errors(rows, rules.scaled(**factors(logs)))))
        return float(error + PRIOR_WEIGHT * np.sum(logs**2))

    found = []
    for latency in _STARTS:
        corner = np.array([np.log(latency), 0.0, 0.0])
        simplex = np.vstack([corner, corner + _STEP * np.eye(len(FACTORS))])
        options = {"initial_simplex": simplex, "maxfev": 150}
        found.append(minimize(loss, corner, method="Nelder-Mead", options=options))
    best = min(found, key=lambda each: each.fun)
    return factors(best.x)


def lpx_scale(rules: Physics) -> float:
    """Factor on LPX throughput with which the figure of DeepSeek-R1 at 8k/1k shows the vendor's multiple.

    The multiple is of tokens/s per MW over VR NVL72 alone at the claimed TPS/User. VR alone there is its fastest
    measured point, moved by the physics to that speed and to the figure's context. With c the kW behind a decoded
    token/s of the pair (GPUs / throughput + LPX rack-seconds x rack kW) and p the kW of its prefill, the factor s
    solves ``1 / (c / s + p) = multiple x VR tokens/s per kW``. kW include what units drag along; the PUE cancels.

    Args:
        rules: physics of VR NVL72 at the date of its curve, bring-up included.
    """
    pool, lpx = catalogue().sku(CLAIM.sku), catalogue().sku("lpx")
    claim = premises()["lpx"]["vendor_multiple"]
    speed = float(claim["at_tps_user"])
    gpu_kw, rack_kw = (pool.power_kw + pool.attach_kw) / pool.gpus, lpx.power_kw + lpx.attach_kw
    prefill_s = _prefill_s(CLAIM.isl, CLAIM.osl, rules)
    alone = 1.0 / (1.0 / _alone(speed, rules) + prefill_s)
    return paired_kw(rules, speed, gpu_kw, rack_kw) / (gpu_kw / (float(claim["value"]) * alone) - gpu_kw * prefill_s)


def paired_kw(rules: Physics, tps_user: float, gpu_kw: float, rack_kw: float) -> float:
    """KW behind one decoded token/s of VR NVL72 + LPX at its highest throughput, by physics alone, no prefill."""
    lpx, card = catalogue().sku("lpx"), load_card(CLAIM.card)
    deployment = Deployment(catalogue().sku(CLAIM.sku), card, CLAIM.weight_precision, CLAIM.kv_format, "base", lpx)
    asked = engine(deployment, _claimed_lengths(), rules)
    rate = asked.rates(asked.largest_batch(np.array([tps_user])))[0]
    verified = np.broadcast_to((1.0 + asked.drafts) / asked.tokens_per_step, rate.shape)
    lpx_s = rack_seconds_per_token(deployment.work, lpx, lpx_racks_per_copy(card, lpx), verified)
    best = rate.argmax()
    return float(gpu_kw / rate.flat[best] + lpx_s.flat[best] * rack_kw)


def _alone(tps_user: float, rules: Physics) -> float:
    """Decode tokens/s per GPU of VR NVL72 beyond its fastest measured point."""
    deployment = Deployment(
        catalogue().sku(CLAIM.sku), load_card(CLAIM.card), CLAIM.weight_precision, CLAIM.kv_format, "base"
    )
    curve = packaged_curves().of(CLAIM.sku, CLAIM.card, CLAIM.weight_precision, "base")
    last = curve.iloc[-1]
    isl, osl = LENGTH_DRAWN * last["isl"], LENGTH_DRAWN * last["osl"]
    measured = 1.0 / (1.0 / last["tokens_per_s_per_gpu"] - _prefill_s(isl, osl, rules))
    drawn = Lengths(*(np.array([isl + osl / 2]) for _ in range(2)))
    there = best_rates(deployment, drawn, np.array([last["tps_user"]]), rules)[0]
    return float(measured * best_rates(deployment, _claimed_lengths(), np.array([tps_user]), rules)[0] / there)


def _claimed_lengths() -> Lengths:
    return Lengths(np.array([CLAIM.isl + CLAIM.osl / 2]), np.array([CLAIM.isl + CLAIM.osl]))


def _prefill_s(isl: float, osl: float, rules: Physics) -> float:
    """GPU-seconds of prefill behind one output token."""
    drawn = replace(CLAIM, isl=isl / LENGTH_DRAWN, osl=osl / LENGTH_DRAWN)
    return prefill_gpu_s_per_output_token(drawn, rules)
