"""Why something is not served.

Every cause answers a question about one workload and one quarter: could more of it be served without this limit, while
no other workload of a planned quarter is served less than the plan serves it? The answer is a number of a linear (or
integer) program and not of the corner that a solver happened to stop at, so alike workloads have alike causes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from procure.instance import Instance
from procure.program import Program
from procure.program.structure import order_bound
from procure.solver.compile import Compiled
from procure.solver.highs import INFINITY, Answer, Options, load, new_solver, run, set_option

RELIEF = 0.05
"""A limit is a cause if without it at least this share of what is missing would be served."""
HELD = 1e-7
"""What the others may lose of their rate: the solver's tolerance."""
SECONDS = 120.0
"""Wall seconds that all questions together may take."""
SECONDS_IN_WHOLE = 10.0
"""Wall seconds that one question in whole numbers may take."""
FREE_ORDER = 1e4
"""Units in an order that nothing bounds."""

RESOURCES = {
    "power": "power_kw",
    "positions": "positions",
    "area": "area_m2",
    "liquid cooling": "liquid_kw",
    "ports": "ports",
}
FAMILIES = {
    "budget": ("budget_limit",),
    "supply": ("supply_cap",),
    "pods": ("places_in_pods", "lpx_copies_within_pods"),
    "minimum order": ("minimum_order", "order_placed"),
    "time to first token": ("late_prefill_share",),
}
LIMITS = ("budget", *RESOURCES, "supply", "pods", "minimum order", "time to first token")
"""Limits that a planner can move, in the order in which they are told."""

NO_DEPLOYMENT = "no deployment meets its SLA"
NOTHING_TO_BUY = "nothing that may be bought serves it"
LEAD_TIME = "inside lead time"
WHOLE_UNITS = "whole units do not fit the limits"
NOT_WORTH = "not worth its stated price"
SEVERAL = "several limits together"
UNKNOWN = "not known"


class Infeasible(Exception):
    """No plan exists, whatever is left unserved; the lines say which limits are broken by how much."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("No plan fits the limits, even with every request left unserved:\n  " + "\n  ".join(lines))


class NoPlan(Exception):
    """A limit was reached before any plan was found."""


@dataclass(frozen=True)
class Cause:
    """Why a workload is short in a quarter."""

    t: int
    workload: str
    text: str


def causes(
    program: Program,
    compiled: Compiled,
    instance: Instance,
    values: np.ndarray,
    short: dict[tuple[int, str], float],
    options: Options,
) -> list[Cause]:
    """Why each workload is short in a quarter: see :class:`_Case` for the questions, in their order.

    Args:
        program, compiled, instance: what was solved.
        values: the plan's value of every column.
        short: share unserved by quarter and workload, for those to explain.
        options: seed, threads and the time that is left.
    """
    if not short:
        return []
    questions = _Questions(program, compiled, values, options)
    asked = _Case(program, instance, questions)
    return [Cause(t, w, asked.cause(t, w)) for t, w in sorted(short)]


class _Case:
    """The questions that lead to a cause."""

    def __init__(self, program: Program, instance: Instance, questions: _Questions) -> None:
        self.index, self.ask = program.index, questions
        self.serving: dict[str, set[str]] = defaultdict(set)
        self.pointed: set[tuple[int, str]] = set()
        for r in instance["serve"].itertuples():
            self.serving[r.workload].add(r.sku)
            self.pointed.add((r.t, r.workload))
        self.arrival: dict[str, int] = {}
        for _, sku, t in self.index.orders:
            arrival = t + int(self.index.sku[sku].lead_quarters)
            self.arrival[sku] = min(self.arrival.get(sku, arrival), arrival)

    def cause(self, t: int, workload: str) -> str:
        """Why a workload is short in a quarter, in words."""
        key = (t, workload)
        if key not in self.pointed:
            return NO_DEPLOYMENT
        free = self.ask.relaxed(LIMITS, key)
        if free is None:
            return UNKNOWN
        if not free:
            return self._beyond_limits(t, workload)
        if t not in self.index.planned:
            within = self._relieves((), key)
            if within is not False:
                return NOT_WORTH if within else UNKNOWN
        alone = {name: self._relieves((name,), key) for name in self.ask.present}
        named = [name for name, relieves in alone.items() if relieves]
        if named:
            return "limit: " + ", ".join(named)
        return UNKNOWN if None in alone.values() else self._together(key)

    def _beyond_limits(self, t: int, workload: str) -> str:
        """Short even without any limit."""
        arrivals = [self.arrival[sku] for sku in self.serving[workload] if sku in self.arrival]
        if not arrivals:
            return NOTHING_TO_BUY
        return LEAD_TIME if t < min(arrivals) else UNKNOWN

    def _relieves(self, lift: tuple[str, ...], key: tuple[int, str]) -> bool | None:
        """Whether more is served without some limits; None if it is not known.

        Parts of units serve at least as much as whole ones. Where they would serve more within all limits, whole units
        decide, and the question is put in them.
        """
        relaxed = self.ask.relaxed(lift, key)
        return self.ask.whole(lift, key) if relaxed and self.ask.relaxed((), key) is not False else relaxed

    def _together(self, key: tuple[int, str]) -> str:
        """No limit alone: those are named without whose lifting that of all others does not help."""
        needed = [
            name
            for name in self.ask.present
            if self._relieves(tuple(n for n in self.ask.present if n != name), key) is False
        ]
        if needed:
            return f"{SEVERAL}: {', '.join(needed)}"
        return WHOLE_UNITS if self.ask.relaxed((), key) else SEVERAL


class _Questions:
    """Whether more of a workload can be served without some limits, the others being held at what the plan serves."""

    def __init__(self, program: Program, compiled: Compiled, values: np.ndarray, options: Options) -> None:
        self.program, self.compiled, self.values, self.options = program, compiled, values, options
        self.end = time.perf_counter() + min(SECONDS, options.left())
        self._solvers: dict[tuple[tuple[str, ...], bool], Any] = {}
        self._known: dict[tuple[tuple[str, ...], tuple[int, str], bool], bool | None] = {}

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Limits that the program has rows of."""
        return tuple(name for name in LIMITS if self._rows((name,)).any())

    def relaxed(self, lift: Iterable[str], key: tuple[int, str]) -> bool | None:
        """Whether more is served without the limits if units could be bought in parts; None: no answer in time."""
        return self._answer(tuple(name for name in lift if name in self.present), key, whole=False)

    def whole(self, lift: tuple[str, ...], key: tuple[int, str]) -> bool | None:
        """The same in whole units."""
        return self._answer(lift, key, whole=True)

    def _answer(self, limits: tuple[str, ...], key: tuple[int, str], whole: bool) -> bool | None:
        known = (limits, key, whole)
        if known not in self._known:
            target = float(self.values[self._column(key)]) * (1.0 - RELIEF)
            answer = self._run(limits, key, target, whole)
            if answer.objective is not None and answer.objective <= target:
                self._known[known] = True
            elif answer.status == "infeasible" or (answer.bound is not None and answer.bound > target):
                self._known[known] = False
            else:
                self._known[known] = None
        return self._known[known]

    def _run(self, limits: tuple[str, ...], key: tuple[int, str], target: float, whole: bool) -> Answer:
        left = self.end - time.perf_counter()
        if left <= 0:
            return Answer("limit", None, None, None)
        ahead = key[0] not in self.program.index.planned
        if whole or (limits, ahead) not in self._solvers:
            solver = self._load(limits, ahead, whole)
            if not whole:
                self._solvers[limits, ahead] = solver
        else:
            solver = self._solvers[limits, ahead]
        count = len(self.compiled.columns)
        cost = np.zeros(count)
        cost[self._column(key)] = 1.0
        solver.changeColsCost(count, np.arange(count, dtype=np.int32), cost)
        if whole:
            set_option(solver, "objective_target", target)
            solver.setSolution(count, np.arange(count, dtype=np.int32), self.values)
            left = min(left, SECONDS_IN_WHOLE)
        return run(solver, left, is_mip=whole)

    def _load(self, limits: tuple[str, ...], ahead: bool, whole: bool) -> Any:
        """A solver with the program without some limits; work of the look-ahead is held only against its own kind."""
        upper = np.where(self._rows(limits), INFINITY, self.compiled.row_upper)
        most = self.compiled.col_upper.astype(float)
        for key in self.program.index.loads:
            if self._column(key) >= 0 and (ahead or key[0] in self.program.index.planned):
                most[self._column(key)] = min(most[self._column(key)], self.values[self._column(key)] + HELD)
        solver = new_solver(self.options)
        load(
            solver,
            self._matrix(limits),
            np.zeros(len(self.compiled.columns)),
            (self.compiled.row_lower, upper),
            (self.compiled.col_lower, most),
            self.compiled.integer if whole else None,
        )
        return solver

    def _rows(self, limits: tuple[str, ...]) -> np.ndarray:
        """Which rows state one of the limits."""
        families = {family for name in limits for family in FAMILIES.get(name, ())}
        resources = {RESOURCES[name] for name in limits if name in RESOURCES}
        return np.array(
            [
                family in families or (family == "site_limit" and key[2] in resources)
                for family, key in self.compiled.keys
            ],
            dtype=bool,
        )

    def _matrix(self, limits: tuple[str, ...]) -> sparse.csr_matrix:
        """The rows, with the most that an order can be as large as it is without the limits."""
        if not limits or "minimum order" in limits:
            return self.compiled.matrix
        matrix = self.compiled.matrix.tolil(copy=True)
        index, model = self.program.index, self.program.model
        without = {RESOURCES.get(name, name) for name in limits}
        for row, (family, key) in enumerate(self.compiled.keys):
            if family == "order_placed":
                most = min(order_bound(index, key[0], without), FREE_ORDER)
                matrix[row, self.compiled.column(model.ordered[key])] = -most
        return sparse.csr_matrix(matrix)

    def _column(self, key: tuple[int, str]) -> int:
        return self.compiled.column(self.program.model.short[key])
