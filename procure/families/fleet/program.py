"""Family 1 in the program: the fleet balance, by vintage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.families.scales import USD_PER_UNIT
from procure.plan.plan import frame
from procure.plan.tables import UnitRent
from procure.program.decided import Decided
from procure.program.declare import More, first_stage, first_stage_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.order_changes import order_changes
from procure.program.part import Part
from procure.program.running import Running
from procure.program.sales import of_groups, of_orders, sales, sales_by_sku
from procure.quarter import Quarter
from procure.rules.worth import book_usd, residual_usd, sale_usd
from procure.schema import Origin


def add_variables(m: Any, index: Index) -> None:
    """Units that stand and units that are sold, integer; whether a SKU is sold in a quarter, 0 or 1.

    own[site, sku, t] is owned, so by the fleet balance. retire[group, t] is sold at the start of t of what exists or is
    firmly on order, resell[site, sku, o, t] of what is ordered in o. selling[sku, t] for SKUs that can be ordered then.
    """
    m.retire = first_stage(
        [sale.key for sale in index.of(of_groups)],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, name, t: (
            0, min(int(index.fixed[name].count), index.sku[index.fixed[name].sku].resale_per_quarter),
        ),
    )  # fmt: skip
    m.resell = first_stage(
        [sale.key for sale in index.of(of_orders)],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, site, sku, o, t: (0, index.sku[sku].resale_per_quarter),
    )
    orderable = {(sku, t) for _, sku, t in index.orders}
    m.selling = first_stage(sorted(orderable & index.of(sales_by_sku).keys()), domain=pyo.Binary)
    m.own = first_stage(index.stock, more=More.HELPS, counts=True, domain=pyo.NonNegativeIntegers)


def fleet_balance(m: Any, index: Index) -> None:
    """What stands at a site existed, was on firm order, or was ordered and delivered, and was not sold.

        own[s,k,t] = Σ_{g at s,k: vintage(g) ≤ t} (count[g] − Σ_{τ≤t} retire[g,τ])
                     + Σ_{o ≤ t − lead(k)} (buy[s,k,o] − Σ_{τ≤t} resell[s,k,o,τ]) + Σ_f on_rent[f,t]
                     − Σ_{g on order: vintage(g) ≤ t} (cancel[g] + Σ_{d > t − vintage(g)} defer[g,d])

    over the offers f of rent at s, k. Units, integer by construction. Deliveries are usable from the start of their
    quarter.
    """

    def rule(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.own[site, sku, t])
        for order in index.delivered(site, sku, t):
            row.add(-1.0, m.buy[order])
        row.extend(-1.0, (m.on_rent[key] for key in index.rented_at.get((site, sku, t), [])))
        standing = sum(g.count for g in index.fixed.values() if g.site == site and g.sku == sku and g.vintage_t <= t)
        row.extend(1.0, (sale.decision(m) for sale in sold.get((site, sku), []) if sale.t <= t))
        row.extend(1.0, (change.decision(m) for change in changed.get((site, sku), []) if change.misses(t)))
        return row.equal(standing)

    sold = group(index.of(sales), lambda sale: (sale.site, sale.sku))
    changed = group(index.of(order_changes), lambda change: (change.firm.site, change.firm.sku))
    m.fleet_balance = first_stage_rows(index.stock, rule=rule)


def retire_within_group(m: Any, index: Index) -> None:
    """No group sells more than it holds: Σ_t retire[g,t] ≤ count[g]. Units."""
    groups = group((sale.key for sale in index.of(of_groups)), lambda key: key[0])

    def rule(m: Any, name: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.retire[key] for key in groups[name]))
        return row.at_most(index.fixed[name].count)

    m.retire_within_group = first_stage_rows(list(groups), rule=rule)


def resell_within_order(m: Any, index: Index) -> None:
    """No more of an order is sold than it brought: Σ_t resell[s,k,o,t] ≤ buy[s,k,o]. Units."""
    orders = group((sale.key for sale in index.of(of_orders)), lambda key: key[:3])

    def rule(m: Any, site: str, sku: str, o: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.resell[key] for key in orders[site, sku, o]))
        row.add(-1.0, m.buy[site, sku, o])
        return row.at_most(0.0)

    m.resell_within_order = first_stage_rows(list(orders), rule=rule)


def resale_cap(m: Any, index: Index) -> None:
    """The market takes so many units of a SKU in a quarter, over all sites: Σ retire + Σ resell ≤ most[k]·selling[k,t].

    ``selling`` is 1 for SKUs that cannot be ordered in that quarter. Units.
    """
    sold = index.of(sales_by_sku)

    def rule(m: Any, sku: str, t: int) -> Any:
        row, most = Terms(), index.sku[sku].resale_per_quarter
        row.extend(1.0, (sale.decision(m) for sale in sold[sku, t]))
        if (sku, t) in m.selling:
            row.add(-most, m.selling[sku, t])
            return row.at_most(0.0)
        return row.at_most(most)

    m.resale_cap = first_stage_rows(sorted(sold), rule=rule)


def reserved_stands(m: Any, index: Index) -> None:
    """Units held for other purposes are not sold away: own[s,k,t] − Σ_f on_rent[f,t] ≥ reserved[s,k,t]. Units."""
    keys = [(site, sku, t) for (t, site, sku), count in sorted(index.reserved.items()) if count > 0]

    def rule(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        if (site, sku, t) in index.in_stock:
            row.add(1.0, m.own[site, sku, t])
        row.extend(-1.0, (m.on_rent[key] for key in index.rented_at.get((site, sku, t), [])))
        return row.at_least(index.reserved[t, site, sku])

    m.reserved_stands = first_stage_rows(keys, rule=rule)


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """What exists and is on order, and what sales change.

    Constant: firm payments, less residual values. A sold unit brings its residual value less the spread after the
    delay, is removed at a cost when it leaves, and is not there at the end. What is still to be received at the end of
    the horizon counts at its present value.
    """
    for g in index.fixed.values():
        usd, age = 0.0, index.horizon - int(g.vintage_t)
        if g.due_t in index.discount:
            usd += g.count * g.due_usd * index.discount[g.due_t]
        usd -= g.count * residual_usd(g.paid_usd, age, index.sku[g.sku]) * index.end_discount
        terms.constant += usd / USD_PER_UNIT
    for sale in index.of(sales):
        sku = index.sku[sale.sku]
        received = index.discount_of(sale.t + int(sku.resale_delay_quarters))
        usd = -sale_usd(sale.paid_usd, sale.t - sale.vintage_t, sku) * received
        usd += sku.removal_usd * index.discount[sale.t]
        usd += residual_usd(sale.paid_usd, index.horizon - sale.vintage_t, sku) * index.end_discount
        terms.add(usd / USD_PER_UNIT, sale.decision(m))


def running(m: Any, index: Index) -> Iterator[Running]:
    """Support of what exists and is on order, which ends with a sale."""
    for g in index.fixed.values():
        for t in index.t:
            if t >= g.vintage_t:
                yield Running(t, g.count * g.support_usd_per_quarter)
    for sale in index.of(sales):
        for t in range(sale.t, index.horizon):
            yield Running(t, -sale.support_usd_per_quarter, sale.decision(m))


def fleet(d: Decided) -> pd.DataFrame:
    """Units by vintage and quarter: existing, on order as agreed or deferred, bought and rented, less what was sold."""
    start = Quarter(d.names[0]).index
    sold: dict[Any, dict[int, int]] = {}
    for sale in d.index.of(sales):
        if count := d.value.whole(sale.decision(d.m)):
            sold.setdefault(sale.key[:-1], {})[sale.t] = count
    batches: list[tuple[str, str, str, int, int, dict[int, int]]] = []
    elsewhere: dict[str, int] = {}
    late: dict[tuple[str, str, int], int] = {}
    for change in d.index.of(order_changes):
        count, g = d.value.whole(change.decision(d.m)), change.firm
        elsewhere[g.group] = elsewhere.get(g.group, 0) + count
        if count and change.quarters:
            arrival = (g.site, g.sku, g.vintage_t + change.quarters)
            late[arrival] = late.get(arrival, 0) + count
    for g in d.index.fixed.values():
        taken = g.count - elsewhere.get(g.group, 0)
        batches.append((g.site, g.sku, g.origin, g.vintage_t, taken, sold.get((g.group,), {})))
    batches += [(site, sku, Origin.DEFERRED, t, count, {}) for (site, sku, t), count in late.items()]
    for order in d.index.orders:
        site, sku, t = order
        count = d.value.whole(d.m.buy[order])
        if count:
            vintage = t + int(d.index.sku[sku].lead_quarters)
            batches.append((site, sku, Origin.PURCHASE, vintage, count, sold.get(order, {})))
    batches += rented_batches(d)
    rows = []
    for site, sku, origin, vintage, count, gone in batches:
        label = str(Quarter.from_index(start + vintage))
        held = count if vintage < 0 else 0
        for t in d.index.t:
            delivered = count if vintage == t else 0
            retired = gone.get(t, 0)
            closing = held + delivered - retired
            if held or delivered:
                rows.append((d.names[t], site, sku, origin, label, held, delivered, retired, closing))
            held = closing
    return frame("fleet", rows)


def rented_batches(d: Decided) -> list[tuple[str, str, str, int, int, dict[int, int]]]:
    """Rented units by site, SKU and quarter in which their rent began, with those given back by quarter."""
    start = Quarter(d.names[0]).index
    found: dict[tuple[str, str, int], tuple[int, dict[int, int]]] = {}
    for r in UnitRent.rows(d.table("rents")):
        first, last = (Quarter(q).index - start for q in (r.first_quarter, r.last_quarter))
        count, back = found.get((r.site, r.sku, first), (0, {}))
        found[r.site, r.sku, first] = (count + r.count, {**back, last + 1: back.get(last + 1, 0) + r.count})
    return [(site, sku, Origin.RENT, first, count, back) for (site, sku, first), (count, back) in found.items()]


def sold_units(d: Decided) -> pd.DataFrame:
    """What is sold, what it brings when, and what it leaves in the books."""
    start = Quarter(d.names[0]).index
    rows = []
    for sale in d.index.of(sales):
        count = d.value.whole(sale.decision(d.m))
        if not count:
            continue
        sku, age = d.index.sku[sale.sku], sale.t - sale.vintage_t
        origin = d.index.fixed[sale.key[0]].origin if len(sale.key) == 2 else Origin.PURCHASE
        received, freed = sale.t + int(sku.resale_delay_quarters), sale.t + int(sku.removal_quarters)
        vintage_name, received_name, freed_name = (
            str(Quarter.from_index(start + t)) for t in (sale.vintage_t, received, freed)
        )
        brings, books = sale_usd(sale.paid_usd, age, sku), book_usd(sale.paid_usd, age, sku)
        rows.append(
            (d.names[sale.t], sale.site, sale.sku, origin, vintage_name, count, d.index.instance.span[d.names[sale.t]],
             received_name, freed_name, brings, sku.removal_usd, count * (brings - sku.removal_usd), books,
             count * (books - brings + sku.removal_usd))
        )  # fmt: skip
    return frame("sales", rows)


PROGRAM = Part(
    (fleet_balance, retire_within_group, resell_within_order, resale_cap, reserved_stands),
    add_variables,
    add_cost,
    running,
    tables={"fleet": fleet, "sales": sold_units},
)
