"""Why nothing fits: the limits that must break for any plan to exist, in a planner's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from procure.families.scales import RESOURCE_PER_UNIT, USD_PER_UNIT
from procure.instance import RESOURCES, Instance
from procure.rules.places import POD_PLACES
from procure.solver.compile import Compiled
from procure.solver.highs import Options, load, new_solver, run

SMALL = 1e-6
"""Breaches of a row below this are the solver's tolerance."""
CARRY_PRICE = 1e-4
"""Objective per unit of budget carried forward, against 1 per unit of breach: money is missing where it is due."""


class Words(NamedTuple):
    """What a broken row of a family says: the limit, its unit and the units per unit of the row, and what its key
    names: ``t`` a quarter, ``at`` a block, ``site``, anything else by itself, ``-`` nothing that a planner needs."""

    limit: str
    unit: str
    key: tuple[str, ...]
    scale: float = 1.0


WORDS = {
    "fleet_balance": Words("the fleet balance", "units", ("site", "sku", "t")),
    "retire_within_group": Words("units that a group can sell", "units", ("group",)),
    "reserved_stands": Words("units reserved for other purposes but not there", "units", ("site", "sku", "t")),
    "demand_met": Words("demand", "of the rate", ("at", "workload", "bucket")),
    "shortfall_of_quarter": Words("the shortfall allowed", "of the weighted demand", ("at",), 1e-4),
    "prefill_where_decoded": Words("prefill", "of the rate", ("at", "site", "workload", "bucket")),
    "work_within_racks": Words("racks that may be busy", "racks", ("site", "sku", "at")),
    "lpx_time_within_copies": Words("LPX time of copies", "racks", ("site", "card", "sku", "at")),
    "lpx_linking": Words("LPX copies set up", "of the rate", ("site", "card", "sku", "at", "workload", "bucket")),
    "lpx_copies_within_racks": Words("LPX racks for copies", "racks", ("site", "sku", "t")),
    "lpx_copies_within_pods": Words("LPX copies in pods", "copies", ("site", "card", "sku", "t")),
    "kept_at_most_served": Words("caches to keep", "of the rate", ("at", "site", "workload")),
    "kept_only_falls": Words("caches kept on", "of the rate", ("at", "site", "workload", "-", "store")),
    "hits_from_kept": Words("returns to kept caches", "of the rate", ("at", "site", "workload", "bucket", "store")),
    "parked_within_store": Words("bytes for parked KV", "TB", ("at", "site", "store")),
    "cmx_reads_in_pods": Words("NVL72 places of pods with CMX, for reading it", "places", ("site", "at")),
    "cmx_sessions_on_readers": Words("racks that read CMX", "racks", ("site", "at")),
    "cmx_sessions_in_pods": Words("NVL72 places of pods with CMX, for its sessions", "places", ("site", "at")),
    "store_reads": Words("read bandwidth of a store", "TB/s", ("at", "site", "store")),
    "reader_limit": Words("what ports read from CMX", "TB/s", ("at", "site", "sku")),
    "store_writes": Words("write bandwidth of a store", "TB/s", ("at", "site", "store")),
    "store_wear": Words("endurance of a store", "TB a day", ("at", "site", "store")),
    "short_counts_late": Words("what may be late without being short", "of the rate", ("at", "workload")),
    "late_prefill_share": Words("the share that may be late", "of the rate", ("at", "workload")),
    "site_limit": Words("{limit}", "{unit}", ("t", "site", "resource")),
    "expansions_at_most": Words("expansions on offer", "times", ("site", "expansion")),
    "kits_within_hosts": Words("drive bays of hosts for kits", "kits", ("site", "sku", "t")),
    "enclosures_in_racks": Words("places of CMX racks for enclosures", "enclosures", ("site", "t")),
    "parts_in_free_hosts": Words("places in hosts that are not reserved", "units", ("site", "at", "hosts")),
    "fitted_within_own": Words("units that are not reserved", "units", ("site", "sku", "at")),
    "no_empty_cmx_rack": Words("CMX enclosures for the CMX racks that stand", "enclosures", ("site", "t")),
    "places_in_pods": Words("{limit} places in pods", "racks", ("site", "t", "places")),
    "pods_stay": Words("pods once opened", "pods", ("site", "t")),
    "supply_cap": Words("what the supplier sells in a quarter", "units", ("sku", "t")),
    "minimum_order": Words("the minimum order", "units", ("sku", "t")),
    "order_placed": Words("the largest order", "units", ("sku", "t")),
    "budget_limit": Words("budget", "USD", ("t",), USD_PER_UNIT),
}
"""Every row family of the program in the planner's words."""


def in_words(family: str, key: Sequence[Any], over: float, quarters: list[str]) -> str:
    """A broken row as a planner says it: quarter, limit, site, by how much."""
    words = WORDS.get(family)
    if words is None:  # a family that brings no words of its own
        return f"{family}[{', '.join(map(str, key))}] exceeded by {over:,.6g}"
    limit, unit, scale = words.limit, words.unit, words.scale
    when, where, about = "", "", []
    for name, value in zip(words.key, key, strict=True):
        if name == "t":
            when = f"{quarters[value]}: "
        elif name == "at":
            when = f"{value.among(quarters)}: "
        elif name == "site":
            where = f" at {value}"
        elif name == "resource":
            (limit, unit), scale = RESOURCES[value], RESOURCE_PER_UNIT[value]
        elif name == "places":
            limit = limit.format(limit=POD_PLACES[value])
        elif name != "-":
            about.append(str(value))
    of = f" ({', '.join(about)})" if about else ""
    return f"{when}{limit}{where} exceeded by {over * scale:,.6g} {unit}{of}"


def smallest_violation(compiled: Compiled, options: Options, instance: Instance) -> list[str]:
    """The limits that must break for anything to fit, with the least total breach; for programs without any plan.

    Each row is charged what it is exceeded by, in its own unit. Budget may be carried as the case allows, but no more
    than closes a gap: a breach is told in the quarter whose payments are due, not in one that could have saved for it.
    """
    values, over = _least_breach(compiled, options, whole=False)
    if values is not None and not (over > SMALL).any():
        values, over = _least_breach(compiled, options, whole=True)
    if values is None:
        return ["no limit was found within the time whose breach would let a plan exist; allow more time"]
    quarters = instance.quarters
    lines = []
    for i in np.flatnonzero(over > SMALL):
        family, key = compiled.keys[i]
        if family == "budget_limit":
            lines.append(_budget_in_words(compiled, instance, values, int(i), float(over[i])))
        else:
            lines.append(in_words(family, key, float(over[i]), quarters))
    return lines


def _least_breach(compiled: Compiled, options: Options, whole: bool) -> tuple[np.ndarray | None, np.ndarray]:
    """Values of the columns, and what each row is exceeded by, at the least total breach."""
    most, least = np.isfinite(compiled.row_upper), np.isfinite(compiled.row_lower)
    loose = np.flatnonzero(most != least)  # equations only count and split; they can always be met
    rows, columns = compiled.matrix.shape
    way = np.where(most[loose], -1.0, 1.0)
    slack = sparse.csr_matrix((way, (loose, np.arange(len(loose)))), shape=(rows, len(loose)))
    carried = np.array([name.startswith("carry[") for name in compiled.columns])
    solver = new_solver(options)
    load(
        solver,
        sparse.csr_matrix(sparse.hstack([compiled.matrix, slack])),
        np.append(np.where(carried, CARRY_PRICE, 0.0), np.ones(len(loose))),
        (compiled.row_lower, compiled.row_upper),
        (
            np.append(compiled.col_lower, np.zeros(len(loose))),
            np.append(compiled.col_upper, np.full(len(loose), np.inf)),
        ),
        np.append(compiled.integer, np.zeros(len(loose), dtype=bool)) if whole else None,
    )
    answer = run(solver, options.left(), is_mip=whole)
    over = np.zeros(rows)
    if answer.values is None:
        return None, over
    over[loose] = answer.values[columns:]
    return answer.values[:columns], over


def _budget_in_words(compiled: Compiled, instance: Instance, values: np.ndarray, row: int, over: float) -> str:
    """What is due in a quarter, its budget, and what could be carried in, in USD."""
    t = compiled.keys[row][1][0]
    budget = dict(zip(instance["budget"]["t"], instance["budget"]["budget_usd"], strict=True))
    value = dict(zip(compiled.columns, values.tolist(), strict=True))
    carried_out, carried_in = value.get(f"carry[{t}]", 0.0), value.get(f"carry[{t - 1}]", 0.0)
    spent = float((compiled.matrix[row] @ values)[0]) - carried_out + carried_in - compiled.row_upper[row]
    due_usd = spent * USD_PER_UNIT + budget[t]
    return (
        f"{instance['quarters']['quarter'][t]}: short of budget by {over * USD_PER_UNIT:,.0f} USD ({due_usd:,.0f} USD "
        f"due, {budget[t]:,.0f} budgeted, {carried_in * USD_PER_UNIT:,.0f} carried in)"
    )
