"""Family 11b in the program: steps of a site that are kept on offer for a time, exercised or left to lapse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.instance.tables import Reservation
from procure.plan.plan import frame
from procure.program.decided import Decided
from procure.program.declare import first_stage, first_stage_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.running import Running
from procure.quarter import Quarter
from procure.schema import Instrument, ReservationOutcome


def add_variables(m: Any, index: Index) -> None:
    """exercise[reservation, t]: steps that it kept and that are ordered in t, integer."""
    m.exercise = first_stage(
        [(step.reservation, step.t) for step in index.steps if step.reservation],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, name, t: (0, int(index.reservation[name].most_steps)),
    )


def exercised_at_most(m: Any, index: Index) -> None:
    """A reservation keeps so many steps: Σ_t exercise[i,t] ≤ most[i].

    A step ordered in t was kept from the end of its offer on. Nothing else has to say so: the plan knows when it
    orders, and pays for no step that it would let lapse: what is kept in a quarter is what is exercised from it on.
    """
    orders = group(m.exercise, lambda key: key[0])

    def rule(m: Any, name: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.exercise[key] for key in orders[name]))
        return row.at_most(index.reservation[name].most_steps)

    m.exercised_at_most = first_stage_rows(list(orders), rule=rule)


def paid_quarters(row: Reservation, order_t: int, horizon: int) -> range:
    """Quarters in which a step pays that is ordered in ``order_t``: until then, or for good where its rent began."""
    return range(row.first_t, horizon if row.instrument is Instrument.EARLY_RENT else order_t + 1)


def running(m: Any, index: Index) -> Iterator[Running]:
    """Fees of holds up to the order, and rent of space that was started early."""
    for name, order_t in m.exercise:
        row = index.reservation[name]
        if row.usd_per_quarter:
            for t in paid_quarters(row, order_t, index.horizon):
                yield Running(t, row.usd_per_quarter, m.exercise[name, order_t])


def reservations(d: Decided) -> pd.DataFrame:
    """What becomes of every reservation: steps exercised with what that cost, and steps that it does not keep."""
    start, horizon = Quarter(d.names[0]).index, d.index.horizon
    found = []
    for name, row in d.index.reservation.items():
        left, step = row.most_steps, d.index.expansion[row.site, row.expansion]
        head = (name, row.site, row.expansion, row.instrument)
        span = d.index.instance.span[d.names[min(row.first_t, horizon - 1)]]
        quarter = str(Quarter.from_index(start + row.first_t))
        until = str(Quarter.from_index(start + row.last_t))
        for t in range(row.first_t, row.last_t + 1) if row.counted else ():
            count = d.value.whole(d.m.exercise[name, t])
            if count:
                left -= count
                paid = paid_quarters(row, t, horizon)
                fee_usd, capex_usd = count * len(paid) * row.usd_per_quarter, count * step.capex_usd
                end = (count, span, quarter, d.names[paid[-1]], fee_usd, capex_usd)
                found.append((*head, ReservationOutcome.EXERCISED, d.names[t], *end))
        if left:
            outcome = ReservationOutcome.LAPSED if row.counted else ReservationOutcome.NOT_COUNTED
            found.append((*head, outcome, until, left, span, quarter, quarter, 0.0, left * step.capex_usd))
    return frame("reservations", found)


PROGRAM = Part((exercised_at_most,), add_variables, running=running, tables={"reservations": reservations})
