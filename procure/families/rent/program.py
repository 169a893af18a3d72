"""Rent in the program: units by the quarter, for a term at least."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import pyomo.environ as pyo

from procure.families.scales import USD_PER_UNIT
from procure.instance.tables import Rented
from procure.plan.plan import frame
from procure.program.decided import Decided
from procure.program.declare import first_stage, first_stage_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.running import Running
from procure.quarter import Quarter
from procure.schema import Span


def starts(index: Index) -> list[tuple[str, int]]:
    """(offer, t) in which rent can begin."""
    return [(name, t) for name, o in index.offer.items() for t in range(o.first_t, o.last_start_t + 1)]


def rented_before(index: Index) -> dict[str, list[Rented]]:
    """What is rented, or ordered for rent, when the plan begins, by offer."""
    return group(index.instance.rows(Rented), lambda row: row.offer)


def add_variables(m: Any, index: Index) -> None:
    """rent[offer, t] units of which rent begins in t, on_rent[offer, t] units that are rented then; integer."""
    m.rent = first_stage(index.of(starts), domain=pyo.NonNegativeIntegers)
    m.on_rent = first_stage(index.rentable, domain=pyo.NonNegativeIntegers)


def rent_cap(m: Any, index: Index) -> None:
    """An offer has so many units at once: on_rent[o,t] ≤ most[o]. Units."""

    def rule(m: Any, offer: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.on_rent[offer, t])
        return row.at_most(index.offer[offer].most_units)

    m.rent_cap = first_stage_rows(index.rentable, rule=rule)


def rent_begins(m: Any, index: Index) -> None:
    """More units are rented than in the quarter before only where their rent begins; fewer: they were given back.

        on_rent[o,t] − on_rent[o,t−1] ≤ rent[o,t] + running[o, from = t]

    Units. What stands when the plan begins is rented in the quarter before the first.
    """
    rentable = set(index.rentable)

    def rule(m: Any, offer: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.on_rent[offer, t])
        if (offer, t - 1) in rentable:
            row.add(-1.0, m.on_rent[offer, t - 1])
        if (offer, t) in m.rent:
            row.add(-1.0, m.rent[offer, t])
        begun = index.of(rented_before).get(offer, [])
        return row.at_most(sum(r.count for r in begun if r.from_t == t or (t == 0 and r.from_t < 0)))

    m.rent_begins = first_stage_rows(index.rentable, rule=rule)


def rent_term(m: Any, index: Index) -> None:
    """Units stay rented for their minimum term n.

        on_rent[o,t] ≥ Σ_{t−n < τ ≤ t} rent[o,τ] + Σ running[o, from ≤ t ≤ until]

    Units. With the row above this is the hull of minimum up times (Rajan and Takriti, 2005): nothing tighter is needed.
    """

    def rule(m: Any, offer: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.on_rent[offer, t])
        for begun in range(t - index.offer[offer].min_term_quarters + 1, t + 1):
            if (offer, begun) in m.rent:
                row.add(-1.0, m.rent[offer, begun])
        return row.at_least(sum(r.count for r in index.of(rented_before).get(offer, []) if r.from_t <= t <= r.until_t))

    m.rent_term = first_stage_rows(index.rentable, rule=rule)


def owed_after(index: Index, until_t: int) -> float:
    """Present value of one USD in every quarter after the horizon up to ``until_t``."""
    return sum(index.discount_of(t) for t in range(index.horizon, until_t + 1))


def running(m: Any, index: Index) -> Iterator[Running]:
    """Rent of every quarter of use, of offers that are an expense."""
    for name, t in index.rentable:
        if not index.offer[name].capital:
            yield Running(t, index.offer[name].usd_per_quarter, m.on_rent[name, t])


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """Rent that draws on the budget of capital, and what is left of minimum terms that end after the horizon."""
    for offer, t in index.rentable:
        if index.offer[offer].capital:
            terms.add(index.offer[offer].usd_per_quarter * index.discount[t] / USD_PER_UNIT, m.on_rent[offer, t])
    for offer, t in index.of(starts):
        row = index.offer[offer]
        owed = owed_after(index, t + row.min_term_quarters - 1)
        terms.add(row.usd_per_quarter * owed / USD_PER_UNIT, m.rent[offer, t])
    for offer, begun in index.of(rented_before).items():
        owed = sum(r.count * owed_after(index, r.until_t) for r in begun)
        terms.constant += index.offer[offer].usd_per_quarter * owed / USD_PER_UNIT


class Held(NamedTuple):
    """Alike units of one offer, which stay until ``until_t`` at least; ``decided`` by the plan, or running before."""

    until_t: int
    from_t: int
    decided: bool
    units: int


class Stay(NamedTuple):
    """Quarters in which units of an offer work and up to which they are paid for."""

    offer: str
    from_t: int
    last_t: int
    paid_t: int
    decided: bool


def rents(d: Decided) -> pd.DataFrame:
    """What is rented from when to when: of an offer's units those go back first whose term ends first."""
    found: dict[Stay, int] = {}
    for name in d.index.offer:
        for held, last_t in _stays(d, name):
            stay = Stay(name, held.from_t, last_t, max(last_t, held.until_t), held.decided)
            found[stay] = found.get(stay, 0) + held.units
    return frame("rents", sorted(_row(d, stay, units) for stay, units in found.items()))


def _stays(d: Decided, name: str) -> Iterator[tuple[Held, int]]:
    """Units of an offer with the last quarter of the horizon in which they are rented."""
    held: list[Held] = []
    for t in range(d.index.horizon + 1):
        stay = d.value.whole(d.m.on_rent[name, t]) if (name, t) in d.m.on_rent else 0
        begun = _begun(d, name, t, stay - sum(h.units for h in held)) if t < d.index.horizon else []
        back = sum(h.units for h in held) + sum(h.units for h in begun) - stay
        held.sort()
        while back > 0:
            first = held.pop(0)
            gone = min(back, first.units)
            yield first._replace(units=gone), t - 1
            if gone < first.units:
                held.insert(0, first._replace(units=first.units - gone))
            back -= gone
        held += begun


def _begun(d: Decided, name: str, t: int, more: int) -> list[Held]:
    """Units whose rent begins in a quarter, running ones in the first; ``more``: by how many the offer's units rise.

    Units that begin while as many go back are the same units, unless their new term is owed for after the horizon.
    """
    first = [r for r in d.index.of(rented_before).get(name, []) if r.from_t == t or (t == 0 and r.from_t < 0)]
    found = [Held(r.until_t, r.from_t, False, r.count) for r in first]
    count = d.value.whole(d.m.rent[name, t]) if (name, t) in d.m.rent else 0
    until = t + d.index.offer[name].min_term_quarters - 1
    if until < d.index.horizon:
        count = min(count, max(more - sum(h.units for h in found), 0))
    return [*found, Held(until, t, True, count)] if count else found


def _row(d: Decided, stay: Stay, units: int) -> tuple[Any, ...]:
    """A row of the plan's ``rents``."""
    offer, start = d.index.offer[stay.offer], Quarter(d.names[0]).index
    order_t = stay.from_t - offer.lead_quarters if stay.decided else stay.from_t
    ordered, *quarters = (str(Quarter.from_index(start + t)) for t in (order_t, stay.from_t, stay.last_t, stay.paid_t))
    span = d.index.instance.span[ordered] if stay.decided else Span.PLANNED
    usd = offer.usd_per_quarter
    total_usd = units * usd * (stay.paid_t - max(stay.from_t, 0) + 1)
    return (ordered, offer.site, offer.sku, offer.offer, *quarters, stay.decided, units, span, usd, total_usd)


PROGRAM = Part((rent_cap, rent_begins, rent_term), add_variables, add_cost, running=running, tables={"rents": rents})
