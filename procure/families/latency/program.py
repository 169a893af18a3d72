"""Family 9 in the program: enough requests see their first token in time."""

from __future__ import annotations

from typing import Any

import pandas as pd

from procure.demand.tasks import task_s
from procure.plan.first_token import first_tokens
from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import block_rows, recourse
from procure.program.index import ALL, Index, Option, Pair, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.timekey import TimeKey


def late_share(index: Index, way: Option | Pair) -> float:
    """Late share of the requests of a bucket that are within reach: those out of it are its longest."""
    away = index.out_of_reach[way.at, way.workload, way.bucket]
    return max(way.late_share - away, 0.0) / (1.0 - away) if away < ALL else 0.0


def later_pairs(index: Index) -> dict[tuple[TimeKey, str], list[tuple[float, Pair]]]:
    """Pairs of sites that make more requests late than the sending site alone, with the share; by (block, workload)."""
    option = {o.option: o for o, _ in index.prefill}
    later = [(late_share(index, pair) - late_share(index, option[pair.option]), pair) for pair in index.ships]
    return group((x for x in later if x[0] > 0), lambda x: (x[1].at, x[1].workload))


def late_options(index: Index) -> dict[tuple[TimeKey, str], list[tuple[Option, str]]]:
    """Ways to prefill that make some requests late, with their sites, by (block, workload)."""
    return group((x for x in index.prefill if late_share(index, x[0]) > 0), lambda x: (x[0].at, x[0].workload))


def add_variables(m: Any, index: Index) -> None:
    """late[at, workload]: share of the workload's rate that is served too late for the promise; a part of short."""
    away = {key for key, share in index.beyond.items() if share > 0}
    m.late = recourse(sorted({*index.of(late_options), *index.of(later_pairs), *away}), bounds=(0, 1))


def late_prefill_share(m: Any, index: Index) -> None:
    """Requests whose first token comes too late are at most the share that may be late, or are counted short.

        Σ_{s,o} rate·late_share[o]·prefill[o,s] + Σ_{o,s→s'} rate·(late_share[o,s→s'] − late_share[o])·ship[o,s→s']
            ≤ (1 − ttft_share[w])/(1 − beyond[t,w]) · Σ_{s,p} rate·serve[p,s] + Σ_b rate · late[t,w]    for every t, w

    Shares of the workload's rate. ``late_share`` of a way comes from the distribution of lengths inside its bucket,
    hits as well as full prefills: so what changes with the target changes by as much as there are requests. Late
    requests beyond the allowance are served, late, and counted short by ``late``, one for one: 14% late where 10% may
    be are 4% short. They take the capacity that they take: were they dropped instead, a plan short of racks would
    call its longest requests late to be rid of them.

    Only what no hardware in play brings in time, beyond the allowance, is not served at all (``out_of_reach``, the
    longest requests): no racks are bought for requests that are short whatever is bought. The rest of such a bucket is
    late by (late_share − out_of_reach)/(1 − out_of_reach). ``(1 − short + late)/(1 − beyond)``, which Σ serve gives,
    is the share of the workload that is not dropped for lack of capacity.
    """
    late, later = index.of(late_options), index.of(later_pairs)
    serving = group(index.serve, lambda x: (x[0].at, x[0].workload))

    def rule(m: Any, at: TimeKey, workload: str) -> Any:
        row = Terms()
        total = index.load_rate[at, workload]
        for o, s in late.get((at, workload), []):
            row.add(late_share(index, o) * o.rate / total, m.prefill[o.option, s])
        for more, pair in later.get((at, workload), []):
            row.add(more * pair.rate / total, m.ship[pair.key])
        allowed = (1.0 - index.workload[workload].ttft_share) / (1.0 - index.beyond[at, workload])
        for p, s in serving.get((at, workload), []):
            row.add(-allowed * p.rate / total, m.serve[p.point, s])
        row.add(-1.0, m.late[at, workload])
        return row.at_most(0.0)

    within_reach = [key for key in sorted({*late, *later}) if index.beyond[key] < ALL]
    m.late_prefill_share = block_rows(within_reach, rule=rule)


def sla(d: Decided) -> pd.DataFrame:
    """What each workload gets: share served, share in time to the first token, seconds of a task.

    The share late beyond the promise is worked out from the prefill, so that a price of zero cannot leave it slack.
    """
    first = first_tokens(d.index.instance, d.table("prefill"), d.table("shipments"))
    rows = []
    for at, w in d.index.loads:
        given, target, task = first[d.names[at.t], w], d.index.workload[w], d.index.task[at, w]
        late = given.late_share
        short = d.value(d.m.short[at, w]) + (d.value(d.m.tolerated[at, w]) if (at, w) in d.m.tolerated else 0.0)
        short += late - (d.value(d.m.late[at, w]) if (at, w) in d.m.late else 0.0)
        short = min(short, 1.0) if short > TINY else 0.0
        seconds = float(task_s(task.calls, given.mean_s, task.output_s, task.tool_s))
        rows.append(
            (d.names[at.t], w, d.index.load_rate[at, w], 1.0 - short, short, "", target.ttft_target_s,
             given.in_time_share, target.tps_target, seconds, late, given.out_of_reach_share, target.ttft_share,
             given.reached_s, *at.beside)
        )  # fmt: skip
    return frame("sla", rows)


PROGRAM = Part((late_prefill_share,), add_variables, tables={"sla": sla})
