"""The seam of this folder: what a deployment does at given lengths and speeds."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from procure.performance.anchor import anchored, answered
from procure.performance.decode import Deployment, Elements, solve
from procure.performance.distance import UNMEASURED, distance_of_curves
from procure.performance.layouts import usable_hbm_bytes
from procure.performance.measured import Curves
from procure.performance.own_prefill import prefill_gpu_seconds
from procure.performance.physics import vintage_parts
from procure.performance.prefill import prefill_group_gpus, prefill_wall_s
from procure.performance.queueing import Queue
from procure.performance.tables import DecodePoint
from procure.performance.work import work_of
from procure.schema import Evidence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from procure.catalogue import Sku
    from procure.performance.rules import Rules, Setup
    from procure.sizing import Card

COLUMNS = DecodePoint.columns
LARGEST_CHUNK = 256
"""Elements worked on together: few enough that their arrays stay in the processor's cache."""

SLOWER, SLOWER_STEPS = 0.8, 24
"""Factor on a speed that physics does not reach, and how often it is lowered at most (to 0.5%)."""


def decode_points(
    pool: Sku,
    card: Card,
    setup: Setup,
    *,
    context_mean: ArrayLike,
    context_upper: ArrayLike,
    tps_user: ArrayLike,
    months: ArrayLike = 0.0,
    lpx: Sku | None = None,
) -> pd.DataFrame:
    """Efficient decode operating points of a pool that serves a card.

    For each element the layout, draft length and batch with the highest throughput that meets TPS/User, and up to
    three smaller batches that leave more HBM free for parked caches at no less than 75, 50 and 25% of it.

    Args:
        pool: GPU hardware.
        card: the LLM.
        setup: formats, software, rules and own measurements.
        context_mean: mean context of running streams, tokens; sizes batch, HBM and step.
        context_upper: longest context, tokens; one such stream must fit.
        tps_user: TPS/User that the median stream must reach.
        months: whole months of further software beyond the setup's vintage.
        lpx: LPX hardware that takes the FFN; None for GPUs alone.

    Source order: user's table, packaged measured curve, physics (:mod:`procure.performance.anchor`). With LPX
    points are a ``vendor claim``, on hardware that is only announced a ``projection``. The pool's
    ``throughput_factor`` (power mode) multiplies throughput and streams, but for a user's table, which is used as
    stated.

    Returns:
        zero or more rows per element, best throughput first. ``element`` is the position in the arrays,
        ``tps_user`` the speed reached (above the asked one where HBM ends the batch), ``batch_per_replica`` the mean
        number of running streams (not whole), ``free_hbm_bytes_per_gpu`` what weights and running streams leave,
        ``lpx_rack_s_per_token`` LPX rack-seconds behind one output token, ``binding`` the longest term of the step or
        ``hbm capacity``, ``low`` and ``high`` factors on throughput, ``distance`` doublings from the nearest
        measurement (:mod:`procure.performance.distance`; 0 where the point is measured).

    Raises:
        InputError: an unknown vintage or format.
        ValueError: arrays of unequal length or a length or speed that is not positive.
    """
    given = (context_mean, context_upper, tps_user, months)
    asked = np.stack(np.broadcast_arrays(*(np.atleast_1d(np.asarray(array, dtype=float)) for array in given)))
    if asked.ndim != 2 or not np.all(asked[:3] > 0) or not np.all(asked[3] >= 0):
        raise ValueError("context_mean, context_upper and tps_user must be flat, of equal length and positive")
    unique, inverse = np.unique(asked, axis=1, return_inverse=True)
    deployment = Deployment(pool, card, replace(setup, weight_precision=setup.weights(card)), lpx)
    table = _with_curves(deployment, unique)
    if setup.curves is not None:
        table = _with_own(table, deployment, unique, setup.curves)
    if pool.projection:
        table.loc[table["evidence"] == Evidence.PHYSICS, "evidence"] = Evidence.PROJECTION.value
        named = table["evidence"] != Evidence.USER
        table.loc[named, "source"] += f"; {pool.name} is a projection of {pool.projection}"
    table["distance"] = _distance(table, deployment, unique)
    return _for_every_element(table, inverse.ravel())[list(COLUMNS)]


def _distance(table: pd.DataFrame, deployment: Deployment, asked: np.ndarray) -> np.ndarray:
    """Doublings of each point from the nearest measurement, packaged or the user's own."""
    pool, card, setup = deployment.pool, deployment.card, deployment.setup
    context, speed = asked[0, table["element"]], table["tps_user"].to_numpy(dtype=float)
    found = np.full(len(table), UNMEASURED)
    if deployment.lpx is None:
        found = setup.rules.measured.distance(pool, card, context, speed)
    for known in (setup.rules.curves, setup.curves):
        if known is not None:
            paired = deployment.lpx is not None
            found = np.minimum(found, distance_of_curves(known, pool, card, context, speed, paired=paired))
    return np.where(table["evidence"].isin([Evidence.MEASURED, Evidence.USER]), 0.0, found)


def _physical(deployment: Deployment, asked: np.ndarray) -> pd.DataFrame:
    """Points from physics at full power, with evidence and source."""
    table = _solved(deployment, asked.tobytes()).copy()
    setup, rules, paired = deployment.setup, deployment.setup.rules, deployment.lpx is not None
    table["evidence"] = (Evidence.VENDOR if paired else Evidence.PHYSICS).value
    table["source"] = rules.lpx.source if paired else rules.source
    table["source_date"] = rules.lpx.date
    if not paired:
        level, plus = vintage_parts(setup.vintage)
        dates = {m: rules.software.date(f"{level}+{plus + int(m)}") for m in np.unique(asked[3])}
        table["source_date"] = [dates[m] for m in asked[3, table["element"]]]
    return table


def _with_curves(deployment: Deployment, asked: np.ndarray) -> pd.DataFrame:
    """Physics brought to the packaged curves where they apply, in the pool's power mode."""
    full = replace(deployment, pool=replace(deployment.pool, throughput_factor=1.0))
    table = anchored(_physical(deployment, asked), full, asked, deployment.setup.rules.curves, _best_rates)
    return _slower(table, deployment.pool.throughput_factor)


def _with_own(table: pd.DataFrame, deployment: Deployment, asked: np.ndarray, own: Curves) -> pd.DataFrame:
    """What a user measured stands first; a packaged curve next; then the physics, scaled to whichever exists."""
    factor = deployment.pool.throughput_factor
    physical = _slower(_physical(deployment, asked), factor)
    physical = pd.concat([physical, _slower(_unreached(physical, deployment, asked, own), factor)])
    physical = physical.sort_values("element", kind="stable", ignore_index=True)
    users = anchored(physical, deployment, asked, own, lambda *which: factor * _reached_rates(*which))
    if users is physical:
        return table
    packaged = set(table.loc[table["evidence"] == Evidence.MEASURED, "element"])
    packaged -= set(users.loc[users["evidence"] == own.evidence, "element"])
    kept = [users[~users["element"].isin(packaged)], table[table["element"].isin(packaged)]]
    return pd.concat(kept).sort_values("element", kind="stable", ignore_index=True)


def _unreached(physical: pd.DataFrame, deployment: Deployment, asked: np.ndarray, own: Curves) -> pd.DataFrame:
    """Points for speeds that a user measured and the physics does not reach: its best at the fastest that it does."""
    missing = answered(deployment, asked, own)
    missing[physical["element"].unique()] = False
    where = np.flatnonzero(missing)
    if not where.size:
        return physical.iloc[:0]
    slower = _physical(deployment, _reachable(deployment, asked[:, where])).drop_duplicates("element")
    speed = asked[2, where][slower["element"]]
    return slower.assign(element=where[slower["element"]], tps_user=np.maximum(slower["tps_user"], speed))


def _reachable(deployment: Deployment, asked: np.ndarray) -> np.ndarray:
    """The elements with speeds lowered, step by step, to what physics reaches."""
    asked = np.ascontiguousarray(asked)
    for _ in range(SLOWER_STEPS):
        late = np.isnan(_best_rates(deployment, asked))
        if not late.any():
            break
        asked = asked.copy()
        asked[2, late] *= SLOWER
    return asked


def _reached_rates(deployment: Deployment, asked: np.ndarray) -> np.ndarray:
    """Best rates by physics, at the fastest speed reached where the asked one is beyond it."""
    return _best_rates(deployment, _reachable(deployment, asked))


def _slower(table: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Points in a power mode: as fast for each user, with fewer streams. Nothing of it was measured."""
    if factor == 1.0:
        return table
    freed = (1.0 - factor) * table["cache_bytes_per_gpu"]
    return table.assign(
        evidence=table["evidence"].replace(Evidence.MEASURED.value, Evidence.PHYSICS.value),
        source=table["source"] + f"; times {factor:g} for the power mode (premise)",
        **{name: factor * table[name] for name in ("batch_per_replica", "streams_per_gpu", "tokens_per_s_per_gpu")},
        free_hbm_bytes_per_gpu=table["free_hbm_bytes_per_gpu"] + freed,
    )


def _best_rates(deployment: Deployment, asked: np.ndarray) -> np.ndarray:
    """Tokens/s per GPU of the best point of each element by physics alone; NaN where there is none."""
    first = _solved(deployment, asked.tobytes()).drop_duplicates("element").set_index("element")
    return first["tokens_per_s_per_gpu"].reindex(range(asked.shape[1])).to_numpy(dtype=float)


@lru_cache(maxsize=512)
def _solved(deployment: Deployment, asked: bytes) -> pd.DataFrame:
    """Points from physics for distinct elements, kept by content: what is asked and every figure of pool and card."""
    unique = np.frombuffer(asked).reshape(4, -1)
    tables = []
    for start in range(0, unique.shape[1], LARGEST_CHUNK):
        part = pd.DataFrame(solve(deployment, Elements(*unique[:, start : start + LARGEST_CHUNK])))
        tables.append(part.assign(element=part["element"] + start))
    return pd.concat(tables, ignore_index=True)


def _for_every_element(table: pd.DataFrame, inverse: np.ndarray) -> pd.DataFrame:
    """Repeat the points of each distinct element for every element that asks the same."""
    counts = np.bincount(table["element"], minlength=inverse.max() + 1)
    first = np.cumsum(counts) - counts
    repeats = counts[inverse]
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    rows = np.repeat(first[inverse], repeats) + within
    whole = table.iloc[rows].reset_index(drop=True)
    whole["element"] = np.repeat(np.arange(inverse.size), repeats)
    return whole


def prefill_latency_s(
    pool: Sku,
    card: Card,
    setup: Setup,
    *,
    new_tokens: ArrayLike,
    prefix_tokens: ArrayLike,
    queue: Queue,
) -> np.ndarray:
    """Wall seconds from arrival to the end of prefill on one prefill replica, queueing at ``queue`` included.

    Loading a reused cache into HBM and handing the cache to decode come on top.
    """
    work = prefill_gpu_seconds(pool, card, setup, new_tokens=new_tokens, prefix_tokens=prefix_tokens)
    return prefill_wall_s(pool, card, setup, work, queue)


def idle_hbm_bytes_per_gpu(pool: Sku, card: Card, weight_precision: str, rules: Rules) -> float:
    """HBM of one GPU for parked caches while no stream runs, with the weights resident.

    The weights are spread over one scale-up domain, or over as many as they need.
    """
    weights = work_of(card, weight_precision).weight_bytes
    usable = usable_hbm_bytes(pool, rules.layouts)
    domains = max(1.0, np.ceil(weights / (usable * pool.scale_up_domain_gpus)))
    return float(usable - weights / (pool.scale_up_domain_gpus * domains))


def prefill_gpus_per_replica(pool: Sku, card: Card, setup: Setup) -> int:
    """GPUs that work together on one request's prefill; their links load its cache and hand it over."""
    return prefill_group_gpus(pool, work_of(card, setup.weight_precision), setup.rules)
