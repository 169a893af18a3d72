"""What a plan is chosen by."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Objective(StrEnum):
    """What is best: a setting of a case.

    ``ranked``: what planned quarters do not serve is made least before any money counts. Where it is not, it is priced
    as in the look-ahead, or earns nothing (``earns``: what is served is income). ``tokens``: what is not served is
    counted in tokens instead of requests. ``promises``: everything is to be served, and a plan that does not is short.
    """

    ranked: bool
    tokens: bool
    earns: bool
    promises: bool

    def __new__(
        cls, name: str, ranked: bool = False, tokens: bool = False, earns: bool = False, promises: bool = False
    ) -> Self:
        """A member with its attributes; those that exist are found by their name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.ranked, member.tokens, member.earns, member.promises = ranked, tokens, earns, promises
        return member

    MIN_COST = "min_cost", True, False, False, True
    """Least shortfall of the planned quarters, then least net present cost."""
    MIN_COST_PRICED = "min_cost_priced"
    """Least net present cost with everything that is not served at its price."""
    MAX_SERVED = "max_served", True
    """Most requests of the planned quarters, by priority, within the budgets; then least net present cost."""
    MAX_SERVED_TOKENS = "max_served_tokens", True, True
    """The same counted in tokens."""
    MAX_MARGIN = "max_margin", False, False, True
    """Most income from what is served less net present cost."""
