"""Reservations a quarter on: what is kept, what is rented for good, and what has lapsed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from procure.case import Case
from procure.case.schema import Expansion, Reservation
from procure.plan.happened import Difference
from procure.plan.plan import Plan
from procure.plan.tables import Reserving
from procure.quarter import Quarter
from procure.schema import Instrument, ReservationOutcome

FREE_HOLD: dict[Any, Any] = {
    "instrument": Instrument.FIRM_HOLD.value,
    "usd_per_kw_month": None,
    "usd_per_step_month": 0.0,
}
"""How a step is kept whose rent has begun."""


def rolled(
    case: Case, plan: Plan, following: Quarter, tables: dict[str, pd.DataFrame], notes: list[Difference]
) -> dict[str, pd.DataFrame]:
    """Reservations of the next quarter's case, and its sites with the rent that was started early.

    A hold that runs keeps as many steps as the plan means to order later; the others lapse, and cannot be had again.
    Rent that began is contracted from then on, whatever becomes of the step. What it keeps is held at no other cost, by
    a hold without a fee: as rent that is started early it would take its power off the rent a second time.
    """
    if not len(case.tables["reservations"]):
        return {}
    sites = tables.get("sites", case.tables["sites"]).copy()
    if "contracted_kw" not in sites:
        sites["contracted_kw"] = math.nan
    left = tables.get("expansions", case.tables["expansions"])
    standing = set(zip(left["site"], left["expansion"], strict=True))
    offered = {(r.site, r.expansion): Quarter(r.order_until) for r in Expansion.rows(case.tables["expansions"])
               if r.order_until}  # fmt: skip
    goes_on: list[dict[Any, Any]] = []
    given = case.given_tables["reservations"]
    for stated, row in zip(given.to_dict("records"), Reservation.rows(case.tables["reservations"]), strict=True):
        now, later = _exercised(plan, row.reservation, following)
        keeps = row.most_steps
        if offered[row.site, row.expansion] + 1 < following:  # it runs, so that what is not meant to be used lapses
            keeps = row.most_steps - now if row.instrument == Instrument.FIRST_OFFER else later
            stated |= {"most_steps": keeps}
            if row.instrument == Instrument.EARLY_RENT:
                stated |= FREE_HOLD
                notes += _contract(sites, row, _rented_kw(case, row) * (now + later), following)
        if keeps > 0 and Quarter(row.until_quarter) >= following and (row.site, row.expansion) in standing:
            goes_on.append(stated)
        elif not now:
            notes.append(("reservation", row.site, row.reservation, f"{row.most_steps:g}", "0", "lapsed"))
    columns = dict.fromkeys([*given.columns, *(name for stated in goes_on for name in stated)])
    return {"sites": sites, "reservations": pd.DataFrame(goes_on, columns=list(columns))}


def _contract(sites: pd.DataFrame, row: Reservation, kw: float, following: Quarter) -> Iterator[Difference]:
    """Add the IT power whose rent began to what is contracted at its site."""
    if kw:
        here: Any = sites["site"] == row.site
        sites.loc[here, "contracted_kw"] = sites.loc[here, "contracted_kw"].fillna(0.0) + kw
        detail = f"rent of {row.reservation} began: contracted from {following} on, at the site's price"
        yield "contracted_kw", row.site, row.expansion, "", f"{kw:,.0f}", detail


def _exercised(plan: Plan, name: str, following: Quarter) -> tuple[int, int]:
    """Steps that the plan orders by a reservation in its first quarter, and later."""
    mine = [r for r in plan.rows(Reserving) if r.reservation == name and r.outcome is ReservationOutcome.EXERCISED]
    now = sum(r.count for r in mine if Quarter(r.quarter) < following)
    return now, sum(r.count for r in mine) - now


def _rented_kw(case: Case, row: Reservation) -> float:
    """IT power of a step whose rent began with it; 0 where that is contracted already."""
    if not (row.usd_per_kw_month > 0 or row.usd_per_step_month > 0):
        return 0.0
    sites, steps = case.tables["sites"].sort_values("from_quarter"), case.tables["expansions"]
    site = sites[sites["site"] == row.site].iloc[0]
    step = steps[(steps["site"] == row.site) & (steps["expansion"] == row.expansion)].iloc[0]
    return float(step["power_kw"] / (site["pue"] if site["power_basis"] == "facility" else 1.0))
