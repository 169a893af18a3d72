"""The program solved stage by stage: a master over the fleet, and one cost-to-serve per quarter."""

from __future__ import annotations

from procure.solver.compile import Compiled
from procure.solver.highs import Options
from procure.solver.least_short import LeastShort
from procure.solver.memory import Memory
from procure.solver.search import Search
from procure.solver.solution import Solution
from procure.solver.split import Split


class Decomposition(Split):
    """A compiled program that is solved by its parts; what one stage learns is kept for the next.

    ``memory`` is of a case that is alike: it is read before the first stage, and renewed after the last one.
    """

    def __init__(self, compiled: Compiled, options: Options, memory: Memory | None = None) -> None:
        super().__init__(compiled, options)
        self._memory = memory

    def solve(self, objective: str, most_short: float | None) -> Solution:
        """Least ``cost`` or least ``shortfall``, with a total shortfall of at most ``most_short`` where given."""
        self.regime(most_short)
        if self._memory is not None and not self.cuts:
            self.cuts += self._memory.cuts(self)
            self.hint = self._memory.point(self)
        stage = LeastShort(self) if objective == "shortfall" else Search(self, objective, most_short)
        found = stage.solve()
        if self._memory is not None and objective == "cost" and stage.best is not None:
            self._memory.renew(self, stage.best)
        return found
