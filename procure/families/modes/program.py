"""Power modes in the program: units of a pool at full power (Max-P) and at Max-Q, by site and quarter."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.instance.tables import FullPowerPrefill, MaxqSaving
from procure.plan.plan import frame
from procure.program.day import add_way, day_of
from procure.program.decided import Decided
from procure.program.declare import More, block_rows, first_stage, first_stage_rows, terms_of
from procure.program.index import Index, Option, Point, lookup
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.present import maxq_shares
from procure.schema import Resource
from procure.timekey import TimeKey

ROUNDING = 1e-6
"""Part of a unit that is rounding, not need."""


def pools(index: Index) -> list[tuple[str, str, int]]:
    """(site, SKU, quarter) whose units may run at Max-Q."""
    return [key for key in index.stock if key[1] in index.of(maxq_shares)]


def add_variables(m: Any, index: Index) -> None:
    """maxq[site, sku, t]: units that run at Max-Q, integer; they may run at full power again in any later quarter."""
    m.maxq = first_stage(index.of(pools), more=More.HURTS, domain=pyo.NonNegativeIntegers)


def maxq_within_own(m: Any, index: Index) -> None:
    """Units of both modes are those that are there for the plan: maxq[s,k,t] ≤ own[s,k,t] − reserved[s,k,t]. Units."""

    def rule(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.maxq[site, sku, t])
        row.add(-1.0, m.own[site, sku, t])
        return row.at_most(-index.reserved.get((t, site, sku), 0.0))

    m.maxq_within_own = first_stage_rows(index.of(pools), rule=rule)


def held_at_full_power(index: Index) -> dict[tuple[str, str, TimeKey], list[tuple[Point | Option, str]]]:
    """Work that only units at full power do, by (site, SKU, block).

    Prefill that is later at Max-Q or may be sent over a link, and decode beside LPX.
    """
    options = {row.option for row in index.instance.rows(FullPowerPrefill)}
    sent = {(pair.option, pair.from_site) for pair in index.ships}
    found: dict[tuple[str, str, TimeKey], list[tuple[Point | Option, str]]] = {}
    for p, site in index.serve:
        if p.lpx_sku and p.sku in index.of(maxq_shares):
            found.setdefault((site, p.sku, p.at), []).append((p, site))
    for o, site in index.prefill:
        if o.option in options or ((o.option, site) in sent and o.sku in index.of(maxq_shares)):
            found.setdefault((site, o.sku, o.at), []).append((o, site))
    return found


def full_power_work(m: Any, index: Index) -> None:
    """What Max-Q would make late, what may be sent over a link, and decode that LPX racks wait for, at full power.

        Σ_{p with LPX} rate·rack_s·serve[p,s] + Σ_{o later at Max-Q, or sent} rate·rack_s·prefill[o,s]
            ≤ usable_share[k] · (own[s,k,t] − reserved[s,k,t] − maxq[s,k,t])

    Racks. Any other work is done in either mode: at Max-Q fewer streams at the speed promised, and prefill whose first
    tokens miss the target no more often than at full power. With parts of the day in each of them.
    """
    held = index.of(held_at_full_power)

    def rule(m: Any, site: str, sku: str, at: TimeKey) -> Any:
        row, usable = Terms(), index.sku[sku].usable_share
        for way in held[site, sku, at.block]:
            add_way(m, index, row, way[0].rate * way[0].rack_s, way, at)
        row.add(-usable, m.own[site, sku, at.t])
        row.add(usable, m.maxq[site, sku, at.t])
        return row.at_most(-usable * index.reserved.get((at.t, site, sku), 0.0))

    day = index.of(day_of)
    keys = [(*key[:2], at) for key in sorted(held) for at in day.rows(key[2], {way.workload for way, _ in held[key]})]
    m.full_power_work = block_rows(keys, rule=rule)


def power_modes(d: Decided) -> pd.DataFrame:
    """Units in each mode: at Max-Q those that the site's limits ask for, not those that the solver happened to set."""
    saved = lookup(d.index.instance["maxq_savings"], ["site", "sku", "resource"], "saved")
    over = _beyond(d)
    rows = []
    for site, sku, t in d.index.of(pools):
        own = d.value.whole(d.m.own[site, sku, t])
        need = max(
            (max(beyond, 0.0) / each for resource in Resource
             if (each := saved.get((site, sku, resource), 0.0)) > 0
             for beyond in [over.get((t, site, resource), 0.0)]),
            default=0.0,
        )  # fmt: skip
        count = min(d.value.whole(d.m.maxq[site, sku, t]), math.ceil(need - ROUNDING))
        for resource in Resource:
            if (t, site, resource) in over:
                over[t, site, resource] -= count * saved.get((site, sku, resource), 0.0)
        if own:
            power = saved.get((site, sku, Resource.POWER), 0.0)
            rows.append((d.names[t], site, sku, own - count, count, count * power))
    return frame("power_modes", rows)


def _beyond(d: Decided) -> dict[tuple[int, str, Resource], float]:
    """What all units at full power would take of a resource beyond its limit, by (quarter, site, resource)."""
    found: dict[tuple[int, str, Resource], float] = {}
    for row in d.index.instance.rows(MaxqSaving):
        for t in d.index.t:
            key = (t, row.site, row.resource)
            if key not in found and (t, row.site, str(row.resource)) in d.m.site_limit:
                found[key] = _over(d, key)
    return found


def _over(d: Decided, key: tuple[int, str, Resource]) -> float:
    """Use of a site's limit, all units at full power, beyond the limit; in the resource's own unit."""
    row = d.m.site_limit[key[0], key[1], str(key[2])]
    used = 0.0
    for coef, variable in terms_of(row):
        if variable.parent_component() is not d.m.maxq:
            used += coef * d.value(variable)
    return (used - float(row.upper)) * key[2].scale


PROGRAM = Part((maxq_within_own, full_power_work), add_variables, tables={"power_modes": power_modes})
