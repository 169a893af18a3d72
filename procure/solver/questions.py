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
from procure.solver.beside import Beside, Rules
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
SECONDS_IN_WHOLE = 5.0
"""Wall seconds that one question in whole numbers may take."""
SECONDS_AHEAD = 5.0
"""Wall seconds that all questions in whole numbers of the whole program about the look-ahead may take: parts of units
answer the rest."""
SECONDS_PLANNED = 30.0
"""The same about planned quarters, where what is then left is not known."""
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
        self._left = {False: SECONDS_PLANNED, True: SECONDS_AHEAD}
        self.short = {ahead: [key for key in short if self._is_ahead(key) == ahead] for ahead in (False, True)}
        self._batches: dict[tuple[tuple[str, ...], bool], dict[tuple[TimeKey, str], bool | None]] = {}
        self._solvers: dict[bool, Any] = {}
        self._whole: dict[tuple[tuple[str, ...], tuple[TimeKey, str]], bool | None] = {}
        self._beside: dict[tuple[tuple[str, ...], tuple[TimeKey, str]], bool] = {}
        self._blocks: dict[tuple[tuple[str, ...], int], Beside] = {}
        self._fleets: dict[tuple[str, ...], np.ndarray] = {}
        """By limits the last fleet beside the plan's that served somebody more."""

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Limits that the program has rows of."""
        return tuple(name for name in contents.causes() if len(self._stating[name]))

    @cached_property
    def _stating(self) -> dict[str, np.ndarray]:
        """Positions of the rows that state each limit."""
        keys = self.compiled.keys
        return {
            name: np.array(
                [i for i, key in enumerate(keys) if any(cause.states(*key) for cause in causes)], dtype=np.int32
            )
            for name, causes in contents.causes().items()
        }

    def fullest(self, component: str, key: tuple[Any, ...]) -> float:
        """What the plan uses of a row that is in shares of what may be used; 0 without such a row."""
        row = self._row.get((component, key))
        if row is None:
            return 0.0
        compiled = self.compiled
        terms = slice(compiled.matrix.indptr[row], compiled.matrix.indptr[row + 1])
        coefs, columns = compiled.matrix.data[terms], compiled.matrix.indices[terms]
        return float((coefs * self.values[columns])[coefs > 0].sum())

    def relaxed(self, lift: Iterable[str], key: tuple[TimeKey, str]) -> bool | None:
        """Whether more is served without the limits if units could be bought in parts; None: no answer in time."""
        limits, ahead = tuple(name for name in lift if name in self.present), self._is_ahead(key)
        if self._beside.get((limits, key)) or (ahead and not limits and self._in_parts(key)):
            return True
        if (limits, ahead) not in self._batches:
            self._batches[limits, ahead] = self._batch(limits, ahead)
        return self._batches[limits, ahead][key]

    def whole(self, limits: tuple[str, ...], key: tuple[TimeKey, str]) -> bool | None:
        """The same in whole units."""
        if self.beside(limits, key):
            return True
        if (limits, key) not in self._whole:
            begin, ahead = time.perf_counter(), self._is_ahead(key)
            seconds = min(SECONDS_IN_WHOLE, self._left[ahead])
            if seconds <= 0:
                return None
            solver = self._load(limits, ahead, self.compiled.integer)
            count, target = len(self.compiled.columns), self._target(key)
            set_option(solver, "objective_target", target)
            solver.setSolution(count, np.arange(count, dtype=np.int32), self.values)
            answer = self._least(solver, key, seconds, is_mip=True)
            self._whole[limits, key] = _verdict(answer, target)
            self._left[ahead] -= time.perf_counter() - begin
        return self._whole[limits, key]

    def beside(self, limits: tuple[str, ...], key: tuple[TimeKey, str]) -> bool:
        """Whether a plan that serves every other block as this one does serves more in whole units; False: not known.

        Fleets at hand are asked first: units that were bought for another workload are there for this one too.
        """
        if (limits, key) not in self._beside:
            plans, found = self._plans(limits, key), False
            asked = self._column(key), self._target(key)
            for fleet in (self.values[self.compiled.master], self._fleets.get(limits)):
                found = found or (fleet is not None and plans.serves(fleet, *asked, self._seconds()))
            if not found:
                fleet = plans.fleet(*asked, self._seconds())
                found = fleet is not None
                if fleet is not None:
                    self._fleets[limits] = fleet
            self._beside[limits, key] = found
        return self._beside[limits, key]

    def _in_parts(self, key: tuple[TimeKey, str]) -> bool:
        """The same in parts of units within all limits."""
        return self._plans((), key).serves(None, self._column(key), self._target(key), self._seconds())

    def _plans(self, limits: tuple[str, ...], key: tuple[TimeKey, str]) -> Beside:
        """The plans beside this one that serve the block of a workload otherwise."""
        block = int(self.compiled.column_block[self._column(key)])
        if (limits, block) not in self._blocks:
            rules = self._rules(limits, self._is_ahead(key))
            self._blocks[limits, block] = Beside(self.compiled, rules, self.values, block, self.options)
        return self._blocks[limits, block]

    def _seconds(self) -> float:
        """Wall seconds that a question beside the plan may take."""
        return min(SECONDS_IN_WHOLE, self.end - time.perf_counter())

    def _is_ahead(self, key: tuple[TimeKey, str]) -> bool:
        """Whether a workload is one of the look-ahead."""
        return key[0].t not in self.program.index.planned

    def _batch(self, limits: tuple[str, ...], ahead: bool) -> dict[tuple[TimeKey, str], bool | None]:
        """One linear program that puts the question of every workload and quarter at once.

            max Σ_k y[k]    subject to the rows and
            short[k] − beyond[k] ≤ (plan's short[k] − beyond[k]) · (1 − y[k]), y[k] ≤ RELIEF / count

        beyond[k] is out of reach of its TTFT, whatever is lifted.

        If k alone could be relieved by :data:`RELIEF`, mixing that service into any other raises Σ y while y[k] is
        below its bound: at the optimum y[k] is at the bound. Zero says that it could not. Between the two it may
        depend on the corner, so that all that got anything are then asked one by one.
        """
        keys, count = self.short[ahead], len(self.compiled.columns)
        if ahead not in self._solvers:
            self._solvers[ahead] = self._all_at_once(ahead)
        solver = self._solvers[ahead]
        self._lift(solver, limits)
        answer = run(solver, self.end - time.perf_counter())
        if answer.status != "optimal" or answer.values is None:
            del self._solvers[ahead]  # where it stopped is no place to begin the next from
            return dict.fromkeys(keys)
        reached = answer.values[count:] / (RELIEF / len(keys))
        found: dict[tuple[TimeKey, str], bool | None] = {
            key: bool(part > 0.5) for key, part in zip(keys, reached, strict=True)
        }
        if ((reached > EXACT) & (reached < 1.0 - EXACT)).any():
            found = {
                key: self._one_by_one(solver, key) if part > EXACT else False
                for key, part in zip(keys, reached, strict=True)
            }
            self._ask_all(solver, len(keys))
        self._hold(solver, limits)
        return found

    def _all_at_once(self, ahead: bool) -> Any:
        """A solver with the program, a row and a column y for each workload: see :meth:`_batch`.

        It is kept from one set of limits to the next, which begins where the last one ended.
        """
        keys = self.short[ahead]
        solver = self._load((), ahead, None)
        for i, key in enumerate(keys):
            share, column = self.short_share(key), self._column(key)
            within = max(share - self.program.index.beyond[key], 0.0)
            row = np.array([len(self.compiled.keys) + i], dtype=np.int32)
            solver.addRow(-INFINITY, share + HELD, 1, np.array([column], dtype=np.int32), np.ones(1))
            solver.addCol(0.0, 0.0, RELIEF / len(keys), 1, row, np.array([within]))
        self._ask_all(solver, len(keys))
        return solver

    def _ask_all(self, solver: Any, count: int) -> None:
        """Have as much of all y as can be, and nothing else."""
        columns = len(self.compiled.columns)
        cost = np.append(np.zeros(columns), np.full(count, -1.0))
        solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)

    def _lift(self, solver: Any, limits: tuple[str, ...]) -> None:
        """Take limits off a solver with the program."""
        for row in self._stated(limits):
            solver.changeRowBounds(row, self.compiled.row_lower[row], INFINITY)
        for row, column, coef in self._lifted(limits):
            solver.changeCoeff(row, column, coef)

    def _hold(self, solver: Any, limits: tuple[str, ...]) -> None:
        """Put them on again."""
        for row in self._stated(limits):
            solver.changeRowBounds(row, self.compiled.row_lower[row], self.compiled.row_upper[row])
        for row, column, _ in self._lifted(limits):
            solver.changeCoeff(row, column, self.compiled.matrix[row, column])

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
        """A solver with the program without some limits."""
        rules, solver = self._rules(limits, ahead), new_solver(self.options)
        load(solver, rules.matrix, np.zeros(len(self.compiled.columns)), rules.rows, rules.columns, integer)
        return solver

    def _rules(self, limits: tuple[str, ...], ahead: bool) -> Rules:
        """The program without some limits; work of the look-ahead is held only against its own kind."""
        upper = self.compiled.row_upper.copy()
        upper[self._stated(limits)] = INFINITY
        most = np.where(self.compiled.tolerated, self.values, self.compiled.col_upper).astype(float)
        for key in self.program.index.loads:
            if self._column(key) >= 0 and (ahead or not self._is_ahead(key)):
                most[self._column(key)] = min(most[self._column(key)], self.values[self._column(key)] + HELD)
        matrix, lifted = self.compiled.matrix, self._lifted(limits)
        if lifted:
            changed = matrix.tolil(copy=True)
            for row, column, coef in lifted:
                changed[row, column] = coef
            matrix = sparse.csr_matrix(changed)
        return Rules(matrix, (self.compiled.row_lower, upper), (self.compiled.col_lower, most))

    def _stated(self, limits: tuple[str, ...]) -> np.ndarray:
        """Positions of the rows that state some of the limits."""
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *(self._stating[name] for name in limits)]))

    def _lifted(self, limits: tuple[str, ...]) -> list[tuple[int, int, float]]:
        """Coefficients that come from the limits, as they are without them: row, column, coefficient."""
        model, index = self.program.model, self.program.index
        return [
            (self._row[component, key], self.compiled.column(variable), coef)
            for part in contents.programs().values()
            if part.lifted and limits
            for component, key, variable, coef in part.lifted(model, index, limits)
        ]

    @cached_property
    def _row(self) -> dict[tuple[str, Any], int]:
        return {key: row for row, key in enumerate(self.compiled.keys)}

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
