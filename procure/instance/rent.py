"""What can be rented, and what is: offers of owners of capacity, at a site or as providers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case import schema as given
from procure.instance.tables import Rented, RentOffer
from procure.quarter import HOURS_PER_QUARTER, MONTHS_PER_QUARTER, Quarter

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case


def offers(case: Case) -> list[given.Rent]:
    """What a case is offered for rent."""
    return given.Rent.rows(case.tables["rent"])


def _rent_offers(case: Case) -> pd.DataFrame:
    """Offers with their prices by quarter and their windows as positions of quarters.

    A price by the hour, of a GPU or a unit, is paid for every hour of a quarter. Rent begins no sooner than the lead
    allows, nor before the SKU is available, and so that its term ends in the window; a window that goes on after the
    horizon holds terms that do.
    """
    rows = []
    start, end = case.quarters[0].index, len(case.quarters) - 1
    for r in offers(case):
        sku = case.catalogue.sku(r.sku)
        stated = (
            r.usd_per_gpu_hour * sku.gpus * HOURS_PER_QUARTER,
            r.usd_per_unit_hour * HOURS_PER_QUARTER,
            r.usd_per_unit_month * MONTHS_PER_QUARTER,
        )
        begins = [Quarter(q).index - start for q in (r.from_quarter, sku.available_from) if q]
        closes = Quarter(r.to_quarter).index - start if r.to_quarter else end + r.min_term_quarters
        rows.append(
            RentOffer(
                offer=r.offer,
                site=r.site,
                sku=r.sku,
                most_units=r.most_units,
                usd_per_quarter=next(usd for usd in stated if not math.isnan(usd)),
                lead_quarters=math.ceil(r.lead_quarters),
                min_term_quarters=r.min_term_quarters,
                first_t=max(math.ceil(r.lead_quarters), *begins, 0),
                last_start_t=min(closes - r.min_term_quarters + 1, end),
                last_t=min(closes, end),
                capital=int(r.charged_to == "capital"),
            )
        )
    return RentOffer.frame(rows)


def _rented(case: Case) -> pd.DataFrame:
    start = case.quarters[0].index
    return Rented.frame(
        Rented(r.offer, Quarter(r.from_quarter).index - start, Quarter(r.until_quarter).index - start, r.count)
        for r in given.Rented.rows(case.tables["rented"])
    )


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {
    "rent_offers": _rent_offers,
    "rented": _rented,
}
"""Tables of :data:`procure.instance.tables.TABLES` that it makes, of the case alone."""
