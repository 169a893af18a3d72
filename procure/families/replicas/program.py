"""Family 5 in the program: small loads are served by whole instances of their LLMs, by role."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.plan.plan import frame
from procure.program.day import add_way, day_of, share_in
from procure.program.decided import TINY, Decided
from procure.program.declare import More, block_rows, first_stage, first_stage_rows
from procure.program.index import Index, Option, Point, served_by
from procure.program.instances import Kind, Work, in_whole, rounded_up, row_of, whole_kinds, work_of
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.present import add_slowed, ways_of
from procure.quarter import HOURS_PER_DAY
from procure.schema import Role
from procure.timekey import TimeKey


def _most(index: Index, kind: Kind) -> int:
    """Instances beyond which no further one of a kind has work: all of its load, slowest ways, fewest hours."""
    day = index.of(day_of)
    dense = HOURS_PER_DAY / min(day.hours.values())
    slowest: dict[tuple[str, str, bool], float] = {}
    for work in index.of(work_of)[kind]:
        key = (work.what.workload, work.what.bucket, work.decode)
        units = work.units * (dense if work.what.workload in day.waits else 1.0)
        slowest[key] = max(slowest.get(key, 0.0), units)
    return math.ceil(sum(slowest.values()) / row_of(index, kind).busy_units)


def add_variables(m: Any, index: Index) -> None:
    """instances[site, deployment, LLM, role, t], integer; instance_units[site, SKU, t], the units that they take."""
    most: dict[Any, int] = defaultdict(int)
    for kind in index.of(whole_kinds):
        most[kind.held] = max(most[kind.held], _most(index, kind))
    m.instances = first_stage(
        list(most), more=More.HELPS, domain=pyo.NonNegativeIntegers, bounds=lambda _, *key: (0, most[key])
    )
    m.instance_units = first_stage(list(index.of(pools)), more=More.HURTS, domain=pyo.NonNegativeReals)


def pools(index: Index) -> dict[tuple[str, str, int], list[tuple[Any, float]]]:
    """Whole instances by (site, SKU, t), each with the units that one takes."""
    kinds = {kind.held: row_of(index, kind) for kind in index.of(whole_kinds)}
    found: dict[tuple[str, str, int], list[tuple[Any, float]]] = defaultdict(list)
    for key, row in kinds.items():
        found[key[0], row.sku, key[-1]].append((key, row.units))
    return dict(found)


def hours_of(index: Index, kind: Kind) -> list[TimeKey]:
    """Hours of its block in which the work of a kind may be most."""
    return index.of(day_of).rows(kind.at, {work.what.workload for work in index.of(work_of)[kind]})


def work_within_instances(m: Any, index: Index) -> None:
    """The work of a small load is done by whole instances of its LLM, by role.

        Σ_p rate·rack_s/throughput_share·serve[p,s] + Σ_o rate·rack_s·prefill[o,s]
            ≤ usable_share[k]·(GPUs of an instance/GPUs of a unit) · instances[s,d,c,role,t]

    Divided by what one instance does, so that a row is in instances; decode in the roles decode and both, prefill in
    prefill and both. ``throughput_share`` is what layouts of the instance's size reach of the best throughput. An
    instance is up, no spare and busy for the same share of its time as the racks of its pool: a failed server takes its
    instance with it, and no spare is a whole one unless asked for. Instances hold their weights: what a layout's HBM
    has beside them bounds its batch. With parts of the day in each of them (:func:`procure.program.day.add_way`).
    """

    def rule(m: Any, *key: Any) -> Any:
        kind = Kind(*key)
        row, one = Terms(), row_of(index, kind)
        for work in index.of(work_of)[kind._replace(at=kind.at.block)]:
            add_way(m, index, row, work.units / one.busy_units, (work.what, work.site), kind.at)
        row.add(-1.0, m.instances[kind.held])
        return row.at_most(0.0)

    keys = [kind._replace(at=hours) for kind in index.of(whole_kinds) for hours in hours_of(index, kind)]
    m.work_within_instances = block_rows(keys, rule=rule)


def instance_linking(m: Any, index: Index) -> None:
    """No instance, no service; a cut that only tightens the relaxation.

        Σ_{p or o of b} serve or prefill ≤ min(1, work of one instance/work of b) · instances[s,d,c,role,t]

    for every bucket and each of decode and prefill that the role does, with the way that takes least.
    """
    parts: dict[tuple[Any, ...], list[Work]] = {}
    for kind in index.of(whole_kinds):
        for work in index.of(work_of)[kind]:
            what = (Role.DECODE if work.decode else Role.PREFILL).value
            parts.setdefault((*kind, work.what.workload, work.what.bucket, what), []).append(work)

    def rule(m: Any, *key: Any) -> Any:
        kind, row = Kind(*key[:5]), Terms()
        for work in parts[key]:
            row.add(1.0, served_by(m, work.what, work.site))
        least = min(work.units for work in parts[key])
        carried = row_of(index, kind).busy_units / least if least > 0 else 1.0
        row.add(-min(1.0, carried), m.instances[kind.held])
        return row.at_most(0.0)

    m.instance_linking = block_rows(sorted(parts), rule=rule)


def instances_take_units(m: Any, index: Index) -> None:
    """What whole instances take of a pool, and that it is there.

        Σ_{d on k, c, role} units[d,c,role] · instances[s,d,c,role,t] ≤ instance_units[s,k,t]
        instance_units[s,k,t] ≤ own[s,k,t] − reserved − maxq[s,k,t]

    An instance takes 1/⌊GPUs of a unit / its own⌋ of a unit, or ⌈its own / GPUs of a unit⌉ units: several LLMs share a
    rack in whole groups of GPUs, and what is left over once a rack is filled with instances of one size is lost. Which
    instances stand in which rack is not told apart. Racks with whole instances run at full power.
    """

    def taken(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        for key, units in index.of(pools)[site, sku, t]:
            row.add(units, m.instances[key])
        row.add(-1.0, m.instance_units[site, sku, t])
        return row.at_most(0.0)

    def there(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.instance_units[site, sku, t])
        row.add(-1.0, m.own[site, sku, t])
        if (site, sku, t) in m.maxq:
            row.add(1.0, m.maxq[site, sku, t])
        return row.at_most(-index.reserved.get((t, site, sku), 0.0))

    m.instances_take_units = first_stage_rows(sorted(index.of(pools)), rule=taken)
    m.instances_within_units = first_stage_rows(sorted(index.of(pools)), rule=there)


def work_beside_instances(m: Any, index: Index) -> None:
    """Loads that are not counted in whole instances have the rest of a pool.

        Σ of their rate·rack_s·(serve or prefill) / usable_share[k]
            ≤ own[s,k,t] − reserved − instance_units[s,k,t] − (1 − factor[k])·maxq[s,k,t]

    Units; with parts of the day in each of them. Left out where nothing else works in the pool.
    """
    counted, day = index.of(in_whole), index.of(day_of)

    def beside(site: str, sku: str, at: TimeKey) -> list[tuple[Point | Option, str]]:
        return [way for way in ways_of(index, (site, sku, at)) if way not in counted]

    def rule(m: Any, site: str, sku: str, at: TimeKey) -> Any:
        row, usable = Terms(), index.sku[sku].usable_share
        for way in beside(site, sku, at.block):
            add_way(m, index, row, way[0].rate * way[0].rack_s / usable, way, at)
        row.add(-1.0, m.own[site, sku, at.t])
        row.add(1.0, m.instance_units[site, sku, at.t])
        add_slowed(m, index, row, 1.0, (site, sku, at.t))
        return row.at_most(-index.reserved.get((at.t, site, sku), 0.0))

    here = sorted({(kind.site, row_of(index, kind).sku, kind.at) for kind in index.of(whole_kinds)})
    others = {pool: {way.workload for way, _ in beside(*pool)} for pool in here}
    keys = [(*pool[:2], hours) for pool, names in others.items() if names for hours in day.rows(pool[2], names)]
    m.work_beside_instances = block_rows(keys, rule=rule)


def instances(d: Decided) -> pd.DataFrame:
    """Instances that the work of each LLM takes by role, and what rounding adds where the program left them fluid.

    Stated is what the work needs, not what the solver set up: an instance costs nothing by itself.
    """
    rows = []
    for kind, works in sorted(d.index.of(work_of).items()):
        one = row_of(d.index, kind)
        busy = racks = 0.0
        for part in d.index.of(day_of).hours:
            taken = [(work, share_in(d, (work.what, work.site), kind.at.within(part))) for work in works]
            busy = max(busy, sum(work.units * share for work, share in taken if share > TINY) / one.busy_units)
            each = (work.what.rate * work.what.rack_s * share for work, share in taken if share > TINY)
            racks = max(racks, sum(each))
        if busy <= TINY:
            continue
        count = rounded_up(busy)
        fluid = racks / d.index.sku[one.sku].usable_share
        uncounted = 0.0 if one.whole else max(count * one.units - fluid, 0.0)
        rows.append(
            (d.names[kind.at.t], kind.site, kind.llm, kind.deployment, kind.role, one.sku, one.gpus, busy, count,
             count * one.units, bool(one.whole), uncounted, *kind.at.beside)
        )  # fmt: skip
    return frame("instances", rows)


PROGRAM = Part(
    (work_within_instances, instance_linking, instances_take_units, work_beside_instances),
    add_variables,
    tables={"instances": instances},
)
