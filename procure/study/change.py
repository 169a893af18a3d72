"""What a study asks: a case with values changed, worked out with one effort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from procure.case import Case
from procure.solver import Method, Options

Change = Mapping[str, Any]
"""Paths and the values put there, as :meth:`procure.Case.with_value` takes them; none is the case as it stands."""


@dataclass(frozen=True)
class Effort:
    """How hard to try on each changed case; as for :func:`procure.solve`.

    Raises:
        InputError: a gap, time limit, number of threads or seed that no search can follow.
    """

    gap: float = 0.005
    time_limit_s: float = float("inf")
    threads: int = 0
    seed: int = 0
    method: Method = "decomposed"

    def __post_init__(self) -> None:
        Options(self.gap, self.time_limit_s, self.threads, self.seed)

    def facts(self) -> dict[str, Any]:
        """The effort as JSON holds it: no time limit is null."""
        stated = asdict(self)
        return stated | {"time_limit_s": None if self.time_limit_s == float("inf") else self.time_limit_s}


def plain(change: Change) -> dict[str, Any]:
    """A change as JSON holds it: numbers of NumPy as Python's, no limit as the text that a case says it by."""
    values = {path: value.item() if isinstance(value, np.generic) else value for path, value in change.items()}
    return {path: "inf" if value == float("inf") else value for path, value in values.items()}


def changed(case: Case, change: Change) -> Case:
    """The case with every value of a change, one after the other.

    Raises:
        InputError: a path that leads nowhere, or a value that does not fit.
    """
    for path, value in change.items():
        case = case.with_value(path, value)
    return case
