"""What a stage of the search ends with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Solution:
    """The outcome of a stage: ``values`` of all columns (None without an incumbent), objective and bound in the
    stage's own unit; ``status`` is optimal, limit or infeasible."""

    status: str
    values: np.ndarray | None
    objective: float | None
    bound: float | None
    iterations: int = 0
