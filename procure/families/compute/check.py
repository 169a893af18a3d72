"""Work of pools checked against the racks that may be busy."""

from __future__ import annotations

from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.standing import Standing
from procure.schema import SkuKind


def limits(s: Standing, rows: Rows) -> None:
    """Busy racks of each pool, by what decode and prefill say they take."""
    for quarter, site, sku in sorted(s.own):
        if s.sku[sku].kind is SkuKind.GPU:
            limit = s.sku[sku].usable_share * s.at_work(quarter, site, sku)
            rows.add("busy racks", quarter, site, sku, s.busy[quarter, site, sku], limit, "racks")


CHECK = Check(limits)
