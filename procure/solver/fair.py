"""Which of several equally good services a plan shows: the one that spreads its shortfall most evenly.

Given the fleet, a quarter may be served in many ways at the same weighted shortfall and the same cost, and a linear
program answers with whichever corner it meets first. The way chosen here is one that has no rival, so that workloads
that are alike are short alike, whatever their names and the order of their rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse

from procure.program import Program
from procure.solver.blocks import parts_of
from procure.solver.compile import Compiled
from procure.solver.highs import Options
from procure.solver.lowest import SAME, Services


def even_out(program: Program, compiled: Compiled, values: np.ndarray, options: Options) -> np.ndarray:
    """The same fleet, cost and weighted shortfall, with the shares short of each quarter as even as they can be.

    Quarter by quarter: the largest share is made as small as possible, then the next; among the services that reach
    this the cheapest is taken. A quarter for which no time is left stays as it is.
    """
    model = program.model
    shorts = {compiled.column(model.short[key]) for key in program.index.loads} - {-1}
    out = values.copy()
    for part in parts_of(compiled):
        mine = [place for place, column in enumerate(part.columns) if column in shorts]
        present = values[part.columns[mine]]
        if len(mine) > 1 and present.max() > SAME:
            shares = sparse.csr_matrix(
                (np.ones(len(mine)), (np.arange(len(mine)), mine)), shape=(len(mine), len(part.columns))
            )
            found = Services(compiled, values, part, options).lowest(shares, settled=partial(_is_even, present))
            if found is not None:
                out[part.columns] = found
    return out


def _is_even(present: np.ndarray, level: float) -> bool:
    """Whether the plan's own shares are as even as can be: one at the least level, all others none."""
    *others, largest = sorted(present)
    return level > SAME and largest <= level + SAME and all(share <= SAME for share in others)
