"""What the physics says about measured runs, at the batch that was running.

The running streams of a row come from its measured throughput and speed (Little's law), so measured information
stands on both sides: this tests the law of a step, not throughput. :mod:`procure.performance.frontier` predicts
throughput without any measured batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from procure.catalogue import Catalogue, Sku
from procure.performance.physics import LATENCIES, Months, Physics, Software, month_number
from procure.performance.prefill import prefill_at_peak, prefill_seconds
from procure.performance.rules import Rules, Setup, premises_of
from procure.performance.step import Layout, Streams, decode_terms, step_seconds
from procure.performance.work import Work, work_of
from procure.sizing import Card, load_card

_KEYS = ["sku", "card", "weight_precision", "kv_format"]


@dataclass(frozen=True)
class Bench:
    """What measured rows are held against: hardware, cards and rules.

    Attributes:
        catalogue: hardware that rows may name.
        rules: premises of the physics.
        cards: cards by name that are not packaged.
    """

    catalogue: Catalogue
    rules: Rules
    cards: Mapping[str, Card] = field(default_factory=dict)

    @classmethod
    def packaged(cls) -> Bench:
        """Packaged hardware, cards and premises."""
        catalogue = Catalogue.read()
        return cls(catalogue, Rules.of(premises_of(catalogue)))

    def sku(self, name: str) -> Sku:
        """Hardware by name."""
        return self.catalogue.sku(name)

    def card(self, name: str) -> Card:
        """A card by name, read once."""
        if name not in self._read:
            self._read[name] = load_card(name)
        return self._read[name]

    def setup(self, weight_precision: str, kv_format: str) -> Setup:
        """A setup with the software of the fitted rows."""
        return Setup(weight_precision, kv_format, "none", self.rules)

    @cached_property
    def _read(self) -> dict[str, Card]:
        return dict(self.cards)


def months_after(dates: pd.Series, reference: str) -> np.ndarray:
    """Months from a reference month to dates such as ``2026-03-18``, ``2025-12`` or ``2025`` (taken as its middle)."""
    text = dates.astype(str)
    year = text.str[:4].astype(float)
    month = pd.to_numeric(text.str[5:7], errors="coerce").fillna(6.5)
    return (year * 12 + month - month_number(reference)).to_numpy(dtype=float)


@dataclass(frozen=True)
class _Group:
    """Rows of one hardware, card and formats, with everything that does not depend on fitted numbers."""

    at: np.ndarray
    pool: Sku
    work: Work
    layout: Layout
    streams: Streams
    batch: np.ndarray
    allowed: np.ndarray
    mixed: np.ndarray
    prefill: dict[str, np.ndarray]


class Runs:
    """Measured decode and aggregated runs, ready to be predicted many times."""

    def __init__(self, seen: pd.DataFrame, bench: Bench) -> None:
        """Take rows of :func:`procure.performance.observations.observe` that have a layout."""
        self.seen = seen
        self.months = months_after(seen["date"], bench.rules.software.reference_month)
        self.frameworks = seen["framework"].str.removeprefix("dynamo-").to_numpy()
        order = pd.Series(np.arange(len(seen)), index=seen.index)
        self.groups = [_group(rows, order[rows.index].to_numpy(), bench) for _, rows in seen.groupby(_KEYS)]

    def with_streams(self, factor: np.ndarray) -> Runs:
        """The same runs with ``factor`` times their running streams, one for each row."""
        made = copy(self)
        made.groups = [
            replace(each, batch=each.batch * factor[each.at][:, None], mixed=each.mixed * factor[each.at])
            for each in self.groups
        ]
        return made

    def tps_user(self, physics: Physics, softwares: Callable[[str], Software], moved: Months) -> np.ndarray:
        """TPS/User of each row.

        Args:
            physics: fitted parameters of the reference software and month.
            softwares: factors by framework.
            moved: how software moved by month.
        """
        kinds = {name: softwares(name) for name in set(self.frameworks)}
        latency = np.array([kinds[name].latency for name in self.frameworks]) * moved.latency**self.months
        acceptance = np.array([kinds[name].acceptance for name in self.frameworks])
        mixing = np.array([kinds[name].mixing for name in self.frameworks])
        early = moved.early_spread ** np.minimum(self.months, 0.0)
        result = np.full(len(self.seen), np.nan)
        for group in self.groups:
            late = latency[group.at][:, None]
            own = {name: getattr(physics, name) * late for name in LATENCIES}
            adapted = replace(physics, acceptance=acceptance[group.at][:, None], **own)
            result[group.at] = 1.0 / _token_s(group, adapted, mixing[group.at], early[group.at])
        return result


def predict_runs(seen: pd.DataFrame, bench: Bench) -> np.ndarray:
    """TPS/User of observed runs by the rules' physics and software factors."""
    rules = bench.rules
    return Runs(seen, bench).tps_user(rules.reference, rules.framework, rules.software.fitted)


def _group(rows: pd.DataFrame, at: np.ndarray, bench: Bench) -> _Group:
    sku, name, precision, kv = (str(rows[column].iloc[0]) for column in _KEYS)
    pool, card = bench.sku(sku), bench.card(name)
    drawn = rows["length_drawn"].to_numpy(dtype=float)
    given, written = (rows[name].to_numpy(dtype=float) * drawn for name in ("isl", "osl"))
    context = (given + written / 2)[:, None]
    lengths = np.array([0.0, *bench.rules.layouts.draft_lengths])
    gpus = rows["gpus_per_replica"].to_numpy(dtype=float)
    batch = rows["streams"].to_numpy(dtype=float)
    aggregated = rows["aggregated"].to_numpy(dtype=bool)
    peak = prefill_at_peak(pool, card, bench.setup(precision, kv), given, np.zeros_like(given))
    loaded = np.asarray(card.loaded_bytes(context, kv), dtype=float)
    return _Group(
        at=at,
        pool=pool,
        work=work_of(card, precision),
        layout=Layout(
            gpus[:, None],
            rows["data_parallel"].to_numpy(dtype=bool)[:, None],
            rows["expert_parallel"].to_numpy(dtype=bool)[:, None],
            rows["gathers"].to_numpy(dtype=bool)[:, None],
        ),
        streams=Streams(kv, lengths, loaded, np.asarray(card.decode_attention_flops(context), dtype=float)),
        batch=batch[:, None],
        allowed=np.where(rows["speculation"].to_numpy(dtype=bool)[:, None], lengths > 0, lengths == 0),
        mixed=np.where(aggregated, batch / written / gpus, 0.0),
        prefill=peak,
    )


_BATCHED = ("gemm", "kv", "attention", "network")
"""Terms of a step that grow with the batch."""


def _token_s(group: _Group, physics: Physics, mixing: np.ndarray, early: np.ndarray) -> np.ndarray:
    """Seconds per output token: the step at the best draft length, and prefill where it shares the GPUs.

    An aggregated replica prefills isl / osl tokens for every token that it writes. ``early`` multiplies the rates of
    what grows with the batch under attention data parallelism.
    """
    terms = decode_terms(group.pool, physics, group.work, group.layout, group.streams, group.batch)
    slower = 1.0 / np.where(group.layout.data_parallel, early[:, None], 1.0)
    terms |= {name: terms[name] * slower for name in _BATCHED}
    each = step_seconds(terms) / physics.tokens_per_step(group.streams.draft)
    fastest = np.where(group.allowed, each, np.inf).min(axis=1)
    prefill_s = prefill_seconds(group.prefill, physics)
    return fastest + group.mixed * prefill_s * mixing
