"""How far a decode point lies from the nearest measurement: beyond its band nobody knows how wrong it is.

    distance = |log2 TPS/User| + |log2 context| + |log2 active parameters| + |log2 HBM bytes/s of a GPU|

each the ratio to a measured run, summed, and the least over all measured runs: doublings. What was measured is in
``data/performance/measured.csv``, written by ``procure perf --fit``; a user's own points and packaged curves count for
their pool and card. A pair with LPX was measured by nobody: it lies :data:`UNMEASURED` away, but for a user's own
points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from procure.catalogue.fact import packaged_rows

if TYPE_CHECKING:
    from procure.catalogue import Sku
    from procure.performance.measured import Curves
    from procure.sizing import Card

COLUMNS = ("tps_user", "context_tokens", "active_params", "hbm_bytes_per_s_per_gpu")
"""What a measured run is told apart by; all count alike, by their logarithm."""


UNMEASURED = 100.0
"""Doublings that stand for the distance of what nothing alike was measured of."""


@dataclass(frozen=True)
class Measured:
    """Measured decode runs: the logarithm to base 2 of :data:`COLUMNS`, one row each."""

    logs: np.ndarray

    @classmethod
    def of(cls, runs: Mapping[str, Any] | pd.DataFrame) -> Measured:
        """From a table with :data:`COLUMNS`."""
        return cls(np.log2(np.stack([np.asarray(runs[name], dtype=float) for name in COLUMNS], axis=1)))

    @classmethod
    def packaged(cls) -> Measured:
        """The runs of ``data/performance/measured.csv``."""
        return cls.of(pd.DataFrame(packaged_rows("performance/measured")))

    def distance(self, pool: Sku, card: Card, context: np.ndarray, tps_user: np.ndarray) -> np.ndarray:
        """Doublings from the nearest run, for each context and TPS/User; at most :data:`UNMEASURED`."""
        fixed = np.log2([float(card.params.active), pool.hbm_bytes_per_s_per_gpu])
        beside = np.abs(self.logs[:, 2:] - fixed).sum(axis=1)
        speed, length = np.log2(tps_user)[:, None], np.log2(context)[:, None]
        far = np.abs(self.logs[:, 0] - speed) + np.abs(self.logs[:, 1] - length) + beside
        return np.asarray(far.min(axis=1, initial=UNMEASURED))


def distance_of_curves(
    known: Curves, pool: Sku, card: Card, context: np.ndarray, tps_user: np.ndarray, *, paired: bool
) -> np.ndarray:
    """Doublings from the nearest point of curves of this pool and card, of whatever precision."""
    table = known.table
    mine = (table["sku"] == pool.name) & (table["card"] == card.name) & (table["with_lpx"] == int(paired))
    rows = table[mine]
    runs = {
        "tps_user": rows["tps_user"],
        "context_tokens": known.drawn * (rows["isl"] + rows["osl"] / 2),
        "active_params": np.full(len(rows), float(card.params.active)),
        "hbm_bytes_per_s_per_gpu": np.full(len(rows), pool.hbm_bytes_per_s_per_gpu),
    }
    return Measured.of(runs).distance(pool, card, context, tps_user)


def measured_runs(seen: pd.DataFrame, skus: Mapping[str, Sku], cards: Mapping[str, Card]) -> pd.DataFrame:
    """Distinct measured decode settings of observed points, rounded to three digits, in order.

    Args:
        seen: rows of :func:`procure.performance.observations.observe`.
        skus: hardware by name.
        cards: cards by name.
    """
    rows = seen[(seen["reason"] == "") & (seen["phase"] != "prefill") & (seen["tps_user"] > 0)]
    drawn = rows["length_drawn"].to_numpy(dtype=float)
    context = (rows["isl"].to_numpy(dtype=float) + rows["osl"].to_numpy(dtype=float) / 2) * drawn
    made = pd.DataFrame(
        {
            "sku": rows["sku"].to_numpy(),
            "card": rows["card"].to_numpy(),
            "tps_user": rows["tps_user"].map(lambda x: float(f"{x:.3g}")).to_numpy(),
            "context_tokens": [float(f"{x:.3g}") for x in context],
            "active_params": [float(cards[name].params.active) for name in rows["card"]],
            "hbm_bytes_per_s_per_gpu": [skus[name].hbm_bytes_per_s_per_gpu for name in rows["sku"]],
        }
    )
    return made.drop_duplicates().sort_values(list(made.columns), ignore_index=True)
