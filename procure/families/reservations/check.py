"""Reservations checked: steps ordered within their windows and numbers, and every quarter that keeps one paid for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Expansion, Reservation
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.tables import ExpansionOrder, Reserving
from procure.plan.tolerance import differ
from procure.quarter import Quarter
from procure.schema import CostLine, Instrument, ReservationOutcome, Span


def terms(plan: Plan, instance: Instance) -> Iterable[str]:
    """Steps are ordered by reservations that keep them, and what is told of each reservation is what is ordered."""
    start = Quarter(instance.quarters[0]).index
    offered = {r.reservation: r for r in instance.rows(Reservation)}
    ordered: Counter[tuple[str, str]] = Counter()
    for step in plan.rows(ExpansionOrder):
        if not step.reservation:
            continue
        label, row = f"{step.quarter} {step.expansion} by {step.reservation}", offered.get(step.reservation)
        if row is None or (row.site, row.expansion) != (step.site, step.expansion) or not row.counted:
            yield f"{label}: no reservation of it that the plan may count on"
        elif not row.first_t <= Quarter(step.quarter).index - start <= row.last_t:
            yield f"{label}: not kept then"
        else:
            ordered[step.reservation, step.quarter] += int(step.count)
    told: dict[str, list[Reserving]] = defaultdict(list)
    for r in plan.rows(Reserving):
        told[r.reservation].append(r)
    for name in told.keys() - offered.keys():
        yield f"{name}: no such reservation"
    capex = {(r.site, r.expansion): r.capex_usd for r in instance.rows(Expansion)}
    for name, row in offered.items():
        mine = {quarter: count for (by, quarter), count in ordered.items() if by == name}
        if sum(mine.values()) > row.most_steps:
            yield f"{name}: {sum(mine.values())} of {row.most_steps} steps that it keeps"
        said = {r.quarter: r.count for r in told[name] if r.outcome is ReservationOutcome.EXERCISED}
        rest = [r for r in told[name] if r.outcome is not ReservationOutcome.EXERCISED]
        if said != mine or sum(r.count for r in told[name]) != row.most_steps or len(rest) > 1:
            yield f"{name}: steps exercised and not kept are not those that are ordered"
        for r in told[name]:
            yield from _told(r, row, capex[row.site, row.expansion], instance)


def _told(r: Reserving, row: Reservation, capex_usd: float, instance: Instance) -> Iterable[str]:
    """What one row says of a reservation."""
    label, start, end = f"{r.reservation} {r.quarter}", Quarter(instance.quarters[0]), instance.quarters[-1]
    exercised = r.outcome is ReservationOutcome.EXERCISED
    if (r.site, r.expansion, r.instrument) != (row.site, row.expansion, row.instrument) or r.count <= 0:
        yield f"{label}: not the site, step or instrument that is offered"
    if r.outcome is (ReservationOutcome.LAPSED if not row.counted else ReservationOutcome.NOT_COUNTED):
        yield f"{label}: {r.outcome.word} is not what becomes of it"
    first = start + row.first_t
    until = first if not exercised else Quarter(end if row.instrument is Instrument.EARLY_RENT else r.quarter)
    if (r.kept_from_quarter, r.paid_until_quarter) != (str(first), str(until)):
        yield f"{label}: kept from {r.kept_from_quarter} and paid until {r.paid_until_quarter}"
    if not exercised and Quarter(r.quarter) != start + row.last_t:
        yield f"{label}: not the last quarter in which it could be ordered"
    quarters = until.index - first.index + 1 if exercised else 0
    if differ(r.fee_usd, r.count * quarters * row.usd_per_quarter) or differ(r.kept_capex_usd, r.count * capex_usd):
        yield f"{label}: {r.fee_usd:,.0f} USD for keeping {r.count} steps of {r.kept_capex_usd:,.0f} USD"
    if r.span is not instance.span.get(str(min(first, Quarter(end))), Span.LOOKAHEAD):
        yield f"{label}: span {r.span} is wrong"


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Fee or rent of every quarter from the end of the offer: until the order, or for good where its rent began."""
    offered = {r.reservation: r for r in instance.rows(Reservation)}
    for step in ExpansionOrder.rows(tables["expansions"]):
        if step.reservation not in offered:
            continue
        row, t = offered[step.reservation], instance.position[step.quarter]
        last = len(instance.quarters) - 1 if row.instrument is Instrument.EARLY_RENT else t
        for q in range(row.first_t, last + 1):
            ledger.pay(q, CostLine.RESERVATIONS, step.site, step.expansion, step.count * row.usd_per_quarter)


CHECK = Check(None, {"reservations are kept as they are offered": terms}, cash)
