"""Words and figures that sentences, sheets and pages share: amounts, shares, lists of units."""

from __future__ import annotations

from typing import Any

import pandas as pd

from procure.families.wording import figure
from procure.plan import Plan
from procure.schema import Unit


def planned_quarters(plan: Plan) -> list[str]:
    """Quarters whose orders are recommended."""
    return list(plan.summary["planned_quarters"])


def plan_name(plan: Plan) -> str:
    """Name of the case that the plan answers."""
    return str(plan.summary.get("case", ""))


def usd(amount: float) -> str:
    """An amount with three or four figures: 1.234 B USD, 45.6 M USD."""
    size = abs(amount)
    for scale, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if size >= scale * 0.9995:
            digits = 3 if name == "B" else 1
            return f"{amount / scale:,.{digits}f} {name} USD"
    return f"{amount:,.0f} USD"


def count_of(number: float, noun: str) -> str:
    """A number with its noun: 1 order, 2 orders."""
    return f"{number:,.0f} {noun}" + ("" if number == 1 else "s")


def share(fraction: float) -> str:
    """A share as a percentage that never rounds something to nothing."""
    if 0 < fraction < 0.0005:
        return "less than 0.1%"
    if 0.9995 < fraction < 1:
        return "more than 99.9%"
    return f"{fraction:.1%}"


def rounded(number: float, digits: int = 3) -> str:
    """A number to so many significant digits, never in powers of ten below a quadrillion: 1,400 and not 1.4e+03."""
    return figure(float(f"{number:.{digits}g}"))


def listed(counts: pd.Series) -> str:
    """``54 cmx-enclosure, 32 vr-nvl72 and 4 cmx-rack``: units by SKU, the most first."""
    parts = [f"{int(count):,} {sku}" for sku, count in counts.sort_values(ascending=False, kind="stable").items()]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def holds(value: Any) -> bool:
    """Whether a stored truth value is true: True, 1, ``true``."""
    return str(value).lower() in ("true", "1", "1.0")


def readable(limits: pd.DataFrame) -> pd.DataFrame:
    """A plan's limits with bytes in TB, GB/s and TB/day."""
    shown = [Unit.shown_for(str(unit)) for unit in limits["unit"]]
    unit = [name for name, _ in shown]
    scale = pd.Series([size for _, size in shown], index=limits.index, dtype=float)
    amounts = {column: limits[column] / scale for column in ("used", "limit", "slack")}
    return limits.assign(unit=unit, **amounts)
