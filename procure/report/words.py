"""The plan in sentences, shared by the workbook, the page and the terminal."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from procure.families.contents import given_limits
from procure.families.wording import figure
from procure.plan import Plan, Status
from procure.plan.rents import recommended_rents
from procure.plan.sales import sales_summary
from procure.plan.status import is_short
from procure.plan.summary import Sale, Summary, gap_of_decided
from procure.plan.tables import (
    CacheMove,
    ChangedOrder,
    ExpansionOrder,
    Instances,
    Limit,
    Modes,
    Shipped,
    Survival,
    UnitCost,
    UnitRent,
)
from procure.quarter import Quarter, quarter_ranges
from procure.rules.objective import Objective
from procure.schema import BYTES_PER_GBIT, CostLine, Lost, OrderChange, Span, Unit
from procure.timekey import grouped, summed, unmixed

NO_LOSS = 1e-6
"""Share of what a load needs after a loss that is rounding."""
UNCOUNTED = 0.05
"""Racks beyond which it is said what whole instances would add."""
LINK = "link bandwidth"
"""Rows of the limits that are links'."""
FULL = 1e-3
"""A link with less than this share left is full."""
WHOLE = "whole plan"
"""What the costs of tokens of all workloads together stand under."""


def plan_name(plan: Plan) -> str:
    """Name of the case that the plan answers."""
    return str(plan.summary.get("case", ""))


def readable(limits: pd.DataFrame) -> pd.DataFrame:
    """A plan's limits with bytes in TB, GB/s and TB/day."""
    shown = [Unit.shown_for(str(unit)) for unit in limits["unit"]]
    unit = [name for name, _ in shown]
    scale = pd.Series([size for _, size in shown], index=limits.index, dtype=float)
    amounts = {column: limits[column] / scale for column in ("used", "limit", "slack")}
    return limits.assign(unit=unit, **amounts)


def usd(amount: float) -> str:
    """An amount with three or four figures: 1.234 B USD, 45.6 M USD."""
    size = abs(amount)
    for scale, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if size >= scale * 0.9995:
            digits = 3 if name == "B" else 1
            return f"{amount / scale:,.{digits}f} {name} USD"
    return f"{amount:,.0f} USD"


def count_of(number: float, noun: str) -> str:
    """A number with its noun: 1 order, 2 orders."""
    return f"{number:,.0f} {noun}" + ("" if number == 1 else "s")


def short_share(plan: Plan) -> float:
    """Share of the planned quarters' requests, weighted by priority, that is not served as promised.

    0 where no workload is short by more than counts as served (:data:`procure.plan.status.SERVED`).
    """
    shortfall = plan.summary["shortfall"]
    return float(shortfall["share"]) if shortfall["workloads"] else 0.0


def planned_quarters(plan: Plan) -> list[str]:
    """Quarters whose orders are recommended."""
    return list(plan.summary["planned_quarters"])


def gap_in_short(plan: Plan) -> tuple[str, str] | None:
    """How far the plan may be from the best possible, as a share of its objective and in USD; None without a bound."""
    gap, bound = plan.summary.get("gap"), plan.summary.get("bound_usd")
    if gap is None or bound is None:
        return None
    return f"{gap:.2%}", usd(max(plan.objective_usd - bound, 0.0))


def proven_gap(plan: Plan) -> str:
    """The same with what it is of what decisions move, in words; empty where no bound is known."""
    short, bound, standing = gap_in_short(plan), plan.summary.get("bound_usd"), plan.summary.get("standing_usd")
    if short is None or bound is None:
        return ""
    of_least, amount = short
    parts, best = [amount], "most" if objective(plan).earns else "least"
    if standing is not None:
        parts.append(f"{gap_of_decided(plan.objective_usd, bound, standing):.2%} of what decisions move")
    return f"{of_least} of the {best} possible ({', '.join(parts)})"


def objective(plan: Plan) -> Objective:
    """What the plan was chosen by."""
    return Objective(plan.summary["objective"])


def outcome(plan: Plan) -> str:
    """What the objective comes to: cost, margin or what is served, whichever is best; the cost beside what is served.

    Of what is served, also the most that any plan serves, by the bound on what must be short.
    """
    by = objective(plan)
    if by.earns:
        income, cost = income_and_cost(plan)
        return f"net present margin {usd(-plan.objective_usd)} ({usd(income)} of income less {usd(cost)} of cost)"
    cost_told = f"net present cost {usd(plan.objective_usd)}"
    if by.ranked and not by.promises:
        of, most = "tokens" if by.tokens else "requests", 1.0 - float(plan.summary["shortfall"]["bound"])
        served = f"{share(1.0 - short_share(plan))} of the planned {of}, weighted by priority"
        return f"{served}, served as promised (the most of any plan: {share(most)}), {cost_told}"
    return cost_told


def income_and_cost(plan: Plan) -> tuple[float, float]:
    """Net present income from what is served, and net present cost, both positive; their difference is the margin."""
    income = -summed(plan.tables["costs"][plan.tables["costs"]["line"] == CostLine.INCOME], "npv_usd")
    return income, plan.objective_usd + income


def status_sentence(plan: Plan) -> str:
    """How the run ended, in one sentence."""
    gap = proven_gap(plan)
    within = f"within {gap}" if gap else "not bounded"
    what = "margin" if objective(plan).earns else "cost"
    match plan.status:
        case Status.OPTIMAL:
            served = _served(plan, short_share(plan))
            return f"{served[0].upper()}{served[1:]}; the {what} is {within}."
        case Status.SHORT:
            short = share(short_share(plan))
            return f"The cost is {within}, but {short} of the planned requests cannot be served as promised."
        case Status.LIMIT:
            served = _served(plan, short_share(plan))
            served = f"{served[0].lower()}{served[1:]}"
            return f"Stopped by a limit before the proof was complete: {served}, the {what} is {within}."
    return "DO NOT USE: the plan does not pass its own verification; see the checks."


def _served(plan: Plan, lost: float) -> str:
    """What planned quarters serve, in a clause."""
    of = "tokens" if objective(plan).tokens else "requests"
    return (
        f"{share(lost)} of the planned {of} are not served as promised"
        if lost
        else "Every SLA of the planned quarters is met"
    )


def share(fraction: float) -> str:
    """A share as a percentage that never rounds something to nothing."""
    if 0 < fraction < 0.0005:
        return "less than 0.1%"
    if 0.9995 < fraction < 1:
        return "more than 99.9%"
    return f"{fraction:.1%}"


def binding_rows(limits: pd.DataFrame) -> pd.DataFrame:
    """The rows of a plan's limits that bind, however the truth was stored."""
    return limits[limits["binding"].map(holds)]


def holds(value: Any) -> bool:
    """Whether a stored truth value is true: True, 1, ``true``."""
    return str(value).lower() in ("true", "1", "1.0")


def binding_sentences(plan: Plan) -> tuple[list[str], list[str]]:
    """One sentence for every limit that binds: which, where, when, how much it is.

    First those that the site, the budget or a supplier sets, then those that follow from what was bought.
    """
    outside: list[str] = []
    inside: list[str] = []
    given = given_limits()
    rows = binding_rows(readable(plan.tables["limits"]))
    for (family, site, item), found in grouped(rows, ["family", "site", "item"], dropna=False):
        low, high, unit = float(found["limit"].min()), float(found["limit"].max()), str(found["unit"].iloc[0])
        amount = figure(low) if low == high else f"{figure(low)} to {figure(high)}"
        where = " ".join(str(part) for part in (family, f"at {site}" if str(site) else "", item) if str(part))
        sentence = f"{where}: full in {quarter_ranges(found['quarter'])} ({amount} {unit})."
        (outside if family in given else inside).append(sentence)
    return outside, inside


def rounded(number: float, digits: int = 3) -> str:
    """A number to so many significant digits, never in powers of ten below a quadrillion: 1,400 and not 1.4e+03."""
    return figure(float(f"{number:.{digits}g}"))


def causes(plan: Plan, span: Span) -> list[str]:
    """What is short in the quarters of a span: workload, mean share of its requests, quarters, cause."""
    sla = plan.tables["sla"]
    planned = sla["quarter"].isin(planned_quarters(plan))
    short = sla[sla["short_share"].map(is_short).astype(bool) & (planned if span == Span.PLANNED else ~planned)]
    sentences = []
    for (workload, cause), rows in grouped(short, ["workload", "cause"], dropna=False):
        asked = summed(rows, "requests_per_s")
        lost = summed(rows.assign(lost=rows["short_share"] * rows["requests_per_s"]), "lost") / asked
        why = f" ({cause})" if str(cause) else ""
        sentences.append(f"{workload}: {share(lost)} of the peak requests in {quarter_ranges(rows['quarter'])}{why}.")
    return sentences


def evidence_lines(summary: Summary) -> list[tuple[str, str, float]]:
    """What shares of money and rack-seconds rest on which kind of evidence: (what, kind, share)."""
    names = {"money": "Money", "rack_seconds": "Rack-seconds"}
    return [
        (names.get(what, what), kind, float(part))
        for what, shares in (summary.get("evidence") or {}).items()
        for kind, part in sorted(shares.items(), key=lambda item: -item[1])
    ]


def extrapolation_lines(summary: Summary) -> list[tuple[str, float]]:
    """Shares of decode rack-seconds by distance from the nearest measurement, as plan.json lists them."""
    return [(str(name), float(part)) for name, part in summary["extrapolation"].items()]


def unit_costs(plan: Plan) -> list[tuple[str, str, float, float, float]]:
    """USD per million tokens: workload (or the whole plan), kind of token, cost, market price, ratio; NaN for none."""
    table = UnitCost.rows(unmixed(plan.tables["unit_costs"]))
    return [
        (r.workload or WHOLE, r.tokens, r.usd_per_million_tokens, r.market_usd_per_million_tokens, r.cost_per_market)
        for r in table
    ]  # fmt: skip


def expansion_sentences(plan: Plan, span: Span) -> list[str]:
    """What to build at the sites in the quarters of a span: when, where, how many, for how much."""
    return [
        f"{r.quarter}: order {r.count:,.0f} of expansion {r.expansion} at {r.site} ({usd(r.capex_usd)})"
        for r in plan.rows(ExpansionOrder)
        if r.span == span
    ]


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


def link_sentences(plan: Plan) -> list[str]:
    """What each link carries in the planned quarter in which it is fullest, and what sending adds to first tokens.

    Of a link that carries nothing it is said so: a planner who states one wants to know.
    """
    planned = planned_quarters(plan)
    limits = unmixed(plan.tables["limits"])
    links = limits[(limits["family"] == LINK) & limits["quarter"].isin(planned)]
    sent = [r for r in plan.rows(Shipped) if r.quarter in planned]
    sentences = []
    for row in Limit.rows(links.sort_values(["site", "item", "used"]).drop_duplicates(["site", "item"], keep="last")):
        mine = [r for r in sent if (r.quarter, r.from_site, f"to {r.to_site}") == (row.quarter, row.site, row.item)]
        if not mine:
            sentences.append(f"{row.site} {row.item}: carries nothing.")
            continue
        rate = sum(r.requests_per_s for r in mine)
        seconds = sum(r.requests_per_s * r.transfer_s for r in mine) / rate
        used = "full" if row.used > (1.0 - FULL) * row.limit else share(row.used / row.limit)
        egress, most = (bytes_per_s / BYTES_PER_GBIT for bytes_per_s in (row.used, row.limit))
        sentences.append(
            f"{row.site} {row.item}: {rounded(egress)} of {rounded(most)} Gbit/s ({used}) at the peak of "
            f"{row.quarter}, {rounded(rate)} requests/s prefilled at {row.site}; sending one takes "
            f"{rounded(seconds, 2)} s."
        )
    return sentences


def listed(counts: pd.Series) -> str:
    """``54 cmx-enclosure, 32 vr-nvl72 and 4 cmx-rack``: units by SKU, the most first."""
    parts = [f"{int(count):,} {sku}" for sku, count in counts.sort_values(ascending=False, kind="stable").items()]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def placement_sentence(plan: Plan) -> str:
    """What moves to other hardware between quarters, where the service was asked to stay; else nothing."""
    if "placement" not in plan.summary:
        return ""
    told = plan.summary["placement"]
    return (
        f"Between quarters {told['moved']:.2f} of a workload moves to other hardware (decode and prefill, summed), "
        f"{told['moved_cheapest']:.2f} with the cheapest service of the same fleet, which costs "
        f"{usd(max(told['given_up_usd'], 0.0))} less."
    )


def move_sentences(plan: Plan) -> list[str]:
    """Which caches move to which slower store in planned quarters, with the most bytes of any quarter."""
    found: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    for r in plan.rows(CacheMove):
        if r.quarter in set(planned_quarters(plan)):
            sums = found.setdefault((r.workload, r.site, r.store, r.to_store), {}).setdefault(
                r.quarter, [0.0, math.inf]
            )
            sums[0] += r.write_bytes_per_s
            sums[1] = min(sums[1], r.age_s)
    sentences = []
    for (workload, site, source, target), quarters in sorted(found.items()):
        quarter, (written, age_s) = max(sorted(quarters.items()), key=lambda item: item[1][0])
        sentences.append(
            f"{workload} at {site}: caches move from {source} to {target} from {age_s:,.0f} s of idle on, "
            f"{written / 1e9:.2f} GB/s written there in {quarter}."
        )
    return sentences


def mode_sentences(plan: Plan) -> list[str]:
    """Where and when units of the planned quarters run at Max-Q, the most of any quarter first told by SKU and site."""
    found: dict[tuple[str, str], list[Modes]] = {}
    for r in plan.rows(Modes):
        if r.maxq and r.quarter in set(planned_quarters(plan)):
            found.setdefault((r.sku, r.site), []).append(r)
    sentences = []
    for (sku, site), rows in sorted(found.items()):
        most = max(rows, key=lambda r: r.maxq)
        sentences.append(
            f"{most.maxq} of {most.maxq + most.max_p} {sku} at {site} run at Max-Q in {most.quarter}, which leaves "
            f"{most.saved_kw:,.0f} kW; {count_of(len(rows), 'planned quarter')} with units at Max-Q."
        )
    return sentences


def loss_sentences(plan: Plan) -> tuple[list[str], list[str]]:
    """What each loss takes in the planned quarter in which it takes most against what is left.

    First losses after which not all loads have what they need, then those that the units left carry. A plan that is
    sized by clock hour may have fewer units than its loads take at all their peaks at once, where losses are counted.
    """
    by_clock = not plan.tables["day"].empty
    worst: dict[tuple[str, Lost, str, str], Survival] = {}
    planned = set(planned_quarters(plan))
    for row in plan.rows(Survival):
        key = (row.site, row.loss, row.lost, row.sku)
        if row.quarter in planned and (key not in worst or _tighter(row, worst[key])):
            worst[key] = row
    short = [row for row in worst.values() if row.short_share > NO_LOSS]
    rest = [row for row in worst.values() if row.short_share <= NO_LOSS]
    short.sort(key=lambda r: -r.short_share)
    return [_loss(row, by_clock) for row in short], [_loss(row, by_clock) for row in rest]


def _tighter(row: Survival, other: Survival) -> bool:
    return row.racks_needed * max(other.racks_there, 0.0) > other.racks_needed * max(row.racks_there, 0.0) or (
        row.racks_there <= 0 and other.racks_there > 0
    )


def _loss(row: Survival, by_clock: bool) -> str:
    """One loss, as ``without cmx:cmx-enclosure at lakeside coding needs 74.6 of 41 vr-nvl72 in 2027Q3 (...)``."""
    lost = {
        Lost.RACK: f"with one {row.lost} fewer at {row.site}",
        Lost.CMX_RACK: f"with one CMX rack fewer at {row.site}",
        Lost.STORE: f"without {row.lost} at {row.site}",
        Lost.CACHES: f"without any cache at {row.site}",
        Lost.SITE: f"without {row.site}",
    }[row.loss]
    beside = "" if row.loss in (Lost.RACK, Lost.SITE) else f" ({row.workloads} read it)"
    short = row.short_share > NO_LOSS
    told = f"{share(row.short_share)} is not there" if short else "enough"
    amounts = f"{row.racks_needed:,.1f} of {figure(max(row.racks_there, 0.0))} {row.sku}"
    when = f"{row.quarter}, all at their own peaks" if by_clock else row.quarter
    text = f"{lost} the load{beside} needs {amounts} in {when}: {told}"
    if row.asked:
        text += f"; {row.asked} must be served then" + (", others are shed" if short else "")
    if row.loss is Lost.RACK and row.likely_down > 1:
        text += f"; {row.likely_down} are to be planned as down"
    return f"{text}."


def instance_sentences(plan: Plan) -> list[str]:
    """Which LLMs the planned quarters count in whole instances, and what rounding up of the others adds at most.

    The second by pool: in the quarter in which it is most, in units (racks or servers) and against those that stand.
    """
    rows = [r for r in plan.rows(Instances) if r.quarter in set(planned_quarters(plan))]
    small = sorted({r.llm for r in rows if holds(r.whole)})
    sentences = [f"{'; '.join(small)}: counted in whole instances, as the load is small."] if small else []
    fleet = plan.tables["fleet"]
    stands = grouped(fleet, ["quarter", "site", "sku"])["closing"].sum().to_dict()
    more: dict[tuple[str, str], dict[str, float]] = {}
    for r in rows:
        by_quarter = more.setdefault((r.site, r.sku), {})
        by_quarter[r.quarter] = by_quarter.get(r.quarter, 0.0) + r.uncounted_units
    for (site, sku), by_quarter in sorted(more.items()):
        quarter = max(sorted(by_quarter), key=by_quarter.__getitem__)
        units, own = by_quarter[quarter], float(stands.get((quarter, site, sku), 0.0))
        if units > UNCOUNTED and own > 0:
            sentences.append(
                f"{sku} at {site}: in whole instances the other loads would take at most {units:.1f} units more in "
                f"{quarter} ({share(units / own)} of those that stand)."
            )
    return sentences
