"""Sites checked: what stands against what is built, and what is built."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Expansion, ExpansionAdd, MaxqSaving, ResourceUse, SiteLimit
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import ExpansionOrder
from procure.plan.tolerance import differ
from procure.schema import CostLine, Resource


def limits(s: Standing, rows: Rows) -> None:
    """What stands or is not yet removed against what is built and expanded, of every resource with a stated limit."""
    use: dict[tuple[str, Resource], list[ResourceUse]] = defaultdict(list)
    for r in s.instance.rows(ResourceUse):
        use[r.site, r.resource].append(r)
    lead = {(r.site, r.expansion): int(r.lead_quarters) for r in s.instance.rows(Expansion)}
    adds = {(r.site, r.expansion, r.resource): r.adds for r in s.instance.rows(ExpansionAdd)}
    ordered = ExpansionOrder.rows(s.tables["expansions"])
    for built in s.instance.rows(SiteLimit):
        quarter = s.quarters[built.t]
        used = sum(u.per_unit * s.there(quarter, built.site, u.sku) for u in use[built.site, built.resource])
        used -= sum(
            r.saved * s.maxq[quarter, r.site, r.sku]
            for r in s.instance.rows(MaxqSaving)
            if (r.site, r.resource) == (built.site, built.resource)
        )
        grown = sum(
            e.count * adds.get((e.site, e.expansion, built.resource), 0.0)
            for e in ordered
            if e.site == built.site and s.position[e.quarter] + lead[e.site, e.expansion] <= built.t
        )
        rows.add(built.resource.word, quarter, built.site, "", used, built.limit + grown, built.resource.unit)


def expansions(plan: Plan, instance: Instance) -> Iterable[str]:
    """Expansions are ones that the site offers, ready inside the horizon, at their price."""
    position = instance.position
    offered = {(r.site, r.expansion): r for r in instance.rows(Expansion)}
    total: dict[tuple[str, str], float] = defaultdict(float)
    for r in plan.rows(ExpansionOrder):
        row, label = offered[r.site, r.expansion], f"{r.quarter} {r.site} {r.expansion}"
        total[r.site, r.expansion] += r.count
        if r.count % 1 or r.count <= 0 or total[r.site, r.expansion] > row.max_count:
            yield f"{label}: {total[r.site, r.expansion]:g} of {row.max_count:g} offered"
        if position[r.quarter] + row.lead_quarters >= len(position):
            yield f"{label}: not ready inside the horizon"
        if not r.reservation and position[r.quarter] > row.last_order_t:
            yield f"{label}: no longer offered then"
        if differ(r.capex_usd, r.count * row.capex_usd) or r.span != instance.span[r.quarter]:
            yield f"{label}: {r.capex_usd:,.0f} USD, span {r.span}"


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Expansions, paid when they are ordered."""
    for row in ExpansionOrder.rows(tables["expansions"]):
        ledger.pay(instance.position[row.quarter], CostLine.EXPANSIONS, row.site, row.expansion, row.capex_usd)


CHECK = Check(limits, {"pods, LPX copies and expansions are ones that can be": expansions}, cash)
