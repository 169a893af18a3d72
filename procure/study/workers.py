"""Processes that work out changes side by side; one that dies takes nothing with it but its change."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from procure.case import Case
from procure.study.change import Change, Effort
from procure.study.outcome import DIED, FAILED, Known, Outcome, Solver

ASKED_EVERY_S = 0.2
"""Seconds after which the wish to stop is asked about while nothing finishes."""

Task = tuple[int, Change]
"""A change and its number."""


@dataclass
class Worker:
    """A process and what it works on."""

    process: Any
    pipe: Connection
    task: Task | None = None


def outcomes(
    given: tuple[Case, Effort, Path | None],
    tasks: Sequence[Task],
    jobs: int,
    stop: Callable[[], bool],
    known: Known,
) -> Iterator[Outcome]:
    """What comes of each task, in the order in which they finish; with one job in this process.

    ``given`` is a solver's case, effort and folder; ``known`` is used, and renewed, in this process alone.

    Once ``stop`` is true, what is at hand ends as at a time limit, and nothing else is begun.
    """
    if jobs > 1 and len(tasks) > 1:
        yield from _Pool(*given, jobs).outcomes(tasks, stop)
        return
    solver = Solver(*given, known)
    for number, change in tasks:
        if stop():
            return
        yield solver.outcome(number, change, stop)


class _Pool:
    """Workers that are started as they are needed, and started again where one has died."""

    def __init__(self, case: Case, effort: Effort, points: Path | None, jobs: int) -> None:
        self._context = multiprocessing.get_context("spawn")  # threads of HiGHS do not survive a fork
        self._given, self._jobs = (case, effort, points), jobs
        self._stopping = self._context.Event()
        self._workers: list[Worker] = []

    def outcomes(self, tasks: Sequence[Task], stop: Callable[[], bool]) -> Iterator[Outcome]:
        """What comes of each task, as it finishes."""
        waiting = list(reversed(tasks))
        try:
            while waiting or any(worker.task for worker in self._workers):
                if stop():
                    self._stopping.set()
                    waiting.clear()
                self._assign(waiting)
                busy = {worker.pipe: worker for worker in self._workers if worker.task}
                for pipe in wait(list(busy), ASKED_EVERY_S):
                    yield self._finished(busy[pipe])  # type: ignore[index]
        finally:
            self._end()

    def _assign(self, waiting: list[Task]) -> None:
        """A task to every worker that has none, and new workers while there are fewer than jobs."""
        idle = [worker for worker in self._workers if worker.task is None]
        while waiting and (idle or len(self._workers) < self._jobs):
            worker = idle.pop() if idle else self._start()
            worker.task = waiting.pop()
            with suppress(OSError):  # it has died: that is seen when its answer is read
                worker.pipe.send(worker.task)

    def _start(self) -> Worker:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_work, args=(there, self._stopping, os.getpid(), *self._given))
        process.daemon = True
        process.start()
        there.close()
        worker = Worker(process, here)
        self._workers.append(worker)
        return worker

    def _finished(self, worker: Worker) -> Outcome:
        assert worker.task is not None
        number, change = worker.task
        try:
            found: Outcome = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            worker.pipe.close()
            self._workers.remove(worker)
            return Outcome(number, dict(change), FAILED, _how_it_died(worker.process.exitcode), DIED)
        worker.task = None
        return found

    def _end(self) -> None:
        self._stopping.set()
        for worker in self._workers:
            worker.pipe.close()
            if worker.task:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join()


def _work(pipe: Connection, stopping: Any, parent: int, case: Case, effort: Effort, points: Path | None) -> None:
    """A worker: tasks in, outcomes out, until the pipe is closed. Ctrl-C reaches it through its parent alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    solver = Solver(case, effort, points)

    def stop() -> bool:
        return bool(stopping.is_set()) or os.getppid() != parent

    with suppress(EOFError, OSError):
        while True:
            number, change = pipe.recv()
            pipe.send(solver.outcome(number, change, stop))


def _how_it_died(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        memory = "; the system does that where memory runs out" if name == "SIGKILL" else ""
        return f"The process that worked on it was ended by {name}{memory}. Run the study again: it goes on from here."
    return f"The process that worked on it ended with code {code}. Run the study again: it goes on from here."
