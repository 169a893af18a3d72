"""A program, linear but for whole columns, as dictionaries of coefficients by named column, solved by scipy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix


@dataclass
class Rows:
    """A linear program with named columns, all at least zero."""

    columns: dict[Any, int] = field(default_factory=dict)
    upper: list[tuple[dict[Any, float], float]] = field(default_factory=list)
    equal: list[tuple[dict[Any, float], float]] = field(default_factory=list)
    most: dict[Any, float] = field(default_factory=dict)
    whole: set[Any] = field(default_factory=set)
    """Columns in whole numbers."""

    def at_most(self, row: dict[Any, float], limit: float) -> None:
        if not row:
            assert limit >= 0
            return
        self.upper.append((row, limit))
        for name in row:
            self.columns.setdefault(name, len(self.columns))

    def equals(self, row: dict[Any, float], value: float) -> None:
        self.equal.append((row, value))
        for name in row:
            self.columns.setdefault(name, len(self.columns))

    def minimise(self, cost: dict[Any, float]) -> float | None:
        """Least cost, None where nothing fits."""
        for name in cost:
            self.columns.setdefault(name, len(self.columns))
        if not self.columns:
            return 0.0
        c = np.zeros(len(self.columns))
        for name, value in cost.items():
            c[self.columns[name]] += value
        bounds = [(0.0, self.most.get(name)) for name in self.columns]
        scale = float(np.median(np.abs(c[c != 0]))) if c.any() else 1.0  # unserved requests cost 1e6 times as much
        rows = (*self._matrix(self.upper), *self._matrix(self.equal))
        kinds = np.array([int(name in self.whole) for name in self.columns])
        ways = (("highs-ds", 1e-9), ("highs-ipm", 1e-9), ("highs-ds", 1e-7)) if not kinds.any() else (("highs", 1e-9),)
        for method, tolerance in ways:
            options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
            whole = {"integrality": kinds} if kinds.any() else {}
            answer = linprog(c / scale, *rows, bounds, method=method, options=options, **whole)
            if answer.status in (0, 2):
                return None if answer.status == 2 else float(answer.fun) * scale
        raise AssertionError(answer.message)

    def _matrix(self, rows: list[tuple[dict[Any, float], float]]) -> tuple[Any, Any]:
        if not rows:
            return None, None
        data, where, limits = [], [], []
        for number, (row, limit) in enumerate(rows):
            size = max((abs(v) for v in row.values()), default=1.0) or 1.0
            limits.append(limit / size)
            for name, value in row.items():
                data.append(value / size)
                where.append((number, self.columns[name]))
        return csr_matrix((data, tuple(zip(*where, strict=True))), shape=(len(rows), len(self.columns))), limits
