"""At which value of a premise a SKU enters or leaves the plan, and what takes its place.

At every value the case is solved twice: as it is, and with no order of the SKU. Where the plan orders it, it is *in* if
going without it is proven to serve less, or costs more than twice the gap of either plan; a *tie* if what it saves is
smaller than that. Else it is *out*. Neighbouring values of different states are brought together by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any

import pandas as pd

from procure.case import Case
from procure.case.change import path_of
from procure.decision.rounds import How, Rounds, gap_usd, in_words, is_beyond, moved, ordered
from procure.errors import Fault, InputError
from procure.rules.objective import Objective
from procure.study import Outcome
from procure.study.vary import named
from procure.why.effect import Effect, Point

PRICE_FACTORS = {"in": (2.0, 4.0, 8.0), "out": (0.5, 0.25, 0.125)}
"""Prices tried, as factors, where nothing flips along the premise: dearer until it leaves, cheaper until it enters."""
PRICE_STEPS = 3
"""Bisections of a price factor (of its logarithm) that flips it: to an eighth of a doubling."""


class State(StrEnum):
    """What a SKU is to the plan."""

    IN = "in"
    TIE = "tie"
    OUT = "out"
    UNKNOWN = "unknown"
    """One of the two plans is missing."""


@dataclass(frozen=True)
class Reading:
    """What is known at one value.

    Attributes:
        value: of the premise.
        state: what the SKU is to the plan.
        ordered: units of it in planned quarters.
        least_usd, most_usd: present USD that going without it costs, from the bounds of both plans; NaN where
            shortfalls differ or a plan is missing.
        least_share, most_share: share of the weighted planned demand that is served less without it.
        gap_usd: the wider gap of the two plans.
        instead: units ordered without it less those ordered with it, by SKU.
        reason: why a plan is missing; ``error`` is the class of what was raised.
    """

    value: float
    state: State
    ordered: int = 0
    least_usd: float = math.nan
    most_usd: float = math.nan
    least_share: float = math.nan
    most_share: float = math.nan
    gap_usd: float = math.nan
    instead: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    error: str = ""


@dataclass(frozen=True)
class Crossing:
    """Neighbouring values between which the state changes."""

    below: Reading
    above: Reading


@dataclass(frozen=True)
class Trigger:
    """Where a SKU is in the plan along a premise.

    Attributes:
        sku, path: what was asked.
        unit: of the premise.
        readings: by value.
        price: where the state is the same all along: readings at factors on the SKU's price, at the last value, by
            factor; the first is 1, as it is.
    """

    sku: str
    path: str
    unit: str
    readings: list[Reading]
    price: list[Reading] = field(default_factory=list)

    @property
    def crossings(self) -> list[Crossing]:
        """Where it enters, leaves, or comes within twice the gap."""
        return crossings(self.readings)

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each reading, of the premise and of the price."""
        rows = [{"along": self.path, **_cells(reading)} for reading in self.readings]
        rows += [{"along": f"hardware/{self.sku}/price_usd, factor", **_cells(reading)} for reading in self.price]
        return pd.DataFrame(rows)


def trigger(case: Case, sku: str, path: str, values: Sequence[float], within: float, how: How) -> Trigger:
    """Scan a premise, bisect each crossing, and where there is none, find the price that makes one.

    Args:
        case: where it starts from.
        sku: what may be in or out; several that go together joined by ``+``.
        path: of the premise.
        values: scanned, rising.
        within: width to which a crossing is bisected, in the premise's unit.
        how: effort, folder, jobs.

    Raises:
        InputError: no such premise or SKU, or a folder that holds something else.
    """
    _need_orderable(case, sku)
    for value in values:
        case.with_value(path, value)
    rounds = Rounds("trigger", case, how)
    ranked = Objective(case.settings.objective).ranked
    readings = _read(rounds, sku, [({path: value}, value) for value in values], ranked)
    while middles := _unread(
        readings,
        [(c.below.value + c.above.value) / 2 for c in crossings(readings) if c.above.value - c.below.value > within],
    ):
        if rounds.stopped:
            break
        readings += _read(rounds, sku, [({path: value}, value) for value in middles], ranked)
        readings.sort(key=lambda reading: reading.value)
    known = _known(readings)
    flips = not known or crossings(readings)
    price = [] if flips else _price(rounds, case, sku, {path: known[-1].value}, known[-1], ranked)
    fact = case.premises.get(path_of(path))
    return Trigger(sku, path, "" if fact is None else fact.unit, readings, price)


def values_along(case: Case, text: str, points: int) -> tuple[str, list[float]]:
    """The path and the values of a scan: ``path=start:stop``, or a path alone for the band that its source gives it.

    Raises:
        InputError: no such path, no band, or no two numbers that rise.
    """
    path, ends = named(text)
    hint = f"Say which: --along {path}=start:stop."
    if ends:
        try:
            start, stop = (float(end) for end in ends.split(":"))
        except ValueError:
            start = stop = math.nan
    else:
        case.with_value(path, "base")  # names the nearest where nothing is called so
        fact = case.premises.get(path_of(path))
        low, high = (None, None) if fact is None else (fact.low, fact.high)
        start, stop = (float(end) if isinstance(end, int | float) else math.nan for end in (low, high))
    if not (math.isfinite(start) and math.isfinite(stop) and start < stop):
        expected = "Two numbers that rise." if ends else "A premise with a band of numbers, or a range."
        raise InputError([Fault("--along", 0, path, ends, expected, hint)])
    step = (stop - start) / (points - 1)
    return path, [start + step * i for i in range(points - 1)] + [stop]


def crossings(readings: Sequence[Reading]) -> list[Crossing]:
    """Neighbours of different states, both known."""
    return [Crossing(a, b) for a, b in pairwise(_known(readings)) if a.state is not b.state]


def _known(readings: Sequence[Reading]) -> list[Reading]:
    return [reading for reading in readings if reading.state is not State.UNKNOWN]


def _unread(readings: Sequence[Reading], values: Sequence[float]) -> list[float]:
    """Values without a reading: where one in the middle has no plan, a crossing is not told any closer."""
    return [value for value in values if value not in {reading.value for reading in readings}]


def _need_orderable(case: Case, skus: str) -> None:
    wrong = [sku for sku in skus.split("+") if sku not in case.settings.may_buy]
    if wrong:
        expected = f"SKUs that the case may order: {', '.join(sorted(case.settings.may_buy))}; several joined by +."
        raise InputError([Fault("--sku", 0, "", sku, expected) for sku in wrong])


def _read(rounds: Rounds, sku: str, at: Sequence[tuple[dict[str, Any], float]], ranked: bool) -> list[Reading]:
    """Readings at changes, each with the value that it is told by."""
    without = {f"buy/*/{sku}/*": "<=0"}
    found = rounds.ask([change for change, _ in at] + [{**change, **without} for change, _ in at])
    pairs = zip(at, found, found[len(at) :], strict=False)
    return [_reading(value, sku, free, out, ranked) for (_, value), free, out in pairs]


def _reading(value: float, sku: str, free: Outcome | None, out: Outcome | None, ranked: bool) -> Reading:
    """The state at one value, from the plan and the one without the SKU."""
    if free is None or out is None:
        return Reading(value, State.UNKNOWN, reason="not worked out")
    if free.failed:
        return Reading(value, State.UNKNOWN, reason=free.reason, error=free.error)
    units = sum(count for name, count in ordered(free).items() if name in sku.split("+"))
    if out.failed:
        state = State.IN if out.is_infeasible else State.UNKNOWN
        return Reading(value, state, units, reason=f"without it: {out.reason}", error=out.error)
    with_it, without = Point.of_facts(free.facts, ranked), Point.of_facts(out.facts, ranked)
    effect = Effect.of(without, with_it, ordered=True)
    gap = max(gap_usd(with_it), gap_usd(without))
    state = State.TIE if units else State.OUT
    if effect.serves_more or (effect.saves and is_beyond(without, with_it)):
        state = State.IN
    return Reading(
        value, state, units, effect.least_usd, effect.most_usd, effect.least_share, effect.most_share, gap,
        moved(ordered(free), ordered(out)),
    )  # fmt: skip


def _price(rounds: Rounds, case: Case, sku: str, change: dict[str, Any], last: Reading, ranked: bool) -> list[Reading]:
    """Readings at factors on the price of what does not flip, until it does; none along the price itself."""
    paths = [f"hardware/{name}/price_usd" for name in sku.split("+")]
    known = all(path in case.premises for path in paths) and not {path_of(path) for path in change} & set(paths)
    if last.state not in (State.IN, State.OUT) or not known:
        return []

    def at(factor: float) -> Reading:
        return _read(rounds, sku, [({**change, **dict.fromkeys(paths, f"x{factor:g}")}, factor)], ranked)[0]

    readings = [replace(last, value=1.0)]
    for factor in PRICE_FACTORS[last.state]:
        if rounds.stopped:
            return readings
        readings.append(at(factor))
        if readings[-1].state not in (last.state, State.UNKNOWN):
            break
    readings.sort(key=lambda reading: reading.value)
    for _ in range(PRICE_STEPS):
        between = _unread(readings, [math.sqrt(c.below.value * c.above.value) for c in crossings(readings)])
        if not between or rounds.stopped:
            break
        readings = sorted([*readings, *map(at, between)], key=lambda reading: reading.value)
    return readings


def _cells(reading: Reading) -> dict[str, Any]:
    """A reading as cells; what takes its place in words."""
    return {**vars(reading), "state": str(reading.state), "instead": in_words(reading.instead)}
