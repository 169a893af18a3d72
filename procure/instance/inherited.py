"""What a plan begins with: fleet, firm orders and their terms, units that are reserved, the last plan's placement."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case import schema as given
from procure.instance.tables import Fixed, OrderTerms, PlacedBefore, Reserved
from procure.quarter import Quarter
from procure.schema import Origin

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case


def _fixed(case: Case) -> pd.DataFrame:
    """Fleet and firm orders, alike units of one vintage as one group at their mean price.

    What was paid includes what a unit drags along and its installation. Neither is sold or supported with the unit, so
    residual values and support start from the rest, as they do for purchases.
    """
    start = case.quarters[0].index
    rows: list[Fixed] = []
    sells_fleet, sells_all = case.settings.resale != "none", case.settings.resale == "all"
    fleet = [
        ((r.site, r.sku, r.in_service), r.count, r.paid_usd_per_unit, 1.0, r.retirable and sells_fleet)
        for r in given.Fleet.rows(case.tables["fleet"])
    ]
    orders = [
        ((r.site, r.sku, r.delivery), r.count, r.price_usd_per_unit, r.paid_share, sells_all)
        for r in given.Order.rows(case.tables["orders"])
    ]
    for origin, units in ((Origin.FLEET, fleet), (Origin.ORDER, orders)):
        groups: dict[tuple[str, str, str], list[tuple[int, float, float, bool]]] = {}
        for key, count, price_usd, paid_share, flag in units:
            groups.setdefault(key, []).append((count, price_usd, paid_share, flag))
        for number, ((site, sku, quarter), parts) in enumerate(sorted(groups.items())):
            count = sum(part[0] for part in parts)
            if count == 0:
                continue
            unit = case.catalogue.sku(sku)
            beside = unit.attach_usd + unit.install_usd
            paid = sum(part[0] * max(part[1] - beside, 0.0) for part in parts) / count
            due = sum(part[0] * part[1] * (1.0 - part[2]) for part in parts) / count
            support = paid * unit.support_per_year / 4
            vintage = Quarter(quarter).index - start
            retirable = int(all(part[3] for part in parts))
            rows.append(
                Fixed(
                    group=f"{origin}-{number}",
                    origin=origin,
                    site=site,
                    sku=sku,
                    count=count,
                    vintage_t=vintage,
                    retirable=retirable,
                    paid_usd=paid,
                    due_usd=due,
                    due_t=max(vintage, 0),
                    support_usd_per_quarter=support,
                )
            )
    return Fixed.frame(rows)


def _order_terms(case: Case) -> pd.DataFrame:
    """Terms of the groups on firm order of which something can be changed: notice is given in the first quarter.

    A unit that is cancelled owes its fee, what is paid already counted towards it; what is paid beyond is lost. No unit
    is deferred beyond the horizon, where nobody would see it paid for.
    """
    first, end = case.quarters[0], len(case.quarters)
    orders = given.Order.rows(case.tables["orders"])
    groups = sorted({(r.site, r.sku, r.delivery) for r in orders})  # numbered as in ``fixed``
    rows = []
    for r in orders:
        t = Quarter(r.delivery).index - first.index
        until = Quarter(r.notice_until) if r.notice_until else Quarter(r.delivery) + -1
        cancels = not math.isnan(r.cancel_fee_share)
        defers = 0 if math.isnan(r.defer_quarters_most) else min(int(r.defer_quarters_most), end - 1 - t)
        if until < first or not (cancels or defers):
            continue
        rows.append(
            OrderTerms(
                group=f"{Origin.ORDER}-{groups.index((r.site, r.sku, r.delivery))}",
                may_cancel=int(cancels),
                cancel_usd=max(r.cancel_fee_share - r.paid_share, 0.0) * r.price_usd_per_unit if cancels else 0.0,
                defer_most=defers,
                defer_usd_per_quarter=r.defer_fee_share_per_quarter * r.price_usd_per_unit if defers else 0.0,
            )
        )
    return OrderTerms.frame(sorted(rows, key=lambda row: row.group))


def _reserved(case: Case) -> pd.DataFrame:
    held: dict[tuple[int, str, str], float] = {}
    for row in given.Reserved.rows(case.tables["reserved"]):
        key = (case.position[row.quarter], row.site, row.sku)
        held[key] = held.get(key, 0.0) + row.count
    return Reserved.frame(Reserved(*key, count) for key, count in sorted(held.items()))


def _placed_before(case: Case) -> pd.DataFrame:
    rows = (PlacedBefore(r.work, r.workload, r.site, r.deployment, r.share)
            for r in given.Placed.rows(case.tables["placement"]))  # fmt: skip
    return PlacedBefore.frame(sorted(rows, key=lambda r: (r.work, r.workload, r.site, r.deployment)))


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {
    "fixed": _fixed,
    "order_terms": _order_terms,
    "reserved": _reserved,
    "placed_before": _placed_before,
}
"""Tables of :data:`procure.instance.tables.TABLES` that it makes, of the case alone."""
