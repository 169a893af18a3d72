"""One stage of the search: a master for one objective, and cuts from the quarters that answer its fleets.

The master holds the fleet, the money and cuts from the quarters' duals: θ_b ≥ cost of serving quarter b, and cuts that
forbid fleets which cannot serve. The LP phase collects cuts for the relaxation at points between the master's answer
and one known to be servable (in-out); then the master is solved in integers and the quarters answer its fleets until
incumbent and bound meet. The bound is the master's: every cut is valid, so it bounds the whole program.
"""

from __future__ import annotations

import time

import numpy as np

from procure.families.scales import BASIS_POINTS
from procure.solver.blocks import NEGLIGIBLE, Cut, Outcome
from procure.solver.compile import tolerates
from procure.solver.highs import (
    INFINITY,
    SECONDS_BETWEEN_REPORTS,
    OutOfTime,
    relative_gap,
)
from procure.solver.master import Master, Proposal
from procure.solver.relaxation import Relaxation, ask_alone, wanted
from procure.solver.solution import Solution
from procure.solver.split import Split

ROUGH_GAP = 0.03
"""Relative gap of the first masters in integers."""
PATIENCE = 6
"""Masters of the relaxation that may pass without the bound moving much."""
PATIENCE_ALIKE = 2
"""The same where cuts of a case alike are known, which as a rule are all that are needed."""
CLEARLY = 1e-6
"""Units of the column that mends it most by which a cut is moved that keeps being broken by rounding."""
ROUGH_SECONDS = 10.0
"""CPU seconds that a master which need not be close may take."""
NEAR_UNITS = 1.0
"""Units of each kind by which a fleet near the incumbent differs from it at most."""
NEAR_GAP = 0.002
"""Relative gap of masters near the incumbent: little is left to choose there."""
NEAR_FLEETS = 4
"""Fleets near the incumbent that are asked about in a row, while it says little; one each time later."""
SHARE_FOR_FLEETS = 0.5
"""Of the time left to a stage, what its relaxation leaves to fleets in whole numbers, which alone are plans."""
MEND_GAP = 0.01
"""Relative gap of masters near a fleet that nearly serves."""


class Search:
    """A stage for one objective; it ends with :meth:`solve`."""

    def __init__(self, parent: Split, objective: str, most_short: float | None) -> None:
        self.parent, self.objective, self.most_short = parent, objective, most_short
        self.options = parent.options
        self.master = Master(
            parent.compiled, parent.columns, parent.rows, parent.blocks, objective, most_short, parent.options
        )
        self.masters = [self.master]
        """All that are told what the quarters answer."""
        self.master.listener = self._tell
        self._told = 0.0
        self.inside: np.ndarray | None = None
        """A point of the relaxation that can be served."""
        self.best: np.ndarray | None = None
        self.best_cost = float("inf")
        self.best_outcomes: list[Outcome] = []
        self.bound = -float("inf")
        self.iterations = 0
        self._proposed: set[bytes] = set()
        self._last: list[Outcome] = []
        self.margin = np.zeros(len(parent.blocks))
        """Basis points that recent fleets were short of, per block."""
        for cut in parent.cuts:
            self.master.add(cut)

    def _learn(self, outcomes: list[Outcome], x: np.ndarray, theta: np.ndarray) -> int:
        """Keep the cuts that the master's own point breaks; the number of them."""
        new = 0
        for cut in [c for o in outcomes for c in (o.cut, o.beside) if c is not None]:
            limit = 0.0 if cut.feasibility else theta[cut.block]
            rounding = 0.0 if cut.feasibility else 1e-6 * max(1.0, abs(limit))
            if cut.value(x) > limit + max(rounding, NEGLIGIBLE * cut.scale):
                self._keep(cut)
                new += 1
        return new

    def _keep(self, cut: Cut) -> None:
        self.parent.cuts.append(cut)
        for master in self.masters:
            master.add(cut)

    def _offer(self, x: np.ndarray, outcomes: list[Outcome]) -> None:
        """Take a fleet as incumbent if it can be served within the shortfall allowed."""
        if any(np.isinf(o.excess) for o in outcomes):
            return
        served = self.parent.with_excess(x, outcomes)
        self.parent.remember(served)
        if any(o.cost is None for o in outcomes) and self.objective == "cost":
            if self.most_short is None or served[self.parent.shorts].sum() > self.most_short:
                return
            outcomes = self.parent.evaluate(served, "cost")
            if any(o.cost is None for o in outcomes):
                return
        total = float(self.master.cost[: len(served)] @ served)
        if self.objective == "cost":
            total += sum(o.cost or 0.0 for o in outcomes)
        if total < self.best_cost:
            self.best, self.best_cost, self.best_outcomes = served, total, outcomes
            if self.objective == "cost":
                self.options.unhurried()

    def _start(self) -> np.ndarray | None:
        """The incumbent as the master knows it, with what its quarters cost."""
        if self.best is None:
            return None
        costs = [o.cost or 0.0 if self.objective == "cost" else 0.0 for o in self.best_outcomes]
        return np.append(self.best, costs)

    def _tell(self, bound: float) -> None:
        """Report the bound of a running search, now and then."""
        now = time.perf_counter()
        if now - self._told >= SECONDS_BETWEEN_REPORTS:
            self._told = now
            self.options.report(self.objective, self._incumbent(), max(self.bound, bound))

    def _enough(self) -> float:
        """The bound at which the incumbent is good enough."""
        if self.best is None:
            return INFINITY
        if self.objective == "shortfall":
            return self.best_cost - self._target()
        return self.best_cost - self._target() * abs(self.best_cost)

    def _gap(self) -> float:
        if self.best is None:
            return float("inf")
        if self.objective == "shortfall":
            return max(0.0, self.best_cost - self.bound)
        return relative_gap(self.best_cost, self.bound)

    def _far_off(self) -> bool:
        """Whether there is no incumbent yet, or one that says little about where the best is."""
        return self.best is None or (self.objective == "cost" and self._gap() > max(ROUGH_GAP, self._target()))

    def _target(self) -> float:
        return self.parent.compiled.short_tolerance if self.objective == "shortfall" else self.options.gap

    def solve(self) -> Solution:
        """LP phase, then integers.

        The master is first solved roughly: its fleets need not be the best to show which cuts are missing. It is solved
        more closely each time its fleet turns out to be what the quarters say, and with all its integers at the end.
        """
        try:
            return self._search()
        except OutOfTime:
            return self._finish()

    def _search(self) -> Solution:
        if self.parent.hint is not None:
            self._begin_like(self.parent.hint)
        elif self.parent.nearest is None:
            self._begin()
        elif not tolerates(self.most_short):
            self._take_over(self.parent.nearest)
        if not self._relax():
            return Solution("infeasible", None, None, None)
        if self._far_off():
            self._round_up(self.inside, self.master)
        aim, exact = ROUGH_GAP, False
        while self._gap() > self._target() and self.options.left() > 0:
            self.iterations += 1
            aim = max(min(aim, self._gap() / 3), self._closest())
            found = self._propose(aim, exact)
            if found.status == "infeasible":
                return Solution("infeasible", None, None, None, self.iterations)
            if found.bound is not None:
                self.bound = max(self.bound, found.bound)
            if self._gap() <= self._target():
                break
            if found.x is None:
                found = self.master.whole(1.0, INFINITY, INFINITY, None)
            if found.status == "infeasible":
                return Solution("infeasible", None, None, None, self.iterations)
            if found.x is None or found.theta is None:
                break
            new = self._visit(found.x, found.theta)
            if new and self._again(found.x):
                new = self._tighten(found.x)
            self._mend(found.x)
            if self._far_off():
                self._try_with_margin()
                self._look_near(NEAR_FLEETS)
            elif new:
                self._look_near(1)
            self.options.report(self.objective, self._incumbent(), self.bound)
            beside = self.inside if self.inside is not None and self._far_off() else self.best
            if beside is not None and new and self._gap() > self._target():
                self._visit(found.x, found.theta, 0.5 * (found.x + beside))
            elif not new and (aim > self._closest() or not exact):
                # Nothing is missing where the master looks: it is asked to prove it, in parts of units if that can do.
                exact |= aim <= self._closest() or found.reach < self._enough()
                aim = self._closest()
            elif not new:
                break
        return self._finish()

    def _begin(self) -> None:
        """Ask about the cheapest fleet that the master knows of, as a rule what stands: short or not, it is a plan."""
        found = self.master.whole(ROUGH_GAP, ROUGH_SECONDS, INFINITY, None)
        if found.x is not None and found.theta is not None:
            self._visit(found.x, found.theta)

    def _begin_like(self, point: np.ndarray) -> None:
        """Ask about the best fleet near that of a case that is alike, or about the cheapest that its cuts allow."""
        found = self.master.near(point, NEAR_UNITS, NEAR_GAP, ROUGH_SECONDS)
        if found.x is not None and found.theta is not None:
            self._visit(found.x, found.theta)
        if self.best is None:
            self._begin()
        self.options.report(self.objective, self._incumbent(), None)

    def _take_over(self, x: np.ndarray) -> None:
        """Take the nearest fleet of earlier stages for the incumbent, as far as this stage allows its shortfall."""
        x = x.copy()
        if self.objective == "shortfall":
            x[self.parent.shorts] = self.parent.least_short  # the quarters say anew what they are short of
        outcomes = self.parent.evaluate(x, self.objective)
        self._learn(outcomes, x, np.zeros(len(outcomes)))  # of earlier stages, which may have tolerated more
        self._offer(x, outcomes)
        self.options.report(self.objective, self._incumbent(), None)

    def _relax(self) -> bool:
        """Cuts of the relaxation, from what each quarter would want alone on; False if nothing can be served.

        A fleet with no less than any quarter wants is asked about as well: where limits leave room for it, a plan.
        """
        if self.parent.hint is None and self.parent.relaxed is None:
            self.options.report("block by block", self._incumbent(), None)
            if not self._ask_alone(self.most_short):
                return False
            self._raise_bound()
            if self.best is None:
                self._first_plan(self.master)
        return self._relaxed(self.master, PATIENCE if self.parent.hint is None else PATIENCE_ALIKE)

    def _raise_bound(self) -> None:
        """Take what the cuts of now prove without whole numbers."""
        found = self.master.relaxed()
        self.bound = max(self.bound, -float("inf") if found.bound is None else found.bound)

    def _ask_alone(self, most_short: float | None) -> bool:
        """Cuts from what each quarter would want alone; False if nothing serves one of them."""
        cuts, servable = ask_alone(self.parent, most_short)
        for cut in cuts:
            self._keep(cut)
        return servable

    def _relaxed(self, master: Master, patience: int) -> bool:
        """Cuts of the relaxation for one of the masters; False if it has no point."""
        counts = master.objective == "shortfall"
        target = self.parent.compiled.short_tolerance if counts else self.options.gap

        def tell(bound: float) -> None:
            if master is self.master:
                self.bound = max(self.bound, bound)
                self.options.report(f"{self.objective} relaxation", self._incumbent(), self.bound)

        relaxation = Relaxation(self.parent, master, self._learn, tell)
        if not counts:
            incumbent = self.best if master is self.master else None
            relaxation.inside = incumbent if self.parent.relaxed is None else self.parent.relaxed
        left = self.options.left()
        reserve = left * SHARE_FOR_FLEETS if np.isfinite(left) else 0.0
        found = relaxation.solve(target / (10 if counts else 20), target / 5, patience, reserve)
        self.inside = relaxation.inside
        if not counts:
            self.parent.relaxed = relaxation.inside
        return found

    def _round_up(self, point: np.ndarray | None, master: Master) -> bool:
        """A master's fleet in whole numbers that has no less than a point that can be served; whether there is one."""
        if point is None or self.options.left() <= 0:
            return False
        columns = self.parent.helping, self.parent.hurting
        first = master.no_worse(point, *columns, ROUGH_GAP, ROUGH_SECONDS)
        if first.x is None or first.theta is None:
            return False
        self._visit(first.x, first.theta)
        self.options.report(self.objective, self._incumbent(), self.bound)
        return True

    def _first_plan(self, master: Master) -> None:
        """Ask about a fleet with no less than any quarter wants alone, or with as much of that as fits the limits.

        The latter is short, but near what is possible: it is kept for stages that may be short.
        """
        parent = self.parent
        point = wanted(parent)
        if point is None or self._round_up(point, master) or self.options.left() <= 0:
            return
        limits = Master(parent.compiled, parent.columns, parent.rows, [], "cost", None, parent.options)
        points, met = [parent.wants[block.number] for block in parent.blocks], [block.met for block in parent.blocks]
        found = limits.most_of(points, met, parent.helping, ROUGH_GAP, ROUGH_SECONDS)
        if found.x is not None:
            found.x[parent.shorts] = parent.least_short
            self._visit(found.x, np.zeros(len(parent.blocks)))
            self.options.report(self.objective, self._incumbent(), self.bound)

    def _again(self, x: np.ndarray) -> bool:
        """Whether the master has proposed this fleet before."""
        fleet = np.round(x, 6).tobytes()
        known = fleet in self._proposed
        self._proposed.add(fleet)
        return known

    def _tighten(self, x: np.ndarray) -> int:
        """Turn down for good a fleet that the master takes for servable up to its rounding, though no quarter does.

        The cuts that the fleet breaks are moved by what they are broken by, or a millionth of the unit that mends most,
        and are of this search alone. Returns their number: none where it is a matter of cost, which then is known.
        """
        broken = [o.cut for o in self._last if o.cut.feasibility and o.cut.value(x) > 0.0]
        for cut in broken:
            further = max(cut.value(x), CLEARLY * cut.scale)
            for master in self.masters:
                master.add(cut.moved(further))
        return len(broken)

    def _propose(self, aim: float, exact: bool) -> Proposal:
        """The master's next fleet within a gap; ``exact`` has its bound with every integer whole."""
        cpu_s = ROUGH_SECONDS if aim > self._closest() else INFINITY
        if exact:
            return self.master.whole(aim, cpu_s, self._enough(), self._start())
        size = self.best_cost if self.best is not None else self.bound
        return self.master.nearly_whole(aim, cpu_s, self._enough(), self._start(), size)

    def _try_with_margin(self) -> None:
        """Look for an incumbent at a distance from the cuts that grows with what fleets are short of."""
        if not self.margin.any() or self.options.left() <= 0:
            return
        found = self.master.with_margin(self.margin, ROUGH_GAP, ROUGH_SECONDS)
        if found.x is None or found.theta is None:
            self.margin /= 4  # no fleet has that much room
            return
        self._visit(found.x, found.theta)

    def _near(self, x: np.ndarray, gap: float) -> Proposal:
        """The master's best fleet within a unit of each kind of another one."""
        return self.master.near(x, NEAR_UNITS, gap, ROUGH_SECONDS)

    def _look_near(self, fleets: int) -> None:
        """Look for better fleets a few units from the incumbent, where few cuts are missing.

        The cheapest fleet that all cuts allow is short in quarters of which too little is known; near a fleet that is
        served, each answer is a better fleet or tells what the last unit left out is good for.
        """
        for _ in range(fleets):
            if self.best is None or self._gap() <= self._target() or self.options.left() <= 0:
                return
            found = self._near(self.best, NEAR_GAP)
            if found.x is None or found.theta is None or not self._visit(found.x, found.theta):
                return

    def _mend(self, x: np.ndarray) -> None:
        """Look for a fleet that is served within one unit of one that nearly is.

        Each answer says what the last unit that is missing must be; a whole master would look for it everywhere.
        """
        for _ in range(NEAR_FLEETS):
            if not any(o.excess > 0.0 for o in self._last) or self.options.left() <= 0:
                return
            found = self._near(x, MEND_GAP)
            if found.x is None or found.theta is None or not self._visit(found.x, found.theta):
                return

    def _closest(self) -> float:
        """The relative gap of the master that leaves room for the cuts' own tolerance."""
        return 0.0 if self.objective == "shortfall" else self.options.gap / 3

    def _visit(self, x: np.ndarray, theta: np.ndarray, point: np.ndarray | None = None) -> int:
        """Ask the blocks about a fleet of the master, or about a point beside it for deeper cuts; cuts learnt."""
        outcomes = self.parent.evaluate(x if point is None else point, self.objective)
        if point is None:
            self._last = outcomes
        new = self._learn(outcomes, x, theta)
        if point is None:
            self._offer(x, outcomes)
            excess = np.array([o.excess if np.isfinite(o.excess) else 0.0 for o in outcomes])
            more = np.minimum(np.maximum(1.5 * self.margin, 1.2 * excess), BASIS_POINTS)
            self.margin = np.where(excess > 0.0, more, self.margin)
        return new

    def _incumbent(self) -> float | None:
        return self.best_cost if self.best is not None else None

    def _finish(self) -> Solution:
        if self.best is None:
            return Solution("limit", None, None, self.bound, self.iterations)
        values = self.parent.values(self.best, self.best_outcomes)
        if self.bound > self.best_cost + 1e-4 * max(1.0, abs(self.best_cost)):
            raise RuntimeError(f"the bound {self.bound} is above the plan's {self.best_cost}: a cut cannot be right")
        status = "optimal" if self._gap() <= self._target() else "limit"
        return Solution(status, values, self.best_cost, min(self.bound, self.best_cost), self.iterations)
