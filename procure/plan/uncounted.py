"""How much at most a plan flatters where it counts loads in parts of instances: units that whole ones would add."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypedDict

import pandas as pd

from procure.plan.tables import Instances
from procure.timekey import totals


class Uncounted(TypedDict):
    """Of a pool, the planned quarter in which whole instances of loads that stay fluid would take most units more.

    ``units`` is an upper bound on them, beside those that stand there.
    """

    site: str
    sku: str
    quarter: str
    units: float
    standing: float


def uncounted_units(tables: Mapping[str, pd.DataFrame], planned: Collection[str]) -> list[Uncounted]:
    """Pools with loads that are not counted in whole instances, by site and SKU; tables of a plan."""
    stands = totals(tables["fleet"], ["quarter", "site", "sku"], "closing")
    more: dict[tuple[str, str], dict[str, float]] = {}
    for r in Instances.rows(tables["instances"]):
        if r.quarter in planned and not r.whole:
            by_quarter = more.setdefault((r.site, r.sku), {})
            by_quarter[r.quarter] = by_quarter.get(r.quarter, 0.0) + r.uncounted_units
    found: list[Uncounted] = []
    for (site, sku), by_quarter in sorted(more.items()):
        quarter = max(sorted(by_quarter), key=by_quarter.__getitem__)
        standing = float(stands.get((quarter, site, sku), 0.0))
        found.append(
            {"site": site, "sku": sku, "quarter": quarter, "units": float(by_quarter[quarter]), "standing": standing}
        )
    return found
