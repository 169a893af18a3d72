"""Decisions with their values, from which families write the tables of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pandas as pd

from procure.program.index import Index

TINY = 1e-7
"""Shares of a rate below this are the solver's tolerance, not service."""


class Value(Protocol):
    """Values by variable."""

    def __call__(self, variable: Any) -> float:
        """Value of a continuous variable, never below zero."""

    def whole(self, variable: Any) -> int:
        """Value of an integer variable."""


class Decided:
    """A program with values for its decisions, and the tables that follow, each made once.

    ``m`` is the model, ``names`` are those of the quarters.
    """

    def __init__(
        self, m: Any, index: Index, value: Value, writers: Mapping[str, Callable[[Decided], pd.DataFrame]]
    ) -> None:
        self.m, self.index, self.value = m, index, value
        self.names = index.instance.quarters
        self._writers = writers
        self._made: dict[str, pd.DataFrame] = {}

    def table(self, name: str) -> pd.DataFrame:
        """A table of the plan that a family writes, for those whose tables rest on it."""
        if name not in self._made:
            self._made[name] = self._writers[name](self)
        return self._made[name]
