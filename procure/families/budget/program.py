"""Family 13 in the program: capital spending stays within the budget of its quarter and fiscal year, running too."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.families import contents
from procure.families.scales import USD_PER_UNIT
from procure.program.declare import More, block_rows, first_stage, first_stage_rows
from procure.program.index import Index, group, lookup
from procure.program.linear import Terms
from procure.program.order_changes import capital_moved, order_changes
from procure.program.paid import order_payments
from procure.program.part import Part
from procure.timekey import TimeKey


def add_variables(m: Any, index: Index) -> None:
    """Continuous, M USD: carry[t] budget carried into t + 1; load_opex[at] what the work of a block may cost to run.

    The second where operating expenses have a limit.
    """
    m.carry = first_stage(index.t, domain=pyo.NonNegativeReals)
    capped = index.of(opex_caps)
    m.load_opex = first_stage(
        [at for at in index.blocks if at.t in capped], more=More.HELPS, domain=pyo.NonNegativeReals
    )


def budget_limit(m: Any, index: Index) -> None:
    """Payments of a quarter fit its budget, with what was carried in and less what is carried out.

        Σ_o paid[k,o,t]·buy[s,k,o] + Σ_e capex[e]·(expand[s,e,t] + Σ_i exercise[i,t])
            + Σ_f price[f]·on_rent[f,t] + firm[t] + carry[t] + Σ_g fee[g]·cancel[g]
            + Σ_{g,d} fee[g,d]·defer[g,d] ≤ budget[t] + carry[t−1]

    M USD; fees of changed orders in the first quarter, where firm[t] is less what they move of it; of offers f of rent
    those that the case charges to capital, quarter by quarter on either basis. On the ``commitment`` basis an order is
    charged whole when it is placed and firm orders, committed before, are not charged, nor given back where they are
    cancelled; fees are. Left out for quarters without a budget.
    """
    budget = lookup(index.instance["budget"], ["t"], "budget_usd")
    commitment = index.instance.settings["budget_basis"] == "commitment"
    paid: dict[int, list[tuple[float, tuple[str, str, int]]]] = {}
    for order in index.orders:
        payments = order_payments(index, order[1], order[2])
        if commitment:
            payments = {order[2]: sum(payments.values())}
        for t, usd in payments.items():
            paid.setdefault(t, []).append((usd, order))

    def rule(m: Any, t: int) -> Any:
        row = Terms()
        for usd, order in paid.get(t, []):
            row.add(usd / USD_PER_UNIT, m.buy[order])
        for step in index.steps:
            if step.t == t:
                usd = index.expansion[step.site, step.expansion].capex_usd
                row.add(usd / USD_PER_UNIT, step.decision(m))
        for name, offer in index.offer.items():
            if offer.capital and (name, t) in m.on_rent:
                row.add(offer.usd_per_quarter / USD_PER_UNIT, m.on_rent[name, t])
        for change in index.of(order_changes):
            moved = {0: change.fee_usd} if commitment else capital_moved(change)
            row.add(moved.get(t, 0.0) / USD_PER_UNIT, change.decision(m))
        row.add(1.0, m.carry[t])
        if t - 1 in budget:
            row.add(-1.0, m.carry[t - 1])
        firm = 0.0 if commitment else sum(g.count * g.due_usd for g in index.fixed.values() if g.due_t == t)
        return row.at_most((budget[t] - firm) / USD_PER_UNIT)

    m.budget_limit = first_stage_rows(sorted(budget), rule=rule)


def opex_caps(index: Index) -> dict[int, float]:
    """USD that operating expenses of a quarter may be at most, where they have a limit."""
    return lookup(index.instance["opex"], ["t"], "opex_usd")


def opex_limit(m: Any, index: Index) -> None:
    """What running costs fits the operating budget of its quarter: what stands, and what its blocks may spend on work.

        Σ_x usd[x,t]·x + Σ_{at of t} load_opex[at] ≤ opex[t] − usd[t],        x decided first
        Σ_y usd[y]·y ≤ load_opex[at],                                         y of the block

    M USD of the quarter, not discounted; usd is what families spend on running
    (:class:`procure.program.running.Running`). Nothing is carried from quarter to quarter.
    """
    caps = index.of(opex_caps)
    parts = contents.programs().values() if caps else ()
    spent = [one for part in parts if part.running is not None for one in part.running(m, index) if one.t in caps]
    first = group((one for one in spent if one.at is None), lambda one: one.t)
    work = group((one for one in spent if one.at is not None), lambda one: one.at)

    def standing(m: Any, t: int) -> Any:
        row, limit = Terms(), caps[t]
        for one in first.get(t, []):
            if one.decision is None:
                limit -= one.usd
            else:
                row.add(one.usd / USD_PER_UNIT, one.decision)
        row.extend(1.0, (m.load_opex[at] for at in m.load_opex if at.t == t))
        return row.at_most(limit / USD_PER_UNIT)

    def working(m: Any, at: TimeKey) -> Any:
        row = Terms()
        for one in work.get(at, []):
            row.add(one.usd / USD_PER_UNIT, one.decision)
        row.add(-1.0, m.load_opex[at])
        return row.at_most(0.0)

    m.opex_limit = first_stage_rows(sorted(caps), rule=standing)
    m.work_within_opex = block_rows(list(m.load_opex), rule=working)


def carry_rule(m: Any, index: Index) -> None:
    """What may be carried: nothing, within the fiscal year, or without limit, as the case states.

    carry[t] = 0        where t closes a fiscal year (``within_year``), always (``none``), or is the last quarter
    """
    mode = index.instance.settings["budget_carry"]
    year = lookup(index.instance["quarters"], ["t"], "fiscal_year")
    for t in index.t:
        closes = t + 1 == index.horizon or (mode == "within_year" and year[t + 1] != year[t])
        if mode == "none" or closes:
            m.carry[t].setub(0.0)


PROGRAM = Part((budget_limit, carry_rule, opex_limit), add_variables)
