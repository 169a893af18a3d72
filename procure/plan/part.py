"""What a family brings to the check of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from procure.instance import Instance
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.plan import Plan
from procure.plan.standing import Standing

Faults = Callable[[Plan, Instance], Iterable[str]]
"""What does not hold of a plan, a sentence each."""


@dataclass(frozen=True)
class Check:
    """A family's side of limits, verification and money; ``CHECK`` in its ``check.py``.

    Attributes:
        limits: adds the family's rows to the plan's ``limits``.
        faults: what the family demands beside its limits, by the name of the check that says it; several families may
            have a part in one check.
        cash: pays what the family costs, from the plan's tables.
    """

    limits: Callable[[Standing, Rows], None] | None = None
    faults: Mapping[str, Faults] = field(default_factory=dict)
    cash: Callable[[Ledger, Instance, dict[str, pd.DataFrame]], None] | None = None
