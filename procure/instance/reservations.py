"""What can be kept on offer at sites, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case import schema as given
from procure.instance.sites import first_rows
from procure.instance.tables import Reservation
from procure.quarter import MONTHS_PER_QUARTER, Quarter
from procure.schema import Instrument

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case


def _reservations(case: Case) -> pd.DataFrame:
    """Reservations with their windows as positions of quarters: from the end of the offer on.

    Space rented early pays its own rent, so that what stands there pays no other; a step held by a fee, or by none, is
    as it is without.
    """
    sites, start = first_rows(case), case.quarters[0].index
    steps = {(r.site, r.expansion): r for r in given.Expansion.rows(case.tables["expansions"])}
    rows = []
    for r in given.Reservation.rows(case.tables["reservations"]):
        step, site = steps[r.site, r.expansion], sites[r.site]
        kw = step.power_kw / (site.pue if site.power_basis == "facility" else 1.0)
        by_step = 0.0 if math.isnan(r.usd_per_step_month) else r.usd_per_step_month
        by_kw = 0.0 if math.isnan(r.usd_per_kw_month) else r.usd_per_kw_month
        rented = Instrument(r.instrument) is Instrument.EARLY_RENT
        last = len(case.quarters) - 1 - math.ceil(step.lead_quarters)
        rows.append(
            Reservation(
                reservation=r.reservation,
                site=r.site,
                expansion=r.expansion,
                instrument=Instrument(r.instrument),
                counted=int(r.counted_on),
                most_steps=r.most_steps,
                first_t=max(Quarter(step.order_until).index - start + 1, 0),
                last_t=min(Quarter(r.until_quarter).index - start, last),
                usd_per_quarter=(by_step + by_kw * kw) * MONTHS_PER_QUARTER,
                kw=kw if rented or not step.pays_rent else 0.0,
            )
        )
    return Reservation.frame(sorted(rows, key=lambda row: row.reservation))


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {"reservations": _reservations}
"""Tables of :data:`procure.instance.tables.TABLES` that it makes, of the case alone."""
