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

from procure.performance.decode import Elements, best_rates, engine
from procure.performance.frontier import Curve, predicted_maximum, prefill_gpu_s_per_output_token
from procure.performance.observations import LENGTH_DRAWN
from procure.performance.physics import FACTORS, Physics
from procure.performance.predict import Bench

CLAIM = Curve("vr-nvl72", "deepseek-r1", "nvfp4", "fp8", 8_000.0, 1_000.0, True)
"""What the vendor's multiple is taken to be about; lengths are not drawn."""
CLAIMED_TPS_USER = 400.0
"""TPS/User that the vendor states it at."""

PRIOR_WEIGHT = 0.1
LEAST_SHARE = 0.05
"""A frontier that is not reached at all counts as 5% of the measured throughput."""
_STARTS = (0.7, 0.85, 1.0)
_STEP = -0.25


def frontier_errors(rows: pd.DataFrame, bench: Bench, physics: Physics) -> np.ndarray:
    """Log of predicted over measured maximum tokens/s over all GPUs, one for each frontier row."""
    errors = np.zeros(len(rows))
    keys = ["sku", "card", "weight_precision", "kv_format", "isl", "osl", "speculation"]
    place = pd.Series(np.arange(len(rows)), index=rows.index)
    for key, group in rows.groupby(keys):
        speeds = group["tps_user"].to_numpy(dtype=float)
        found = predicted_maximum(Curve.of(key), bench, physics, speeds, all_gpus=True)
        measured = group["tps_per_gpu"].to_numpy(dtype=float)
        errors[place[group.index].to_numpy()] = np.log(np.maximum(found / measured, LEAST_SHARE))
    return errors


def calibrate(rows: pd.DataFrame, bench: Bench, physics: Physics, *, newer: bool = False) -> dict[str, float]:
    """Factors on latency, decode and prefill efficiency that bring the predicted maximum to frontier rows.

    Args:
        rows: frontier rows of one software date.
        bench: hardware, cards and rules.
        physics: what is to be scaled.
        newer: the rows are of newer software on the same hardware, which is never slower: latency at most 1,
            efficiencies at least 1.
    """
    ceiling = np.array([0.0, np.inf, np.inf]) if newer else np.full(len(FACTORS), np.inf)
    floor = np.array([-np.inf, 0.0, 0.0]) if newer else np.full(len(FACTORS), -np.inf)

    def factors(logs: np.ndarray) -> dict[str, float]:
        return {name: float(each) for name, each in zip(FACTORS, np.exp(np.clip(logs, floor, ceiling)), strict=True)}

    def loss(logs: np.ndarray) -> float:
        error = np.mean(np.abs(frontier_errors(rows, bench, physics.scaled(**factors(logs)))))
        return float(error + PRIOR_WEIGHT * np.sum(logs**2))

    found = []
    for latency in _STARTS:
        corner = np.array([np.log(latency), 0.0, 0.0])
        simplex = np.vstack([corner, corner + _STEP * np.eye(len(FACTORS))])
        options = {"initial_simplex": simplex, "maxfev": 150}
        found.append(minimize(loss, corner, method="Nelder-Mead", options=options))
    best = min(found, key=lambda each: each.fun)
    return factors(best.x)


def lpx_basis(bench: Bench, physics: Physics) -> dict[str, float]:
    """What turns the vendor's multiple into the pair's scale: figures of ``LpxRules`` of the claim's own load.

    The multiple is of tokens/s per MW over VR NVL72 alone at the claimed TPS/User. VR alone there is its fastest
    measured point, moved by the physics to that speed and to the figure's context. kW include what units drag along;
    the PUE cancels.

    Args:
        bench: hardware, cards, rules and curves.
        physics: of VR NVL72 at the date of its curve, bring-up included.
    """
    pool, lpx = bench.sku(CLAIM.sku), bench.sku("lpx")
    gpu_kw, rack_kw = (pool.power_kw + pool.attach_kw) / pool.gpus, lpx.power_kw + lpx.attach_kw
    return {
        "paired_s": paired_s(bench, physics, CLAIMED_TPS_USER, rack_kw / gpu_kw),
        "alone_tokens_per_s": _alone(bench, physics),
        "alone_prefill_s": _prefill_s(bench, physics, CLAIM.isl, CLAIM.osl),
    }


def paired_s(bench: Bench, physics: Physics, tps_user: float, gpus_per_rack: float) -> float:
    """GPU-seconds behind one decoded token of VR NVL72 + LPX at its highest throughput, by physics, no prefill.

    An LPX rack counts as so many GPUs as draw its power.
    """
    deployment = replace(CLAIM.deployment(bench), lpx=bench.sku("lpx"))
    asked = engine(deployment, _claimed(tps_user), physics)
    rate = asked.rates(asked.largest_batch(np.array([tps_user])))[0]
    verified = np.broadcast_to((1.0 + asked.drafts) / asked.tokens_per_step, rate.shape)
    copy = deployment.copy()
    assert copy is not None
    best = rate.argmax()
    return float(1.0 / rate.flat[best] + copy.rack_seconds_per_token(verified).flat[best] * gpus_per_rack)


def _alone(bench: Bench, physics: Physics) -> float:
    """Decode tokens/s per GPU of VR NVL72 at the claimed speed, beyond its fastest measured point."""
    curve = bench.rules.curves.of(CLAIM.sku, CLAIM.card, CLAIM.weight_precision, "base")
    last = curve.iloc[-1]
    isl, osl = LENGTH_DRAWN * last["isl"], LENGTH_DRAWN * last["osl"]
    measured = 1.0 / (1.0 / last["tokens_per_s_per_gpu"] - _prefill_s(bench, physics, isl, osl))
    deployment, drawn = CLAIM.deployment(bench), Elements.alike(isl + osl / 2, np.array([last["tps_user"]]))
    there, claimed = (best_rates(deployment, each, physics)[0] for each in (drawn, _claimed(CLAIMED_TPS_USER)))
    return float(measured * claimed / there)


def _claimed(tps_user: float) -> Elements:
    """The claim's load at a speed, its longest sequence included."""
    longest = np.array([CLAIM.isl + CLAIM.osl])
    return replace(Elements.alike(CLAIM.isl + CLAIM.osl / 2, np.array([tps_user])), upper=longest)


def _prefill_s(bench: Bench, physics: Physics, isl: float, osl: float) -> float:
    """GPU-seconds of prefill behind one output token."""
    drawn = replace(CLAIM, isl=isl / LENGTH_DRAWN, osl=osl / LENGTH_DRAWN)
    return prefill_gpu_s_per_output_token(drawn, bench, physics)
