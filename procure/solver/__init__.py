"""From a case to a plan: stages, HiGHS, decomposition by quarter, explanations."""

from procure.solver.highs import Options, Progress
from procure.solver.memory import Memory
from procure.solver.solve import Infeasible, Method, NoPlan, plan_of, solve

__all__ = ["Infeasible", "Memory", "Method", "NoPlan", "Options", "Progress", "plan_of", "solve"]
