"""Family 11 in the program: power, positions, area, liquid cooling and ports of a site."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.families.scales import USD_PER_UNIT
from procure.instance.tables import MaxqSaving, ResourceUse
from procure.plan.plan import frame
from procure.program.beside import beside_residual_usd
from procure.program.decided import Decided
from procure.program.declare import first_stage, first_stage_rows
from procure.program.index import Index, group, lookup
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.sales import there
from procure.schema import Resource


def add_variables(m: Any, index: Index) -> None:
    """expand[site, expansion, t]: expansions ordered, integer."""
    m.expand = first_stage(
        [(step.site, step.expansion, step.t) for step in index.steps if not step.reservation],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, site, name, t: (0, int(index.expansion[site, name].max_count)),
    )


def site_limit(m: Any, index: Index) -> None:
    """What is at a site takes no more of a resource than is built and expanded.

        Σ_k use[s,k,r]·(own[s,k,t] + leaving[s,k,t]) − Σ_k saved[s,k,r]·maxq[s,k,t]
            ≤ limit[s,r,t] + Σ_{o ≤ t − lead} adds[s,e,r]·(expand[s,e,o] + Σ_i exercise[i,o])

    One row for each site, resource and quarter with a stated limit. ``leaving`` are units sold and not yet removed. Use
    is of the unit and what it drags along; power is at its maximum, in the mode that
    the unit runs in, with the PUE of the hall where the limit is facility power.
    """
    use = group(index.instance.rows(ResourceUse), lambda row: (row.site, row.resource))
    adds = lookup(index.instance["expansion_adds"], ["site", "expansion", "resource"], "adds")
    saved = group(index.instance.rows(MaxqSaving), lambda row: (row.site, row.resource))
    limits = lookup(index.instance["site_limits"], ["t", "site", "resource"], "limit")

    def rule(m: Any, t: int, site: str, resource: str) -> Any:
        row = Terms()
        scale = Resource(resource).scale
        for unit in use.get((site, resource), []):
            row.extend(unit.per_unit / scale, there(m, index, site, unit.sku, t))
        for mode in saved.get((site, resource), []):
            if (site, mode.sku, t) in m.maxq:
                row.add(-mode.saved / scale, m.maxq[site, mode.sku, t])
        for step in index.steps:
            lead = int(index.expansion[step.site, step.expansion].lead_quarters)
            if step.site == site and step.t + lead <= t:
                row.add(-adds.get((site, step.expansion, resource), 0.0) / scale, step.decision(m))
        if not row.variables:
            return pyo.Constraint.Skip
        return row.at_most(limits[t, site, resource] / scale)

    m.site_limit = first_stage_rows(sorted(limits), rule=rule)


def expansions_at_most(m: Any, index: Index) -> None:
    """An expansion is ordered at most as often as the site offers it, whatever kept it on offer.

    Σ_t (expand[s,e,t] + Σ_i exercise[i,t]) ≤ max_count[s,e], over the reservations i of the step.
    """
    orders = group(index.steps, lambda step: (step.site, step.expansion))

    def rule(m: Any, site: str, name: str) -> Any:
        row = Terms()
        row.extend(1.0, (step.decision(m) for step in orders[site, name]))
        return row.at_most(index.expansion[site, name].max_count)

    m.expansions_at_most = first_stage_rows(sorted(orders), rule=rule)


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """Expansions, paid when they are ordered, less what they are worth at the end."""
    for step in index.steps:
        row = index.expansion[step.site, step.expansion]
        usd = row.capex_usd * index.discount[step.t]
        usd -= beside_residual_usd(index, "expansion", row.capex_usd, step.t + int(row.lead_quarters))
        terms.add(usd / USD_PER_UNIT, step.decision(m))


def expansions(d: Decided) -> pd.DataFrame:
    """Expansions that are ordered."""
    rows = [
        (d.names[step.t], step.site, step.expansion, n, d.index.instance.span[d.names[step.t]],
         n * d.index.expansion[step.site, step.expansion].capex_usd, step.reservation)
        for step in d.index.steps
        if (n := d.value.whole(step.decision(d.m)))
    ]  # fmt: skip
    return frame("expansions", rows)


PROGRAM = Part((site_limit, expansions_at_most), add_variables, add_cost, tables={"expansions": expansions})
