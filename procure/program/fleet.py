"""Family 1: the fleet balance, by vintage."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.program.index import Index
from procure.program.linear import Terms


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

    retire = set(index.retirable)
    m.fleet_balance = pyo.Constraint(index.stock, rule=rule)


def retire_within_group(m: Any, index: Index) -> None:
    """No group sells more than it holds: Σ_t retire[g,t] ≤ count[g]. Units."""
    groups: dict[str, list[int]] = {}
    for name, t in index.retirable:
        groups.setdefault(name, []).append(t)

    def rule(m: Any, name: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.retire[name, t] for t in groups[name]))
        return row.at_most(index.fixed[name].count)

    m.retire_within_group = pyo.Constraint(list(groups), rule=rule)


def reserved_stands(m: Any, index: Index) -> None:
    """Units held for other purposes are not sold away: own[s,k,t] ≥ reserved[s,k,t]. Units."""
    keys = [(site, sku, t) for (t, site, sku), count in sorted(index.reserved.items()) if count > 0]

    def rule(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        if (site, sku, t) in index.in_stock:
            row.add(1.0, m.own[site, sku, t])
        return row.at_least(index.reserved[t, site, sku])

    m.reserved_stands = pyo.Constraint(keys, rule=rule)
