"""Family 1 in the program: the fleet balance, by vintage."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.families.scales import USD_PER_UNIT
from procure.plan.plan import frame
from procure.program.decided import Decided
from procure.program.declare import More, first_stage, first_stage_rows
from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.part import Part
from procure.quarter import Quarter
from procure.rules.worth import residual_usd, sale_usd
from procure.schema import Origin


def retirable(index: Index) -> list[tuple[str, int]]:
    """(group, t) where units that exist may be sold."""
    return [
        (g, t) for g, row in index.fixed.items() if row.retirable for t in index.t if t >= max(int(row.vintage_t), 0)
    ]


def add_variables(m: Any, index: Index) -> None:
    """Units that stand and units that are sold, integer.

    own[site, sku, t] is owned, so by the fleet balance; retire[group, t] is sold at the start of t.
    """
    m.retire = first_stage(
        index.of(retirable),
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, group, t: (0, int(index.fixed[group].count)),
    )
    m.own = first_stage(index.stock, more=More.HELPS, counts=True, domain=pyo.NonNegativeIntegers)


def fleet_balance(m: Any, index: Index) -> None:
    """What stands at a site existed, was on firm order, or was ordered and delivered, and was not sold.

        own[s,k,t] = Σ_{g at s,k: vintage(g) ≤ t} (count[g] − Σ_{τ≤t} retire[g,τ]) + Σ_{o ≤ t − lead(k)} buy[s,k,o]

    Units, integer by construction. Deliveries are usable from the start of their quarter.
    """

    def rule(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.own[site, sku, t])
        for order in index.delivered(site, sku, t):
            row.add(-1.0, m.buy[order])
        standing = 0.0
        for name, g in index.fixed.items():
            if g.site == site and g.sku == sku and g.vintage_t <= t:
                standing += g.count
                row.extend(1.0, (m.retire[name, q] for q in index.t if (name, q) in retire and q <= t))
        return row.equal(standing)

    retire = set(index.of(retirable))
    m.fleet_balance = first_stage_rows(index.stock, rule=rule)


def retire_within_group(m: Any, index: Index) -> None:
    """No group sells more than it holds: Σ_t retire[g,t] ≤ count[g]. Units."""
    groups: dict[str, list[int]] = {}
    for name, t in index.of(retirable):
        groups.setdefault(name, []).append(t)

    def rule(m: Any, name: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.retire[name, t] for t in groups[name]))
        return row.at_most(index.fixed[name].count)

    m.retire_within_group = first_stage_rows(list(groups), rule=rule)


def reserved_stands(m: Any, index: Index) -> None:
    """Units held for other purposes are not sold away: own[s,k,t] ≥ reserved[s,k,t]. Units."""
    keys = [(site, sku, t) for (t, site, sku), count in sorted(index.reserved.items()) if count > 0]

    def rule(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        if (site, sku, t) in index.in_stock:
            row.add(1.0, m.own[site, sku, t])
        return row.at_least(index.reserved[t, site, sku])

    m.reserved_stands = first_stage_rows(keys, rule=rule)


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """What exists and is on order, and what sales change.

    Constant: support and firm payments, less residual values. A sold unit brings its residual value less the spread,
    ends its support, and is not there at the end.
    """
    for g in index.fixed.values():
        start, age = max(int(g.vintage_t), 0), index.horizon - int(g.vintage_t)
        usd = g.count * g.support_usd_per_quarter * sum(index.discount[t] for t in index.t if t >= start)
        if g.due_t in index.discount:
            usd += g.count * g.due_usd * index.discount[g.due_t]
        usd -= g.count * residual_usd(g.paid_usd, age, index.sku[g.sku]) * index.end_discount
        terms.constant += usd / USD_PER_UNIT
    for name, t in index.of(retirable):
        g = index.fixed[name]
        sku, age = index.sku[g.sku], t - int(g.vintage_t)
        usd = -sale_usd(g.paid_usd, age, sku) * index.discount[t]
        usd -= g.support_usd_per_quarter * sum(index.discount[q] for q in index.t if q >= t)
        usd += residual_usd(g.paid_usd, index.horizon - int(g.vintage_t), sku) * index.end_discount
        terms.add(usd / USD_PER_UNIT, m.retire[name, t])


def fleet(d: Decided) -> pd.DataFrame:
    """Units by vintage and quarter, from what exists, is on order and was bought, less what was sold."""
    start = Quarter(d.names[0]).index
    batches: list[tuple[str, str, str, int, int, dict[int, int]]] = []
    for g in d.index.fixed.values():
        sold = {
            t: n for name, t in d.index.of(retirable) if name == g.group and (n := d.value.whole(d.m.retire[name, t]))
        }
        batches.append((g.site, g.sku, g.origin, g.vintage_t, g.count, sold))
    for site, sku, t in d.index.orders:
        count = d.value.whole(d.m.buy[site, sku, t])
        if count:
            batches.append((site, sku, Origin.PURCHASE, t + int(d.index.sku[sku].lead_quarters), count, {}))
    rows = []
    for site, sku, origin, vintage, count, sold in batches:
        label = str(Quarter.from_index(start + vintage))
        held = count if vintage < 0 else 0
        for t in d.index.t:
            delivered = count if vintage == t else 0
            retired = sold.get(t, 0)
            closing = held + delivered - retired
            if held or delivered:
                rows.append((d.names[t], site, sku, origin, label, held, delivered, retired, closing))
            held = closing
    return frame("fleet", rows)


PROGRAM = Part((fleet_balance, retire_within_group, reserved_stands), add_variables, add_cost, tables={"fleet": fleet})
