"""Family 2: every request is served or counted as short."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.program.index import Index
from procure.program.linear import Terms


def demand_met(m: Any, index: Index) -> None:
    """Each length bucket is served to the same share of what is within reach of its TTFT.

        Σ_{p,s} serve[p,s] = reachable[t,w,b] · (1 − short[t,w] − tolerated[t,w] + late[t,w])

    for every t, w, b with a rate. Shares of the bucket's rate. One short share covers all buckets of a workload: else
    the longest would be dropped first. It counts requests that are not served and, as ``late``, those served too late
    for the promise. ``reachable`` is 1 but where requests are out of reach of their TTFT
    (:func:`procure.program.latency.late_prefill_share`): these longest are never served, and

        reachable[t,w,b] = (1 − out_of_reach[t,w,b]) / (1 − beyond[t,w]),    beyond = Σ_b part[b]·out_of_reach[b].

    What is ``tolerated`` (planned quarters only) counts as served: see :data:`procure.plan.plan.SERVED`. It may
    be used only where everything is to be served; where something must go short, all of it is counted.
    """

    def rule(m: Any, t: int, workload: str, bucket: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.serve[p.point, site] for p, site in index.serve_by_bucket.get((t, workload, bucket), [])))
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

    m.short_counts_late = pyo.Constraint(index.may_be_late, rule=rule)


BASIS_POINTS = 1e4
"""Shortfall is in ten-thousandths of the weighted demand, so that the solver's tolerance is far below what matters."""


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
