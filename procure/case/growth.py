"""How lengths grow from quarter to quarter: the case resolves it once, demand takes the factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Growth:
    """Factors of every quarter over the first, shape (workloads, quarters), workloads as in their table.

    Attributes:
        input: on input lengths.
        output: on thinking and visible output.
        context_cap: on the longest context served.
        spread: on the logarithm of length over median, at equal mean.
    """

    input: Array
    output: Array
    context_cap: Array
    spread: Array

    @classmethod
    def of(cls, workloads: pd.DataFrame, quarters: int) -> Growth:
        """Growth of filled workloads over so many quarters."""
        since_first = np.arange(quarters, dtype=float)
        return cls(
            *(
                length_factor(workloads[f"{name}_growth_per_year"].to_numpy(dtype=float), since_first)
                for name in ("isl", "output", "context_cap", "tail")
            )
        )


def length_factor(growth_per_year: Array, quarters_since_first: Array) -> Array:
    """Factor on lengths: (1 + g)^(q/4), q quarters after the first; 1 where g is 0.

    Args:
        growth_per_year: g as a fraction per year, shape (workloads,).
        quarters_since_first: whole quarters, shape (quarters,).

    Returns:
        shape (workloads, quarters).
    """
    return (1.0 + growth_per_year[:, None]) ** (quarters_since_first[None, :] / 4.0)
