"""Rent checked: units within their offers, terms kept, and every quarter of them paid for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Rented, RentOffer
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Batch, UnitRent
from procure.plan.tolerance import differ
from procure.quarter import Quarter
from procure.schema import CostLine, Origin, Span


def limits(s: Standing, rows: Rows) -> None:
    """No more units of an offer are rented at once than it has."""
    used: dict[tuple[int, str], float] = defaultdict(float)
    start = Quarter(s.quarters[0]).index
    for r in UnitRent.rows(s.tables["rents"]):
        for t in _quarters(r.first_quarter, r.last_quarter, start, len(s.quarters)):
            used[t, r.offer] += r.count
    for offer in s.instance.rows(RentOffer):
        for t in range(len(s.quarters)):
            if used[t, offer.offer]:
                rows.add(
                    "rent", s.quarters[t], offer.site, offer.offer, used[t, offer.offer], offer.most_units, "units"
                )


def _quarters(first: str, last: str, start: int, end: int) -> range:
    """Positions in the horizon from one quarter to another."""
    return range(max(Quarter(first).index - start, 0), min(Quarter(last).index - start + 1, end))


def terms(plan: Plan, instance: Instance) -> Iterable[str]:
    """Rent begins and ends within its offer, lasts for its term, costs what it costs, and units stand meanwhile."""
    start, horizon = Quarter(instance.quarters[0]).index, len(instance.quarters)
    offers = {r.offer: r for r in instance.rows(RentOffer)}
    owed: dict[tuple[str, int, int], float] = defaultdict(float)
    for running in instance.rows(Rented):
        owed[running.offer, running.from_t, running.until_t] += running.count
    kept: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for r in plan.rows(UnitRent):
        offer, label = offers[r.offer], f"{r.quarter} {r.site} {r.sku} of {r.offer}"
        ordered, first, last, paid = (
            Quarter(q).index - start for q in (r.quarter, r.first_quarter, r.last_quarter, r.paid_until_quarter)
        )
        if (r.site, r.sku) != (offer.site, offer.sku) or differ(r.unit_usd_per_quarter, offer.usd_per_quarter):
            yield f"{label}: not the site, SKU or price of its offer"
        if r.count <= 0 or r.count % 1 or last < max(first, 0) or last > offer.last_t:
            yield f"{label}: {r.count:g} units from {r.first_quarter} to {r.last_quarter}"
        if differ(r.rent_usd, r.count * offer.usd_per_quarter * (paid - max(first, 0) + 1)):
            yield f"{label}: {r.rent_usd:,.0f} USD for {r.count:g} units, paid until {r.paid_until_quarter}"
        if r.decided:
            yield from _decided(r, offer, (ordered, first, last, paid), instance, label)
        else:
            kept[r.offer, first].append((paid, r.count))
            if ordered != first or r.span is not Span.PLANNED or (paid > last and paid < horizon):
                yield f"{label}: not a row of what is rented when the plan begins"
    yield from _running(owed, kept)
    yield from _standing(plan, instance)


def _decided(
    r: UnitRent, offer: RentOffer, at: tuple[int, int, int, int], instance: Instance, label: str
) -> Iterable[str]:
    """Rent that the plan decides: in its window, after its lead, for its term."""
    ordered, first, last, paid = at
    if not offer.first_t <= first <= offer.last_start_t or first != ordered + offer.lead_quarters:
        yield f"{label}: rent cannot begin in {r.first_quarter}"
    if paid != max(last, first + offer.min_term_quarters - 1) or (paid > last and last + 1 < len(instance.quarters)):
        yield f"{label}: from {r.first_quarter} to {r.last_quarter}, paid until {r.paid_until_quarter}"
    if r.span != instance.span.get(r.quarter):
        yield f"{label}: span {r.span} is wrong"


def _running(
    owed: dict[tuple[str, int, int], float], kept: dict[tuple[str, int], list[tuple[int, float]]]
) -> Iterable[str]:
    """What runs when the plan begins is all there, and stays for what is left of its term.

    Of what began in one quarter the longest term is held against the longest stay.
    """
    terms_of: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for (offer, first, until), count in owed.items():
        terms_of[offer, first].append((until, count))
    for key in terms_of.keys() | kept.keys():
        asked, stay = (_each(of.get(key, [])) for of in (terms_of, kept))
        if len(asked) != len(stay) or any(paid < until for paid, until in zip(stay, asked, strict=True)):
            yield f"{key[0]}: what is rented when the plan begins is not there until its term ends"


def _each(parts: list[tuple[int, float]]) -> list[int]:
    """The quarter of each unit, the last first."""
    return sorted((quarter for quarter, count in parts for _ in range(int(count))), reverse=True)


def _standing(plan: Plan, instance: Instance) -> Iterable[str]:
    """The rented units of the fleet are those of ``rents``."""
    start, horizon = Quarter(instance.quarters[0]).index, len(instance.quarters)
    units: dict[tuple[str, str, str, str], float] = defaultdict(float)
    for r in plan.rows(UnitRent):
        for t in _quarters(r.first_quarter, r.last_quarter, start, horizon):
            units[instance.quarters[t], r.site, r.sku, r.first_quarter] += r.count
    for batch in plan.rows(Batch):
        if batch.origin is Origin.RENT:
            units[batch.quarter, batch.site, batch.sku, batch.vintage] -= batch.closing
    for key, count in units.items():
        if count:
            yield f"{' '.join(key)}: the fleet and what is rented differ by {count:g} units"


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Rent of every quarter that is paid for; what is owed after the horizon at its present value."""
    start, end = Quarter(instance.quarters[0]).index, len(instance.quarters)
    capital = {offer.offer for offer in instance.rows(RentOffer) if offer.capital}
    for r in UnitRent.rows(tables["rents"]):
        line = CostLine.RENT_FROM_CAPITAL if r.offer in capital else CostLine.RENT
        first, paid = (Quarter(q).index - start for q in (r.first_quarter, r.paid_until_quarter))
        for t in range(max(first, 0), paid + 1):
            usd = r.count * r.unit_usd_per_quarter * ledger.step ** max(t - end, 0)
            ledger.pay(min(t, end), line, r.site, r.sku, usd)


CHECK = Check(limits, {"rent is within its offers": terms}, cash)
