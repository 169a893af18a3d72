"""Power and space in the program: costs of what stands and of what it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo

from procure.instance.tables import BuiltKw, Space, Upkeep
from procure.program.declare import first_stage, first_stage_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.power import prefill_usd, serve_usd
from procure.program.running import Running
from procure.program.sales import leaving, there

KW = 1e3
"""kW of one unit of rented space: MW."""


def spaces(index: Index) -> dict[tuple[str, int], Space]:
    """Rent by site and quarter, where there is a contract or something can be built."""
    return {(r.site, r.t): r for r in index.instance.rows(Space)}


def add_variables(m: Any, index: Index) -> None:
    """rented[site, t]: MW of IT power that stands beyond what is contracted and built, continuous."""
    m.rented = first_stage(sorted(index.of(spaces)), domain=pyo.NonNegativeReals)


def space_rented(m: Any, index: Index) -> None:
    """What stands beyond what is contracted and what was built is rented.

        Σ_k kw[k]·(own[s,k,t] + leaving[s,k,t]) − Σ_{o ≤ t − lead} built[s,e]·expand[s,e,o]
            − Σ_{i, o ≤ t − lead} kw[i]·exercise[i,o] − rented[s,t] ≤ contracted[s,t]

    kw[i] of space that was rented early is all of its IT power, which pays that rent; else as built.
    MW of IT power at its maximum, with what units drag along. Sites without a row of ``space`` rent all that stands.
    """
    units = group(index.instance.rows(Upkeep), lambda row: row.site)
    built = {(r.site, r.expansion): r.kw for r in index.instance.rows(BuiltKw)}

    def rule(m: Any, site: str, t: int) -> Any:
        row, space = Terms(), index.of(spaces)[site, t]
        for unit in units[site]:
            kw = unit.space_usd_per_quarter / space.usd_per_kw_quarter
            row.extend(kw / KW, there(m, index, site, unit.sku, t))
        for step in index.steps:
            lead = int(index.expansion[step.site, step.expansion].lead_quarters)
            if step.site == site and step.t + lead <= t:
                by = index.reservation.get(step.reservation)
                kw = built.get((site, step.expansion), 0.0) if by is None else by.kw
                row.add(-kw / KW, step.decision(m))
        row.add(-1.0, m.rented[site, t])
        return row.at_most(space.contracted_kw / KW)

    m.space_rented = first_stage_rows(list(m.rented), rule=rule)


def running(m: Any, index: Index) -> Iterator[Running]:
    """Idle power and space of what stands or was sold and is not yet removed, and power above idle at the mean rate.

    Decode and prefill draw different shares of a unit's maximum. Space that is contracted is paid for anyway, and what
    is rented beside it; without either it is that of what stands.
    """
    rent = index.of(spaces)
    rows = {(r.site, r.sku): (r.idle_usd_per_quarter, r.space_usd_per_quarter) for r in index.instance.rows(Upkeep)}
    usd = {
        (site, sku, t): idle + (0.0 if (site, t) in rent else space)
        for (site, sku), (idle, space) in rows.items()
        for t in index.t
    }
    for (site, t), space in rent.items():
        yield Running(t, space.contracted_kw * space.usd_per_kw_quarter)
        yield Running(t, KW * space.usd_per_kw_quarter, m.rented[site, t])
    for place in index.stock:
        yield Running(place[2], usd[place], m.own[place])
    for place, found in index.of(leaving).items():
        for sale in found:
            yield Running(place[2], usd[place], sale.decision(m))
    for p, site, power in serve_usd(index):
        yield Running(p.at.t, power, m.serve[p.point, site], p.at)
    for o, site, power in prefill_usd(index):
        yield Running(o.at.t, power, m.prefill[o.option, site], o.at)


PROGRAM = Part((space_rented,), add_variables, running=running)
