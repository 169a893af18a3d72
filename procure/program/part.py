"""What a family brings to the program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from procure.program.decided import Decided
from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.running import Running

Add = Callable[[Any, Index], None]
"""Adds components to a model over the index sets."""


@dataclass(frozen=True)
class Part:
    """A family's side of the program; ``PROGRAM`` in its ``program.py``.

    Attributes:
        rows: functions that each add one kind of row (and those that belong to it), named after it, in order.
        variables: declares the decisions that are the family's.
        cost: adds its present cost to the objective, M USD; what is no decision goes into the constant.
        running: what of it is spent on running, quarter by quarter: it is added to the cost, and a budget of operating
            expenses holds it.
        lifted: coefficients that are what they are because of limits (named as causes are) that are thought away, with
            what they are without: (component, key, variable, coefficient).
        tables: writes the tables of the plan that say what the family decides, by name.
    """

    rows: tuple[Add, ...] = ()
    variables: Add | None = None
    cost: Callable[[Any, Index, Terms], None] | None = None
    running: Callable[[Any, Index], Iterable[Running]] | None = None
    lifted: Callable[[Any, Index, Collection[str]], Iterable[tuple[str, Any, Any, float]]] | None = None
    tables: Mapping[str, Callable[[Decided], pd.DataFrame]] = field(default_factory=dict)
