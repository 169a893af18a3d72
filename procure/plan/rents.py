"""What a plan rents, as a reader sees it: what it recommends, and what it keeps of what was rented before."""

from __future__ import annotations

import pandas as pd

from procure.plan.summary import RentOrder
from procure.plan.tables import UnitRent
from procure.schema import Span


def recommended_rents(table: pd.DataFrame) -> list[UnitRent]:
    """Rows of a plan's ``rents`` that it decides in planned quarters."""
    return [r for r in UnitRent.rows(table) if r.decided and r.span is Span.PLANNED]


def rents_summary(table: pd.DataFrame) -> list[RentOrder]:
    """What plan.json lists of a plan's ``rents``."""
    return [
        {
            "quarter": r.quarter,
            "site": r.site,
            "sku": r.sku,
            "count": int(r.count),
            "offer": r.offer,
            "first_quarter": r.first_quarter,
            "last_quarter": r.last_quarter,
            "rent_usd": float(r.rent_usd),
        }
        for r in recommended_rents(table)
    ]
