"""Why nothing fits: the limits that must break for any plan to exist, in a planner's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from procure.families import contents
from procure.families.wording import Broken, figure
from procure.instance import Instance
from procure.solver import held
from procure.solver.compile import Compiled
from procure.solver.highs import Options, load, new_solver, run

SMALL = 1e-6
"""Breaches of a row below this are the solver's tolerance."""
SPARED_PRICE = 1e-4
"""Objective per unit of a decision that is no way out, against 1 per unit of breach: budget that is carried forward,
say, since money is missing where it is due."""


def in_words(family: str, key: Sequence[Any], over: float, quarters: list[str]) -> str:
    """A broken row as a planner says it: quarter, limit, site, by how much."""
    words = contents.row_words().get(family)
    if words is None:  # a family that brings no words of its own
        return f"{family}[{', '.join(map(str, key))}] exceeded by {figure(over)}"
    limit, unit, scale = words.limit, words.unit, words.scale
    when, where, about = "", "", []
    for name, value in zip(words.key, key, strict=True):
        if name == "t":
            when = f"{quarters[value]}: "
        elif name == "at":
            when = f"{value.among(quarters)}: "
        elif name == "site":
            where = f" at {value}"
        elif name == "of":
            limit, unit, scale = words.by[value]
        elif name != "-":
            about.append(str(value))
    of = f" ({', '.join(about)})" if about else ""
    return f"{when}{limit}{where} exceeded by {figure(over * scale)} {unit}{of}"


def smallest_violation(compiled: Compiled, options: Options, instance: Instance) -> list[str]:
    """The limits that must break for anything to fit, with the least total breach; for programs without any plan.

    Each row is charged what it is exceeded by, in its own unit. Budget may be carried as the case allows, but no more
    than closes a gap: a breach is told in the quarter whose payments are due, not in one that could have saved for it.
    """
    most, least = np.isfinite(compiled.row_upper), np.isfinite(compiled.row_lower)
    free = np.array([family != held.ROWS for family, _ in compiled.keys])  # what is held is no limit of the case
    limits = free & (most != least)  # most equations only count and split; they can always be met
    values, over = _least_breach(compiled, options, limits, whole=False)
    if values is not None and not (over > SMALL).any():
        values, over = _least_breach(compiled, options, limits, whole=True)
    if values is None:
        values, over = _least_breach(compiled, options, free & (most | least), whole=False)
    if values is None:
        return ["no limit was found within the time whose breach would let a plan exist; allow more time"]
    told = {component: tell for words in contents.words().values() for component, tell in words.told.items()}
    by_name = dict(zip(compiled.columns, values.tolist(), strict=True))
    lines = []
    for i in np.flatnonzero(over > SMALL):
        family, key = compiled.keys[i]
        if family in told:
            activity = float((compiled.matrix[i] @ values)[0])
            limit = float(compiled.row_upper[i])
            broken = Broken(key, float(over[i]), activity, limit, by_name, instance.quarters, instance.tables)
            lines.append(told[family](broken))
        else:
            lines.append(in_words(family, key, float(over[i]), instance.quarters))
    return lines


def _least_breach(
    compiled: Compiled, options: Options, may: np.ndarray, whole: bool
) -> tuple[np.ndarray | None, np.ndarray]:
    """Values of the columns, and what each row that may be broken is exceeded by, at the least total breach."""
    rows, columns = compiled.matrix.shape
    above, below = (np.flatnonzero(may & np.isfinite(side)) for side in (compiled.row_upper, compiled.row_lower))
    loose = np.append(above, below)
    way = np.append(np.full(len(above), -1.0), np.ones(len(below)))
    slack = sparse.csr_matrix((way, (loose, np.arange(len(loose)))), shape=(rows, len(loose)))
    free = {name for words in contents.words().values() for name in words.spared}
    spared = np.array([name.partition("[")[0] in free for name in compiled.columns])
    solver = new_solver(options)
    load(
        solver,
        sparse.csr_matrix(sparse.hstack([compiled.matrix, slack])),
        np.append(np.where(spared, SPARED_PRICE, 0.0), np.ones(len(loose))),
        (compiled.row_lower, compiled.row_upper),
        (
            np.append(compiled.col_lower, np.zeros(len(loose))),
            np.append(compiled.col_upper, np.full(len(loose), np.inf)),
        ),
        np.append(compiled.integer, np.zeros(len(loose), dtype=bool)) if whole else None,
    )
    answer = run(solver, options.left(), is_mip=whole)
    over = np.zeros(rows)
    if answer.values is None:
        return None, over
    np.add.at(over, loose, answer.values[columns:])
    return answer.values[:columns], over
