"""Family 12c in the program: what suppliers sell, and what is paid for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.errors import Fault, InputError
from procure.families.scales import USD_PER_UNIT
from procure.instance.tables import ExpansionAdd, MaxqSaving, ResourceUse, SiteLimit
from procure.plan.plan import frame
from procure.program.beside import beside_residual_usd
from procure.program.decided import Decided
from procure.program.declare import first_stage, first_stage_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.paid import order_payments
from procure.program.part import Part
from procure.program.running import Running
from procure.program.sales import sales_by_sku
from procure.rules.worth import residual_usd
from procure.schema import Resource

FREE_ORDER = 1e4
"""Units in an order that nothing bounds."""


def add_variables(m: Any, index: Index) -> None:
    """buy[site, sku, t] units ordered, integer; ordered[sku, t] 0 or 1, where it is of interest.

    That is for SKUs with a minimum order, and in quarters in which a SKU could also be sold.
    """
    m.buy = first_stage(index.orders, domain=pyo.NonNegativeIntegers)
    sold = index.of(sales_by_sku)
    m.ordered = first_stage(
        sorted({(k, t) for _, k, t in index.orders if index.sku[k].min_order > 1 or (k, t) in sold}), domain=pyo.Binary
    )


def supply_cap(m: Any, index: Index) -> None:
    """All sites together order at most what the supplier sells in a quarter: Σ_s buy[s,k,t] ≤ supply[k,t]. Units."""
    orders = group(index.orders, lambda o: (o[1], o[2]))
    keys = [(k, t) for k, t in sorted(orders) if index.most_ordered(k, t) < float("inf")]

    def rule(m: Any, sku: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.buy[o] for o in orders[sku, t]))
        return row.at_most(index.most_ordered(sku, t))

    m.supply_cap = first_stage_rows(keys, rule=rule)


def minimum_order(m: Any, index: Index) -> None:
    """All sites together order nothing or at least the supplier's minimum: min·ordered ≤ Σ_s buy ≤ most·ordered.

    Per SKU and quarter, as a supplier sees one order; the second also where ``ordered`` forbids a sale. ``most`` is the
    supply cap, or without one what the stated limits of all sites could hold. Units.
    """
    orders = group((o for o in index.orders if (o[1], o[2]) in m.ordered), lambda o: (o[1], o[2]))
    most = {sku: order_bound(index, sku) for sku, _ in m.ordered}

    def low(m: Any, sku: str, t: int) -> Any:
        row = Terms()
        row.add(index.sku[sku].min_order, m.ordered[sku, t])
        row.extend(-1.0, (m.buy[o] for o in orders[sku, t]))
        return row.at_most(0.0)

    def high(m: Any, sku: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.buy[o] for o in orders[sku, t]))
        row.add(-most[sku], m.ordered[sku, t])
        return row.at_most(0.0)

    m.minimum_order = first_stage_rows([key for key in m.ordered if index.sku[key[0]].min_order > 1], rule=low)
    m.order_placed = first_stage_rows(list(m.ordered), rule=high)


def bought_or_sold(m: Any, index: Index) -> None:
    """No SKU is ordered and sold in the same quarter, at whatever sites: ordered[k,t] + selling[k,t] ≤ 1."""

    def rule(m: Any, sku: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.ordered[sku, t])
        row.add(1.0, m.selling[sku, t])
        return row.at_most(1.0)

    m.bought_or_sold = first_stage_rows(list(m.selling), rule=rule)


def order_bound(index: Index, sku: str, without: Collection[str] = ()) -> float:
    """Units that one order of a SKU, over all sites, could be at most.

    ``without``: limits that are thought away, named as causes are; the bound may then be infinite.

    Raises:
        InputError: neither the supply cap nor a limit of a site bounds it.
    """
    sites = sorted({site for site, name in index.ordered_at if name == sku})
    bound = sum(_room(index, site, sku, without) for site in sites)
    if "supply" not in without:
        row = index.sku[sku]
        quarters = range(row.first_order_t, row.last_order_t + 1)
        bound = min(bound, max((index.most_ordered(sku, t) for t in quarters), default=0.0))
    if bound == float("inf") and not without:
        expected = "A limit that bounds an order: supply_per_quarter in hardware.csv, or a limit of every site."
        raise InputError([Fault("hardware.csv", 0, "supply_per_quarter", sku, expected)])
    return bound


def _room(index: Index, site: str, sku: str, without: Collection[str]) -> float:
    """Whole units of a SKU that a site's limits hold with all expansions, were nothing else there."""
    bound = float("inf")
    adds = group(index.instance.rows(ExpansionAdd), lambda row: (row.site, row.resource))
    saved = {(r.site, r.sku, r.resource): r.saved for r in index.instance.rows(MaxqSaving)}
    use = {
        row.resource: row.per_unit - saved.get((site, sku, row.resource), 0.0)
        for row in index.instance.rows(ResourceUse)
        if row.site == site and row.sku == sku and row.resource.word not in without
    }
    most: dict[Resource, float] = {}
    for limit in index.instance.rows(SiteLimit):
        if limit.site == site:
            most[limit.resource] = max(limit.limit, most.get(limit.resource, 0.0))
    for resource, built in most.items():
        if use.get(resource, 0.0) > 0:
            grown = sum(a.adds * index.expansion[site, a.expansion].max_count for a in adds.get((site, resource), []))
            bound = min(bound, (built + grown) / use[resource])
    if index.sku[sku].pod_slots and "pods" not in without:
        bound = min(bound, index.pods_at[site].pods_max * index.pods_at[site].nvl72_per_pod / index.sku[sku].pod_slots)
    return bound if bound == float("inf") else float(int(bound * (1.0 + 1e-9)))


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """Payments for what is ordered, less what it and what it drags along are worth at the end.

    The second stays where it is when a unit is sold.
    """
    for site, sku, order_t in index.orders:
        row = index.sku[sku]
        delivery = order_t + int(row.lead_quarters)
        usd = sum(paid * index.discount[t] for t, paid in order_payments(index, sku, order_t).items())
        usd -= residual_usd(index.price[sku, delivery], index.horizon - delivery, row) * index.end_discount
        usd -= beside_residual_usd(index, "attach", row.attach_usd, delivery)
        terms.add(usd / USD_PER_UNIT, m.buy[site, sku, order_t])


def running(m: Any, index: Index) -> Iterator[Running]:
    """Support of what is ordered, from delivery on."""
    for site, sku, order_t in index.orders:
        delivery = order_t + int(index.sku[sku].lead_quarters)
        for t in range(delivery, index.horizon):
            yield Running(t, index.support[sku, delivery], m.buy[site, sku, order_t])


def lifted(m: Any, index: Index, without: Collection[str]) -> Iterator[tuple[str, Any, Any, float]]:
    """The most that an order can be, where limits that it comes from are thought away."""
    for key in m.order_placed:
        most = min(order_bound(index, key[0], without), FREE_ORDER)
        yield "order_placed", key, m.ordered[key], -most


def purchases(d: Decided) -> pd.DataFrame:
    """Orders with their delivery and what is paid for them."""
    rows = []
    for site, sku, t in d.index.orders:
        count = d.value.whole(d.m.buy[site, sku, t])
        if count:
            row = d.index.sku[sku]
            delivery = t + int(row.lead_quarters)
            price = d.index.price[sku, delivery]
            unit = price + row.attach_usd + row.install_usd
            rows.append(
                (d.names[t], site, sku, count, d.index.instance.span[d.names[t]], d.names[delivery], price,
                 row.attach_usd, row.install_usd, count * unit)
            )  # fmt: skip
    return frame("purchases", rows)


PROGRAM = Part(
    (supply_cap, minimum_order, bought_or_sold),
    add_variables,
    add_cost,
    running,
    lifted,
    tables={"purchases": purchases},
)
