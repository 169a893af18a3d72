"""Two plans side by side: what the second orders more, less, earlier or later, and what its cost is made of.

What is compared is what the plans state; why the cases differ is seen by their premises and loads.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from procure.plan.plan import Plan
from procure.plan.tables import Cost, ExpansionOrder, Purchase, Service
from procure.quarter import Quarter
from procure.rules.objective import Objective
from procure.schema import CostLine
from procure.timekey import BASE, PEAK

SAME = 1e-9
"""Relative difference of two figures below which they are one."""


SAME_SERVICE = 2e-6
"""Share of the planned demand by which what two plans leave unserved may differ and be the same."""


class Move(StrEnum):
    """What becomes of units of the first plan in the second."""

    ADDED = "added"
    DROPPED = "dropped"
    PULLED_IN = "pulled in"
    PUSHED_OUT = "pushed out"


@dataclass(frozen=True)
class MovedOrder:
    """Units that one plan orders otherwise than the other.

    Attributes:
        sku: of a step of a site ``expansion <name>``.
        before, after: quarter of the order in either plan; empty where it orders none.
        capex_usd: capital that the second plan spends on them more than the first (negative: less), not discounted.
    """

    site: str
    sku: str
    move: Move
    before: str
    after: str
    count: int
    capex_usd: float


@dataclass(frozen=True)
class Comparison:
    """What sets a second plan apart from a first.

    Attributes:
        same_case: whether they answer the same inputs.
        quarters: planned by both; orders of others are not compared, since one of the plans says nothing of them.
        same_quarters: whether both plan, and look ahead to, the same quarters; else their costs are of different times.
        least_usd, most_usd: present USD by which the least cost of the second case is above that of the first, at least
            and at most, from the bounds of both; NaN without a bound, with different quarters, or where the plans
            serve different shares that no price makes up for: costs say then what the other service costs.
        before_short_share, after_short_share: of the weighted planned demand, not served.
        cost_usd: the same of the plans as found, which ``costs`` adds up to.
        costs: present USD by line of cost: ``line``, ``before_usd``, ``after_usd``, ``moves_usd``.
        orders: units of ``quarters`` ordered otherwise.
        loads: peak requests/s by workload where they differ: of the quarters that both plans have, the one that differs
            most (``quarter``, ``workload``, ``before``, ``after``), and shares not served there.
        premises: those that differ: ``path``, ``before``, ``after``; empty where a plan does not rest on it.
    """

    same_case: bool
    quarters: list[str]
    same_quarters: bool
    least_usd: float
    most_usd: float
    before_short_share: float
    after_short_share: float
    cost_usd: float
    costs: pd.DataFrame
    orders: list[MovedOrder]
    loads: pd.DataFrame
    premises: pd.DataFrame

    def facts(self) -> dict[str, Any]:
        """The comparison as JSON holds it; what is not known is null."""
        usd = {name: getattr(self, name) for name in ("least_usd", "most_usd", "cost_usd")}
        shares = {name: getattr(self, name) for name in ("before_short_share", "after_short_share")}
        return {
            "same_case": self.same_case,
            "quarters": self.quarters,
            "same_quarters": self.same_quarters,
            **{name: value if math.isfinite(value) else None for name, value in usd.items()},
            **shares,
            "costs": self.costs.to_dict("records"),
            "orders": [{**asdict(order), "move": str(order.move)} for order in self.orders],
            "loads": self.loads.to_dict("records"),
            "premises": self.premises.to_dict("records"),
        }

    @property
    def is_tie(self) -> bool:
        """Whether nothing proves that the least costs differ."""
        return self.least_usd <= 0 <= self.most_usd


def compare(first: Plan, second: Plan) -> Comparison:
    """What the second plan does otherwise than the first."""
    same = all(first.summary[span] == second.summary[span] for span in ("planned_quarters", "lookahead_quarters"))
    before_short, after_short = (plan.summary["shortfall"]["share"] for plan in (first, second))
    priced = not any(Objective(plan.summary["objective"]).ranked for plan in (first, second))
    alike = same and (priced or abs(before_short - after_short) <= SAME_SERVICE)
    bounds = [_or_nan(plan.summary["bound_usd"] if alike else None) for plan in (first, second)]
    return Comparison(
        first.summary["input_hash"] == second.summary["input_hash"],
        _planned_by_both(first, second),
        same,
        bounds[1] - first.objective_usd,
        second.objective_usd - bounds[0],
        before_short,
        after_short,
        second.objective_usd - first.objective_usd,
        _costs(first, second),
        moved_orders(first, second),
        _loads(first, second),
        _premises(first, second),
    )


def _or_nan(usd: float | None) -> float:
    return math.nan if usd is None else usd


def _planned_by_both(first: Plan, second: Plan) -> list[str]:
    return [quarter for quarter in first.summary["planned_quarters"] if quarter in second.summary["planned_quarters"]]


def moved_orders(first: Plan, second: Plan) -> list[MovedOrder]:
    """Orders that differ, of quarters that both plan.

    Units of a SKU at a site are paired in the order of their quarters, the first of the one plan with the first of the
    other: a pair in different quarters is pulled in or pushed out, and what is left over is added or dropped.
    """
    quarters = set(_planned_by_both(first, second))
    units = [_units(plan, quarters) for plan in (first, second)]
    found: dict[tuple[str, str, Move, str, str], list[float]] = {}
    for site, sku in sorted({*units[0], *units[1]}):
        before, after = (each.get((site, sku), []) for each in units)
        for place in range(max(len(before), len(after))):
            old, old_usd = before[place] if place < len(before) else ("", 0.0)
            new, new_usd = after[place] if place < len(after) else ("", 0.0)
            if old != new:
                found.setdefault((site, sku, _move(old, new), old, new), []).append(new_usd - old_usd)
    return [MovedOrder(*key, len(usd), math.fsum(usd)) for key, usd in found.items()]


def _units(plan: Plan, quarters: Collection[str]) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """Quarter and capital of each unit and step of a site ordered in some quarters, by site and SKU or step."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    orders = [(row.quarter, row.site, row.sku, row.count, row.capex_usd) for row in plan.rows(Purchase)]
    orders += [(row.quarter, row.site, f"expansion {row.expansion}", row.count, row.capex_usd)
               for row in plan.rows(ExpansionOrder)]  # fmt: skip
    for quarter, site, what, count, usd in sorted(orders, key=lambda order: Quarter(order[0])):
        if quarter in quarters:
            found.setdefault((site, what), []).extend([(quarter, usd / count)] * count)
    return found


def _move(before: str, after: str) -> Move:
    if not before:
        return Move.ADDED
    if not after:
        return Move.DROPPED
    return Move.PULLED_IN if Quarter(after) < Quarter(before) else Move.PUSHED_OUT


def _costs(first: Plan, second: Plan) -> pd.DataFrame:
    sums = [_by_line(plan) for plan in (first, second)]
    rows = [
        (str(line), before, after, after - before)
        for line in CostLine
        for before, after in [(sums[0].get(line, 0.0), sums[1].get(line, 0.0))]
        if before or after
    ]
    return pd.DataFrame(rows, columns=["line", "before_usd", "after_usd", "moves_usd"])


def _by_line(plan: Plan) -> dict[str, float]:
    found: dict[str, float] = {}
    for cost in plan.rows(Cost):
        found[cost.line] = found.get(cost.line, 0.0) + cost.npv_usd
    return found


def _loads(first: Plan, second: Plan) -> pd.DataFrame:
    """The quarter of each workload in which the peaks of both plans differ most, of those that do."""
    served = [{(s.workload, s.quarter): s for s in _services(plan)} for plan in (first, second)]
    quarters = sorted({q for _, q in served[0]} & {q for _, q in served[1]}, key=Quarter)
    rows: list[dict[str, Any]] = []
    for workload in sorted({w for each in served for w, _ in each}):
        told = [(q, *_load(served[0].get((workload, q))), *_load(served[1].get((workload, q)))) for q in quarters]
        differing = [row for row in told if _differ(row[1], row[3]) or _differ(row[2], row[4])]
        if differing:
            most = max(differing, key=lambda row: (abs(row[3] - row[1]), abs(row[4] - row[2])))
            rows.append({"workload": workload, **dict(zip(_LOAD, most, strict=True))})
    return pd.DataFrame(rows, columns=["workload", *_LOAD])


_LOAD = ("quarter", "before_requests_per_s", "before_short_share", "after_requests_per_s", "after_short_share")


def _services(plan: Plan) -> Sequence[Service]:
    return [row for row in plan.rows(Service) if (row.scenario, row.daypart) == (BASE, PEAK)]


def _load(service: Service | None) -> tuple[float, float]:
    return (0.0, 0.0) if service is None else (service.requests_per_s, service.short_share)


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > SAME * max(abs(one), abs(other))


def _premises(first: Plan, second: Plan) -> pd.DataFrame:
    stated = [
        dict(zip(p.tables["premises"]["name"], map(str, p.tables["premises"]["value"]), strict=True))
        for p in (first, second)
    ]
    rows = [
        (path, stated[0].get(path, ""), stated[1].get(path, ""))
        for path in sorted({*stated[0], *stated[1]})
        if not _same_figure(stated[0].get(path, ""), stated[1].get(path, ""))
    ]
    return pd.DataFrame(rows, columns=["path", "before", "after"])


def _same_figure(one: str, other: str) -> bool:
    try:
        return not _differ(float(one), float(other))
    except ValueError:
        return one == other
