"""Rows of the program as explicit lists of coefficients, which Pyomo takes several times faster than sums."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyomo.core.expr import LinearExpression


class Terms:
    """A linear expression under construction; ``constant`` stands on its side of the row."""

    __slots__ = ("coefs", "constant", "variables")

    def __init__(self) -> None:
        self.coefs: list[float] = []
        self.variables: list[Any] = []
        self.constant = 0.0

    def add(self, coef: float, variable: Any) -> None:
        """Add one term; a coefficient of exactly zero is left out."""
        if coef != 0.0:
            self.coefs.append(float(coef))
            self.variables.append(variable)

    def extend(self, coef: float, variables: Iterable[Any]) -> None:
        """Add the same coefficient for several variables."""
        for variable in variables:
            self.add(coef, variable)

    @property
    def expression(self) -> LinearExpression:
        """The variable part of the expression."""
        return LinearExpression(linear_coefs=self.coefs, linear_vars=self.variables)

    def at_most(self, limit: float) -> tuple[None, LinearExpression, float]:
        """The row Σ terms + constant ≤ limit."""
        return (None, self.expression, float(limit) - self.constant)

    def at_least(self, limit: float) -> tuple[float, LinearExpression, None]:
        """The row Σ terms + constant ≥ limit."""
        return (float(limit) - self.constant, self.expression, None)

    def equal(self, value: float) -> tuple[float, LinearExpression, float]:
        """The row Σ terms + constant = value."""
        return (float(value) - self.constant, self.expression, float(value) - self.constant)
