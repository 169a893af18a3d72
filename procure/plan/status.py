"""How a run ended, and which share of a demand counts as served."""

from __future__ import annotations

from enum import StrEnum

SERVED = 2e-5
"""A workload of which no more than this share of its own demand is unserved counts as served.

The program, its decomposition, the status of a plan and its verification all use this one share. It is far below what
a forecast knows and far above what rounding leaves, so that demand which fills a fleet to the last digit needs no
further rack.
"""


def is_short(share: float) -> bool:
    """Whether a share unserved is more than counts as served."""
    return share > 1.1 * SERVED  # the stage that holds a shortfall may leave a little more


class Status(StrEnum):
    """How a run ended; each has one exit code."""

    OPTIMAL = "optimal"
    """Within the gap asked for, every SLA met; or what else the objective asks for, if not that all is served."""
    SHORT = "short"
    """Within the gap asked for, but some requests cannot be served, where all were to be."""
    LIMIT = "limit_with_plan"
    """Stopped by a limit with a feasible plan, whose bound is known."""
    UNVERIFIED = "verification_failed"
    """The plan does not pass its own verification."""

    @property
    def exit_code(self) -> int:
        """The process exit code for this status."""
        return {Status.OPTIMAL: 0, Status.SHORT: 6, Status.LIMIT: 5, Status.UNVERIFIED: 7}[self]
