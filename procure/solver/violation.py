"""Why nothing fits: the limits that must break for any plan to exist, in a planner's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from procure.families import contents
from procure.families.wording import Broken, amount, figure
from procure.instance import Instance
from procure.quarter import quarter_ranges
from procure.solver import held
from procure.solver.compile import Compiled
from procure.solver.highs import Options, load, new_solver, run

SMALL = 1e-6
"""Breaches of a row below this are the solver's tolerance."""
SPARED_PRICE = 1e-4
"""Objective per unit of a decision that is no way out, against 1 per unit of breach: budget that is carried forward,
say, since money is missing where it is due."""
YIELDING_PRICE = 1e-4
"""Objective per unit of breach of what is asked for and gives way before any other limit, which is 1 per unit."""


@dataclass(frozen=True)
class Breach:
    """A limit that must break, as a planner says it: when, what, and by how much; no amount where ``what`` has it.

    Attributes:
        quarter: empty where the row is of no quarter.
        hours: part of the day or future, where there are several.
        what: what stands before the amount.
        over, unit: by how much.
        of: what it is of, behind the amount.
    """

    quarter: str
    hours: str
    what: str
    over: float | None = None
    unit: str = ""
    of: str = ""

    @classmethod
    def of_row(cls, family: str, key: Sequence[Any], over: float, quarters: Sequence[str]) -> Breach:
        """A broken row by the words of its family."""
        words = contents.row_words().get(family)
        if words is None:  # a family that brings no words of its own
            return cls("", "", f"{family}[{', '.join(map(str, key))}]", over)
        limit, unit, scale = words.limit, words.unit, words.scale
        where, about = "", []
        for name, value in zip(words.key, key, strict=True):
            if name == "site":
                where = f" at {value}"
            elif name == "of":
                limit, unit, scale = words.by[value]
            elif name not in ("-", "t", "at"):
                about.append(str(value))
        of = f" ({', '.join(about)})" if about else ""
        return cls(*cls._when(words.key, key, quarters), f"{limit}{where}", over * scale, unit, of)

    @classmethod
    def told(cls, family: str, sentence: str, key: Sequence[Any], quarters: Sequence[str]) -> Breach:
        """A broken row of which its family says everything but when."""
        return cls(*cls._when(contents.row_words()[family].key, key, quarters), sentence)

    @staticmethod
    def _when(names: Sequence[str], key: Sequence[Any], quarters: Sequence[str]) -> tuple[str, str]:
        for name, value in zip(names, key, strict=True):
            if name == "t":
                return quarters[value], ""
            if name == "at":
                return quarters[value.t], value.among(quarters).removeprefix(quarters[value.t])
        return "", ""


def in_words(breaches: Sequence[Breach]) -> list[str]:
    """One line for each limit: quarters in which it breaks alike are told together, with the range of the amounts."""
    alike: dict[tuple[str, ...], list[Breach]] = {}
    for breach in breaches:
        alike.setdefault((breach.hours, breach.what, breach.unit, breach.of), []).append(breach)
    lines = []
    for (hours, what, unit, of), rows in alike.items():
        when = quarter_ranges(row.quarter for row in rows if row.quarter) + hours
        amounts = sorted(row.over for row in rows if row.over is not None)
        by = ""
        if amounts:
            low, high = figure(amounts[0]), figure(amounts[-1])
            by = f" exceeded by {amount(low if low == high else f'{low} to {high}', unit)}".rstrip()
        lines.append(f"{when}{': ' if when else ''}{what}{by}{of}")
    return lines


def smallest_violation(compiled: Compiled, options: Options, instance: Instance) -> list[str]:
    """The limits that must break for anything to fit, with the least total breach; for programs without any plan.

    Each row is charged what it is exceeded by, in its own unit; what a planner asks for gives way first. Budget may be
    carried as the case allows, but no more than closes a gap: a breach is told in the quarter whose payments are due,
    not in one that could have saved for it.

    Returns:
        one line for each limit and amount, with its quarters.
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
    breaches = []
    for i in np.flatnonzero(over > SMALL):
        family, key = compiled.keys[i]
        if family in told:
            activity = float((compiled.matrix[i] @ values)[0])
            limit = float(compiled.row_upper[i])
            broken = Broken(key, float(over[i]), activity, limit, by_name, instance.quarters, instance.tables)
            breaches.append(Breach.told(family, told[family](broken), key, instance.quarters))
        else:
            breaches.append(Breach.of_row(family, key, float(over[i]), instance.quarters))
    return in_words(breaches)


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
    first = {name for words in contents.words().values() for name in words.yields}
    yields = np.array([family in first for family, _ in compiled.keys])
    solver = new_solver(options)
    load(
        solver,
        sparse.csr_matrix(sparse.hstack([compiled.matrix, slack])),
        np.append(np.where(spared, SPARED_PRICE, 0.0), np.where(yields[loose], YIELDING_PRICE, 1.0)),
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
