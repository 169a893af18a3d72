"""How far numbers of a plan may be apart where verification holds them to be the same, or within a limit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

RELATIVE = 1e-5
"""Tolerance of every comparison, relative to its size: ten times what the solver may leave."""
ABSOLUTE = 1e-6
BY_UNIT = {"B": 1e6, "B/s": 1e6, "B/day": 1e11, "USD": 1.0}
"""Absolute tolerance of limits in units that are small against what is planned: the solver works in TB and M USD."""
SHARE = 1e-6
"""Absolute tolerance of a share of a rate: the solver's own, as it serves and prefills in shares; less is its dust."""
MONEY = 1e-6
"""Relative tolerance of money against the objective."""


def over(used: float, limit: float, unit: str = "") -> bool:
    """Whether a use is above its limit by more than the tolerance."""
    return not used <= limit + RELATIVE * abs(limit) + BY_UNIT.get(unit, ABSOLUTE)  # true of NaN as well


def differ(a: float, b: float, relative: float = RELATIVE) -> bool:
    """Whether two numbers that should be the same are not."""
    return a != b and not abs(a - b) <= relative * max(abs(a), abs(b)) + ABSOLUTE  # true of NaN as well


def unlike(a: float, b: float, rate: float) -> bool:
    """Whether parts of a rate that should be the same are not, by more than a solver working in shares leaves."""
    return differ(a, b) and not abs(a - b) <= SHARE * rate


def compare(label: str, row: Any, wanted: dict[str, float]) -> Iterable[str]:
    """The columns of a row that are not what they should be; what is missing on both sides is the same."""
    for name, value in wanted.items():
        stated = float(getattr(row, name))
        if not (math.isnan(stated) and math.isnan(value)) and differ(stated, value):
            yield f"{label}: {name} is {value:g}, not {getattr(row, name):g}"
