"""From a case to a plan: stages, HiGHS, decomposition by quarter, explanations."""

from procure.solver.highs import Options, Progress
from procure.solver.solve import Infeasible, Method, NoPlan, plan_of, solve

__all__ = ["Infeasible", "Method", "NoPlan", "Options", "Progress", "plan_of", "solve"]
