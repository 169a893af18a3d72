"""Decide what an AI datacenter should buy, quarter by quarter.

The public interface is small: :class:`Case` is what the planner writes, :func:`solve` chooses, :class:`Plan` is the
answer, :func:`explain` says why it is as it is, :func:`compare` what another one does otherwise, and a :class:`Memory`
of it makes the answer to a case that is alike quicker. Everything heavy is imported on first use, so that ``import
procure`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from procure.case import Case
    from procure.plan import Plan
    from procure.plan.compare import compare
    from procure.solver import Memory
    from procure.solver.solve import solve
    from procure.study.sweep import sweep
    from procure.why.explain import explain

__version__ = "0.1.0"
__all__ = ["Case", "Memory", "Plan", "__version__", "compare", "explain", "solve", "sweep"]

_HOME = {
    "Case": "procure.case",
    "Memory": "procure.solver",
    "Plan": "procure.plan",
    "compare": "procure.plan.compare",
    "explain": "procure.why",
    "solve": "procure.solver",
    "sweep": "procure.study",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'procure' has no attribute {name!r}")
