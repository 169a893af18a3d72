"""The stage of least shortfall."""

from __future__ import annotations

import numpy as np

from procure.solver.highs import INFINITY
from procure.solver.master import PROVEN_SHORT, Master, Proposal
from procure.solver.search import NEAR_FLEETS, NEAR_UNITS, PATIENCE, ROUGH_SECONDS, Search
from procure.solver.solution import Solution
from procure.solver.split import Split

CHEAP_GAP = 0.03
"""Relative gap in money of the fleets of least shortfall."""


class LeastShort(Search):
    """The stage of least shortfall: bounds from masters of shortfall, fleets from masters of cost.

    A master of shortfall alone does not know what a fleet costs, and buys all that fits. It says how much must be
    short at least; the cheapest fleet that the cuts allow at that shortfall is then asked about.
    """

    def __init__(self, parent: Split) -> None:
        super().__init__(parent, "shortfall", None)
        self.cheap = Master(
            parent.compiled, parent.columns, parent.rows, parent.blocks, "cost", INFINITY, parent.options
        )
        for cut in parent.cuts:
            self.cheap.add(cut)
        self.masters.append(self.cheap)

    def _near(self, x: np.ndarray, gap: float) -> Proposal:
        """The cheapest fleet near another one that may be clearly less short than the incumbent."""
        self.cheap.hold(max(self.best_cost - self._target(), 0.0))
        return self.cheap.near(x, NEAR_UNITS, gap, ROUGH_SECONDS)

    def _cheapest(self, x: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest fleet that the cuts allow at the shortfall of a fleet, or that fleet itself."""
        self.cheap.hold(float(x[self.parent.shorts].sum()) + PROVEN_SHORT)
        found = self.cheap.whole(CHEAP_GAP, ROUGH_SECONDS, INFINITY, np.append(x, theta))
        return (x, theta) if found.x is None or found.theta is None else (found.x, found.theta)

    def _learn_costs(self, most_short: float) -> None:
        """Cuts that say what service costs, whatever fleets turn out to be short of beyond a most."""
        self.cheap.hold(most_short)
        self._relaxed(self.cheap, PATIENCE)

    def _first_fleet(self) -> None:
        """Ask about a fleet with no less than any quarter wants at about the least shortfall that cuts allow.

        It often is as little short as any: then no more need be known of shortfalls, whose relaxation alone buys
        whatever fits, and is asked about at fleets that say little.
        """
        self._raise_bound()
        self.bound = max(self.bound, 0.0)
        most_short = self.bound + self._target()
        self.cheap.hold(most_short)
        if self._ask_alone(most_short):
            self._first_plan(self.cheap)
            self._raise_bound()
            self._look_near(NEAR_FLEETS)

    def _near_enough(self) -> bool:
        """Whether a shortfall that took long to prove is near enough to its bound."""
        return self._gap() <= self.parent.compiled.short_gap

    def _search(self) -> Solution:
        if self.parent.nearest is not None:
            self._take_over(self.parent.nearest)
        anew = self.parent.relaxed is None and self.parent.hint is None
        if anew:
            self._first_fleet()
        if self._gap() > self._target():
            known = self.bound
            if not self._relaxed(self.master, PATIENCE):
                return Solution("infeasible", None, None, None)
            if anew and self.bound > known + self._target():
                self._first_fleet()
        self.bound = max(self.bound, 0.0)
        if self._gap() > self._target():
            self._learn_costs(self.bound + self._target())
        cpu_s = ROUGH_SECONDS
        while self._gap() > self._target() and self.options.left() > 0:
            self.iterations += 1
            found = self.master.whole(0.0, cpu_s, self._enough(), self._start())
            if found.status == "infeasible":
                return Solution("infeasible", None, None, None, self.iterations)
            self.bound = max(self.bound, found.bound or 0.0)
            self.options.report(self.objective, self._incumbent(), self.bound)
            if self._gap() <= self._target() or (found.status == "limit" and self._near_enough()):
                break
            if found.x is None or found.theta is None:
                cpu_s *= 2.0
                continue
            x, theta = self._cheapest(found.x, found.theta)
            new = self._visit(x, theta)
            if new and self._again(x):
                new = self._tighten(x)
            self._mend(x)
            self._look_near(NEAR_FLEETS)
            self.options.report(self.objective, self._incumbent(), self.bound)
            if not new:
                if cpu_s == INFINITY:
                    break
                cpu_s = 4.0 * cpu_s if self._gap() > self._target() else INFINITY
        return self._finish()
