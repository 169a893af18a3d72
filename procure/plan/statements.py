"""What a plan states beside its decisions, recomputed from them: SLA, demand, placement of caches, money."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from procure.demand.tasks import task_s
from procure.plan.first_token import first_tokens
from procure.plan.money import costs_table
from procure.plan.tolerance import MONEY, differ

if TYPE_CHECKING:
    import pandas as pd

    from procure.instance import Instance
    from procure.plan.plan import Plan

SPANS = ("lookahead", "planned")
"""The word for a quarter's span, by the flag ``planned`` of the instance."""


def compare(label: str, row: Any, wanted: dict[str, float]) -> Iterable[str]:
    """The columns of a row that are not what they should be; what is missing on both sides is the same."""
    for name, value in wanted.items():
        stated = float(getattr(row, name))
        if not (math.isnan(stated) and math.isnan(value)) and differ(stated, value):
            yield f"{label}: {name} is {value:g}, not {getattr(row, name):g}"


def structure(plan: Plan, instance: Instance) -> Iterable[str]:
    """Pods stay, LPX copies take the racks of their card, expansions are ones that the site offers, at their price."""
    position = instance.position
    planned = dict(zip(instance.quarters, instance["quarters"]["planned"], strict=True))
    before: dict[str, float] = defaultdict(float)
    sites = set(instance["pods"]["site"])
    for r in sorted(plan.tables["pods"].itertuples(), key=lambda r: position[r.quarter]):
        if r.site not in sites:
            yield f"{r.quarter} {r.site}: pods at a site that the case does not have"
        if r.pods % 1 or r.pods < before[r.site]:
            yield f"{r.quarter} {r.site}: {r.pods:g} pods after {before[r.site]:g}"
        before[r.site] = r.pods
    racks = {(r.card, r.sku): r.racks_per_copy for r in instance["lpx_copies"].itertuples()}
    for r in plan.tables["lpx_copies"].itertuples():
        if r.copies % 1 or r.copies < 0 or r.racks != r.copies * racks[r.card, r.sku]:
            yield f"{r.quarter} {r.site}: {r.copies:g} copies of {r.card} in {r.racks:g} racks of {r.sku}"
    offered = {(r.site, r.expansion): r for r in instance["expansions"].itertuples()}
    total: dict[tuple[str, str], float] = defaultdict(float)
    for r in plan.tables["expansions"].itertuples():
        row, label = offered[r.site, r.expansion], f"{r.quarter} {r.site} {r.expansion}"
        total[r.site, r.expansion] += r.count
        if r.count % 1 or r.count <= 0 or total[r.site, r.expansion] > row.max_count:
            yield f"{label}: {total[r.site, r.expansion]:g} of {row.max_count:g} offered"
        if position[r.quarter] + row.lead_quarters >= len(position):
            yield f"{label}: not ready inside the horizon"
        if differ(r.capex_usd, r.count * row.capex_usd) or r.span != SPANS[planned[r.quarter]]:
            yield f"{label}: {r.capex_usd:,.0f} USD, span {r.span}"


def sla(plan: Plan, instance: Instance) -> Iterable[str]:
    """Shares served, late and in time, targets, the TTFT reached, and seconds of a task."""
    names, position = instance.quarters, instance.position
    given = first_tokens(instance, plan.tables["prefill"])
    asked: dict[tuple[str, str], float] = defaultdict(float)
    for r in instance["rates"].itertuples():
        asked[names[r.t], r.workload] += r.requests_per_s
    targets = {r.workload: r for r in instance["workloads"].itertuples()}
    tasks = {(r.t, r.workload): r for r in instance["tasks"].itertuples()}
    stated = {(r.quarter, r.workload): r for r in plan.tables["sla"].itertuples()}
    for key in stated:
        if asked.get(key, 0.0) <= 0:
            yield f"{' '.join(key)}: in the SLA table, though nothing is asked for"
    for key, rate in asked.items():
        label = " ".join(key)
        if rate <= 0:
            continue
        if key not in stated:
            yield f"{label}: not in the SLA table"
            continue
        row, target, first = stated[key], targets[key[1]], given[key]
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


def demand(plan: Plan, instance: Instance) -> Iterable[str]:
    """Rates, lengths and bytes are those of the case."""
    names = instance.quarters
    rate = {(r.t, r.workload, r.bucket): r.requests_per_s for r in instance["rates"].itertuples()}
    stated = {(r.quarter, r.workload, r.bucket): r for r in plan.tables["demand"].itertuples()}
    known = {(names[r.t], r.workload, r.bucket) for r in instance["lengths"].itertuples()}
    for key in stated.keys() - known:
        yield f"{' '.join(map(str, key))}: in the demand table, not in the case"
    for r in instance["lengths"].itertuples():
        key = (names[r.t], r.workload, r.bucket)
        label = " ".join(map(str, key))
        if key not in stated:
            yield f"{label}: not in the demand table"
            continue
        columns = ("input_tokens", "input_upper_tokens", "thinking_tokens", "visible_tokens", "kv_bytes")
        wanted = {name: getattr(r, name) for name in columns}
        yield from compare(label, stated[key], {"requests_per_s": rate[r.t, r.workload, r.bucket], **wanted})


def placement(plan: Plan, instance: Instance) -> Iterable[str]:
    """Hits, longest ages and tiers of what is parked, and nothing that is not kept."""
    position = instance.position
    age = {(r.t, r.workload, r.interval): r.age_to_s for r in instance["ages"].itertuples()}
    tier = dict(zip(instance["stores"]["store"], instance["stores"]["tier"], strict=True))
    hits: dict[Any, float] = defaultdict(float)
    for r in plan.tables["prefill"].itertuples():
        if r.store != "recompute":
            hits[r.quarter, r.site, r.workload, r.store] += r.requests_per_s
    longest: dict[Any, float] = {}
    for r in plan.tables["retention"].itertuples():
        key = (r.quarter, r.site, r.workload, r.store)
        longest[key] = max(longest.get(key, 0.0), age[position[r.quarter], r.workload, r.interval])
    for r in plan.tables["kv_placement"].itertuples():
        key = (r.quarter, r.site, r.workload, r.store)
        if key not in longest:
            yield f"{' '.join(key)}: in kv_placement, though nothing is kept"
        if tier[r.store] != r.tier:
            yield f"{' '.join(key)}: tier is {tier[r.store]}, not {r.tier}"
        wanted = {"hits_per_s": hits[key], "longest_age_s": longest.get(key, 0.0)}
        yield from compare(" ".join(key), r, wanted)


def present_values(plan: Plan, recomputed: pd.DataFrame) -> Iterable[str]:
    """Discount factors, spans and present values of the cash rows; every cost line and span."""
    factor = {r.quarter: (r.discount_factor, r.span) for r in recomputed.itertuples()}
    for r in plan.tables["cash"].itertuples():
        label = f"{r.quarter} {r.line} {r.site} {r.sku}"
        wanted, span = factor.get(r.quarter, (r.discount_factor, r.span))
        if differ(r.discount_factor, wanted, 1e-9) or r.span != span:
            yield f"{label}: factor {r.discount_factor:g} and span {r.span}, not {wanted:g} and {span}"
        if abs(r.npv_usd - r.cash_usd * wanted) > MONEY * abs(r.cash_usd) + 1.0:
            yield f"{label}: worth {r.cash_usd * wanted:,.0f} USD, not {r.npv_usd:,.0f}"
    stated = {(r.line, r.span): r.npv_usd for r in plan.tables["costs"].itertuples()}
    lines = costs_table(recomputed)
    for key in stated.keys() - set(zip(lines["line"], lines["span"], strict=True)):
        yield f"costs of {', '.join(key)}: no such line"
    for r in lines.itertuples():
        value = stated.get((r.line, r.span), math.nan)
        if not abs(value - r.npv_usd) <= MONEY * abs(r.npv_usd) + 1.0:
            yield f"costs of {r.line}, {r.span}: {r.npv_usd:,.0f} USD, not {value:,.0f}"
