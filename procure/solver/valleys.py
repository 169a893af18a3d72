"""Where in the day a plan shows work that may wait: in the valleys, as level as they can be filled.

Whatever the racks bought can hold in some hours costs nothing there, so that a linear program may put a batch beside
the peak though the night has room. The hours shown are those in which each pool's fullest hours are least full.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from procure.program import Program
from procure.program.day import day_of
from procure.solver.blocks import Part, parts_of
from procure.solver.compile import Compiled
from procure.solver.highs import Options
from procure.solver.lowest import SAME, Services

WORK = "work_within_racks"
"""Rows of busy racks, by pool and part of the day."""


def fill_valleys(program: Program, compiled: Compiled, values: np.ndarray, options: Options) -> np.ndarray:
    """The same service of each day, with work that may wait in its quiet hours.

    Of all pools and parts of the day the one with the largest share of its usable racks busy is made as little busy as
    it can be, then the next; of such days the one with the least work that waits in hours that other work keeps busy.
    What serves which requests, and so cost and shortfall, stays; a day for which no time is left stays as it is.
    """
    model = program.model
    placed = {compiled.column(v) for v in (*model.placed_decode.values(), *model.placed_prefill.values())} - {-1}
    hours = program.index.of(day_of).hours
    out = values.copy()
    for part in parts_of(compiled):
        mine = [place for place, column in enumerate(part.columns) if column in placed]
        if mine and values[part.columns[mine]].max() > SAME:
            use, length = _use(compiled, values, part, mine, hours)
            waits = np.isin(np.arange(len(part.columns)), mine)
            others = use @ np.where(waits, 0.0, values[part.columns])
            weights = np.where(waits, (length * others) @ use, 0.0)
            found = Services(compiled, values, part, options, mine).lowest(use, weights)
            if found is not None:
                out[part.columns] = found
    return out


def _use(
    compiled: Compiled, values: np.ndarray, part: Part, placed: list[int], hours: dict[str, int]
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Share of the usable racks that is busy, by the block's columns, and the hours: of each pool and part of the day.

    Pools in which nothing is placed are as busy wherever the rest runs.
    """
    of_work = np.array([row for row in part.rows if compiled.keys[row][0] == WORK], dtype=int)
    own = sparse.csr_matrix(compiled.matrix[of_work][:, part.columns])
    usable = compiled.row_upper[of_work] - (compiled.matrix[of_work] @ values - own @ values[part.columns])
    kept = (np.asarray(abs(own[:, placed]).sum(axis=1)).ravel() > 0) & (usable > SAME)
    length = np.array([hours[compiled.keys[row][1][-1].hours] for row in of_work[kept]], dtype=float)
    return sparse.csr_matrix(sparse.diags(1.0 / usable[kept]) @ own[kept]), length
