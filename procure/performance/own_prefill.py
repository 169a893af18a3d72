"""Prefill rates that a user measured: as stated at their prompt length, the physics scaled to them elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from procure.performance.prefill import prefill_at_peak, prefill_seconds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from procure.catalogue import Sku
    from procure.performance.rules import Setup
    from procure.sizing import Card

PROMPT_MATCH = 0.12
"""Prompts this close to a stated one, nothing reused, are answered by the measurement."""


def prefill_gpu_seconds(
    pool: Sku, card: Card, setup: Setup, *, new_tokens: ArrayLike, prefix_tokens: ArrayLike
) -> np.ndarray:
    """GPU-seconds to prefill ``new_tokens`` behind ``prefix_tokens`` whose cache is there already, for each request.

    The physics in the pool's power mode; where the user's own measurements state prefill rates, times stated over
    physical seconds. The ratio is taken at the stated prompt lengths and read log-linearly between them; beyond their
    ends the nearest is kept. So a prompt of a stated length takes the stated time, and reuse and other lengths follow
    the physics.
    """
    new, prefix = np.asarray(new_tokens, dtype=float), np.asarray(prefix_tokens, dtype=float)
    seconds = _physical_s(pool, card, setup, new, prefix)
    rates = stated_rates(pool, card, setup)
    if rates is None:
        return seconds
    isl, rate = rates
    ratio = (isl / rate) / _physical_s(pool, card, setup, isl, np.zeros(len(isl)))
    return seconds * np.exp(np.interp(np.log(np.maximum(new + prefix, 1.0)), np.log(isl), np.log(ratio)))


def served_prefill_gpu_seconds(
    pool: Sku, card: Card, setup: Setup, *, new_tokens: ArrayLike, prefix_tokens: ArrayLike, end: str = "base"
) -> np.ndarray:
    """GPU-seconds that the prefills take of a pool that serves: what capacity is planned with.

    Those of a saturated benchmark (:func:`prefill_gpu_seconds`) over ``physics/prefill_service_factor`` or the ``low``
    or ``high`` end of its band; where the user measured prefill of the pool and card, as stated.
    """
    seconds = prefill_gpu_seconds(pool, card, setup, new_tokens=new_tokens, prefix_tokens=prefix_tokens)
    served = setup.rules.prefill
    factor = {"low": served.service_band[0], "base": served.service_factor, "high": served.service_band[1]}[end]
    return seconds if stated_rates(pool, card, setup) else seconds / factor


def prefill_is_stated(
    pool: Sku, card: Card, setup: Setup, new_tokens: np.ndarray, prefix_tokens: np.ndarray
) -> np.ndarray:
    """Prompts whose prefill a user measured: of a stated length within :data:`PROMPT_MATCH`, with nothing reused."""
    rates = stated_rates(pool, card, setup)
    if rates is None:
        return np.zeros(len(new_tokens), dtype=bool)
    gap = np.abs(np.log(new_tokens[:, None] / rates[0][None, :])).min(axis=1)
    return np.asarray((gap <= PROMPT_MATCH) & (prefix_tokens == 0))


def stated_rates(pool: Sku, card: Card, setup: Setup) -> tuple[np.ndarray, np.ndarray] | None:
    """Prompt lengths and input tokens/s per GPU that are stated for a pool and card; None where nothing is."""
    if setup.curves is None:
        return None
    rows = setup.curves.prefill_rates(pool.name, card.name, setup.weights(card))
    if rows.empty:
        return None
    return rows["isl"].to_numpy(dtype=float), rows["prefill_tokens_per_s_per_gpu"].to_numpy(dtype=float)


def _physical_s(pool: Sku, card: Card, setup: Setup, new_tokens: np.ndarray, prefix_tokens: np.ndarray) -> np.ndarray:
    peak = prefill_at_peak(pool, card, setup, new_tokens, prefix_tokens)
    return prefill_seconds(peak, setup.rules.physics(setup.vintage, pool.name)) / pool.throughput_factor
