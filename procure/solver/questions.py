"""What could be served without some limits, asked of the program with everything else held."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from procure.families import contents
from procure.program import Program
from procure.solver.compile import Compiled
from procure.solver.highs import INFINITY, Answer, Options, load, new_solver, run, set_option
from procure.timekey import TimeKey

RELIEF = 0.05
"""A limit is a cause if without it at least this share of what is missing would be served."""
HELD = 1e-7
"""What the others may lose of their rate: the solver's tolerance."""
EXACT = 1e-2
"""How near to nothing or to its bound a relief counts as that: the solver's tolerance on small shares."""
SECONDS = 300.0
"""Wall seconds that all questions together may take."""
SECONDS_IN_WHOLE = 10.0
"""Wall seconds that one question in whole numbers may take."""
SECONDS_AHEAD = 10.0
"""Wall seconds that all questions in whole numbers about the look-ahead may take: parts of units answer the rest."""
SECONDS_ALONE = 10.0
"""Wall seconds that one workload may take where all together left a doubt."""


class Questions:
    """Whether more of a workload can be served without some limits, the others being held at what the plan serves."""

    def __init__(
        self,
        program: Program,
        compiled: Compiled,
        values: np.ndarray,
        short: list[tuple[TimeKey, str]],
        options: Options,
    ) -> None:
        self.program, self.compiled, self.values, self.options = program, compiled, values, options
        self.end = time.perf_counter() + min(SECONDS, options.left())
        self._left_ahead = SECONDS_AHEAD
        planned = program.index.planned
        self.short = {ahead: [key for key in short if (key[0].t not in planned) == ahead] for ahead in (False, True)}
        self._batches: dict[tuple[tuple[str, ...], bool], dict[tuple[TimeKey, str], bool | None]] = {}
        self._whole: dict[tuple[tuple[str, ...], tuple[TimeKey, str]], bool | None] = {}

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Limits that the program has rows of."""
        return tuple(name for name in contents.causes() if self._rows((name,)).any())

    def relaxed(self, lift: Iterable[str], key: tuple[TimeKey, str]) -> bool | None:
        """Whether more is served without the limits if units could be bought in parts; None: no answer in time."""
        limits = tuple(name for name in lift if name in self.present)
        ahead = key[0].t not in self.program.index.planned
        if (limits, ahead) not in self._batches:
            self._batches[limits, ahead] = self._batch(limits, ahead)
        return self._batches[limits, ahead][key]

    def whole(self, limits: tuple[str, ...], key: tuple[TimeKey, str]) -> bool | None:
        """The same in whole units."""
        if (limits, key) not in self._whole:
            begin, ahead = time.perf_counter(), key[0].t not in self.program.index.planned
            seconds = min(SECONDS_IN_WHOLE, self._left_ahead) if ahead else SECONDS_IN_WHOLE
            if seconds <= 0:
                return None
            solver = self._load(limits, ahead, self.compiled.integer)
            count, target = len(self.compiled.columns), self._target(key)
            set_option(solver, "objective_target", target)
            solver.setSolution(count, np.arange(count, dtype=np.int32), self.values)
            answer = self._least(solver, key, seconds, is_mip=True)
            self._whole[limits, key] = _verdict(answer, target)
            self._left_ahead -= (time.perf_counter() - begin) * ahead
        return self._whole[limits, key]

    def _batch(self, limits: tuple[str, ...], ahead: bool) -> dict[tuple[TimeKey, str], bool | None]:
        """One linear program that puts the question of every workload and quarter at once.

            max Σ_k y[k]    subject to the rows and
            short[k] − beyond[k] ≤ (plan's short[k] − beyond[k]) · (1 − y[k]), y[k] ≤ RELIEF / count

        beyond[k] is out of reach of its TTFT, whatever is lifted.

        If k alone could be relieved by :data:`RELIEF`, mixing that service into any other raises Σ y while y[k] is
        below its bound: at the optimum y[k] is at the bound. Zero says that it could not. Between the two it may
        depend on the corner, so that all that got anything are then asked one by one.
        """
        keys = self.short[ahead]
        solver = self._load(limits, ahead, None)
        count, first, most = len(self.compiled.columns), len(self.compiled.keys), RELIEF / len(keys)
        for i, key in enumerate(keys):
            share, column = self.short_share(key), self._column(key)
            within = max(share - self.program.index.beyond[key], 0.0)
            solver.addRow(-INFINITY, share + HELD, 1, np.array([column], dtype=np.int32), np.ones(1))
            solver.addCol(-1.0, 0.0, most, 1, np.array([first + i], dtype=np.int32), np.array([within]))
        answer = run(solver, self.end - time.perf_counter())
        if answer.status != "optimal" or answer.values is None:
            return dict.fromkeys(keys)
        reached = answer.values[count:] / most
        if ((reached > EXACT) & (reached < 1.0 - EXACT)).any():
            return {
                key: self._one_by_one(solver, key) if part > EXACT else False
                for key, part in zip(keys, reached, strict=True)
            }
        return {key: bool(part > 0.5) for key, part in zip(keys, reached, strict=True)}

    def _one_by_one(self, solver: Any, key: tuple[TimeKey, str]) -> bool:
        """The question of one workload; without time for it all together are believed, who say that something helps."""
        verdict = _verdict(self._least(solver, key, SECONDS_ALONE, is_mip=False), self._target(key))
        return True if verdict is None else verdict

    def _target(self, key: tuple[TimeKey, str]) -> float:
        """The share short at which a workload counts as relieved."""
        away = self.program.index.beyond[key]
        return away + (self.short_share(key) - away) * (1.0 - RELIEF)

    def _least(self, solver: Any, key: tuple[TimeKey, str], seconds: float, is_mip: bool) -> Answer:
        """The least share short of one workload in a quarter."""
        count = solver.getNumCol()
        cost = np.zeros(count)
        cost[self._column(key)] = 1.0
        solver.changeColsCost(count, np.arange(count, dtype=np.int32), cost)
        return run(solver, min(seconds, self.end - time.perf_counter()), is_mip=is_mip)

    def _load(self, limits: tuple[str, ...], ahead: bool, integer: np.ndarray | None) -> Any:
        """A solver with the program without some limits; work of the look-ahead is held only against its own kind."""
        upper = np.where(self._rows(limits), INFINITY, self.compiled.row_upper)
        most = np.where(self.compiled.tolerated, self.values, self.compiled.col_upper).astype(float)
        for key in self.program.index.loads:
            if self._column(key) >= 0 and (ahead or key[0].t in self.program.index.planned):
                most[self._column(key)] = min(most[self._column(key)], self.values[self._column(key)] + HELD)
        solver = new_solver(self.options)
        load(
            solver,
            self._matrix(limits),
            np.zeros(len(self.compiled.columns)),
            (self.compiled.row_lower, upper),
            (self.compiled.col_lower, most),
            integer,
        )
        return solver

    def _rows(self, limits: tuple[str, ...]) -> np.ndarray:
        """Which rows state one of the limits."""
        lifted = [cause for name in limits for cause in contents.causes()[name]]
        return np.array(
            [any(cause.states(*key) for cause in lifted) for key in self.compiled.keys],
            dtype=bool,
        )

    def _matrix(self, limits: tuple[str, ...]) -> sparse.csr_matrix:
        """The rows, with coefficients that come from the limits as they are without them."""
        if not limits:
            return self.compiled.matrix
        position = {key: row for row, key in enumerate(self.compiled.keys)}
        matrix, program = self.compiled.matrix.tolil(copy=True), self.program
        for part in contents.programs().values():
            lifted = part.lifted(program.model, program.index, limits) if part.lifted else ()
            for component, key, variable, coef in lifted:
                matrix[position[component, key], self.compiled.column(variable)] = coef
        return sparse.csr_matrix(matrix)

    def short_share(self, key: tuple[TimeKey, str]) -> float:
        """Share of a workload's requests that the plan leaves short."""
        return float(self.values[self._column(key)])

    def _column(self, key: tuple[TimeKey, str]) -> int:
        return self.compiled.column(self.program.model.short[key])


def _verdict(answer: Answer, target: float) -> bool | None:
    """Whether the least share short is known to reach a target; None if neither that nor the opposite is."""
    if answer.objective is not None and answer.objective <= target:
        return True
    if answer.status == "infeasible" or (answer.bound is not None and answer.bound > target):
        return False
    return None
