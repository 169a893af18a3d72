"""The one place that talks to HiGHS."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from procure.errors import Fault, InputError
from procure.plan.summary import gap_of_decided
from procure.solver.compile import Compiled

INFINITY = highspy.kHighsInf


@dataclass(frozen=True)
class Progress:
    """What is known while a solve runs; money in M USD."""

    phase: str
    seconds: float
    incumbent: float | None
    bound: float | None
    standing: float = 0.0
    """M USD of what stands and is on firm order, which no decision moves."""
    earns: bool = False
    """Whether the money is cost less income, of which the margin is the negative."""

    @property
    def gap_of_decided(self) -> float | None:
        """Distance between incumbent and bound relative to what decisions move: the cost less what stands."""
        if self.incumbent is None or self.bound is None:
            return None
        return gap_of_decided(self.incumbent, self.bound, self.standing)

    @property
    def gap(self) -> float | None:
        """Relative distance between incumbent and bound."""
        if self.incumbent is None or self.bound is None:
            return None
        return relative_gap(self.incumbent, self.bound)


EXACT = 1e-9
"""How far a row may be off where master, quarters and whole program must agree on what a fleet can serve: racks, or
shares of a rate. HiGHS's own 1e-6 lets a search in whole numbers keep a fleet which every quarter turns down."""
CLOSED = 1e-6
"""A gap that counts as none: bounds are only as exact as the linear programs behind them."""


SECONDS_BETWEEN_REPORTS = 1.0
"""How often the progress of one step is told."""


@dataclass
class Options:
    """How hard to try.

    ``gap`` is relative, and no less than :data:`CLOSED`; ``time_limit_s`` counts wall seconds over the whole solve;
    ``threads`` 0 leaves it to HiGHS; ``stop`` is asked often, and ends the search once it is true; for progress,
    ``standing`` is what no decision moves, M USD, and ``earns`` whether the money is cost less income.
    """

    gap: float = 0.005
    time_limit_s: float = float("inf")
    threads: int = 0
    seed: int = 0
    progress: Callable[[Progress], None] | None = None
    stop: Callable[[], bool] | None = None
    started: float = field(default_factory=time.perf_counter)
    standing: float = 0.0
    earns: bool = False
    _told: Progress | None = None
    _until: float = float("inf")
    _regardless: bool = False

    def __post_init__(self) -> None:
        """Refuse what no search can follow.

        Raises:
            InputError: a gap that is not between 0 and 1, a time limit that is not 0 or more, threads or seed below 0.
        """
        rules = [
            ("gap", self.gap, 0.0 <= self.gap <= 1.0, "Between 0 and 1."),
            ("time_limit", self.time_limit_s, self.time_limit_s >= 0.0, "0 seconds or more."),
            ("threads", self.threads, self.threads >= 0, "0 (left to HiGHS) or more."),
            ("seed", self.seed, 0 <= self.seed < 2**31, "Between 0 and 2,147,483,647."),
        ]
        wrong = [Fault("solve", 0, name, f"{value}", expected) for name, value, right, expected in rules if not right]
        if wrong:
            raise InputError(wrong)
        self.gap = max(self.gap, CLOSED)

    def left(self) -> float:
        """Seconds left, of a stage that has a share of them for that stage; none once it is asked to stop."""
        now = time.perf_counter()
        if self._regardless:
            return self._until - now
        if self.stop is not None and self.stop():
            return 0.0
        return min(self.time_limit_s - (now - self.started), self._until - now)

    @contextmanager
    def share(self, part: float) -> Iterator[None]:
        """Leave a stage no more than a part of the time that is left, until :meth:`unhurried`."""
        with self.within(part * max(self.left(), 0.0)):
            yield

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Leave a stage no more than so many seconds, until :meth:`unhurried`."""
        before = self._until
        self._until = min(before, time.perf_counter() + seconds)
        try:
            yield
        finally:
            self._until = before

    def unhurried(self) -> None:
        """Let the stage that runs have all the time that is left: it has found what later stages were to look for."""
        if not self._regardless:
            self._until = float("inf")

    @contextmanager
    def finishing(self, seconds: float) -> Iterator[None]:
        """Some seconds to make a plan of what is known, though the time is over or a stop was asked for."""
        before = self._until, self._regardless
        self._until, self._regardless = time.perf_counter() + seconds, True
        try:
            yield
        finally:
            self._until, self._regardless = before

    def report(self, phase: str, incumbent: float | None, bound: float | None) -> None:
        """Tell whoever listens."""
        if self.progress is not None:
            self._told = Progress(
                phase, time.perf_counter() - self.started, incumbent, bound, self.standing, self.earns
            )
            self.progress(self._told)

    def tick(self) -> None:
        """Tell again what was told last, if that is a while ago: a long step has nothing new to say but its time."""
        last = self._told
        if last is not None and time.perf_counter() - self.started - last.seconds >= SECONDS_BETWEEN_REPORTS:
            self.report(last.phase, last.incumbent, last.bound)


def relative_gap(incumbent: float, bound: float) -> float:
    """(incumbent − bound) over the incumbent's size, never negative."""
    return max(0.0, incumbent - bound) / max(abs(incumbent), 1e-9)


class OutOfTime(Exception):
    """The time of the whole solve is over in the midst of a step: what is known before it is kept."""


@dataclass(frozen=True)
class Answer:
    """What HiGHS said: ``status`` is optimal, limit, infeasible, unbounded or the solver's own word for a failure."""

    status: str
    values: np.ndarray | None
    objective: float | None
    bound: float | None
    row_dual: np.ndarray | None = None


def set_option(solver: Any, name: str, value: Any) -> None:
    """Set an option or fail; HiGHS itself only returns a status that is easily ignored."""
    if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
        raise ValueError(f"HiGHS does not take {name} = {value!r}")


@cache
def _greeted() -> bool:
    """Let HiGHS print its greeting, which it does once per process whatever the options, where nobody reads it.

    It goes to the process's own stdout, which must hold nothing but what was asked for.
    """
    sys.stdout.flush()
    keep, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        highspy.Highs()
    finally:
        os.dup2(keep, 1)
        os.close(keep)
        os.close(nowhere)
    return True


_threads_in_use: list[int] = []
"""Threads that the scheduler of HiGHS was started with in this process."""


def _schedule(threads: int) -> None:
    """Start HiGHS's threads anew where their number changes: it refuses to run with another number otherwise."""
    if _threads_in_use and _threads_in_use[-1] != threads:
        highspy.Highs.resetGlobalScheduler(True)
    _threads_in_use[:] = [threads]


def new_solver(options: Options) -> Any:
    """A silent solver with the seed and threads of the options."""
    _greeted()
    _schedule(int(options.threads))
    solver = highspy.Highs()
    set_option(solver, "output_flag", False)
    set_option(solver, "random_seed", int(options.seed))
    set_option(solver, "threads", int(options.threads))
    _watch(solver, options)
    return solver


def _watch(solver: Any, options: Options) -> None:
    """End the runs of a solver as soon as there is no time left, and let them tell that time passes.

    HiGHS keeps its own time limit; this is for a wish to stop. A run asks thousands of times, ten microseconds each.
    """
    if options.stop is None and options.progress is None:
        return

    def ask(event: Any) -> None:
        # Said at every call: HiGHS keeps an interrupt from one run to the next.
        event.data_in.user_interrupt = options.left() <= 0
        if threading.current_thread() is threading.main_thread():
            options.tick()

    for callback in (solver.cbSimplexInterrupt, solver.cbIpmInterrupt, solver.cbMipInterrupt):
        callback.subscribe(ask)


def be_exact(solver: Any) -> None:
    """Let rows and whole numbers be off by no more than :data:`EXACT`."""
    set_option(solver, "primal_feasibility_tolerance", EXACT)
    set_option(solver, "mip_feasibility_tolerance", EXACT)


def load(
    solver: Any,
    matrix: sparse.csr_matrix,
    cost: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray],
    columns: tuple[np.ndarray, np.ndarray],
    integer: np.ndarray | None = None,
    names: tuple[list[str], list[str]] | None = None,
) -> None:
    """Hand a program to a solver; ``names`` are of columns and rows."""
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = np.asarray(cost, dtype=float)
    lp.col_lower_, lp.col_upper_ = columns
    lp.row_lower_, lp.row_upper_ = rows
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    if integer is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in integer]
    if names is not None:
        lp.col_names_, lp.row_names_ = names
    if solver.passModel(lp) == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refused the program")


def run(solver: Any, seconds: float = float("inf"), is_mip: bool = False) -> Answer:
    """Run a solver for at most some seconds and say what came of it.

    HiGHS counts its time limit from the first run of an instance, so that the limit is set anew before each run.
    """
    if seconds <= 0:
        return Answer("limit", None, None, None)
    limit = INFINITY if seconds == float("inf") else solver.getRunTime() + seconds
    set_option(solver, "time_limit", limit)
    if solver.run() == highspy.HighsStatus.kError:
        return Answer("error", None, None, None)
    return read_answer(solver, is_mip)


def run_inside(solver: Any, seconds: float) -> np.ndarray | None:
    """The point that an interior method without crossover ends with, also where it comes no nearer to the optimum.

    It keeps rows and bounds only nearly, how nearly is for the caller to see; None where it ended for another reason.
    """
    answer = run(solver, seconds)
    if answer.status not in ("optimal", solver.modelStatusToString(highspy.HighsModelStatus.kUnknown)):
        return None
    point = np.array(solver.getSolution().col_value)
    return point if len(point) == solver.getNumCol() and np.isfinite(point).all() else None


def read_answer(solver: Any, is_mip: bool) -> Answer:
    """The outcome of the last run of a solver."""
    status = solver.getModelStatus()
    known = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kUnbounded: "unbounded",
        highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
        highspy.HighsModelStatus.kTimeLimit: "limit",
        highspy.HighsModelStatus.kInterrupt: "limit",
        highspy.HighsModelStatus.kSolutionLimit: "limit",
    }
    word = known.get(status, solver.modelStatusToString(status))
    info = solver.getInfo()
    # An LP may be optimal in the scaled space and off by a rounding outside it: optimal is the better witness.
    feasible = word == "optimal" or info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    solution = solver.getSolution()
    values = np.array(solution.col_value) if feasible else None
    objective = info.objective_function_value if feasible else None
    if is_mip:
        bound = info.mip_dual_bound if abs(info.mip_dual_bound) < INFINITY else None
        return Answer(word, values, objective, bound)
    duals = np.array(solution.row_dual) if word == "optimal" else None
    return Answer(word, values, objective, objective if word == "optimal" else None, duals)


@dataclass(frozen=True)
class Basis:
    """Which columns and rows of a linear program are basic, and at which bound the others are, as HiGHS counts them."""

    columns: np.ndarray
    rows: np.ndarray


_STATUSES = list(highspy.HighsBasisStatus.__members__.values())
AT_LOWER, BASIC = (int(status) for status in (highspy.HighsBasisStatus.kLower, highspy.HighsBasisStatus.kBasic))
"""What a column and a row are that a basis does not know."""


def basis_of(solver: Any) -> Basis:
    """The basis that the last run of a linear program ended with."""
    basis = solver.getBasis()
    columns, rows = (np.array([int(v) for v in side], dtype=np.int8) for side in (basis.col_status, basis.row_status))
    return Basis(columns, rows)


def begin_from(solver: Any, basis: Basis) -> None:
    """Let the next run begin from a basis, which HiGHS completes where it is none of the program any more."""
    status = {int(one): one for one in _STATUSES}
    begun = highspy.HighsBasis()
    begun.valid = begun.alien = True
    begun.col_status = [status[int(v)] for v in basis.columns]
    begun.row_status = [status[int(v)] for v in basis.rows]
    if solver.setBasis(begun) == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refused the basis")


def duals_at(solver: Any, basis: Basis) -> np.ndarray:
    """Row duals of a basis at the present coefficients, optimal or not: no iteration is made."""
    begin_from(solver, basis)
    set_option(solver, "simplex_iteration_limit", 0)
    solver.run()
    set_option(solver, "simplex_iteration_limit", highspy.kHighsIInf)
    duals = np.array(solver.getSolution().row_dual)
    return duals if len(duals) == solver.getNumRow() else np.full(solver.getNumRow(), np.nan)


def write_mps(compiled: Compiled, cost: np.ndarray, row_upper: np.ndarray, col_upper: np.ndarray, path: Path) -> None:
    """Write a program in plain MPS, objective in M USD; a path ending in .mps is required by HiGHS."""
    solver = new_solver(Options())
    tidy = (_plain(compiled.columns, "c"), _plain(compiled.rows, "r"))
    load(
        solver,
        compiled.matrix,
        cost,
        (compiled.row_lower, row_upper),
        (compiled.col_lower, col_upper),
        compiled.integer,
        tidy,
    )
    if solver.writeModel(str(path)) == highspy.HighsStatus.kError:
        raise OSError(f"HiGHS could not write {path}")


def _plain(names: list[str], letter: str) -> list[str]:
    """Names without the blanks that MPS takes for separators, unique; a long list gets a serial number in front."""
    return [
        f"{letter}{i}_{''.join(ch if ch.isalnum() or ch in '._-' else '_' for ch in n)}" for i, n in enumerate(names)
    ]
