"""What a plan claims of itself: plan.json, causes of shortfall, premises, its own checks, each row once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.check.day import coincident_peak
from procure.instance.tables import Fixed, Rented, RentOffer, Serve, SkuRow, Space
from procure.plan.extrapolation import extrapolation_shares
from procure.plan.order_changes import changes_summary
from procure.plan.placement import moved_share
from procure.plan.premises import evidence_shares, premises_table
from procure.plan.provenance import premises_summary
from procure.plan.rents import rents_summary
from procure.plan.sales import sales_summary
from procure.plan.status import SERVED, is_short
from procure.plan.tables import TABLES, Check, Purchase, Service, UnitCost
from procure.plan.tolerance import MONEY, differ
from procure.plan.uncounted import uncounted_units
from procure.plan.unit_costs import cost_warnings, unit_costs_summary, unit_costs_table
from procure.rules.objective import Objective
from procure.rules.worth import residual_usd
from procure.schema import Span, cells_of
from procure.timekey import BASE, BESIDE_QUARTER, PEAK

if TYPE_CHECKING:
    from procure.case import Case
    from procure.instance import Instance
    from procure.plan.plan import Plan
    from procure.plan.summary import Summary

NOT_CHECKED = {
    "case_folder": "where the case lay when the plan was made; it may have moved since",
    "gap_asked": "asked by the user of that run; that the status fits it is checked",
    "method": "how the plan was found does not show in it",
    "seed": "how the plan was found does not show in it",
    "threads": "how the plan was found does not show in it",
    "seconds": "how long that run took",
    "versions": "what that run was made with; a plan may be checked by another version",
    "provenance": "when and of what that run was made; the hash of all inputs is held against the case",
    "instance_hash": "of the coefficients as that version worked them out; limits and money are recomputed",
    "files": "held against the files themselves where a stored result is verified",
}
"""Fields of plan.json that nothing can be held against, and why."""

SHORT = 1.1 * SERVED + 5e-6
"""Share of the weighted demand by which a least shortfall may lie above its bound: what counts as served in every
workload, and what two stages of a solver leave."""
MPS_SCALE = 1e6
"""USD per unit of money in a written MPS file; told here and in the program on purpose."""
NO_DEPLOYMENT, NOT_WORTH = "no deployment meets its SLA", "not worth its stated price"
"""Causes that can be told from the case alone; told here and in the solver on purpose."""


def rows_once(plan: Plan) -> Iterable[str]:
    """Rows that are about the same as another one, which sums would hide."""
    for name, table in TABLES.items():
        cells = cells_of(plan.tables[name])
        counts = Counter(zip(*(cells[column] for column in table.key), strict=True))
        for about, count in counts.items():
            if count > 1:
                yield f"{name}: {' '.join(map(str, about))} stands {count} times"


def of_one_block(plan: Plan) -> Iterable[str]:
    """Rows of a scenario or a part of the day that no case has yet."""
    for name, table in TABLES.items():
        cells = cells_of(plan.tables[name])
        for column, only in zip(BESIDE_QUARTER, (BASE, PEAK), strict=True):
            if column in table.by_column:
                for value in sorted(set(map(str, cells[column])) - {only}):
                    yield f"{name}: {column} {value}, not {only}"


def shortfall_proven(summary: Summary) -> bool:
    """Whether no plan can be less short, by the bound on the weighted shortfall."""
    short = summary["shortfall"]
    return bool(short["share"] <= short["bound"] + SHORT)


SAME_USD = 1.0
"""Net present USD within which cost and bound are the same: no search tells less apart, whatever the cost is."""


def gap_closed(summary: Summary) -> bool:
    """Whether the cost is within the gap asked for of its proven bound; what was given up on purpose is no gap."""
    bound = summary["bound_usd"]
    if bound is None or summary["gap"] is None:
        return False
    given_up = summary["placement"]["given_up_usd"] if "placement" in summary else 0.0
    cost = summary["objective_usd"] - max(given_up, 0.0)
    if cost - bound <= SAME_USD:
        return True
    if given_up <= 0:
        return bool(summary["gap"] <= summary["gap_asked"] + 1e-9)
    return max(0.0, cost - bound) / max(abs(cost), 1e-9) <= summary["gap_asked"] + 1e-9


def rightful_status(summary: Summary) -> str:
    """Status that shortfalls and bounds give a plan whose checks all hold.

    ``optimal`` and ``short`` claim that both bounds are reached; a plan of which one is not is a plan at a limit. Where
    what is not served has a price, there is no bound on it; ``short`` is a plan only where all was to be served.
    """
    by = Objective(summary["objective"])
    if not gap_closed(summary) or (by.ranked and not shortfall_proven(summary)):
        return "limit_with_plan"
    return "short" if by.promises and summary["shortfall"]["workloads"] else "optimal"


def summary(plan: Plan, case: Case, instance: Instance) -> Iterable[str]:
    """Every field of plan.json that follows from the case or the tables; :data:`NOT_CHECKED` names the others."""
    stated = plan.summary
    wanted: dict[str, Any] = {
        "case": case.name,
        "objective": str(case.objective),
        "points": case.settings.points,
        "planned_quarters": [str(q) for q in case.planned],
        "lookahead_quarters": [str(q) for q in case.lookahead],
        "discount_rate_per_year": case.settings.discount_rate_per_year,
        "demand_notes": instance["notes"]["sentence"].tolist(),
        "defaults_used": list(case.defaults_used),
        "doubts": [str(doubt) for doubt in case.doubts],
        "cost_warnings": cost_warnings(plan.tables["unit_costs"]),
        "purchases": [
            {"quarter": r.quarter, "site": r.site, "sku": r.sku, "count": r.count}
            for r in Purchase.rows(plan.purchases)
        ],
        "sales": sales_summary(plan.sales),
        "rents": rents_summary(plan.tables["rents"]),
        "order_changes": changes_summary(plan.tables["order_changes"]),
    }
    if "uncounted" in stated:  # results of earlier releases do not tell it
        wanted["uncounted"] = uncounted_units(plan.tables, stated["planned_quarters"])
    if stated["premises"]["count"]:  # results of earlier releases do not count them
        wanted["premises"] = premises_summary(plan.tables["premises"])
    for key, value in wanted.items():
        if not _same(stated[key], value):  # type: ignore[literal-required]
            yield f"{key} is not what the case and the tables say"
    costs = unit_costs_summary(plan.tables["unit_costs"])
    if not _same_costs(stated.get("unit_costs"), costs):
        yield "unit_costs is not what the table of unit costs says"
    if stated.get("mps_scale", MPS_SCALE) != MPS_SCALE:
        yield f"mps_scale is {stated['mps_scale']}, not {MPS_SCALE:g}"
    yield from _evidence(plan, case)
    yield from _shortfall(plan, instance)
    yield from _bounds(stated)
    yield from _placement(plan, case, instance)
    yield from _coincident_peak(stated, instance)
    standing, wanted_usd = stated["standing_usd"], _standing_usd(instance)
    # no decision moves it, so the solver leaves nothing: a sum of the same figures in another order
    if standing is not None and not abs(standing - wanted_usd) <= 1e-10 * abs(wanted_usd) + 0.01:
        yield f"what stands and is on order costs {wanted_usd:,.2f} USD, not {standing:,.2f}"
    if stated["status"] not in (rightful_status(stated), "verification_failed"):
        yield f"the status is {stated['status']}; bounds and shortfall say {rightful_status(stated)}"


def _same(stated: Any, wanted: Any) -> bool:
    """Whether two values of JSON are equal; the order of orders does not matter."""
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], dict) and isinstance(stated, list):
        return sorted(stated, key=str) == sorted(wanted, key=str)
    return type(stated) is type(wanted) and bool(stated == wanted)


def _same_costs(stated: Any, wanted: dict[str, dict[str, float | None]]) -> bool:
    """Whether plan.json states these amounts; one that is None must be None."""
    if not isinstance(stated, dict) or stated.keys() != wanted.keys():
        return False
    for kind, amounts in wanted.items():
        told = stated[kind]
        if not isinstance(told, dict) or told.keys() != amounts.keys():
            return False
        for name, amount in amounts.items():
            if amount is None or told[name] is None:
                if amount is not told[name]:
                    return False
            elif not isinstance(told[name], int | float) or differ(told[name], amount):
                return False
    return True


def unit_costs(plan: Plan, instance: Instance) -> Iterable[str]:
    """Tokens, their costs and their market prices, recomputed from cash, work, parked caches and lengths."""
    wanted = {(r.workload, r.tokens): r for r in UnitCost.rows(unit_costs_table(instance, plan.tables))}
    stated = {(r.workload, r.tokens): r for r in plan.rows(UnitCost)}
    for key in sorted(wanted.keys() | stated.keys()):
        label = f"{key[0] or 'the whole plan'}, {key[1]} tokens"
        if key not in wanted or key not in stated:
            yield f"{label}: {'not stated' if key in wanted else 'nothing of the kind'}"
            continue
        for column in plan.tables["unit_costs"].columns[2:]:
            told, right = float(getattr(stated[key], column)), float(getattr(wanted[key], column))
            if math.isnan(told) != math.isnan(right) or (not math.isnan(right) and differ(told, right)):
                yield f"{label}: {column} is {right:g}, not {told:g}"


def _evidence(plan: Plan, case: Case) -> Iterable[str]:
    stated = plan.summary.get("evidence")
    for basis, shares in evidence_shares(plan.tables, case).items():
        told = stated.get(basis) if isinstance(stated, dict) else None
        if not isinstance(told, dict) or set(told) != set(shares) or any(differ(told[k], shares[k]) for k in shares):
            yield f"the evidence behind {basis.replace('_', '-')} is not that of prices and operating points"

    told, right = plan.summary["extrapolation"], extrapolation_shares(plan.tables["serving"])
    if set(told) != set(right) or any(differ(told[name], right[name]) for name in right):
        yield "the shares by distance from a measurement are not those of the operating points"


def _shortfall(plan: Plan, instance: Instance) -> Iterable[str]:
    stated = plan.summary["shortfall"]
    for key, span, told in (
        ("workloads", Span.PLANNED, stated["workloads"]),
        ("lookahead_workloads", Span.LOOKAHEAD, stated["lookahead_workloads"]),
    ):
        short = {
            (r.quarter, r.workload): r
            for r in plan.rows(Service)
            if is_short(r.short_share) and instance.span[r.quarter] is span
        }
        if Counter((w["quarter"], w["workload"]) for w in told) != Counter(short.keys()):
            yield f"plan.json and the SLA table name different shortfalls ({key})"
            continue
        for w in told:
            row, label = short[w["quarter"], w["workload"]], f"{w['quarter']} {w['workload']}"
            if differ(row.short_share, w["share"]) or row.cause != w["cause"]:
                yield f"{label}: short by {row.short_share:g}, {row.cause}; plan.json says otherwise"
    if not -SHORT <= stated["bound"] <= stated["share"] + SHORT:
        yield f"the least shortfall cannot be {stated['bound']:g} where a plan is short by {stated['share']:g}"


def _placement(plan: Plan, case: Case, instance: Instance) -> Iterable[str]:
    """What moves between quarters, and that no more was given up for it than the case allows.

    What the cheapest service of the fleet costs and moves is no part of the plan: it is held to the rest alone.
    """
    if "placement" not in plan.summary:
        return
    told, most = plan.summary["placement"], case.settings.placement_tolerance
    moved = moved_share(instance, plan.tables)
    if abs(told["moved"] - moved) > 1e-6 * max(1.0, moved):
        yield f"{moved:g} of the workloads moves between quarters, not {told['moved']:g}"
    if told["moved_cheapest"] < told["moved"] - 1e-4 * max(1.0, moved):
        yield f"the cheapest service moves {told['moved_cheapest']:g}, less than the plan's {told['moved']:g}"
    cheapest = plan.objective_usd - told["given_up_usd"]
    if told["given_up_usd"] > most * abs(cheapest) + MONEY * abs(plan.objective_usd) + 1.0:
        yield f"{told['given_up_usd']:,.0f} USD given up where {most * abs(cheapest):,.0f} are allowed"


def _coincident_peak(stated: Summary, instance: Instance) -> Iterable[str]:
    """What sizing by the clock could spare, where it is told; results of earlier releases do not tell it."""
    if "coincident_peak" not in stated:
        return
    told, right = stated["coincident_peak"], coincident_peak(instance)
    if right is None:
        yield "sizing by clock hour would spare nothing of this case, though plan.json says so"
    elif told["quarter"] != right["quarter"] or differ(told["spared_share"], right["spared_share"]):
        yield (
            f"sizing by clock hour could spare {right['spared_share']:.4g} in {right['quarter']}, "
            f"not {told['spared_share']:.4g} in {told['quarter']}"
        )


def _bounds(stated: Summary) -> Iterable[str]:
    objective, bound, gap = stated["objective_usd"], stated["bound_usd"], stated["gap"]
    if bound is None or gap is None:
        if bound is not gap:
            yield "a gap without a bound, or a bound without a gap"
        return
    if bound > objective + MONEY * abs(objective) + 1.0:
        yield f"the bound {bound:,.0f} USD is above the objective {objective:,.0f}"
    if not abs(gap - max(0.0, objective - bound) / max(abs(objective), 1e-9)) <= 1e-6:
        yield f"the gap {gap:g} is not that of objective and bound"


def _standing_usd(instance: Instance) -> float:
    """Present USD of what exists and is on firm order, held to the end: support and payments due, less its worth.

    Space that is contracted is paid for as well, whatever is decided.
    With what running rent owes after the horizon.
    """
    factors = instance["quarters"]["discount_factor"].tolist()
    end = len(factors)
    last = factors[-1] * (factors[-1] / factors[-2] if end > 1 else 1.0)
    sku_of = {row.sku: row for row in instance.rows(SkuRow)}
    usd = 0.0
    for row in instance.rows(Fixed):
        usd += row.count * row.support_usd_per_quarter * sum(factors[max(row.vintage_t, 0) :])
        if 0 <= row.due_t < end:
            usd += row.count * row.due_usd * factors[row.due_t]
        usd -= row.count * residual_usd(row.paid_usd, end - row.vintage_t, sku_of[row.sku]) * last
    for space in instance.rows(Space):
        usd += space.contracted_kw * space.usd_per_kw_quarter * factors[space.t]
    step = last / factors[-1]
    price = {offer.offer: offer.usd_per_quarter for offer in instance.rows(RentOffer)}
    for rent in instance.rows(Rented):
        usd += rent.count * price[rent.offer] * sum(last * step ** (t - end) for t in range(end, rent.until_t + 1))
    return float(usd)


def causes(plan: Plan, instance: Instance) -> Iterable[str]:
    """A cause stands where something is short and nowhere else; which limit it names is the solver's word."""
    names, ranked = instance.quarters, Objective(str(instance.settings["objective"])).ranked
    served = {(names[r.t], r.workload) for r in instance.rows(Serve)}
    for r in plan.rows(Service):
        short = is_short(r.short_share)
        if bool(r.cause) != short:
            yield f"{r.quarter} {r.workload}: cause {r.cause!r} of a shortfall of {r.short_share:g}"
        elif short and (r.cause == NO_DEPLOYMENT) == ((r.quarter, r.workload) in served):
            yield f"{r.quarter} {r.workload}: cause {r.cause!r} does not fit the operating points of the case"
        elif r.cause == NOT_WORTH and instance.span[r.quarter] is Span.PLANNED and ranked:
            yield f"{r.quarter} {r.workload}: a price decides only what the look-ahead serves"


def premises(plan: Plan, case: Case) -> Iterable[str]:
    """Every premise is the one of the case, catalogue and library, in all its columns."""
    wanted = _texts(premises_table(case))
    stated = _texts(plan.tables["premises"])
    for name in sorted(wanted.keys() | stated.keys()):
        if wanted.get(name) != stated.get(name):
            yield f"premise {name} is not that of the case"


def _texts(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Rows by name, every cell as text as a CSV file holds it."""
    rows = zip(*cells_of(frame).values(), strict=True)
    return {str(row[0]): tuple(_text(cell) for cell in row) for row in rows}


def _text(cell: Any) -> str:
    return "" if cell is None or (isinstance(cell, float) and math.isnan(cell)) else str(cell)


def stated_checks(plan: Plan, found: pd.DataFrame) -> Iterable[str]:
    """The plan's own checks are those that are found, with what they found."""
    stated = {r.check: (str(r.holds), _text(r.detail)) for r in plan.rows(Check)}
    wanted = {r.check: (str(r.holds), _text(r.detail)) for r in Check.rows(found)}
    for name in sorted(wanted.keys() | stated.keys()):
        if name not in stated:
            yield f"the plan does not state the check {name!r}"
        elif wanted.get(name) != stated[name]:
            yield f"the plan states {name!r} otherwise"
