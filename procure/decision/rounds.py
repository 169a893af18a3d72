"""Changed cases worked out round by round, where what is asked next depends on what came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from procure.case import Case
from procure.study import Change, Effort, Known, Outcome, Step, Study
from procure.study.store import check_fresh
from procure.why.effect import SAME_COST, Point

ROUNDS = "rounds"
"""Folder of the studies, numbered, below that of the whole: the same questions find the same rounds again."""


@dataclass(frozen=True)
class How:
    """How hard to try.

    Attributes:
        effort: on each changed case.
        out: folder that is new or empty, or holds this run, which then goes on; nothing is stored without it.
        jobs: cases worked on at a time.
        progress: called after each of them.
        stop: asked often; once it is true, what is at hand ends and nothing else is begun.
    """

    effort: Effort = field(default_factory=Effort)
    out: Path | None = None
    jobs: int = 1
    progress: Callable[[Step], None] | None = None
    stop: Callable[[], bool] = lambda: False


class Rounds:
    """Rounds of changes of one case; what was worked out once is not asked again.

    Raises:
        InputError: the folder holds something else.
    """

    def __init__(self, name: str, case: Case, how: How) -> None:
        if how.out is not None and not (how.out / ROUNDS).is_dir():
            # Its tables stand beside the rounds: in the folder of a case they would be read as its own.
            check_fresh(how.out)
        self._name, self._case, self._how = name, case, how
        self._effort, self._known = replace(how.effort, ask_causes=False), Known()
        self._round = 0
        self._found: dict[tuple[tuple[str, Any], ...], Outcome] = {}

    @property
    def stopped(self) -> bool:
        """Whether it was asked to stop."""
        return self._how.stop()

    def ask(self, changes: Sequence[Change]) -> list[Outcome | None]:
        """What comes of changes, in their order; None of those that were not begun, or stopped.

        Raises:
            InputError: the folder holds something else.
        """
        new = [change for change in map(dict, changes) if _key(change) not in self._found]
        new = list({_key(change): change for change in new}.values())
        if new:
            self._round += 1
            study = Study(self._name, self._case, new, self._effort, self._known)
            folder = None if self._how.out is None else self._how.out / ROUNDS / f"{self._round}"
            for outcome in study.run(folder, self._how.jobs, self._how.progress, self._how.stop):
                if not outcome.stopped:
                    self._found[_key(new[outcome.number - 1])] = outcome
        return [self._found.get(_key(change)) for change in changes]


def _key(change: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(change.items())


def ordered(outcome: Outcome, quarter: str | None = None) -> dict[str, int]:
    """Units ordered in planned quarters by SKU, or in one quarter."""
    found: dict[str, int] = {}
    for order in outcome.facts["purchases"]:
        if quarter in (None, order["quarter"]):
            found[order["sku"]] = found.get(order["sku"], 0) + int(order["count"])
    return dict(sorted(found.items()))


def moved(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """By how much counts differ, of those that do."""
    differences = {sku: after.get(sku, 0) - before.get(sku, 0) for sku in sorted({*before, *after})}
    return {sku: count for sku, count in differences.items() if count}


def in_words(counts: Mapping[str, int]) -> str:
    """Differences of counts, such as ``+3 vr-nvl72, -2 cmx-rack``."""
    return ", ".join(f"{count:+d} {sku}" for sku, count in counts.items())


def gap_usd(point: Point) -> float:
    """By how much a cost may lie above the least one; infinite without a bound."""
    return point.cost_usd - point.bound_usd


WORTH_GAPS = 2.0
"""Gaps that a difference of two costs must be wider than to be a finding: with less, the gaps might be all of it."""


def is_beyond(dearer: Point, cheaper: Point) -> bool:
    """Whether one plan is proven to cost more than another by more than twice the gap of either, and than rounding."""
    more = dearer.cost_usd - cheaper.cost_usd
    gaps = max(gap_usd(dearer), gap_usd(cheaper), SAME_COST * abs(cheaper.cost_usd))
    return more > WORTH_GAPS * gaps
