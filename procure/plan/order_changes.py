"""What a plan cancels and defers of firm orders, as plan.json lists it."""

from __future__ import annotations

import pandas as pd

from procure.plan.summary import ChangedFirmOrder
from procure.plan.tables import ChangedOrder


def changes_summary(table: pd.DataFrame) -> list[ChangedFirmOrder]:
    """What plan.json lists of a plan's ``order_changes``."""
    return [
        {
            "quarter": r.quarter,
            "site": r.site,
            "sku": r.sku,
            "count": int(r.count),
            "change": str(r.change),
            "ordered": int(r.ordered),
            "delivery_quarter": r.delivery_quarter,
            "deferred_quarters": int(r.deferred_quarters),
            "fee_usd": float(r.fee_usd),
        }
        for r in ChangedOrder.rows(table)
    ]
