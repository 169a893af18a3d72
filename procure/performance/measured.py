"""Measured curves and tables that a user supplies: they stand before the physics where they apply.

A table has one row per point of a curve: ``sku, card, weight_precision, isl, osl, tps_user, tokens_per_s_per_gpu,
all_gpus, low, high, date, source, techniques``; it may have ``with_lpx`` and ``prefill_tokens_per_s_per_gpu``.
``tokens_per_s_per_gpu`` counts output tokens, over decode and prefill GPUs where ``all_gpus`` is 1 and over decode GPUs
alone where it is 0; ``low`` and ``high`` are factors (empty: the band of the physics). Throughput may not rise with
TPS/User along a curve. ``with_lpx`` 1 is decode with LPX racks beside the GPUs, per GPU.
``prefill_tokens_per_s_per_gpu`` is what a saturated prefill pool takes of prompts of ``isl`` tokens, nothing reused; it
is one for all rows of a curve.

How a curve is used is in :mod:`procure.performance.anchor`. Packaged curves are premises, one for each point:
``curve/SKU/CARD/PRECISION/ISL+OSL/TPS`` is tokens/s over all GPUs, with its band in tokens/s. They hold for software
vintage ``base``, whose date they share; a user's table holds for every vintage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.catalogue import Catalogue
from procure.csvtext import numbers
from procure.errors import Fault, InputError, nearest
from procure.performance.files import read_csv
from procure.performance.observations import LENGTH_DRAWN
from procure.schema import Evidence
from procure.sizing import card_names
from procure.sizing.formats import weight_encodings

if TYPE_CHECKING:
    from procure.catalogue import Fact

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
EXTRA = ("with_lpx", "prefill_tokens_per_s_per_gpu")
"""Columns that a table may leave out."""
CURVE = ("sku", "card", "weight_precision", "with_lpx", "isl", "osl", "all_gpus")
"""Columns that rows of one curve share."""

_POSITIVE = ("isl", "osl", "tps_user", "tokens_per_s_per_gpu")
_OPTIONAL = ("low", "high", "prefill_tokens_per_s_per_gpu")


@dataclass(frozen=True)
class Curves:
    """Measured points of one table.

    Attributes:
        table: the rows, numbers as numbers.
        evidence: measured, or a user's.
        vintage: the software vintage that they hold for, or "" for every one.
        file: where the rows were read, for messages.
        drawn: mean length that ran over the length stated; a user states the lengths that ran.
    """

    table: pd.DataFrame
    evidence: Evidence
    vintage: str
    file: str = ""
    drawn: float = 1.0

    @classmethod
    def read(cls, path: str | Path, catalogue: Catalogue | None = None, cards: Iterable[str] = ()) -> Curves:
        """A user's table.

        Args:
            path: a CSV file.
            catalogue: hardware that rows may name; the packaged one by default.
            cards: names of cards that are not packaged.

        Raises:
            InputError: columns are missing, values are wrong, hardware or cards are not known, or throughput rises
                with TPS/User; all faults at once.
        """
        name = Path(path).name
        return cls.of_table(read_csv(path, COLUMNS), name, catalogue or Catalogue.read(), cards)

    @classmethod
    def of_table(cls, raw: pd.DataFrame, file: str, catalogue: Catalogue, cards: Iterable[str]) -> Curves:
        """A user's table that has been read, such as a case's ``throughput``; an empty cell is "" or NaN.

        Raises:
            InputError: as :meth:`read`.
        """
        given = raw.reindex(columns=[*COLUMNS, *EXTRA])
        table = _checked(given.astype(object).where(given.notna(), "").astype(str), file)
        faults = _named(file, table, catalogue, cards)
        if faults:
            raise InputError(faults)
        return cls(table, Evidence.USER, "", file)

    @classmethod
    def of_premises(cls, premises: Mapping[str, Fact]) -> Curves:
        """The packaged measured curves: premises of the group ``curve``.

        Raises:
            InputError: a path that is none of a curve, or throughput that rises with TPS/User.
        """
        return _of_premises(tuple(item for item in premises.items() if item[0].startswith("curve/")))

    def of(self, sku: str, card: str, weight_precision: str, vintage: str, *, with_lpx: bool = False) -> pd.DataFrame:
        """Rows for a pool, card and precision at a vintage, in order of TPS/User."""
        if self.vintage not in ("", vintage.partition("+")[0]):
            return self.table.iloc[:0]
        return self._by_deployment.get((sku, card, weight_precision, int(with_lpx)), self.table.iloc[:0])

    @cached_property
    def _by_deployment(self) -> dict[tuple[Any, ...], pd.DataFrame]:
        """Rows in order of TPS/User by SKU, card, precision and LPX: asked for once for every batch of elements."""
        keys = ["sku", "card", "weight_precision", "with_lpx"]
        return {key: rows.sort_values("tps_user") for key, rows in self.table.groupby(keys)}

    def prefill_rates(self, sku: str, card: str, weight_precision: str) -> pd.DataFrame:
        """Prefill rates stated for a pool, card and precision: isl, prefill_tokens_per_s_per_gpu, in order of isl."""
        rows = self.table[self.table["prefill_tokens_per_s_per_gpu"].notna()]
        mine = (rows["sku"] == sku) & (rows["card"] == card) & (rows["weight_precision"] == weight_precision)
        kept = rows.loc[mine, ["isl", "prefill_tokens_per_s_per_gpu"]]
        return kept.drop_duplicates("isl").sort_values("isl")


@lru_cache(maxsize=8)
def _of_premises(premises: tuple[tuple[str, Fact], ...]) -> Curves:
    """Made once for the same premises: cases that differ in something else share their curves."""
    rows, faults = [], []
    for path, fact in premises:
        _, *setting = path.split("/")
        lengths = setting[3].split("+") if len(setting) == 5 else []
        if len(lengths) != 2:
            expected = "curve/SKU/CARD/PRECISION/ISL+OSL/TPS, numbers for the last three."
            faults.append(Fault("premises", 0, "name", path, expected))
            continue
        ends = (f"{end / fact.number:.12g}" if isinstance(end, float) else "" for end in (fact.low, fact.high))
        told = (fact.source_date, fact.source, fact.note)
        rows.append((*setting[:3], *lengths, setting[4], repr(fact.number), "1", *ends, *told))
    if faults:
        raise InputError(faults)
    raw = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).reindex(columns=[*COLUMNS, *EXTRA], fill_value="")
    return Curves(_checked(raw, "premises"), Evidence.MEASURED, "base", drawn=LENGTH_DRAWN)


def _checked(raw: pd.DataFrame, file: str) -> pd.DataFrame:
    """The rows with numbers as numbers."""
    raw = raw.assign(with_lpx=raw["with_lpx"].replace("", "0"))
    table, faults = raw.copy(), []
    for column in (*_POSITIVE, "all_gpus", "with_lpx", *_OPTIONAL):
        table[column] = numbers(raw[column])
        wrong = table[column].isna() & ~((raw[column] == "") & (column in _OPTIONAL))
        expected = "A number."
        if column in _POSITIVE:
            wrong, expected = wrong | ~(table[column] > 0), "A number above 0."
        elif column == "all_gpus":
            wrong, expected = ~table[column].isin([0, 1]), "1 over decode and prefill GPUs, 0 over decode GPUs."
        elif column == "with_lpx":
            wrong, expected = ~table[column].isin([0, 1]), "1 with LPX racks beside the GPUs, 0 without."
        elif column == "prefill_tokens_per_s_per_gpu":
            wrong, expected = wrong | (table[column] <= 0), "A number above 0, or nothing."
        for row in raw.index[wrong]:
            faults.append(Fault(file, int(row) + 2, column, str(raw.at[row, column]), expected))
    if not faults:
        faults = _rising(file, table) + _one_prefill(file, table)
    if faults:
        raise InputError(faults)
    return table


def _rising(file: str, table: pd.DataFrame) -> list[Fault]:
    """Points of a curve that are stated twice, or that give more throughput than a slower one."""
    faults = []
    for _, curve in table.groupby(list(CURVE)):
        curve = curve.sort_values("tps_user")
        speeds, rates = (curve[name].tolist() for name in ("tps_user", "tokens_per_s_per_gpu"))
        points = zip(curve.index.tolist(), speeds, rates, strict=True)
        for (slower, speed, rate), (faster, next_speed, next_rate) in pairwise(points):
            if speed == next_speed:
                expected = f"One row for each speed of a curve, see row {slower + 2}."
                faults.append(Fault(file, faster + 2, "tps_user", f"{next_speed:g}", expected))
            elif next_rate > rate:
                expected = f"No more than at the lower TPS/User of row {slower + 2}: keep the best points of a sweep."
                faults.append(Fault(file, faster + 2, "tokens_per_s_per_gpu", f"{next_rate:g}", expected))
    return faults


def _one_prefill(file: str, table: pd.DataFrame) -> list[Fault]:
    """Prefill rates of one pool, card, precision and prompt length that differ."""
    faults = []
    stated = table[table["prefill_tokens_per_s_per_gpu"].notna()]
    for _, rows in stated.groupby(["sku", "card", "weight_precision", "isl"]):
        rates = rows["prefill_tokens_per_s_per_gpu"]
        for row in rates.index[rates != rates.iloc[0]]:
            expected = f"One rate for prompts of {float(rows['isl'].iloc[0]):g} tokens, {rates.iloc[0]:g} as in row "
            expected += f"{rates.index[0] + 2}, or nothing."
            faults.append(Fault(file, int(row) + 2, "prefill_tokens_per_s_per_gpu", f"{rates[row]:g}", expected))
    return faults


def _named(file: str, table: pd.DataFrame, catalogue: Catalogue, cards: Iterable[str]) -> list[Fault]:
    """Put the SKU's own name for an alias; SKUs, cards and precisions that are not known are faults."""
    faults: list[Fault] = []
    known_cards = {*card_names(), *cards}
    for row in table.index:
        name, card, precision = (str(table.at[row, column]) for column in ("sku", "card", "weight_precision"))
        try:
            table.at[row, "sku"] = catalogue.sku(name).name
        except InputError as error:
            faults += [replace(fault, file=file, row=int(row) + 2) for fault in error.faults]
        try:
            weight_encodings(precision)
        except InputError as error:
            column = "weight_precision"
            faults += [replace(fault, file=file, row=int(row) + 2, column=column) for fault in error.faults]
        if card not in known_cards:
            expected = "A packaged card, or the name of the one that is asked about."
            faults.append(Fault(file, int(row) + 2, "card", card, expected, nearest(card, known_cards)))
    return faults
