"""From a case to a plan: stages, HiGHS, decomposition by quarter, explanations."""

from procure.solver.highs import Progress
from procure.solver.solve import Infeasible, NoPlan, solve

__all__ = ["Infeasible", "NoPlan", "Progress", "solve"]
