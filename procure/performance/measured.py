"""Measured curves and tables that a user supplies: they stand before the physics where they apply.

A table has one row per point of a curve: ``sku, card, weight_precision, isl, osl, tps_user, tokens_per_s_per_gpu,
all_gpus, low, high, date, source, techniques``. ``tokens_per_s_per_gpu`` counts output tokens, over decode and
prefill GPUs where ``all_gpus`` is 1 and over decode GPUs alone where it is 0; ``low`` and ``high`` are factors
(empty: the band of the physics).

How a curve is used is in :mod:`procure.performance.anchor`. Packaged curves hold for software vintage ``base``, whose
date they share; a user's table holds for every vintage.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError, nearest

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
        if self.vintage not in ("", vintage.partition("+")[0]):
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
            faults.append(Fault(path.name, int(row) + 2, column, str(raw.at[row, column]), expected))
    if faults:
        raise InputError(faults)
    return table
