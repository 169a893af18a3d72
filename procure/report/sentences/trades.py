"""What a plan builds, rents, changes of firm orders and sells, in sentences."""

from __future__ import annotations

import pandas as pd

from procure.plan import Plan
from procure.plan.rents import recommended_rents
from procure.plan.sales import sales_summary
from procure.plan.summary import Sale
from procure.plan.tables import ChangedOrder, ExpansionOrder, Reserving, UnitRent
from procure.quarter import Quarter
from procure.report.words import listed, usd
from procure.schema import Instrument, OrderChange, ReservationOutcome, Span


def expansion_sentences(plan: Plan, span: Span) -> list[str]:
    """What to build at the sites in the quarters of a span, and what becomes of reservations there."""
    built = [
        f"{r.quarter}: order {r.count:,.0f} of expansion {r.expansion} at {r.site} ({usd(r.capex_usd)})"
        for r in plan.rows(ExpansionOrder)
        if r.span == span and not r.reservation
    ]
    return built + [_reservation(r) for r in plan.rows(Reserving) if r.span == span]


def _reservation(r: Reserving) -> str:
    """What is kept of a step, for how long and how much, and what that keeps open; or that nothing is."""
    what = f"{r.count:,} of expansion {r.expansion} at {r.site}"
    by = f"reservation {r.reservation} ({r.instrument.word})"
    if r.outcome is ReservationOutcome.EXERCISED:
        kept = f"kept from {r.kept_from_quarter} by {by}"
        kept += f" for {usd(r.fee_usd)}, paid until {r.paid_until_quarter}" if r.fee_usd else ", free"
        firm = "; not firm: it may be gone by then" if r.instrument is Instrument.FIRST_OFFER else ""
        return f"{r.quarter}: order {what} ({usd(r.kept_capex_usd)}), {kept}{firm}"
    why = "lapses, at no cost" if r.outcome is ReservationOutcome.LAPSED else "is not counted on, since it is not firm"
    return f"{by} of {what} {why}: could be ordered until {r.quarter} for {usd(r.kept_capex_usd)}"


def rent_sentences(plan: Plan, span: Span) -> list[str]:
    """What to rent in the quarters of a span: when, where, how many, from when to when, for how much."""
    sentences = []
    for r in plan.rows(UnitRent):
        if r.span is not span:
            continue
        what = f"{r.count:,} {r.sku} at {r.site} from {r.first_quarter} to {r.last_quarter}"
        paid = "" if r.paid_until_quarter == r.last_quarter else f", paid until {r.paid_until_quarter}"
        said = f"{r.quarter}: rent {what}" if r.decided else f"already rented: {what}"
        sentences.append(f"{said} (offer {r.offer}, {usd(r.rent_usd)}{paid})")
    return sentences


def rented(plan: Plan) -> str:
    """``4 hgx-h200 2027Q1-2027Q3 and 2 hgx-h200 2027Q2``: what to rent in the planned quarters; empty for nothing."""
    counts: dict[str, int] = {}
    for r in recommended_rents(plan.tables["rents"]):
        quarters = r.first_quarter if r.first_quarter == r.last_quarter else f"{r.first_quarter}-{r.last_quarter}"
        what = f"{r.sku} {quarters}"
        counts[what] = counts.get(what, 0) + r.count
    return listed(pd.Series(counts)) if counts else ""


def change_sentences(plan: Plan) -> list[str]:
    """What to cancel and to defer of firm orders: when notice is given, how many of how many, and what it costs."""
    sentences = []
    for r in plan.rows(ChangedOrder):
        fee = f"fee {usd(r.fee_usd)}" if r.fee_usd else "no fee"
        due = "no longer due" if r.change is OrderChange.CANCEL else "due then"
        sentences.append(f"{r.quarter}: {_changed(r)} at {r.site} ({fee}; {usd(r.due_usd)} {due})")
    return sentences


def changed(plan: Plan) -> str:
    """``cancel 4 of 8 gb300-nvl72 ordered for 2027Q2``: what is not taken of firm orders; empty for nothing."""
    return " and ".join(_changed(r) for r in plan.rows(ChangedOrder))


def _changed(r: ChangedOrder) -> str:
    what = f"{r.change} {r.count:,} of {r.ordered:,} {r.sku} ordered for {r.delivery_quarter}"
    return what if r.change is OrderChange.CANCEL else f"{what} to {Quarter(r.delivery_quarter) + r.deferred_quarters}"


def sales(plan: Plan, span: Span) -> list[Sale]:
    """What is sold in the quarters of a span, by quarter, site and SKU."""
    table = plan.tables["sales"]
    return sales_summary(table[table["span"] == span])


def sale_sentences(plan: Plan, span: Span) -> list[str]:
    """What to sell in the quarters of a span: when, where, how many, for how much, at what loss in the books."""
    return [
        f"{s['quarter']}: sell {s['count']:,} {s['sku']} at {s['site']} (brings {usd(s['net_usd'])}, "
        f"{against_books(s['book_loss_usd'])})"
        for s in sales(plan, span)
    ]


def against_books(loss_usd: float) -> str:
    """What a sale brings against the value in the books, from its book loss."""
    return f"{usd(abs(loss_usd))} {'under' if loss_usd >= 0 else 'over'} book value"
