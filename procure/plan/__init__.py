"""The answer: tables of what to buy and what it does, stored, read back and verified without the solver."""

from procure.plan.plan import Plan
from procure.plan.status import Status

__all__ = ["Plan", "Status"]
