"""Measured curves and tables that a user supplies: they stand before the physics where they apply.

A table has one row per point of a curve: ``sku, card, weight_precision, isl, osl, tps_user, tokens_per_s_per_gpu, all_gpus,
low, high, date, source, techniques``. ``tokens_per_s_per_gpu`` counts output tokens, over decode and prefill GPUs where
``all_gpus`` is 1 and over decode GPUs alone where it is 0; ``low`` and ``high`` are factors (empty: the band of the physics).

A curve answers for its SKU, card and weight precision, for mean contexts within :data:`CONTEXT_MATCH` of its own (lengths
of benchmarks are drawn at 90% of the nominal on average) and for TPS/User inside its range, read log-linearly between
points. Packaged curves hold for software vintage ``base``, whose date they share; a user's table holds for every vintage. Layout, batch and HBM
come from the physics' point, its streams scaled to the measured throughput.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError, nearest
from procure.performance.frontier import LENGTH_DRAWN

CONTEXT_MATCH = 0.05
COLUMNS = (
    "sku",
    "card",
    "weight_precision",
    "isl",
    "osl",
    "tps_user",
    "tokens_per_s_per_gpu",
    "all_gpus",
    "low",
    "high",
    "date",
    "source",
    "techniques",
)
_POSITIVE = ("isl", "osl", "tps_user", "tokens_per_s_per_gpu")
_OPTIONAL = ("low", "high")


@dataclass(frozen=True)
class Curves:
    """Measured points of one table.

    Attributes:
        table: the rows, numbers as numbers.
        evidence: ``measured`` or ``user``.
        vintage: the software vintage that they hold for, or "" for every one.
    """

    table: pd.DataFrame
    evidence: str
    vintage: str

    @classmethod
    def read(cls, path: str | Path) -> Curves:
        """A user's table.

        Raises:
            InputError: columns are missing or values are wrong; all faults at once.
        """
        return cls(_read(Path(path)), "user", "")

    def of(self, sku: str, card: str, weight_precision: str, vintage: str) -> pd.DataFrame:
        """Rows for a pool, card and precision at a vintage, in order of TPS/User."""
        if self.vintage not in ("", vintage):
            return self.table.iloc[:0]
        mine = (self.table["sku"] == sku) & (self.table["card"] == card)
        mine &= self.table["weight_precision"] == weight_precision
        return self.table[mine].sort_values("tps_user")


@lru_cache(maxsize=1)
def packaged_curves() -> Curves:
    """The packaged measured curves."""
    return Curves(_read(packaged_path("data") / "performance" / "curves.csv"), "measured", "base")


def _read(path: Path) -> pd.DataFrame:
    try:
        raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise InputError([Fault(str(path), 0, "", "", f"The file cannot be read: {error.strerror}.")]) from error
    missing = [column for column in COLUMNS if column not in raw]
    if missing:
        expected = f"Needs the columns {', '.join(COLUMNS)}."
        raise InputError([Fault(path.name, 1, name, "", expected, nearest(name, raw.columns)) for name in missing])
    table, faults = raw[list(COLUMNS)].copy(), []
    for column in (*_POSITIVE, "all_gpus", *_OPTIONAL):
        table[column] = pd.to_numeric(raw[column].replace("", None), errors="coerce")
        wrong = table[column].isna() & ~((raw[column] == "") & (column in _OPTIONAL))
        expected = "A number."
        if column in _POSITIVE:
            wrong, expected = wrong | ~(table[column] > 0), "A number above 0."
        elif column == "all_gpus":
            wrong, expected = ~table[column].isin([0, 1]), "1 over decode and prefill GPUs, 0 over decode GPUs."
        for row in raw.index[wrong]:
            faults.append(Fault(path.name, int(row) + 2, column, raw.at[row, column], expected))
    if faults:
        raise InputError(faults)
    return table


@dataclass(frozen=True)
class Answer:
    """What a curve says about some elements; NaN and "" where it says nothing.

    Attributes:
        rate: tokens/s per GPU, over decode GPUs unless ``all_gpus``.
        all_gpus: whether prefill GPUs are counted.
        low: factor, NaN for the physics' band.
        high: factor, NaN for the physics' band.
        source: text for each element.
        date: text for each element.
    """

    rate: np.ndarray
    all_gpus: np.ndarray
    prompt_tokens: np.ndarray
    answer_tokens: np.ndarray
    low: np.ndarray
    high: np.ndarray
    source: np.ndarray
    date: np.ndarray


def ask(rows: pd.DataFrame, context: np.ndarray, tps_user: np.ndarray) -> Answer:
    """Read the curves in ``rows`` at elements.

    Args:
        rows: rows of one pool, card and precision.
        context: mean context of each element, tokens.
        tps_user: TPS/User asked of each element.
    """
    count = len(context)
    nothing = np.full(count, np.nan)
    found = Answer(*(nothing.copy() for _ in range(6)), np.full(count, "", object), np.full(count, "", object))
    for (given, written, over_all), curve in rows.groupby(["isl", "osl", "all_gpus"]):
        own = LENGTH_DRAWN * (given + written / 2)
        speeds = curve["tps_user"].to_numpy(dtype=float)
        near = np.abs(context / own - 1.0) <= CONTEXT_MATCH
        near &= (tps_user >= speeds[0]) & (tps_user <= speeds[-1])
        if not near.any():
            continue
        rates = np.log(curve["tokens_per_s_per_gpu"].to_numpy(dtype=float))
        found.rate[near] = np.exp(np.interp(tps_user[near], speeds, rates))
        found.all_gpus[near], found.prompt_tokens[near], found.answer_tokens[near] = over_all, given, written
        below = np.searchsorted(speeds, tps_user[near], side="right") - 1
        for name in ("low", "high", "source", "date"):
            getattr(found, name)[near] = curve[name].to_numpy()[below]
    return found
