"""Family 2 in the program: every request is served or counted as short."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.families.scales import BASIS_POINTS, USD_PER_UNIT
from procure.plan.plan import SERVED
from procure.program.index import Index, group, lookup
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.power import prefill_usd, serve_usd
from procure.quarter import SECONDS_PER_QUARTER

DETERRENT = 100.0
"""What is tolerated costs this many times the dearest power of its workload: freeing a rack for others saves less."""
LEAST_DETERRENT_USD = 1_000.0
"""The same where power is free, USD for the whole workload; of which at most the tolerated share is ever counted."""


def add_variables(m: Any, index: Index) -> None:
    """What is served and what is short, continuous.

    serve[point, site] share of the rate of its bucket; short[t, workload] share unserved or served too late for the
    promise; quarter_short[t] weighted shortfall of a planned quarter, in basis points of the weighted demand of all
    planned quarters; tolerated[t, workload] share unserved that counts as served, in planned quarters.

    Shares are at most 1 by their rows, here and in other families; that they say so themselves leaves the solver less
    to find out, and bounds the columns of a quarter, so that any prices of its rows bound its cost
    (:meth:`procure.solver.blocks.Block.cut`).
    """
    m.serve = pyo.Var([(p.point, site) for p, site in index.serve], bounds=(0, 1))
    m.short = pyo.Var(index.loads, bounds=(0, 1))
    m.tolerated = pyo.Var([(t, w) for t, w in index.loads if t in index.planned], bounds=(0, SERVED))
    m.quarter_short = pyo.Var(index.planned, domain=pyo.NonNegativeReals)
    m.linking.append(m.quarter_short)


def demand_met(m: Any, index: Index) -> None:
    """Each length bucket is served to the same share of what is within reach of its TTFT.

        Σ_{p,s} serve[p,s] = reachable[t,w,b] · (1 − short[t,w] − tolerated[t,w] + late[t,w])

    for every t, w, b with a rate. Shares of the bucket's rate. One short share covers all buckets of a workload: else
    the longest would be dropped first. It counts requests that are not served and, as ``late``, those served too late
    for the promise. ``reachable`` is 1 but where requests are out of reach of their TTFT
    (:func:`procure.families.latency.program.late_prefill_share`): these longest are never served, and

        reachable[t,w,b] = (1 − out_of_reach[t,w,b]) / (1 − beyond[t,w]),    beyond = Σ_b part[b]·out_of_reach[b].

    What is ``tolerated`` (planned quarters only) counts as served: see :data:`procure.plan.plan.SERVED`. It may
    be used only where everything is to be served; where something must go short, all of it is counted.
    """

    points = group(index.serve, lambda x: (x[0].t, x[0].workload, x[0].bucket))

    def rule(m: Any, t: int, workload: str, bucket: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.serve[p.point, site] for p, site in points.get((t, workload, bucket), [])))
        reachable = index.reachable[t, workload, bucket]
        row.add(reachable, m.short[t, workload])
        if (t, workload) in m.tolerated:
            row.add(reachable, m.tolerated[t, workload])
        if (t, workload) in m.late:
            row.add(-reachable, m.late[t, workload])
        return row.equal(reachable)

    m.demand_met = pyo.Constraint(index.buckets, rule=rule)


def short_counts_late(m: Any, index: Index) -> None:
    """What is served too late for the promise, or is out of its reach, is short.

        late[t,w] + beyond[t,w] ≤ short[t,w] + tolerated[t,w]        for every t, w where requests may be late

    Shares of the workload's rate.
    """

    def rule(m: Any, t: int, workload: str) -> Any:
        row = Terms()
        row.add(1.0, m.late[t, workload])
        row.add(-1.0, m.short[t, workload])
        if (t, workload) in m.tolerated:
            row.add(-1.0, m.tolerated[t, workload])
        return row.at_most(-index.beyond[t, workload])

    m.short_counts_late = pyo.Constraint(list(m.late), rule=rule)


def shortfall_weights(index: Index) -> dict[tuple[int, str], float]:
    """Priority-weighted requests of a planned quarter and workload, as a share of those of all planned quarters."""
    weights: dict[tuple[int, str], float] = {}
    for t, w, b in index.buckets:
        if t in index.planned:
            load = index.workload[w].priority * index.rate[t, w, b] * index.mean_per_peak[t, w, b]
            weights[t, w] = weights.get((t, w), 0.0) + load
    total = sum(weights.values())
    return {key: value / total for key, value in weights.items()} if total else {}


def shortfall_of_quarter(m: Any, index: Index) -> None:
    """The weighted shortfall of a planned quarter, the measure that stage (a) minimises and stage (b) holds.

        Σ_w weight[t,w] · short[t,w] ≤ quarter_short[t]

    Basis points of the priority-weighted requests of all planned quarters.
    """
    weights = shortfall_weights(index)

    def rule(m: Any, t: int) -> Any:
        row = Terms()
        for (quarter, w), weight in weights.items():
            if quarter == t:
                row.add(BASIS_POINTS * weight, m.short[t, w])
        row.add(-1.0, m.quarter_short[t])
        return row.at_most(0.0)

    m.shortfall_of_quarter = pyo.Constraint(index.planned, rule=rule)


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """What unserved requests of look-ahead quarters are worth, each at its own quarter's price; what is tolerated.

    The price on what is tolerated is no money: it keeps a share that could be served from being left out to save its
    power, is more than leaving a workload out could save at a given fleet, and is taken out of what a plan costs.
    """
    unserved: dict[tuple[int, str], float] = {}
    for t, w, b in index.buckets:
        if t not in index.planned:
            requests = index.rate[t, w, b] * index.mean_per_peak[t, w, b] * SECONDS_PER_QUARTER
            unserved[t, w] = unserved.get((t, w), 0.0) + requests
    price = lookup(index.instance["short_prices"], ["t", "workload"], "usd_per_request")
    for (t, w), requests in unserved.items():
        terms.add(price[t, w] * requests * index.discount[t] / USD_PER_UNIT, m.short[t, w])
    saved = _dearest_power(index)
    for key in m.tolerated:
        terms.add((DETERRENT * saved.get(key, 0.0) + LEAST_DETERRENT_USD) / USD_PER_UNIT, m.tolerated[key])


def _dearest_power(index: Index) -> dict[tuple[int, str], float]:
    """Present USD of the power of a workload in a quarter, served in the dearest ways."""
    dearest: dict[tuple[int, str, str], float] = {}
    for costs in (serve_usd(index), prefill_usd(index)):
        most: dict[tuple[int, str, str], float] = {}
        for row, _, usd in costs:
            key = (row.t, row.workload, row.bucket)
            most[key] = max(most.get(key, 0.0), usd)
        for key, usd in most.items():
            dearest[key] = dearest.get(key, 0.0) + usd
    saved: dict[tuple[int, str], float] = {}
    for (t, w, _), usd in dearest.items():
        saved[t, w] = saved.get((t, w), 0.0) + usd
    return saved


PROGRAM = Part((demand_met, short_counts_late, shortfall_of_quarter), add_variables, add_cost)
