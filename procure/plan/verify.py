"""A plan checked against its case: every limit, every SLA and the money, recomputed without the program.

The coefficients come from the case anew; the decisions are read from the plan's tables. Nothing here imports Pyomo.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from procure.errors import InputError
from procure.families import contents
from procure.instance import Instance, build
from procure.plan import claims
from procure.plan.limits import BINDING_SHARE, limits_table
from procure.plan.money import cash_table, costs_table
from procure.plan.plan import Plan, frame
from procure.plan.status import Status
from procure.plan.tables import Cash, Cost, Limit
from procure.plan.tolerance import ABSOLUTE, MONEY, RELATIVE, differ, over
from procure.timekey import summed, totals

if TYPE_CHECKING:
    from procure.case import Case


class Checks:
    """Named checks; a check fails with the first few things that do not hold."""

    def __init__(self, found: pd.DataFrame | None = None) -> None:
        self.rows: list[tuple[str, bool, str]] = []
        if found is not None:
            self.rows += found.itertuples(index=False, name=None)

    def add(self, name: str, faults: Iterable[str]) -> None:
        """One check with everything that breaks it."""
        try:
            found = list(faults)
        except (KeyError, ValueError, TypeError) as error:  # a name or number in the tables that nothing stands behind
            found = [f"cannot be recomputed: the tables state {error}, which the case does not know"]
        except InputError as error:
            found = [f"cannot be recomputed: {fault}" for fault in error.faults]
        detail = "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
        self.rows.append((name, not found, detail))

    @property
    def table(self) -> pd.DataFrame:
        """The plan's ``checks`` table."""
        return frame("checks", self.rows)


def verify(plan: Plan, case: Case, instance: Instance | None = None, folder: str | Path | None = None) -> pd.DataFrame:
    """The ``checks`` table of a plan: check, holds, detail.

    Args:
        plan: what is checked.
        case: the case that it answers.
        instance: the case's instance if it is at hand; it is built from the case otherwise.
        folder: where the plan is stored, if its files (workbook and page too) are to be held against their hashes.
    """
    fresh = instance if instance is not None else build(case)
    found = checks_of(plan, case, fresh)
    checks = Checks(found)
    checks.add("the plan's own checks are these", claims.stated_checks(plan, found))
    if folder is not None:
        checks.add("the files are as they were written", (f"{name} changed" for name in Plan.changed_files(folder)))
    if plan.status is Status.UNVERIFIED:
        checks.add("the plan passed its own verification", ["plan.json says that it did not"])
    return checks.table


def checks_of(plan: Plan, case: Case, fresh: Instance) -> pd.DataFrame:
    """The ``checks`` table that a plan is stored with: all that can be said before it states its own checks."""
    checks = Checks()
    for name, faults in faults_by_check(plan, case, fresh).items():
        checks.add(name, faults)
    return checks.table


def faults_by_check(plan: Plan, case: Case, fresh: Instance) -> dict[str, Iterable[str]]:
    """Every check by name with what breaks it, in order; nothing is worked out before it is asked for."""
    limits = cache(lambda: limits_table(fresh, plan.tables))
    return {
        "the plan answers this case": _hash(plan, case),
        "every row is of the one scenario and part of the day": claims.of_one_block(plan),
        **{
            name: chain.from_iterable(find(plan, fresh) for find in faults)
            for name, faults in contents.faults().items()
        },
        "every limit holds": _limits(limits),
        "limits are as stated": _same_limits(limits, plan),
        "money is as stated and sums to the objective": _money(plan, fresh),
        "costs of tokens are as stated": claims.unit_costs(plan, fresh),
        "each row stands once": claims.rows_once(plan),
        "causes stand where something is short": claims.causes(plan, fresh),
        "premises are those of the case": claims.premises(plan, case),
        "plan.json agrees with the tables": claims.summary(plan, case, fresh),
    }


def _hash(plan: Plan, case: Case) -> Iterable[str]:
    if plan.summary["input_hash"] != case.input_hash:
        yield "the case, or packaged data that it uses, changed since the plan was made"


def _limits(recomputed: Callable[[], pd.DataFrame]) -> Iterable[str]:
    for r in Limit.rows(recomputed()):
        if over(r.used, r.limit, r.unit):
            yield f"{r.family} {r.quarter} {r.site} {r.item}: {r.used:g} {r.unit} used of {r.limit:g}"


def _same_limits(recomputed: Callable[[], pd.DataFrame], plan: Plan) -> Iterable[str]:
    keys = ["family", "quarter", "site", "item"]
    stated = {tuple(getattr(r, k) for k in keys): r for r in plan.rows(Limit)}
    for r in Limit.rows(recomputed()):
        row = stated.pop(tuple(getattr(r, k) for k in keys), None)
        if row is None:
            yield f"{r.family} {r.quarter} {r.site} {r.item}: not in the limits table"
        elif row.unit != r.unit:
            yield f"{r.family} {r.quarter} {r.site} {r.item}: in {r.unit}, not {row.unit}"
        elif differ(row.used, r.used) or differ(row.limit, r.limit):
            label = f"{r.family} {r.quarter} {r.site} {r.item}"
            yield f"{label}: {r.used:g} of {r.limit:g}, not {row.used:g} of {row.limit:g}"
        elif abs(row.slack - r.slack) > RELATIVE * max(abs(r.used), abs(r.limit)) + ABSOLUTE or _misjudged(row):
            yield f"{r.family} {r.quarter} {r.site} {r.item}: slack {row.slack:g}, binding {row.binding}"
    for key in stated:
        yield f"{' '.join(key)}: no such limit"


def _misjudged(row: Limit) -> bool:
    """Whether a limit is said to bind with room left, or not to bind with none; near the threshold either is right."""
    share = row.slack / max(abs(row.limit), 1.0)
    if row.binding:
        return share > 10 * BINDING_SHARE or row.used <= 0
    return share < BINDING_SHARE / 10 and row.used > 0


def _money(plan: Plan, instance: Instance) -> Iterable[str]:
    recomputed = cash_table(instance, plan.tables)
    keys = ["quarter", "line", "site", "sku"]
    fresh = totals(recomputed, keys, "cash_usd")
    stated = totals(plan.tables["cash"], keys, "cash_usd")
    for key in sorted(set(fresh) | set(stated)):
        a, b = fresh.get(key, 0.0), stated.get(key, 0.0)
        if abs(a - b) > MONEY * max(abs(a), abs(b)) + 1.0:
            yield f"{' '.join(key)}: {a:,.0f} USD, not {b:,.0f}"
    yield from _present_values(plan, recomputed)
    total, objective = summed(recomputed, "npv_usd"), plan.objective_usd
    if differ(total, objective, MONEY):
        yield f"cash is worth {total:,.0f} USD, the objective says {objective:,.0f}"
    lines = summed(plan.tables["costs"], "npv_usd")
    if differ(lines, objective, MONEY):
        yield f"cost lines sum to {lines:,.0f} USD, the objective says {objective:,.0f}"


def _present_values(plan: Plan, recomputed: pd.DataFrame) -> Iterable[str]:
    """Discount factors, spans and present values of the cash rows; every cost line and span."""
    factor = {r.quarter: (r.discount_factor, r.span) for r in Cash.rows(recomputed)}
    for r in plan.rows(Cash):
        label = f"{r.quarter} {r.line} {r.site} {r.sku}"
        wanted, span = factor.get(r.quarter, (r.discount_factor, r.span))
        if differ(r.discount_factor, wanted, 1e-9) or r.span != span:
            yield f"{label}: factor {r.discount_factor:g} and span {r.span}, not {wanted:g} and {span}"
        if abs(r.npv_usd - r.cash_usd * wanted) > MONEY * abs(r.cash_usd) + 1.0:
            yield f"{label}: worth {r.cash_usd * wanted:,.0f} USD, not {r.npv_usd:,.0f}"
    stated = {(r.line, r.span): r.npv_usd for r in plan.rows(Cost)}
    lines = costs_table(recomputed)
    for key in stated.keys() - set(zip(lines["line"], lines["span"], strict=True)):
        yield f"costs of {', '.join(key)}: no such line"
    for cost in Cost.rows(lines):
        value = stated.get((cost.line, cost.span), math.nan)
        if not abs(value - cost.npv_usd) <= MONEY * abs(cost.npv_usd) + 1.0:
            told = "which the plan does not state" if math.isnan(value) else f"not {value:,.0f}"
            yield f"costs of {cost.line}, {cost.span}: {cost.npv_usd:,.0f} USD, {told}"
