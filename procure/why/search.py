"""How far a lever has to be moved until something holds of the case: alone, and beside others; 1% less does not do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from procure.case import Case
from procure.errors import InputError
from procure.families.wording import figure
from procure.instance import Instance, build
from procure.solver import Memory
from procure.solver.highs import Options
from procure.solver.servable import ANY_COST
from procure.study.change import Change, Effort, changed
from procure.study.outcome import Known
from procure.why.levers import FIGURES, Lever

PART = 0.01
"""Of a change: so much less of it does not do."""
LEAST = 1e-5
"""Of the most that a lever is moved, below which a change is as good as none."""
QUARTER = 0.25
"""Where next to look while every change was enough."""

Holds = Callable[[Instance, Options, Memory], bool | None]
"""What has to hold of the changed case; None where the time was over before it was known."""


class OutOfTime(Exception):
    """The time for all questions is over."""


@dataclass
class Trial:
    """Whether something holds of changed cases, asked one after the other; what was asked is remembered.

    Attributes:
        case: what is changed.
        held: a change that goes with every other one.
        holds: what has to hold.
        effort: threads and seed.
        stop: the wish to stop.
        known: what builds and searches have left.
    """

    case: Case
    held: Change
    holds: Holds
    effort: Effort
    stop: Callable[[], bool] = lambda: False
    known: Known = field(default_factory=Known)
    _known: dict[tuple[tuple[str, str], ...], bool] = field(default_factory=dict)

    def __call__(self, change: Change) -> bool:
        """Whether it holds with a change.

        Raises:
            OutOfTime: it is not known.
            InputError: there is no such case.
        """
        key = tuple(sorted((path, str(value)) for path, value in change.items()))
        if key not in self._known:
            if self.stop():
                raise OutOfTime
            case = changed(self.case, {**self.held, **change})
            found = self.holds(build(case, self.known.cache), self.options(), self.known.memory)
            if found is None:
                raise OutOfTime
            self._known[key] = found
        return self._known[key]

    def options(self) -> Options:
        """How a search for any plan is run."""
        effort = self.effort
        return Options(ANY_COST, effort.time_limit_s, effort.threads, effort.seed, stop=self.stop)


@dataclass(frozen=True)
class Found:
    """What came of a lever or choice: the values that serve, in the order of its levers; none where nothing does."""

    levers: tuple[Lever, ...]
    values: tuple[float, ...]
    change: Change

    @property
    def what(self) -> str:
        """The change in words."""
        return " and ".join(_words(lever, value) for lever, value in zip(self.levers, self.values, strict=True))


def _words(lever: Lever, value: float) -> str:
    if lever.start == 0.0:
        return f"{lever.name} {figure(value)} {lever.unit}"
    return f"{lever.name} {figure(lever.start, FIGURES)} → {figure(value, FIGURES)} {lever.unit}"


def smallest(lever: Lever, trial: Trial, beside: Change | None = None) -> float | None:
    """The value to which a lever has to be moved, given what else is changed: 1% less does not do; None if none does.

    Raises:
        OutOfTime: before it is known.
    """

    def enough(moved: float) -> bool:
        try:
            return trial({**(beside or {}), **lever.put(lever.at(moved))})
        except InputError:  # further than a case may go
            return False

    if not enough(lever.most):
        return None
    if lever.whole:
        return lever.at(_least_whole(round(lever.most), enough))
    low, high = 0.0, lever.most
    guess = abs(lever.guess - lever.start) * (1.0 + 1e-6)
    if not math.isnan(guess) and guess < high:
        low, high = _halved(low, high, guess, enough)
        if low == 0.0:
            low, high = _halved(low, high, high * (1.0 - PART), enough)
    while high - low > PART * high and high > LEAST * lever.most:
        low, high = _halved(low, high, high * QUARTER if low == 0.0 else math.sqrt(low * high), enough)
    plain = lever.plainest(low, high)
    return lever.at(plain if enough(plain) else high)


def _halved(low: float, high: float, middle: float, enough: Callable[[float], bool]) -> tuple[float, float]:
    return (low, middle) if enough(middle) else (middle, high)


def _least_whole(most: int, enough: Callable[[float], bool]) -> int:
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def alone(lever: Lever, trial: Trial) -> Found | None:
    """The smallest change of one lever that serves, or None."""
    value = smallest(lever, trial)
    return None if value is None else Found((lever,), (value,), lever.put(value))


def together(levers: Sequence[Lever], trial: Trial) -> Found | None:
    """The levers that are needed where none serves alone, each at its least beside the others; None if nothing does.

    All are moved as far as they go, and taken back one by one, the last first: what is left serves, and neither without
    one of them nor with 1% less of one.

    Raises:
        OutOfTime: before it is known.
    """
    used = {lever: lever.far for lever in levers if lever.eases}
    if len(used) < 2 or not trial(_all(used)):
        return None
    for lever in reversed(list(used)):
        rest = {other: value for other, value in used.items() if other is not lever}
        if trial(_all(rest)):
            used = rest
    for lever in list(used):
        beside = _all({other: value for other, value in used.items() if other is not lever})
        value = smallest(lever, trial, beside)
        assert value is not None
        used[lever] = value
    return Found(tuple(used), tuple(used.values()), _all(used))


def shared(found: Sequence[Found], trial: Trial) -> Found | None:
    """Several levers that serve alone, each moved by the same part of what it takes alone; the least such part.

    None where they do not help each other.

    Raises:
        OutOfTime: before it is known.
    """
    levers = [(f.levers[0], abs(f.values[0] - f.levers[0].start)) for f in found]
    levers = [(lever, moved) for lever, moved in levers if lever.eases and not lever.whole]
    if len(levers) < 2:
        return None

    def at(part: float) -> dict[Lever, float]:
        return {lever: lever.at(part * moved) for lever, moved in levers}

    low, high = 0.0, 1.0
    while high - low > PART * high and high > LEAST:
        low, high = _halved(low, high, high * QUARTER if low == 0.0 else math.sqrt(low * high),
                            lambda part: trial(_all(at(part))))  # fmt: skip
    if high == 1.0:  # each by itself does what all do together
        return None
    values = at(high)
    return Found(tuple(values), tuple(values.values()), _all(values))


def _all(values: dict[Lever, float]) -> dict[str, object]:
    return {path: value for lever, put in values.items() for path, value in lever.put(put).items()}
