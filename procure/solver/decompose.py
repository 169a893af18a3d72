"""The program solved stage by stage: a master over the fleet, and one cost-to-serve per quarter."""

from __future__ import annotations

from procure.solver.least_short import LeastShort
from procure.solver.search import Search
from procure.solver.solution import Solution
from procure.solver.split import Split


class Decomposition(Split):
    """A compiled program that is solved by its parts; what one stage learns is kept for the next."""

    def solve(self, objective: str, most_short: float | None) -> Solution:
        """Least ``cost`` or least ``shortfall``, with a total shortfall of at most ``most_short`` where given."""
        self.regime(most_short)
        stage = LeastShort(self) if objective == "shortfall" else Search(self, objective, most_short)
        return stage.solve()
