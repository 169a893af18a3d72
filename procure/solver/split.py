"""The program split into a master over the fleet and one block of service for each quarter.

Given the integers and the few columns that tie quarters together, the service of each quarter is its own LP.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

from procure.program.declare import More
from procure.solver.blocks import Block, Cut, Outcome, parts_of
from procure.solver.chains import chained
from procure.solver.compile import Compiled, tolerates
from procure.solver.highs import Options, OutOfTime
from procure.solver.master import Master
from procure.solver.solution import Solution

Said = TypeVar("Said")
FINISHING_SECONDS = 60.0
"""Wall seconds at most to make a plan of the fleet that is kept when time is over; one round of quarters each."""


class Split:
    """A compiled program split into a master and blocks, and what its stages share: cuts, nearest fleet, relaxation.

    ``compiled`` is told by the steps of its chains (:mod:`procure.solver.chains`); :meth:`values` are of it as given.
    """

    def __init__(self, compiled: Compiled, options: Options) -> None:
        self._given = compiled
        self.compiled, self._steps = chained(compiled)
        compiled = self.compiled
        self.options = options
        self.columns = np.flatnonzero(compiled.master)
        self.blocks = [Block(i, compiled, part, compiled.cost, options) for i, part in enumerate(parts_of(compiled))]
        self.rows = np.flatnonzero(compiled.row_block < 0)
        self.cuts: list[Cut] = []
        self._strict = False
        self._workers = ThreadPoolExecutor(2)
        whole, helps = compiled.integer[self.columns], compiled.helps[self.columns]
        self.helping, self.hurting = (np.flatnonzero(whole & (helps == way)) for way in (More.HELPS, More.HURTS))
        """Integer master columns of which more only loosens the rows of the blocks, and of which more only tightens
        them."""
        shorts = compiled.shortfall[self.columns] != 0.0
        self.shorts = np.flatnonzero(shorts)
        self.least_short = compiled.col_lower[self.columns][self.shorts]
        """What they are at least: nothing, or all that there is where the objective ranks no shortfall."""
        self.nearest: np.ndarray | None = None
        """The fleet that falls least short of those asked about, the cheapest of them, with its shortfall."""
        self._outdated = False
        """Whether that fleet is short otherwise than it was said to be, as something else is tolerated now."""
        self.hint: np.ndarray | None = None
        """The fleet of a case that is alike, which need not fit this one."""
        self.wants: dict[int, np.ndarray] = {}
        """First stages that serve a block if it were alone, by its number."""
        self.relaxed: np.ndarray | None = None
        """A point of the relaxation of cost that can be served and is near the least, once one was found."""

    def remember(self, x: np.ndarray) -> None:
        """Keep a fleet that can be served, with its shortfall among ``x``, if it is the nearest to serve all so far."""
        if self.nearest is None or self._outdated or self._rank(x) < self._rank(self.nearest):
            self.nearest, self._outdated = x.copy(), False

    def _rank(self, x: np.ndarray) -> tuple[int, float]:
        """Steps of shortfall that make a difference, then the cost as far as cuts know what service costs."""
        service = np.array([block.floor for block in self.blocks])
        for cut in self.cuts:
            if not cut.feasibility:
                service[cut.block] = max(service[cut.block], cut.value(x))
        cost = float(self.compiled.cost[self.columns] @ x + service.sum())
        return round(float(x[self.shorts].sum()) / self.compiled.short_tolerance), cost

    def kept(self) -> tuple[Solution, Solution] | None:
        """The nearest fleet as a plan: its shortfall, and its cheapest service; None where no fleet was asked about.

        For a search that ended before the stages did. It takes two rounds of quarters, whatever time is left.
        """
        if self.nearest is None:
            return None
        with self.options.finishing(FINISHING_SECONDS):
            try:
                return self._kept(self.nearest.copy())
            except OutOfTime:
                return None

    def _kept(self, x: np.ndarray) -> tuple[Solution, Solution] | None:
        self.regime(None)
        x[self.shorts] = self.least_short
        outcomes = self.evaluate(x, "shortfall")
        x = self.with_excess(x, outcomes)
        outcomes = self.evaluate(x, "cost")
        if not np.isfinite(x).all() or any(o.cost is None for o in outcomes):
            return None
        values = self.values(x, outcomes)
        cost, short = float(self._given.cost @ values), float(self._given.shortfall @ values)
        return Solution("limit", values, short, 0.0), Solution("limit", values, cost, self._bound(short))

    def _bound(self, short: float) -> float | None:
        """What a plan that is as little short costs at least, as far as the cuts know."""
        most = short + self.compiled.short_tolerance
        master = Master(self.compiled, self.columns, self.rows, self.blocks, "cost", most, self.options)
        for cut in self.cuts:
            master.add(cut)
        return master.relaxed().bound

    def values(self, x: np.ndarray, outcomes: list[Outcome]) -> np.ndarray:
        """The columns of the program as it was given, from the fleet and what its blocks say."""
        values = np.zeros(len(self.compiled.columns))
        values[self.columns] = x
        for block, outcome in zip(self.blocks, outcomes, strict=True):
            values[block.columns] = outcome.values
        return self._steps @ values

    def regime(self, most_short: float | None) -> None:
        """Let the blocks tolerate what counts as served, or not, as a stage does."""
        for block in self.blocks:
            block.tolerate(tolerates(most_short))
        if self._strict and tolerates(most_short):
            self.cuts.clear()  # they hold where nothing is tolerated, and no further
        if self._strict == tolerates(most_short):
            self._outdated = True
        self._strict = not tolerates(most_short)

    def evaluate(self, x: np.ndarray, objective: str) -> list[Outcome]:
        """What every block says at a fleet."""
        return self.each((lambda b: b.serve(x)) if objective == "cost" else (lambda b: b.shortfall(x)))

    def each(self, act: Callable[[Block], Said]) -> list[Said]:
        """What comes of every block, several at a time."""
        asked = [self._workers.submit(act, block) for block in self.blocks]
        wait(asked)  # all of them, also where one is out of time: the next stage must find their solvers at rest
        return [answer.result() for answer in asked]

    def with_excess(self, x: np.ndarray, outcomes: list[Outcome]) -> np.ndarray:
        """The same fleet with the shortfall that its quarters turn out to need."""
        served = x.copy()
        for block, outcome in zip(self.blocks, outcomes, strict=True):
            served[block.short_columns] += outcome.excess
        return served
