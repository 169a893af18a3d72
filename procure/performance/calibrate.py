"""Software vintages and bring-up: three factors that bring the predicted frontier to a measured one.

A frontier is the best of a whole sweep at some TPS/User, so it tests the envelope, not a step. Three factors
(latency, decode efficiency, prefill efficiency) stand against a handful of points: they are loose, and they absorb
what the envelope leaves out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from procure.performance.decode import Deployment, engine
from procure.performance.frontier import Curve, predicted_maximum, prefill_gpu_s_per_output_token
from procure.performance.lpx import lpx_racks_per_copy, rack_seconds_per_token
from procure.performance.physics import FACTORS, Physics, premises
from procure.performance.predict import catalogue
from procure.sizing import Card

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


def lpx_scale(frontier: pd.DataFrame, rules: Physics) -> float:
    """Factor on LPX throughput that gives the vendor's multiple of VR NVL72 alone per MW at the claimed TPS/User.

    VR alone at that speed is the log-linear continuation of its two fastest frontier points: none was measured there.
    With c the kW behind a token/s (GPUs / throughput + LPX rack-seconds x rack kW) and p the kW of its prefill, the
    factor s solves ``1 / (c / s + p) = multiple x VR tokens/s per kW``.

    Args:
        frontier: frontier rows of VR NVL72 on one card.
        rules: physics at their date, bring-up included.
    """
    pool, lpx = catalogue().sku("vr-nvl72"), catalogue().sku("lpx")
    claim = premises()["lpx"]["vendor_multiple"]
    speed = float(claim["at_tps_user"])
    fastest = frontier.sort_values("tps_user").tail(2)
    (u0, u1), (t0, t1) = (np.asarray(fastest[name], dtype=float) for name in ("tps_user", "tps_per_gpu"))
    alone = t1 * (t1 / t0) ** ((speed - u1) / (u1 - u0))
    gpu_kw, rack_kw = pool.power_kw / pool.gpus, lpx.power_kw
    row = fastest.iloc[-1]
    curve = Curve(row.sku, row.card, row.weight_precision, row.kv_format, row.isl, row.osl, True)
    token_kw = gpu_kw * prefill_gpu_s_per_output_token(curve, rules)
    paired = cheapest_paired_kw(curve, rules, speed, gpu_kw, rack_kw)
    return float(paired / (gpu_kw / (float(claim["value"]) * alone) - token_kw))


def cheapest_paired_kw(curve: Curve, rules: Physics, tps_user: float, gpu_kw: float, rack_kw: float) -> float:
    """Least kW behind one decoded token/s of VR NVL72 + LPX by physics alone, prefill left out."""
    pool, lpx, card = catalogue().sku(curve.sku), catalogue().sku("lpx"), Card.load(curve.card)
    deployment = Deployment(pool, card, curve.weight_precision, curve.kv_format, "base", lpx)
    asked = engine(deployment, curve.lengths(1), rules)
    batch = asked.largest_batch(np.array([tps_user]))
    rate = asked.rates(batch)
    verified = (1.0 + asked.drafts) / asked.tokens_per_step
    lpx_s = rack_seconds_per_token(deployment.work, lpx, lpx_racks_per_copy(card, lpx), verified)
    with np.errstate(divide="ignore"):
        return float(np.min(gpu_kw / rate + lpx_s * rack_kw))
