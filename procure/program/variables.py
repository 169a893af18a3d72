"""The decisions."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.plan.plan import SERVED
from procure.program.index import Index


def add_variables(m: Any, index: Index) -> None:
    """Declare every decision of the program.

    Integer, in units:
        buy[site, sku, t] ordered; retire[group, t] sold at the start of t; pods[site, t] opened;
        copies[site, card, lpx, t] copies of a card on an LPX SKU; expand[site, expansion, t] ordered;
        ordered[sku, t] 0 or 1, for SKUs with a minimum order; own[site, sku, t] owned (so by the fleet balance).
    Continuous:
        serve[point, site] and prefill[option, site] shares of the rate of their bucket;
        fitted[site, sku, t] kits or enclosures that serve where some of their hosts are reserved, units;
        kept[t, site, workload, interval, store] share of the workload's rate whose cache stays through the interval;
        short[t, workload] share unserved or served too late for the promise, of which late[t, workload] is served;
        quarter_short[t] weighted shortfall of a planned quarter, in basis points of the weighted demand of all planned
        quarters; tolerated[t, workload] share unserved that counts as served, in planned quarters; carry[t] budget
        carried into t + 1, M USD.

    Shares are at most 1 by their rows; that they say so themselves leaves the solver less to find out, and bounds the
    columns of a quarter, so that any prices of its rows bound its cost (:meth:`procure.solver.blocks.Block.cut`).
    """
    m.buy = pyo.Var(index.orders, domain=pyo.NonNegativeIntegers)
    m.ordered = pyo.Var(
        sorted({(sku, t) for _, sku, t in index.orders if index.sku[sku].min_order > 1}), domain=pyo.Binary
    )
    m.retire = pyo.Var(
        index.retirable,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, group, t: (0, int(index.fixed[group].count)),
    )
    m.pods = pyo.Var(
        index.sites,
        index.t,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, site, t: (0, int(index.pods_at[site].pods_max)),
    )
    m.copies = pyo.Var(index.instances, domain=pyo.NonNegativeIntegers)
    m.expand = pyo.Var(
        index.expansion_orders,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, site, name, t: (0, int(index.expansion[site, name].max_count)),
    )
    m.own = pyo.Var(index.stock, domain=pyo.NonNegativeIntegers)
    m.fitted = pyo.Var(index.in_held_hosts, domain=pyo.NonNegativeReals)
    m.serve = pyo.Var([(p.point, site) for p, site in index.serve], bounds=(0, 1))
    m.prefill = pyo.Var([(o.option, site) for o, site in index.prefill], bounds=(0, 1))
    m.kept = pyo.Var(index.kept, bounds=(0, 1))
    m.short = pyo.Var(index.loads, bounds=(0, 1))
    m.tolerated = pyo.Var([(t, w) for t, w in index.loads if t in index.planned], bounds=(0, SERVED))
    m.late = pyo.Var(index.may_be_late, bounds=(0, 1))
    m.quarter_short = pyo.Var(index.planned, domain=pyo.NonNegativeReals)
    m.carry = pyo.Var(index.t, domain=pyo.NonNegativeReals)
    m.counting = [m.own]
    """Integers that only add up others; they are whole where those are."""
    m.linking = [m.quarter_short, m.carry]
    """Continuous variables that tie quarters together; given these and the integers, quarters are independent."""
