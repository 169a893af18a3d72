"""First tokens checked: late ones against the promise, and every column of the SLA table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from procure.demand.tasks import task_s
from procure.instance import Instance
from procure.instance.tables import Rate, Task, Workload
from procure.plan.first_token import first_tokens
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Service
from procure.plan.tolerance import SHARE, compare, over


def limits(s: Standing, rows: Rows) -> None:
    """Late first tokens against the share that may be late, and what is counted short beyond it."""
    rate = {(r.quarter, r.workload): r.requests_per_s for r in Service.rows(s.tables["sla"])}
    short = {(r.quarter, r.workload): r.late_share for r in Service.rows(s.tables["sla"])}
    for key, first in sorted(first_tokens(s.instance, s.tables["prefill"], s.tables["shipments"]).items()):
        if first.late_per_s > 0 and key in rate:
            limit = first.allowed_per_s + short[key] * rate[key]
            rows.add("late first tokens", key[0], "", key[1], first.late_per_s, limit, "requests/s")


def in_time(plan: Plan, instance: Instance) -> Iterable[str]:
    """What is late beyond the promise, or out of its reach, is counted short."""
    stated = {(r.quarter, r.workload): r for r in plan.rows(Service)}
    asked = {r.workload: r.ttft_share for r in instance.rows(Workload)}
    for (quarter, workload), first in first_tokens(instance, plan.tables["prefill"], plan.tables["shipments"]).items():
        row = stated.get((quarter, workload))
        if row is None:
            continue  # said of the SLA table
        counted = first.allowed_per_s + row.late_share * row.requests_per_s
        if over(first.late_per_s, counted) and first.late_per_s - counted > SHARE * row.requests_per_s:
            yield (
                f"{quarter} {workload}: {first.in_time_share:.1%} in time, {asked[workload]:.1%} asked for, "
                f"{row.late_share:.1%} counted short for it"
            )
        if row.late_share + first.out_of_reach_share > row.short_share + 2 * SHARE:
            yield f"{quarter} {workload}: {row.short_share:.1%} short, of which late and out of reach are more"


def stated(plan: Plan, instance: Instance) -> Iterable[str]:
    """Shares served, late and in time, targets, the TTFT reached, and seconds of a task."""
    names, position = instance.quarters, instance.position
    given = first_tokens(instance, plan.tables["prefill"], plan.tables["shipments"])
    asked: dict[tuple[str, str], float] = defaultdict(float)
    for r in instance.rows(Rate):
        asked[names[r.t], r.workload] += r.requests_per_s
    targets = {r.workload: r for r in instance.rows(Workload)}
    tasks = {(r.t, r.workload): r for r in instance.rows(Task)}
    told = {(r.quarter, r.workload): r for r in plan.rows(Service)}
    for key in told:
        if asked.get(key, 0.0) <= 0:
            yield f"{' '.join(key)}: in the SLA table, though nothing is asked for"
    for key, rate in asked.items():
        label = " ".join(key)
        if rate <= 0:
            continue
        if key not in told:
            yield f"{label}: not in the SLA table"
            continue
        row, target, first = told[key], targets[key[1]], given[key]
        task = tasks[position[key[0]], key[1]]
        if not -1e-9 <= row.short_share <= 1.0 + 1e-9:
            yield f"{label}: a share of {row.short_share:g} short"
        yield from compare(
            label,
            row,
            {
                "requests_per_s": rate,
                "served_share": 1.0 - row.short_share,
                "ttft_target_s": target.ttft_target_s,
                "tps_target": target.tps_target,
                "ttft_share": first.in_time_share,
                "task_s": float(task_s(task.calls, first.mean_s, task.output_s, task.tool_s)),
                "late_share": first.late_share,
                "out_of_reach_share": first.out_of_reach_share,
                "ttft_share_asked": target.ttft_share,
                "ttft_reached_s": first.reached_s,
            },
        )


CHECK = Check(
    limits,
    {"SLA: time to first token": in_time, "SLA: shares, targets and tasks are as stated": stated},
)
