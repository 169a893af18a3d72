"""Arithmetic on a case before any solver runs: what can arrive, what fits, what the fleet carries."""

from procure.check.arithmetic import check_case, show

__all__ = ["check_case", "show"]
