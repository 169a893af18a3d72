"""Physics brought to a measured curve of the same SKU, card and weight precision.

    throughput(context, TPS/User) = physics(context, TPS/User) x measured(TPS/User) / physics(curve's context, TPS/User)

so the curve is reproduced at its own lengths, and elsewhere the physics says how context and batch move it. Curves are
read log-linearly between points; beyond their ends the ratio of the nearest end is kept. Away from the curve's
context the ratio may not rise with TPS/User (its running minimum is used), and shorter contexts get at least what the
curve shows: so throughput never rises with TPS/User or with context where a curve begins or stops.

A point is *measured* (or *user*) where its mean context lies within :data:`CONTEXT_MATCH` of the curve's and its
TPS/User inside the curve's range; elsewhere it stays *physics*, and its source says what it was scaled to. Lengths
of packaged benchmarks are drawn at 90% of the nominal on average; a user states the lengths that ran.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from procure.errors import Fault, InputError
from procure.performance.decode import Deployment
from procure.performance.measured import Curves
from procure.performance.own_prefill import prefill_gpu_seconds

LEAST_DECODE = 0.1
"""Share of the GPUs' time that a user's point over all GPUs must leave for decode."""

CONTEXT_MATCH = 0.12
"""Wide enough for a curve to answer for its nominal lengths, which are 11% above the drawn ones."""

Rates = Callable[[Deployment, np.ndarray], np.ndarray]
"""Best tokens/s per decode GPU by physics, for rows (mean context, upper context, TPS/User, months), shape (4, n)."""
_SCALED = ("batch_per_replica", "streams_per_gpu", "tokens_per_s_per_gpu")


@dataclass(frozen=True)
class _Reading:
    """A curve at each element: measured over physical throughput, and whether the element lies on the curve."""

    factor: np.ndarray
    on_curve: np.ndarray
    nearest: np.ndarray


def anchored(
    table: pd.DataFrame, deployment: Deployment, asked: np.ndarray, known: Curves, rates: Rates
) -> pd.DataFrame:
    """Points scaled to the curves that apply to their deployment.

    All points of an element are scaled by the same factor. Caches of more streams take more HBM; where a curve
    holds more than the physics thinks fits, free HBM is 0.

    Args:
        table: points with ``element``, evidence and source.
        deployment: what serves.
        asked: mean context, upper context, TPS/User and further months of each element, shape (4, n).
        known: curves.
        rates: physics alone.
    """
    rows = rows_for(deployment, known)
    if rows.empty or table.empty:
        return table
    table = table.copy()
    curves = [curve for _, curve in rows.groupby(["isl", "osl", "all_gpus"])]
    gaps = np.stack([np.abs(np.log(asked[0] / _context(curve, known))) for curve in curves])
    closest = gaps.argmin(axis=0)
    for position, curve in enumerate(curves):
        mine = closest == position
        reading = _read(deployment, curve, asked, rates, known)
        element = table["element"].to_numpy()
        hit = mine[element] & np.isfinite(reading.factor[element])
        _scale(table, hit, reading.factor[element])
        exact = hit & reading.on_curve[element]
        row = curve.iloc[reading.nearest[element]]
        dates, sources = row["date"].to_numpy(dtype=object), row["source"].to_numpy(dtype=object)
        table.loc[exact, "evidence"] = known.evidence.value
        table.loc[exact, "source"] = sources[exact]
        table.loc[exact, "source_date"] = dates[exact]
        scaled = hit & ~exact
        table.loc[scaled, "source"] = table.loc[scaled, "source"] + "; scaled to " + sources[scaled]
        for name in ("low", "high"):
            given = row[name].to_numpy(dtype=float)
            stated = exact & np.isfinite(given)
            table.loc[stated, name] = given[stated]
    table["low"] = table["low"].clip(upper=1.0)
    table["high"] = table["high"].clip(lower=1.0)
    return table


def _scale(table: pd.DataFrame, hit: np.ndarray, factor: np.ndarray) -> None:
    """Scale streams and throughput in place; the fast end of the band stays where physics put it."""
    for name in _SCALED:
        table.loc[hit, name] *= factor[hit]
    more = (factor - 1.0) * table["cache_bytes_per_gpu"]
    table.loc[hit, "free_hbm_bytes_per_gpu"] = (table["free_hbm_bytes_per_gpu"] - more).clip(lower=0.0)[hit]
    table.loc[hit, "cache_bytes_per_gpu"] *= factor[hit]
    table.loc[hit, "high"] /= factor[hit]
    table.loc[hit, "lpx_rack_s_per_token"] /= factor[hit]


def rows_for(deployment: Deployment, known: Curves) -> pd.DataFrame:
    """Rows of the curves that apply to a deployment, in order of TPS/User."""
    pool, card, setup = deployment.pool.name, deployment.card.name, deployment.setup
    return known.of(pool, card, setup.weight_precision, setup.vintage, with_lpx=deployment.lpx is not None)


def answered(deployment: Deployment, asked: np.ndarray, known: Curves) -> np.ndarray:
    """Elements that lie on a curve by their mean context and TPS/User."""
    on_curve = np.zeros(asked.shape[1], dtype=bool)
    for _, curve in rows_for(deployment, known).groupby(["isl", "osl", "all_gpus"]):
        near = np.abs(asked[0] / _context(curve, known) - 1.0) <= CONTEXT_MATCH
        on_curve |= near & (asked[2] >= curve["tps_user"].min()) & (asked[2] <= curve["tps_user"].max())
    return on_curve


def _context(curve: pd.DataFrame, known: Curves) -> float:
    """Mean context of a curve's running streams, tokens."""
    first = curve.iloc[0]
    return float(known.drawn * (first["isl"] + first["osl"] / 2))


def _read(deployment: Deployment, curve: pd.DataFrame, asked: np.ndarray, rates: Rates, known: Curves) -> _Reading:
    """The ratio is taken at the software of the curve (its vintage, or each element's own for a user's table)."""
    speeds = curve["tps_user"].to_numpy(dtype=float)
    inside = np.clip(asked[2], speeds[0], speeds[-1])
    distinct, back = np.unique(inside, return_inverse=True)
    measured = np.exp(np.interp(distinct, speeds, np.log(curve["tokens_per_s_per_gpu"].to_numpy(dtype=float))))
    own, longest = _context(curve, known), float(known.drawn * (curve.iloc[0]["isl"] + curve.iloc[0]["osl"]))
    then = replace(deployment, setup=replace(deployment.setup, vintage=known.vintage or deployment.setup.vintage))
    decode_rate = _decode_rate(then, curve, measured, known)
    if known.file:
        _check_prefill(known.file, curve, decode_rate, distinct, measured)
    months, at = np.unique(np.zeros(len(inside)) if known.vintage else asked[3], return_inverse=True)
    every = _same_lengths(own, longest, np.tile(distinct, len(months)), np.repeat(months, len(distinct)))
    exact = decode_rate / rates(then, every).reshape(len(months), len(distinct))
    falling = np.minimum.accumulate(np.where(np.isfinite(exact), exact, np.inf), axis=1)
    gap = asked[0] / own - 1.0
    near = np.abs(gap) <= CONTEXT_MATCH
    factor = np.where(near, exact[at, back], np.where(np.isfinite(falling), falling, np.nan)[at, back])
    shorter = gap < -CONTEXT_MATCH
    if shorter.any():
        nearer = own * (1.0 - CONTEXT_MATCH)
        edge = rates(deployment, _same_lengths(nearer, nearer, asked[2], asked[3])) * exact[at, back]
        least = edge / rates(deployment, np.ascontiguousarray(asked))
        factor = np.where(shorter, np.fmax(factor, least), factor)
    on_curve = near & (asked[2] >= speeds[0]) & (asked[2] <= speeds[-1])
    if known.vintage:
        on_curve &= (deployment.setup.vintage == known.vintage) & (asked[3] == 0)
    nearest = np.searchsorted(speeds, inside, side="right") - 1
    return _Reading(factor, on_curve, nearest)


def _check_prefill(
    file: str, curve: pd.DataFrame, decode_rate: np.ndarray, tps_user: np.ndarray, measured: np.ndarray
) -> None:
    """Refuse a user's points over all GPUs that leave decode less than :data:`LEAST_DECODE` of the GPUs' time."""
    wrong = ~(measured / decode_rate >= LEAST_DECODE)
    if wrong.any():
        speed, rate = tps_user[wrong][0], measured[wrong][0]
        row = curve.index[np.abs(curve["tps_user"].to_numpy(dtype=float) - speed).argmin()]
        expected = (
            f"{rate:,.0f} tokens/s over all GPUs at {speed:g} TPS/User leave decode under {LEAST_DECODE:.0%} of "
            "the GPUs' time by this program's prefill. State tokens/s over decode GPUs alone, with all_gpus 0."
        )
        raise InputError([Fault(file, int(row) + 2, "tokens_per_s_per_gpu", f"{rate:g}", expected)])


def _same_lengths(context: float, longest: float, tps_user: np.ndarray, months: np.ndarray) -> np.ndarray:
    """Elements of one context, shape (4, n)."""
    return np.stack([np.full(tps_user.size, context), np.full(tps_user.size, longest), tps_user, months])


def _decode_rate(deployment: Deployment, curve: pd.DataFrame, rate: np.ndarray, known: Curves) -> np.ndarray:
    """Tokens/s per decode GPU that a curve means: prefill GPUs taken out where it counts them."""
    first = curve.iloc[0]
    if not first["all_gpus"]:
        return rate
    work = prefill_gpu_seconds(
        deployment.pool,
        deployment.card,
        replace(deployment.setup, curves=known),
        new_tokens=np.array([first["isl"] * known.drawn]),
        prefix_tokens=np.zeros(1),
    )
    left = 1.0 / rate - float(work[0]) / (first["osl"] * known.drawn)
    return np.where(left > 0, 1.0 / np.where(left > 0, left, 1.0), np.nan)
