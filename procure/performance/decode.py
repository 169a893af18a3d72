"""Decode operating points from physics: the throughput envelope of a pool for a card, lengths and a speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from procure.performance.engine import Engine
from procure.performance.layouts import (
    largest_batch_in_hbm,
    layouts,
    room_bytes_per_gpu,
    smallest_batch,
)
from procure.performance.lpx import (
    attention_resident_bytes_per_gpu,
    ffn_seconds_per_token,
    lpx_premise,
    lpx_racks_per_copy,
    paired_terms,
    paired_weight_seconds,
    rack_seconds_per_token,
    vendor_scale,
)
from procure.performance.physics import Physics, calibrated_apart, fitted, physics, premise, premises
from procure.performance.step import (
    Layout,
    Streams,
    cache_shares,
    decode_terms,
    resident_bytes_per_gpu,
    step_seconds,
    weight_seconds,
)
from procure.performance.work import Work, work_of

if TYPE_CHECKING:
    from procure.catalogue import Sku
    from procure.sizing import Card

BATCH_FRACTIONS = (1.0, 0.75, 0.5, 0.25)
"""Parts of the largest batch that are offered beside it, because they leave HBM free for parked caches."""


@dataclass(frozen=True)
class Deployment:
    """What is asked about: a pool, perhaps paired with LPX, that serves a card in given formats."""

    pool: Sku
    card: Card
    weight_precision: str
    kv_format: str
    vintage: str
    lpx: Sku | None = None

    @property
    def work(self) -> Work:
        """Sizes of the card at the weight precision."""
        return work_of(self.card, self.weight_precision)


@dataclass(frozen=True)
class Lengths:
    """Context lengths of the elements asked about, tokens: the mean sizes the batch, the upper one must fit alone."""

    mean: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class Practice:
    """How a measured sweep was run, where that is narrower than the best that a pool could do.

    Attributes:
        speculate: tokens may be drafted.
        layout: the layouts that were tried, flat; None for all that fit.
        mixed_gpu_s_per_token: GPU-seconds of prefill behind each output token that slow the same GPUs' decode
            (aggregated serving); 0 where prefill has its own GPUs.
    """

    speculate: bool = True
    layout: Layout | None = None
    mixed_gpu_s_per_token: float = 0.0


BEST_PRACTICE = Practice()


def engine(deployment: Deployment, lengths: Lengths, rules: Physics, practice: Practice = BEST_PRACTICE) -> Engine:
    """The physics of a deployment for some lengths, ready to be asked for batches."""
    pool, card, work = deployment.pool, deployment.card, deployment.work
    resident = attention_resident_bytes_per_gpu if deployment.lpx else resident_bytes_per_gpu
    flat = practice.layout or layouts(pool, work, resident)
    layout = flat.expand(1)
    drafts = np.array(
        [0.0, *(premises()["layouts"]["draft_lengths"] if practice.speculate and work.draft_layers else [])]
    )
    kv = deployment.kv_format
    drafting = card.speculating() if work.draft_layers else card

    def by_draft(quantity: str, tokens: np.ndarray) -> np.ndarray:
        plain, drafted = (
            np.asarray(getattr(each, quantity)(tokens, kv), dtype=float)[:, None, None] for each in (card, drafting)
        )
        return np.where(drafts > 0, drafted, plain)

    streams = Streams(
        kv_format=kv,
        draft=drafts,
        loaded_bytes=by_draft("loaded_bytes", lengths.mean),
        attention_flops=np.asarray(card.decode_attention_flops(lengths.mean), dtype=float)[:, None, None],
    )
    room = room_bytes_per_gpu(pool, work, layout, resident)
    stored_mean = by_draft("hbm_bytes", lengths.mean)
    stored_upper = by_draft("hbm_bytes", lengths.upper)
    fits = largest_batch_in_hbm(work, layout, room, stored_mean, stored_upper)

    per_step = rules.tokens_per_step(drafts)

    def terms(batch: np.ndarray) -> dict[str, np.ndarray]:
        if deployment.lpx is not None:
            ffn_s = ffn_seconds_per_token(work, deployment.lpx, lpx_racks_per_copy(card, deployment.lpx))
            return paired_terms(pool, rules, work, layout, streams, batch, ffn_s)
        found = decode_terms(pool, rules, work, layout, streams, batch)
        if practice.mixed_gpu_s_per_token:
            found["prefill"] = batch * per_step * practice.mixed_gpu_s_per_token / layout.gpus
        return found

    def weights(batch: np.ndarray) -> np.ndarray:
        if deployment.lpx is None:
            return weight_seconds(pool, rules, work, layout, drafts, batch)
        return paired_weight_seconds(pool, rules, work, layout, drafts)

    return Engine(
        layout=layout,
        drafts=drafts,
        tokens_per_step=per_step,
        terms=terms,
        weights=weights,
        least=smallest_batch(layout),
        most=np.minimum(fits, premise("most_streams_per_gpu") * layout.gpus),
        room=room + 0.0 * drafts,
        stored=stored_mean / cache_shares(work, layout),
    )


def solve(deployment: Deployment, lengths: Lengths, tps_user: np.ndarray) -> dict[str, np.ndarray]:
    """Operating points of each element, as flat arrays; elements that no layout can serve have none.

    Args:
        deployment: what serves.
        lengths: context lengths, shape (n,).
        tps_user: TPS/User to be met, shape (n,).

    Returns:
        numeric columns of :func:`procure.performance.decode_points` (``parallelism`` and ``binding`` as text), in
        order of element and falling throughput.
    """
    asked = engine(deployment, lengths, physics(deployment.vintage, deployment.pool.name))
    largest = asked.largest_batch(tps_user)
    low, base, high = envelopes(deployment, lengths, tps_user, asked, largest)
    points = _points(asked, largest, deployment)
    reached = base[points["element"]]
    points["low"], points["high"] = low[points["element"]] / reached, high[points["element"]] / reached
    return points


def best_rates(
    deployment: Deployment,
    lengths: Lengths,
    tps_user: np.ndarray,
    rules: Physics,
    practice: Practice = BEST_PRACTICE,
) -> np.ndarray:
    """Highest tokens/s per decode GPU of each element under given physics; 0 where no layout serves it."""
    asked = engine(deployment, lengths, rules, practice)
    return asked.best(asked.largest_batch(np.asarray(tps_user, dtype=float)), np.ones(asked.drafts.size))


def _points(asked: Engine, largest: np.ndarray, deployment: Deployment) -> dict[str, np.ndarray]:
    """The chosen points of each element with what there is to say about them."""
    fractions = np.array(BATCH_FRACTIONS)[:, None, None, None]
    usable = (largest > 0) & (fractions * largest >= asked.least * (1 - 1e-9))
    batch = np.maximum(fractions * largest, asked.least)
    terms = asked.terms(batch)
    step_s = step_seconds(terms)
    rate = np.where(usable, batch * asked.tokens_per_step / step_s / asked.layout.gpus, 0.0)
    free = np.where(usable, asked.room - batch * asked.stored, -np.inf)
    element, pick = _choose(_by_element(rate), _by_element(free))
    at = (element, pick)
    names = np.array(list(terms))
    full = largest >= asked.most * (1 - 1e-6)
    crowded = _by_element(np.broadcast_to(full, rate.shape))[at]
    seconds = np.stack([_by_element(np.broadcast_to(terms[name], rate.shape))[at] for name in names])
    gpus = _by_element(np.broadcast_to(asked.layout.gpus, rate.shape))[at]
    tokens = _by_element(np.broadcast_to(asked.tokens_per_step, rate.shape))[at]
    draft = _by_element(np.broadcast_to(asked.drafts, rate.shape))[at]
    layout_names = np.array(asked.layout.names(), dtype=str)[np.unravel_index(pick, _inner(rate))[1]]
    scale, lpx_s = 1.0, np.zeros(element.size)
    if deployment.lpx:
        scale = vendor_scale()
        racks = lpx_racks_per_copy(deployment.card, deployment.lpx)
        lpx_s = rack_seconds_per_token(deployment.work, deployment.lpx, racks, (1.0 + draft) / tokens) / scale
    return {
        "element": element,
        "gpus_per_replica": gpus,
        "parallelism": np.char.add(layout_names, np.where(draft > 0, np.char.mod("+MTP%d", draft), "")),
        "draft": draft,
        "data_parallel": _by_element(np.broadcast_to(asked.layout.data_parallel, rate.shape))[at],
        "batch_per_replica": scale * _by_element(batch)[at],
        "streams_per_gpu": scale * _by_element(batch)[at] / gpus,
        "tps_user": tokens / _by_element(step_s)[at],
        "step_s": _by_element(step_s)[at],
        "tokens_per_s_per_gpu": scale * _by_element(rate)[at],
        "cache_bytes_per_gpu": scale * _by_element(batch * asked.stored)[at],
        "free_hbm_bytes_per_gpu": _left(asked, batch, scale, rate.shape)[at],
        "lpx_rack_s_per_token": lpx_s,
        "binding": np.where(crowded, "hbm capacity", names[seconds.argmax(axis=0)]),
    }


def _left(asked: Engine, batch: np.ndarray, scale: float, shape: tuple[int, ...]) -> np.ndarray:
    """HBM bytes per GPU beside weights and running streams; rounding at a full HBM is cut at 0."""
    return _by_element(np.broadcast_to(np.maximum(asked.room - scale * batch * asked.stored, 0.0), shape))


def _inner(array: np.ndarray) -> tuple[int, int, int]:
    """Shape (fractions, layouts, drafts) behind the flat index of a candidate."""
    return array.shape[0], array.shape[2], array.shape[3]


def _by_element(array: np.ndarray) -> np.ndarray:
    """From axes (fraction, element, layout, draft) to (element, candidate)."""
    return np.moveaxis(array, 1, 0).reshape(array.shape[1], -1)


def _choose(rate: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best throughput of each element, then the most free HBM that 75, 50 and 25% of it allow.

    Only points that leave at least 1% more HBM free than the one before them are kept.

    Args:
        rate: tokens/s per GPU of each candidate, shape (elements, candidates); 0 where it cannot be.
        free: free HBM bytes per GPU, the same shape.

    Returns:
        element and candidate of each point, in order of element and falling throughput.
    """
    rows = np.arange(len(rate))
    best = rate.max(axis=1, initial=0.0)
    before = np.full(len(rate), -np.inf)
    elements, picks = [], []
    for share in BATCH_FRACTIONS if rate.size else ():
        pick = np.where(rate >= share * best[:, None] * (1 - 1e-9), free, -np.inf).argmax(axis=1)
        left = free[rows, pick]
        keep = (best > 0) & (left > np.where(np.isfinite(before), 1.01 * before, -np.inf))
        before = np.where(keep, left, before)
        elements.append(rows[keep])
        picks.append(pick[keep])
    if not elements:
        return np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    element, pick = np.concatenate(elements), np.concatenate(picks)
    order = np.lexsort((-rate[element, pick], element))
    return element[order], pick[order]


def envelopes(
    deployment: Deployment, lengths: Lengths, tps_user: np.ndarray, asked: Engine, largest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Best tokens/s per GPU of each element if steps are slow, as fitted, and fast; shape (n,) each.

    The band lies on TPS/User at a given batch (:func:`speed_band`); pushed through the curve it widens by itself
    where throughput falls steeply. A pool calibrated as still being brought up has the
    uncalibrated physics as its fast end. With LPX the fast end is the physics without the vendor's scale and the slow
    end is no gain over VR NVL72 alone at the claim.
    """
    base = asked.best(largest, np.ones(asked.drafts.size))
    slow, fast = speed_band(asked.drafts, lengths.mean)
    low = asked.best(asked.largest_batch(tps_user[:, None] / slow), slow)
    if deployment.lpx:
        scale = vendor_scale()
        return np.minimum(low, base / lpx_premise("vendor_multiple")), base, base / scale
    if calibrated_apart(deployment.pool.name):
        eager = engine(deployment, lengths, physics(deployment.vintage))
        high = eager.best(eager.largest_batch(tps_user), np.ones(asked.drafts.size))
    else:
        high = asked.best(asked.largest_batch(tps_user[:, None] / fast), fast)
    return low, base, np.maximum(high, base)


def speed_band(drafts: np.ndarray, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """True over computed TPS/User at a given batch, low and high, for each element and draft length.

    10th and 90th percentile of rows kept out of the fit. No measured context is longer than about 9,000 tokens, so both
    widen with the logarithm of longer ones, up to ``long_context_band`` at 128 Ki (premise).
    """
    fit, wide = fitted()["band"], premises()["long_context_band"]
    both = np.where(drafts[:, None] > 0, fit["with_speculation"], fit["without_speculation"])
    known, far = float(wide["from_tokens"]), float(wide["to_tokens"])
    reach = np.clip(np.log(context / known) / np.log(far / known), 0.0, 1.0)[:, None]
    return both[:, 0] * wide["low"] ** reach, both[:, 1] * wide["high"] ** reach
