"""What units are and cost: SKUs that stand, are on order or can be bought, and modes that they run in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case.schema import Supply
from procure.instance.tables import PowerMode, Price, QuarterSupply, SkuRow
from procure.quarter import Quarter
from procure.rules import failures
from procure.schema import SkuKind

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case
    from procure.catalogue import Sku


def availability(case: Case, sku: Sku) -> float:
    """Share of owned units that are up: the case's, or from failures and repair of the SKU and of its host."""
    stated = case.settings.availability
    if isinstance(stated, str):
        own = failures.availability(sku.failures_per_year, sku.repair_hours)
        return own * availability(case, case.catalogue.sku(sku.host)) if sku.host else own
    return stated


def present_share(case: Case, sku: Sku) -> float:
    """Share of owned units that are up and not spares.

    Racks and servers stand by as spares, and what is inside them with them. A CMX enclosure does not: when one fails
    its copies are computed again.
    """
    spares = 0.0 if sku.kind in (SkuKind.CMX_RACK, SkuKind.CMX_ENCLOSURE) else case.settings.spare_share
    return availability(case, sku) * (1.0 - spares)


def skus_in_play(case: Case) -> list[Sku]:
    """SKUs that exist, are on order, or may be bought, by name."""
    return [case.catalogue.sku(name) for name in case.skus_in_play]


def order_window(case: Case, sku: Sku) -> tuple[int, int]:
    """First and last quarter in which an order can be placed that arrives inside the horizon; empty if last < first."""
    lead = math.ceil(sku.lead_quarters)
    first = 0
    if sku.available_from:
        first = max(first, Quarter(sku.available_from).index - case.quarters[0].index - lead)
    last = len(case.quarters) - 1 - lead
    if sku.last_order:
        last = min(last, Quarter(sku.last_order).index - case.quarters[0].index)
    return (first, last) if sku.name in case.settings.may_buy else (0, -1)


def _skus(case: Case) -> pd.DataFrame:
    rows = []
    for sku in skus_in_play(case):
        present = present_share(case, sku)
        first, last = order_window(case, sku)
        rows.append(
            SkuRow(
                sku=sku.name,
                kind=sku.kind,
                host=sku.host,
                lead_quarters=math.ceil(sku.lead_quarters),
                first_order_t=first,
                last_order_t=last,
                min_order=sku.min_order,
                supply_per_quarter=float(sku.supply_per_quarter),
                life_quarters=sku.life_years * 4,
                haircut=sku.haircut,
                resale_spread=sku.resale_spread,
                resale_delay_quarters=math.ceil(sku.resale_delay_quarters),
                resale_lockup_quarters=math.ceil(sku.resale_lockup_quarters),
                resale_per_quarter=sku.resale_per_quarter,
                removal_usd=sku.removal_usd,
                removal_quarters=math.ceil(sku.removal_quarters),
                book_life_quarters=sku.book_life_years * 4,
                milestone_order=sku.milestone_order,
                attach_usd=sku.attach_usd,
                install_usd=sku.install_usd,
                usable_share=present * case.settings.utilisation_cap,
                present_share=present,
                availability=availability(case, sku),
                gpus=sku.gpus,
                pod_slots=sku.pod_slots,
                places=case.catalogue.places(sku),
            )
        )
    return SkuRow.frame(rows)


def _prices(case: Case) -> pd.DataFrame:
    rows = []
    for sku in skus_in_play(case):
        for t, quarter in enumerate(case.quarters):
            price = case.catalogue.price_usd(sku.name, quarter)
            rows.append(Price(sku.name, t, price, price * sku.support_per_year / 4))
    return Price.frame(rows)


def _supply(case: Case) -> pd.DataFrame:
    """Units that can be ordered of a SKU in a quarter whose deliveries the case states.

    A SKU has one lead time, so that what arrives in a quarter was ordered in one quarter; what no order of the plan
    can arrive in limits none.
    """
    first, rows = case.quarters[0].index, []
    for r in Supply.rows(case.tables["supply"]):
        t = Quarter(r.quarter).index - first - math.ceil(case.catalogue.sku(r.sku).lead_quarters)
        if t >= 0 and r.sku in case.skus_in_play:
            rows.append(QuarterSupply(r.sku, t, r.most_units))
    return QuarterSupply.frame(sorted(rows, key=lambda row: (row.sku, row.t)))


def has_maxq(case: Case, sku: Sku) -> bool:
    """Whether the plan may run units of a SKU at Max-Q: it has such a mode, which draws less than full power."""
    if case.settings.power_modes != "by_quarter" or sku.kind != SkuKind.GPU:
        return False
    return 0 < sku.power_maxq_kw < sku.power_kw and sku.maxq_throughput_factor > 0


def maxq_share(sku: Sku) -> float:
    """Work of a unit at Max-Q over that in the mode that the case states for it; never more than 1."""
    return min(sku.maxq_throughput_factor / sku.throughput_factor, 1.0)


def _power_modes(case: Case) -> pd.DataFrame:
    return PowerMode.frame(PowerMode(sku.name, maxq_share(sku)) for sku in skus_in_play(case) if has_maxq(case, sku))


def busy_kw(case: Case, sku: Sku, share: float) -> float:
    """Mean draw of a unit that is busy all the time, without attach; limits use its maximum.

    GPU units draw a measured share of their maximum, by kind of work, and never less than when idle; what a case itself
    says of one stands instead. Other kinds draw their ``power_typical_kw``.
    """
    if sku.kind != SkuKind.GPU or case.catalogue.is_stated(sku, "power_typical_kw"):
        return sku.power_typical_kw
    return max(share * sku.power_kw, sku.power_idle_kw)


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {
    "skus": _skus,
    "prices": _prices,
    "supply": _supply,
    "power_modes": _power_modes,
}
"""Tables of :data:`procure.instance.tables.TABLES` that it makes, of the case alone."""
