"""Family 2 in the program: every request is served or counted as short."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.families.scales import BASIS_POINTS, USD_PER_UNIT
from procure.instance.tables import Length
from procure.plan.plan import frame
from procure.plan.status import SERVED
from procure.program.decided import TINY, Decided
from procure.program.declare import More, block_rows, first_stage, recourse
from procure.program.index import Index, group, lookup
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.power import prefill_usd, serve_usd
from procure.quarter import SECONDS_PER_QUARTER
from procure.rules.objective import Objective
from procure.timekey import TimeKey

DETERRENT = 100.0
"""What is tolerated costs this many times the dearest power of its workload: freeing a rack for others saves less."""
ALL_SHORT = 1.001 * BASIS_POINTS
"""Basis points that a quarter may be short of where no shortfall is ranked: all that there is, and a little."""
LEAST_DETERRENT_USD = 1_000.0
"""The same where power is free, USD for the whole workload; of which at most the tolerated share is ever counted."""


def add_variables(m: Any, index: Index) -> None:
    """What is served and what is short, continuous.

    Recourse, in the block ``at`` of the point or the key: serve[point, site] share of the rate of its bucket;
    short[at, workload] share unserved or served too late for the promise; tolerated[at, workload] share unserved that
    counts as served, in planned quarters. First stage: quarter_short[at] weighted shortfall that a block of a planned
    quarter may have, in basis points of the weighted demand of all planned quarters; all of it, and nothing tolerated,
    where the objective ranks no shortfall. all_served[0] is 1: the income of everything is counted with it.

    Shares are at most 1 by their rows, here and in other families; that they say so themselves leaves the solver less
    to find out, and bounds the columns of a block, so that any prices of its rows bound its cost
    (:meth:`procure.solver.blocks.Block.cut`).
    """
    blocks = {p.point: p.at for p, _ in index.serve}
    m.serve = recourse([(p.point, site) for p, site in index.serve], blocks=blocks, bounds=(0, 1))
    m.short = recourse(index.loads, bounds=(0, 1))
    ranked = index.of(objective).ranked
    counted = [(at, w) for at, w in index.loads if ranked and at.t in index.planned]
    m.tolerated = recourse(counted, tolerated=True, bounds=(0, SERVED))
    in_plan = [at for at in index.blocks if at.t in index.planned]
    m.quarter_short = first_stage(in_plan, more=More.HELPS, domain=pyo.NonNegativeReals)
    m.all_served = first_stage([0], bounds=(1.0, 1.0))
    if not ranked:
        for at in in_plan:
            m.quarter_short[at].setlb(ALL_SHORT)
            m.quarter_short[at].setub(ALL_SHORT)


def objective(index: Index) -> Objective:
    """What the plan is chosen by."""
    return Objective(str(index.instance.settings["objective"]))


def demand_met(m: Any, index: Index) -> None:
    """Each length bucket is served to the same share of what is within reach of its TTFT.

        Σ_{p,s} serve[p,s] = reachable[t,w,b] · (1 − short[t,w] − tolerated[t,w] + late[t,w])

    for every t, w, b with a rate. Shares of the bucket's rate. One short share covers all buckets of a workload: else
    the longest would be dropped first. It counts requests that are not served and, as ``late``, those served too late
    for the promise. ``reachable`` is 1 but where requests are out of reach of their TTFT
    (:func:`procure.families.latency.program.late_prefill_share`): these longest are never served, and

        reachable[t,w,b] = (1 − out_of_reach[t,w,b]) / (1 − beyond[t,w]),    beyond = Σ_b part[b]·out_of_reach[b].

    What is ``tolerated`` (planned quarters only) counts as served: see :data:`procure.plan.status.SERVED`. It may
    be used only where everything is to be served; where something must go short, all of it is counted.
    """

    points = group(index.serve, lambda x: (x[0].at, x[0].workload, x[0].bucket))

    def rule(m: Any, at: TimeKey, workload: str, bucket: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.serve[p.point, site] for p, site in points.get((at, workload, bucket), [])))
        reachable = index.reachable[at, workload, bucket]
        row.add(reachable, m.short[at, workload])
        if (at, workload) in m.tolerated:
            row.add(reachable, m.tolerated[at, workload])
        if (at, workload) in m.late:
            row.add(-reachable, m.late[at, workload])
        return row.equal(reachable)

    m.demand_met = block_rows(index.buckets, rule=rule)


def short_counts_late(m: Any, index: Index) -> None:
    """What is served too late for the promise, or is out of its reach, is short.

        late[t,w] + beyond[t,w] ≤ short[t,w] + tolerated[t,w]        for every t, w where requests may be late

    Shares of the workload's rate.
    """

    def rule(m: Any, at: TimeKey, workload: str) -> Any:
        row = Terms()
        row.add(1.0, m.late[at, workload])
        row.add(-1.0, m.short[at, workload])
        if (at, workload) in m.tolerated:
            row.add(-1.0, m.tolerated[at, workload])
        return row.at_most(-index.beyond[at, workload])

    m.short_counts_late = block_rows(list(m.late), rule=rule)


def least_share_served(m: Any, index: Index) -> None:
    """No plan serves less of a workload than the share that the case states.

        short[t,w] ≤ 1 − min_served_share[w]        for every planned t and w with a share stated

    Shares of the workload's rate; ``short`` counts late requests, so what is served is served as promised. A fleet that
    breaks it is cut off: no shortfall mends it. What is ``tolerated`` counts as served here as everywhere.
    """
    least = {w: row.min_served_share for w, row in index.workload.items() if row.min_served_share > 0}

    def rule(m: Any, at: TimeKey, workload: str) -> Any:
        row = Terms()
        row.add(1.0, m.short[at, workload])
        return row.at_most(1.0 - least[workload])

    held = [(at, w) for at, w in index.loads if at.t in index.planned and w in least]
    m.least_share_served = block_rows(held, rule=rule)


def shortfall_weights(index: Index) -> dict[tuple[TimeKey, str], float]:
    """Priority-weighted requests (or tokens) of a block and workload, as a share of those of all planned quarters."""
    weights: dict[tuple[TimeKey, str], float] = {}
    tokens = index.of(tokens_per_request) if index.of(objective).tokens else {}
    for at, w, b in index.buckets:
        if at.t in index.planned:
            load = index.workload[w].priority * index.rate[at, w, b] * index.mean_per_peak[at, w, b]
            load *= tokens.get((at, w, b), 1.0)
            weights[at, w] = weights.get((at, w), 0.0) + load
    total = sum(weights.values())
    return {key: value / total for key, value in weights.items()} if total else {}


def tokens_per_request(index: Index) -> dict[tuple[TimeKey, str, str], float]:
    """Input and output of a request of each bucket."""
    rows = index.timed_rows(Length)
    return {(at, r.workload, r.bucket): r.input_tokens + r.thinking_tokens + r.visible_tokens for at, r in rows}


def shortfall_of_quarter(m: Any, index: Index) -> None:
    """The weighted shortfall of a planned quarter, the measure that stage (a) minimises and stage (b) holds.

        Σ_w weight[t,w] · short[t,w] ≤ quarter_short[t]

    Basis points of the priority-weighted requests of all planned quarters, or tokens, as the objective counts. A fleet
    that cannot serve within the shortfall allowed breaks this row and no other: more of ``quarter_short`` mends it.
    """
    weights = shortfall_weights(index)

    def rule(m: Any, at: TimeKey) -> Any:
        row = Terms()
        for (block, w), weight in weights.items():
            if block == at:
                row.add(BASIS_POINTS * weight, m.short[at, w])
        row.add(-1.0, m.quarter_short[at])
        return row.at_most(0.0)

    m.shortfall_of_quarter = block_rows(list(m.quarter_short), rule=rule, mended_by="quarter_short")


def add_cost(m: Any, index: Index, terms: Terms) -> None:
    """What unserved requests are worth, each at its own quarter's price; what is tolerated.

        Σ price[t,w]·requests[t,w]·discount[t]·short[t,w]        over the look-ahead, or all t if it is priced
        − Σ price[t,w]·requests[t,w]·discount[t]·(1 − short[t,w])        over all t, with the objective ``max_margin``

    What is short earns nothing, late first tokens too: it was not what was promised.
    The price on what is tolerated is no money: it keeps a share that could be served from being left out to save its
    power, is more than leaving a workload out could save at a given fleet, and is taken out of what a plan costs.
    """
    by, unserved = index.of(objective), dict[tuple[TimeKey, str], float]()
    for at, w, b in index.buckets:
        if at.t not in index.planned or not by.ranked:
            requests = index.rate[at, w, b] * index.mean_per_peak[at, w, b] * SECONDS_PER_QUARTER
            unserved[at, w] = unserved.get((at, w), 0.0) + requests
    price = lookup(index.instance["short_prices"], ["t", "workload"], "usd_per_request")
    for (at, w), requests in unserved.items():
        worth = price[at.t, w] * requests * index.discount[at.t] / USD_PER_UNIT
        terms.add(worth, m.short[at, w])
        if by.earns:
            terms.add(-worth, m.all_served[0])
    saved = _dearest_power(index)
    for key in m.tolerated:
        terms.add((DETERRENT * saved.get(key, 0.0) + LEAST_DETERRENT_USD) / USD_PER_UNIT, m.tolerated[key])


def _dearest_power(index: Index) -> dict[tuple[TimeKey, str], float]:
    """Present USD of the power of a workload in a block, served in the dearest ways."""
    dearest: dict[tuple[TimeKey, str, str], float] = {}
    for costs in (serve_usd(index), prefill_usd(index)):
        most: dict[tuple[TimeKey, str, str], float] = {}
        for row, _, usd in costs:
            key = (row.at, row.workload, row.bucket)
            most[key] = max(most.get(key, 0.0), usd * index.discount[row.at.t])
        for key, usd in most.items():
            dearest[key] = dearest.get(key, 0.0) + usd
    saved: dict[tuple[TimeKey, str], float] = {}
    for (at, w, _), usd in dearest.items():
        saved[at, w] = saved.get((at, w), 0.0) + usd
    return saved


def serving(d: Decided) -> pd.DataFrame:
    """Operating points that are used."""
    told = d.index.instance["serve"].set_index("point")[["distance", "low", "evidence"]].T.to_dict("list")
    rows = []
    for p, site in d.index.serve:
        share = d.value(d.m.serve[p.point, site])
        if share > TINY:
            rate = share * p.rate
            rows.append(
                (d.names[p.at.t], site, p.workload, p.bucket, p.deployment, p.sku, rate, rate * p.rack_s,
                 rate * p.lpx_rack_s, *told[p.point], p.point, *p.at.beside)
            )  # fmt: skip
    return frame("serving", rows)


def demand(d: Decided) -> pd.DataFrame:
    """What is asked for, whether or not it is served."""
    rows = [
        (d.names[at.t], r.workload, r.bucket, d.index.rate.get((at, r.workload, r.bucket), 0.0), r.input_tokens,
         r.input_upper_tokens, r.thinking_tokens, r.visible_tokens, r.kv_bytes, *at.beside)
        for at, r in d.index.timed_rows(Length)
    ]  # fmt: skip
    return frame("demand", rows)


PROGRAM = Part(
    (demand_met, short_counts_late, least_share_served, shortfall_of_quarter),
    add_variables,
    add_cost,
    tables={"serving": serving, "demand": demand},
)
