"""Orders held between a least and a most: what a plan that may not choose freely costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from procure.program import Program
from procure.solver.compile import Compiled

ANY = "*"
ROWS = "orders_held"
"""Component of the rows that hold several orders together."""


@dataclass(frozen=True)
class Hold:
    """All orders of some SKUs for a site within some quarters, together, are at least and at most so many units.

    Attributes:
        site: a site, or :data:`ANY` for all of them together.
        skus: SKUs that count together.
        quarters: quarters of the orders.
        least, most: units.
    """

    site: str
    skus: frozenset[str]
    quarters: frozenset[str]
    least: float = 0.0
    most: float = float("inf")


def held(compiled: Compiled, program: Program, holds: Sequence[Hold], quarters: Sequence[str]) -> Compiled:
    """The program with orders held as well: its plans are plans of the program itself, at its cost or more.

        least ≤ Σ_{s,k,t of the hold} buy[s,k,t] ≤ most        (units)

    Bounds of columns where that says the same. A hold of orders that cannot be placed counts them as none.

    Args:
        compiled, program: the same program.
        holds: what is held.
        quarters: names of the quarters by position.
    """
    lower, upper = compiled.col_lower.copy(), compiled.col_upper.copy()
    sums: list[tuple[np.ndarray, Hold]] = []
    for hold in holds:
        columns = _columns(compiled, program, hold, quarters)
        alone = len(columns) == 1 or hold.most == 0.0
        least, most = np.maximum(lower[columns], hold.least), np.minimum(upper[columns], hold.most)
        if alone and len(columns) and (least <= most).all():
            lower[columns], upper[columns] = least, most
        elif len(columns) or hold.least > 0.0:
            sums.append((columns, hold))
    return _with_rows(replace(compiled, col_lower=lower, col_upper=upper), sums)


def _columns(compiled: Compiled, program: Program, hold: Hold, quarters: Sequence[str]) -> np.ndarray:
    found = [
        compiled.column(program.model.buy[site, sku, t])
        for site, sku, t in program.index.orders
        if sku in hold.skus and quarters[t] in hold.quarters and hold.site in (ANY, site)
    ]
    return np.array([column for column in found if column >= 0], dtype=int)


def _with_rows(compiled: Compiled, sums: Sequence[tuple[np.ndarray, Hold]]) -> Compiled:
    """The program with a row of the first stage for each sum."""
    if not sums:
        return compiled
    count = len(sums)
    matrix = sparse.lil_matrix((count, len(compiled.columns)))
    for i, (columns, _) in enumerate(sums):
        matrix[i, columns] = 1.0
    return replace(
        compiled,
        matrix=sparse.csr_matrix(sparse.vstack([compiled.matrix, matrix])),
        row_lower=np.append(compiled.row_lower, [hold.least or -np.inf for _, hold in sums]),
        row_upper=np.append(compiled.row_upper, [hold.most for _, hold in sums]),
        mendable=np.append(compiled.mendable, np.zeros(count, dtype=bool)),
        row_block=np.append(compiled.row_block, np.full(count, -1)),
        rows=[*compiled.rows, *(f"{ROWS}[{i}]" for i in range(count))],
        keys=[*compiled.keys, *((ROWS, (i,)) for i in range(count))],
    )
