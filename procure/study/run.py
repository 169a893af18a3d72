"""A run of a study: many changed cases, several at a time, each outcome stored as it comes; a killed run resumes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from procure.case import Case
from procure.errors import Fault, InputError
from procure.study.change import Change, Effort, plain
from procure.study.outcome import UNSTORED, Known, Outcome
from procure.study.store import Store, record_of
from procure.study.workers import outcomes


@dataclass(frozen=True)
class Step:
    """Progress of a study: an outcome has come.

    Attributes:
        done: outcomes so far, those of earlier runs among them.
        total: changes of the study.
        outcome: the one that came.
        seconds_left: at the pace of this run.
    """

    done: int
    total: int
    outcome: Outcome
    seconds_left: float


@dataclass(frozen=True)
class Study:
    """Changes of one case, worked out with one effort.

    Attributes:
        name: the verb that asks.
        case: what is changed.
        changes: what is changed in it, each a case of its own.
        effort: how hard to try on each.
        known: what earlier studies of the same or a like case have left in this process; it is renewed.
    """

    name: str
    case: Case
    changes: Sequence[Change]
    effort: Effort
    known: Known = field(default_factory=Known, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", [plain(change) for change in self.changes])

    def run(
        self,
        out: Path | None = None,
        jobs: int = 1,
        progress: Callable[[Step], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Outcome]:
        """What came of the changes, in their order; of those that were begun, where it was stopped.

        Args:
            out: folder that is new or empty, or holds this study: what it lacks is worked out, and what was stopped or
                lost with its process is worked out again. Nothing is stored without it.
            jobs: changes worked on at a time, each in a process of its own; one is worked on here. A script that asks
                for more stands below ``if __name__ == "__main__":``.
            progress: called after each outcome, once it is stored.
            stop: asked often; once it is true, what is at hand ends as at a time limit, and nothing else is begun.

        Raises:
            InputError: the folder holds something else, another run is at work in it, it cannot be written to any
                more, or less than one job.
        """
        if jobs < 1:
            raise InputError([Fault("study", 0, "jobs", f"{jobs}", "1 or more.")])
        store = None if out is None else Store(out, record_of(self.name, self.case, self.changes, self.effort))
        try:
            return self._run(store, jobs, progress, stop)
        finally:
            if store is not None:
                store.close()

    def _run(
        self, store: Store | None, jobs: int, progress: Callable[[Step], None] | None, stop: Callable[[], bool]
    ) -> list[Outcome]:
        found = {} if store is None else {n: o for n, o in store.outcomes().items() if o.is_final}
        tasks = [(n, change) for n, change in enumerate(self.changes, start=1) if n not in found]
        begun, before = time.perf_counter(), len(found)
        points = None if store is None else store.points
        given = self.case, self._shared(min(jobs, len(tasks))), points
        for outcome in outcomes(given, tasks, jobs, stop, self.known):
            if outcome.error == UNSTORED:
                hint = "Free the place and run the study again: it goes on from here."
                raise InputError([Fault("study", 0, "", "", outcome.reason, hint)])
            found[outcome.number] = outcome
            if store is not None:
                store.add(outcome)
            if progress is not None:
                pace = (time.perf_counter() - begun) / (len(found) - before)
                progress(Step(len(found), len(self.changes), outcome, pace * (len(self.changes) - len(found))))
        return [found[number] for number in sorted(found)]

    def _shared(self, jobs: int) -> Effort:
        """The effort with the cores shared among the jobs, where threads are left open."""
        if jobs <= 1 or self.effort.threads:
            return self.effort
        return replace(self.effort, threads=max(1, (os.cpu_count() or 1) // jobs))
