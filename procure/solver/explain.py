"""Why something is not served.

Every cause answers a question about one workload and one quarter: could more of it be served without this limit, while
no other workload of a planned quarter is served less than the plan serves it? The answer is a number of a linear (or
integer) program and not of the corner that a solver happened to stop at, so alike workloads have alike causes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from procure.families import contents
from procure.instance import Instance
from procure.instance.first_token import at_best
from procure.instance.tables import Serve
from procure.plan.status import SERVED
from procure.program import Program
from procure.rules.objective import Objective
from procure.solver.compile import Compiled
from procure.solver.highs import Options
from procure.solver.questions import Questions
from procure.timekey import TimeKey

NO_DEPLOYMENT = "no deployment meets its SLA"
NOTHING_TO_BUY = "nothing that may be bought serves it"
LEAD_TIME = "inside lead time"
APART = "prefill and decode do not meet"
WHOLE_UNITS = "whole units do not fit the limits"
NOT_WORTH = "not worth its stated price"
SEVERAL = "several limits together"
UNKNOWN = "not known"
LINK = "link bandwidth"
FULL = 1e-3
"""A link with less than this share left is full."""


@dataclass(frozen=True)
class Cause:
    """Why a workload is short in a quarter."""

    at: TimeKey
    workload: str
    text: str


def causes(
    program: Program,
    compiled: Compiled,
    instance: Instance,
    values: np.ndarray,
    short: dict[tuple[TimeKey, str], float],
    options: Options,
) -> list[Cause]:
    """Why each workload is short in a quarter: see :class:`_Case` for the questions, in their order.

    Args:
        program, compiled, instance: what was solved.
        values: the plan's value of every column.
        short: share unserved by block and workload, for those to explain.
        options: seed, threads and the time that is left; without any, causes that take a search are not known.
    """
    if not short:
        return []
    questions = Questions(program, compiled, values, sorted(short), options)
    asked = _Case(program, instance, questions)
    # Time may end: what is known at once comes last, since only limits beside those named can be missing there.
    told = {key: asked.cause(*key) for key in sorted(short, key=lambda key: (asked.is_known(*key), key))}
    return [Cause(*key, told[key]) for key in sorted(short)]


class _Case:
    """The questions that lead to a cause."""

    def __init__(self, program: Program, instance: Instance, questions: Questions) -> None:
        self.index, self.ask = program.index, questions
        self.has_time = questions.options.left() > 0.0
        self.best = instance.of(at_best)
        self.ranked = Objective(str(instance.settings["objective"])).ranked
        self.serving: dict[str, set[str]] = defaultdict(set)
        self.pointed: set[tuple[TimeKey, str]] = set()
        for at, point in self.index.timed_rows(Serve):
            self.serving[point.workload].add(point.sku)
            self.pointed.add((at, point.workload))
        filled = {(o.at, o.workload, o.bucket, site) for o, site in self.index.prefill}
        filled |= {(pair.at, pair.workload, pair.bucket, pair.to_site) for pair in self.index.ships}
        decoded = {(p.at, p.workload, p.bucket, site) for p, site in self.index.serve}
        self.joined = {key[:3] for key in decoded & filled}
        self.arrival: dict[str, int] = {}
        for _, sku, t in self.index.orders:
            arrival = t + int(self.index.sku[sku].lead_quarters)
            self.arrival[sku] = min(self.arrival.get(sku, arrival), arrival)

    def cause(self, at: TimeKey, workload: str) -> str:
        """Why a workload is short in a quarter, in words; what is out of reach of its TTFT apart from the rest."""
        away = self.index.beyond[at, workload]
        if self.ask.short_share((at, workload)) - away <= SERVED:
            return f"out of reach: {self.best[at.t, workload].words}" if away > 0 else self._cause(at, workload)
        text = self._with_full_links(self._cause(at, workload), at, workload)
        if any(cause.at_best and cause.word in text for causes in contents.causes().values() for cause in causes):
            text += f" ({self.best[at.t, workload].words})"
            return f"{text}; {away:.1%} out of reach" if away > 0 else text
        return f"{text}; {away:.1%} out of reach: {self.best[at.t, workload].words}" if away > 0 else text

    def _with_full_links(self, text: str, at: TimeKey, workload: str) -> str:
        """A cause, with the links that are full where it names none of them: racks may be full at the same time."""
        if text in (NOT_WORTH, NO_DEPLOYMENT) or LINK in text:
            return text
        pairs = {(s.from_site, s.to_site) for s in self.index.ships if (s.at, s.workload) == (at, workload)}
        full = [" to ".join(p) for p in sorted(pairs) if self.ask.fullest("shipped_within_link", (at, *p)) > 1.0 - FULL]
        return f"{text}; {LINK} is full: {', '.join(full)}" if full else text

    def is_known(self, at: TimeKey, workload: str) -> bool:
        """Whether a cause is told without a search over the whole program."""
        key = (at, workload)
        if not self.has_time or key not in self.pointed or self.ask.short_share(key) - self.index.beyond[key] <= SERVED:
            return True
        if self._is_priced(at):
            return self.ask.beside((), key)
        return any(self.ask.relaxed((name,), key) and self.ask.beside((name,), key) for name in self.ask.present)

    def _is_priced(self, at: TimeKey) -> bool:
        """Whether what is not served then has a price: in the look-ahead, or in every quarter by the objective."""
        return not self.ranked or at.t not in self.index.planned

    def _cause(self, at: TimeKey, workload: str) -> str:
        key = (at, workload)
        if key not in self.pointed:
            return NO_DEPLOYMENT
        if not self.has_time:
            return UNKNOWN
        if self._is_priced(at):  # priced and not ranked: what could be served was weighed against its price
            if self.ask.beside((), key):
                return NOT_WORTH
            parts = self.ask.relaxed((), key)
            if parts is None:
                return UNKNOWN
            if parts and self.ask.whole((), key) is not False:
                return NOT_WORTH
        free = self.ask.relaxed(contents.causes(), key)
        if free is None:
            return UNKNOWN
        if not free:
            return self._beyond_limits(at, workload)
        alone = {name: self._relieves((name,), key) for name in self.ask.present}
        named = [name for name, relieves in alone.items() if relieves]
        if named:
            return "limit: " + ", ".join(named)
        return UNKNOWN if None in alone.values() else self._together(key)

    def _beyond_limits(self, at: TimeKey, workload: str) -> str:
        """Short even without any limit."""
        places = [(site, sku, at.t) for site in self.index.sites for sku in self.serving[workload]]
        stands = any(place in self.index.in_stock for place in places)
        buckets = {p.bucket for when, p in self.index.timed_rows(Serve) if (when, p.workload) == (at, workload)}
        if stands and not all((at, workload, bucket) in self.joined for bucket in buckets):
            return APART
        arrivals = [self.arrival[sku] for sku in self.serving[workload] if sku in self.arrival]
        if not arrivals:
            return NOTHING_TO_BUY
        return LEAD_TIME if at.t < min(arrivals) else UNKNOWN

    def _relieves(self, lift: tuple[str, ...], key: tuple[TimeKey, str]) -> bool | None:
        """Whether more is served without some limits; None if it is not known.

        Parts of units serve at least as much as whole ones. Where they would serve more within all limits, whole units
        decide, and the question is put in them.
        """
        relaxed = self.ask.relaxed(lift, key)
        return self.ask.whole(lift, key) if relaxed and self.ask.relaxed((), key) is not False else relaxed

    def _together(self, key: tuple[TimeKey, str]) -> str:
        """No limit alone: those are named without whose lifting that of all others does not help.

        Where parts of units would serve more and whole ones do not even without all limits, no limit is to blame.
        """
        if self._relieves(tuple(self.ask.present), key) is False:
            return WHOLE_UNITS
        needed = [
            name
            for name in self.ask.present
            if self._relieves(tuple(n for n in self.ask.present if n != name), key) is False
        ]
        if needed:
            return f"{SEVERAL}: {', '.join(needed)}"
        return WHOLE_UNITS if self.ask.relaxed((), key) else SEVERAL
