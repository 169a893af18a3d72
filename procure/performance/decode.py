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
from procure.performance.lpx import Copy, attention_resident_bytes_per_gpu, paired_terms, paired_weight_seconds
from procure.performance.physics import Physics
from procure.performance.rules import Band, Setup
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
    """What is asked about: a pool, perhaps paired with LPX, that serves a card in a setup."""

    pool: Sku
    card: Card
    setup: Setup
    lpx: Sku | None = None

    @property
    def work(self) -> Work:
        """Sizes of the card at the weight precision."""
        return work_of(self.card, self.setup.weight_precision)

    @property
    def scale(self) -> float:
        """Factor on the physics' throughput: the vendor's with LPX, else 1."""
        return self.setup.rules.lpx.scale if self.lpx else 1.0

    def copy(self) -> Copy | None:
        """The copy of the FFN on LPX; None without LPX."""
        return Copy.of(self.card, self.work, self.lpx, self.setup.rules.lpx) if self.lpx else None


@dataclass(frozen=True)
class Elements:
    """What is asked about, arrays of shape (n,).

    Attributes:
        mean: mean context of running streams, tokens; it sizes the batch.
        upper: longest context, tokens; one such stream must fit alone.
        tps_user: TPS/User to be met.
        months: software beyond the setup's vintage; only latencies depend on it.
    """

    mean: np.ndarray
    upper: np.ndarray
    tps_user: np.ndarray
    months: np.ndarray

    @classmethod
    def alike(cls, context: float, tps_user: np.ndarray) -> Elements:
        """Elements of one context at several speeds, at the setup's vintage."""
        same = np.full(len(tps_user), context)
        return cls(same, same, np.asarray(tps_user, dtype=float), np.zeros(len(tps_user)))

    def physics(self, deployment: Deployment, pool: str) -> Physics:
        """Fitted parameters of a pool for each element."""
        setup = deployment.setup
        return setup.rules.physics(setup.vintage, pool, self.months.astype(int).tolist())


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


def engine(deployment: Deployment, elements: Elements, physics: Physics, practice: Practice = BEST_PRACTICE) -> Engine:
    """The physics of a deployment for some elements, ready to be asked for batches."""
    pool, work, tried = deployment.pool, deployment.work, deployment.setup.rules.layouts
    resident = attention_resident_bytes_per_gpu if deployment.lpx else resident_bytes_per_gpu
    layout = (practice.layout or layouts(pool, work, tried, resident)).expand(1)
    drafts = np.array([0.0, *(tried.draft_lengths if practice.speculate and work.draft_layers else [])])
    streams = _streams(deployment, elements.mean, drafts)
    room = room_bytes_per_gpu(pool, work, layout, tried, resident)
    stored_mean, stored_upper = (
        _by_draft(deployment, "hbm_bytes", tokens, drafts) for tokens in (elements.mean, elements.upper)
    )
    fits = largest_batch_in_hbm(work, layout, room, stored_mean, stored_upper)
    per_step, copy = physics.tokens_per_step(drafts), deployment.copy()

    def terms(batch: np.ndarray) -> dict[str, np.ndarray]:
        if copy is not None:
            return paired_terms(pool, physics, work, layout, streams, batch, copy)
        found = decode_terms(pool, physics, work, layout, streams, batch)
        if practice.mixed_gpu_s_per_token:
            found["prefill"] = batch * per_step * practice.mixed_gpu_s_per_token / layout.gpus
        return found

    def weights(batch: np.ndarray) -> np.ndarray:
        if copy is None:
            return weight_seconds(pool, physics, work, layout, drafts, batch)
        return paired_weight_seconds(pool, physics, work, layout, drafts)

    return Engine(
        layout=layout,
        drafts=drafts,
        tokens_per_step=per_step,
        terms=terms,
        weights=weights,
        least=smallest_batch(layout),
        most=np.minimum(fits, tried.most_streams_per_gpu * layout.gpus),
        room=room + 0.0 * drafts,
        stored=stored_mean / cache_shares(work, layout),
    )


def _by_draft(deployment: Deployment, quantity: str, tokens: np.ndarray, drafts: np.ndarray) -> np.ndarray:
    """Bytes of one stream, which keeps its draft layers' caches too where tokens are drafted; (elements, 1, drafts)."""
    card, kv = deployment.card, deployment.setup.kv_format
    drafting = card.speculating() if deployment.work.draft_layers else card
    plain, drafted = (
        np.asarray(getattr(each, quantity)(tokens, kv), dtype=float)[:, None, None] for each in (card, drafting)
    )
    return np.where(drafts > 0, drafted, plain)


def _streams(deployment: Deployment, context: np.ndarray, drafts: np.ndarray) -> Streams:
    return Streams(
        kv_format=deployment.setup.kv_format,
        draft=drafts,
        loaded_bytes=_by_draft(deployment, "loaded_bytes", context, drafts),
        attention_flops=np.asarray(deployment.card.decode_attention_flops(context), dtype=float)[:, None, None],
    )


def solve(deployment: Deployment, elements: Elements) -> dict[str, np.ndarray]:
    """Operating points of each element, as flat arrays; elements that no layout can serve have none.

    Args:
        deployment: what serves.
        elements: lengths, speeds and software.

    Returns:
        numeric columns of :func:`procure.performance.decode_points` (``parallelism`` and ``binding`` as text), in
        order of element and falling throughput.
    """
    asked = engine(deployment, elements, elements.physics(deployment, deployment.pool.name))
    largest = asked.largest_batch(elements.tps_user)
    low, base, high = envelopes(deployment, elements, asked, largest)
    points = _points(asked, largest, deployment)
    reached = base[points["element"]]
    points["low"], points["high"] = low[points["element"]] / reached, high[points["element"]] / reached
    return points


def best_rates(
    deployment: Deployment, elements: Elements, physics: Physics, practice: Practice = BEST_PRACTICE
) -> np.ndarray:
    """Highest tokens/s per decode GPU of each element under given physics; 0 where no layout serves it."""
    asked = engine(deployment, elements, physics, practice)
    return asked.best(asked.largest_batch(elements.tps_user), np.ones(asked.drafts.size))


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
    scale, copy, lpx_s = deployment.scale, deployment.copy(), np.zeros(element.size)
    if copy is not None:
        lpx_s = copy.rack_seconds_per_token((1.0 + draft) / tokens) / scale
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
    deployment: Deployment, elements: Elements, asked: Engine, largest: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Best tokens/s per GPU of each element if steps are slow, as fitted, and fast; shape (n,) each.

    The band lies on TPS/User at a given batch (:func:`speed_band`); pushed through the curve it widens by itself
    where throughput falls steeply. A pool calibrated as still being brought up has the
    uncalibrated physics as its fast end. With LPX the fast end is the physics without the vendor's scale and the slow
    end is no gain over VR NVL72 alone at the claim.
    """
    base = asked.best(largest, np.ones(asked.drafts.size))
    rules, tps_user = deployment.setup.rules, elements.tps_user
    slow, fast = speed_band(rules.band, asked.drafts, elements.mean, sparse=deployment.card.indexed_layers > 0)
    low = asked.best(asked.largest_batch(tps_user[:, None] / slow), slow)
    if deployment.lpx:
        return np.minimum(low, base / rules.lpx.vendor_multiple), base, base / deployment.scale
    if rules.bring_up_of(deployment.pool.name):
        eager = engine(deployment, elements, elements.physics(deployment, ""))
        high = eager.best(eager.largest_batch(tps_user), np.ones(asked.drafts.size))
    else:
        high = asked.best(asked.largest_batch(tps_user[:, None] / fast), fast)
    return low, base, np.maximum(high, base)


def speed_band(band: Band, drafts: np.ndarray, context: np.ndarray, *, sparse: bool) -> tuple[np.ndarray, np.ndarray]:
    """True over computed TPS/User at a given batch, low and high, for each element and draft length.

    10th and 90th percentile of rows kept out of the fit. No fitted context is longer than about 9,000 tokens at a
    useful batch, so both widen with the logarithm of longer ones, up to ``band/long_context_low`` and ``_high`` at
    ``band/long_context_to_tokens``. Of sparse attention few runs are fitted and none is long: ``band/sparse_low`` and
    ``_high`` widen both at any context.
    """
    both = np.where(drafts[:, None] > 0, band.drafted, band.plain)
    known, (low, high) = band.from_tokens, band.long_context
    reach = np.clip(np.log(context / known) / np.log(band.to_tokens / known), 0.0, 1.0)[:, None]
    slower, faster = band.sparse if sparse else (1.0, 1.0)
    return both[:, 0] * low**reach * slower, both[:, 1] * high**reach * faster
