"""Every limit of a plan: what is used, what is there, in the units a planner uses.

Computed from the plan's tables and the instance with no word of the program, so that it can say the program was wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from procure.families import contents
from procure.instance import Instance
from procure.plan.plan import frame
from procure.plan.standing import Standing
from procure.timekey import BASE, PEAK, one_block

BINDING_SHARE = 1e-6
"""A limit binds when what is left is less than this share of it."""


@dataclass
class Rows:
    """Limit rows under construction."""

    made: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, family: str, quarter: str, site: str, item: str, used: float, limit: float, unit: str) -> None:
        """One limit: ``used`` must be at most ``limit``."""
        slack = limit - used
        binding = bool(used > 0 and slack <= BINDING_SHARE * max(abs(limit), 1.0))
        self.made.append((family, quarter, site, item, used, limit, slack, unit, binding))


def limits_table(instance: Instance, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The plan's ``limits`` table: one row for each limit that exists, whether or not it binds, family by family.

    Raises:
        InputError: rows of several scenarios or parts of the day, which would be held against one limit together.
    """
    instance.of(one_block)
    one_block(tables)
    standing, rows = Standing(instance, tables), Rows()
    for check in contents.checks().values():
        if check.limits is not None:
            check.limits(standing, rows)
    return frame("limits", [(*row, BASE, PEAK) for row in rows.made])
