"""Family 5 in the program: small loads are served by whole instances of their LLMs, by role."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import pyomo.environ as pyo

from procure.instance.tables import InstanceRate, InstanceRow
from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import More, block_rows, first_stage, first_stage_rows
from procure.program.index import Index, Option, Point
from procure.program.linear import Terms
from procure.program.part import Part
from procure.schema import Role
from procure.timekey import TimeKey

LEAST = 1e-5
"""Part of an instance that is the solver's tolerance, not work."""


class Kind(NamedTuple):
    """Instances of an LLM on a deployment of a site in a block, in one role."""

    site: str
    deployment: str
    llm: str
    role: str
    at: TimeKey

    @property
    def held(self) -> tuple[str, str, str, str, int]:
        """The key of those that are set up, whatever the block."""
        return (self.site, self.deployment, self.llm, self.role, self.at.t)


class Work(NamedTuple):
    """Work that instances may do: busy units for all of a bucket's rate, decoded at a point or prefilled in a way."""

    units: float
    what: Point | Option
    site: str
    decode: bool

    def variable(self, m: Any) -> Any:
        """The share of the bucket's rate that is served so."""
        if isinstance(self.what, Point):
            return m.serve[self.what.point, self.site]
        return m.prefill[self.what.option, self.site]


def rows_of(index: Index) -> dict[tuple[int, str, str, str], InstanceRow]:
    """Rows of the table ``instances`` by (t, LLM, deployment, role)."""
    return {(row.t, row.llm, row.deployment, row.role): row for row in index.instance.rows(InstanceRow)}


def work_of(index: Index) -> dict[Kind, list[Work]]:
    """The work of each kind of instance: decode at the throughput of their size, prefill at its own."""
    rows = index.of(rows_of)
    share = {(r.t, r.workload, r.bucket, r.deployment): r.throughput_share for r in index.instance.rows(InstanceRate)}

    def found() -> Iterator[tuple[Kind, Work]]:
        for p, site in index.serve:
            llm = index.workload[p.workload].llm
            part = share.get((p.at.t, p.workload, p.bucket, p.deployment), 1.0)
            for role in (Role.DECODE, Role.BOTH):
                if (p.at.t, llm, p.deployment, role) in rows:
                    yield Kind(site, p.deployment, llm, role.value, p.at), Work(p.rate * p.rack_s / part, p, site, True)
        for o, site in index.prefill:
            llm = index.workload[o.workload].llm
            for role in (Role.PREFILL, Role.BOTH):
                if (o.at.t, llm, o.sku, role) in rows:
                    yield Kind(site, o.sku, llm, role.value, o.at), Work(o.rate * o.rack_s, o, site, False)

    made: dict[Kind, list[Work]] = defaultdict(list)
    for kind, work in found():
        made[kind].append(work)
    return dict(made)


def row_of(index: Index, kind: Kind) -> InstanceRow:
    """What one instance of a kind is."""
    return index.of(rows_of)[kind.at.t, kind.llm, kind.deployment, kind.role]


def whole_kinds(index: Index) -> list[Kind]:
    """Kinds that are counted in whole instances."""
    return sorted(kind for kind in index.of(work_of) if row_of(index, kind).whole)


def _most(index: Index, kind: Kind) -> int:
    """Instances beyond which no further one of a kind has work: all of its load in the slowest ways."""
    slowest: dict[tuple[str, str, bool], float] = {}
    for work in index.of(work_of)[kind]:
        key = (work.what.workload, work.what.bucket, work.decode)
        slowest[key] = max(slowest.get(key, 0.0), work.units)
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


def work_within_instances(m: Any, index: Index) -> None:
    """The work of a small load is done by whole instances of its LLM, by role.

        Σ_p rate·rack_s/throughput_share·serve[p,s] + Σ_o rate·rack_s·prefill[o,s]
            ≤ usable_share[k]·(GPUs of an instance/GPUs of a unit) · instances[s,d,c,role,t]

    Divided by what one instance does, so that a row is in instances; decode in the roles decode and both, prefill in
    prefill and both. ``throughput_share`` is what layouts of the instance's size reach of the best throughput. An
    instance is up, no spare and busy for the same share of its time as the racks of its pool: a failed server takes its
    instance with it, and no spare is a whole one unless asked for. Instances hold their weights: what a layout's HBM
    has beside them bounds its batch.
    """

    def rule(m: Any, *key: Any) -> Any:
        kind = Kind(*key)
        row, one = Terms(), row_of(index, kind)
        for work in index.of(work_of)[kind]:
            row.add(work.units / one.busy_units, work.variable(m))
        row.add(-1.0, m.instances[kind.held])
        return row.at_most(0.0)

    m.work_within_instances = block_rows(index.of(whole_kinds), rule=rule)


def instance_linking(m: Any, index: Index) -> None:
    """No instance, no service; a cut that only tightens the relaxation.

        Σ_{p or o of b} serve or prefill ≤ min(1, work of one instance/work of b) · instances[s,d,c,role,t]

    for every bucket and each of decode and prefill that the role does, with the way that takes least.
    """
    parts: dict[tuple[Any, ...], list[Work]] = {}
    for kind in index.of(whole_kinds):
        for work in index.of(work_of)[kind]:
            what = "decode" if work.decode else "prefill"
            parts.setdefault((*kind, work.what.workload, work.what.bucket, what), []).append(work)

    def rule(m: Any, *key: Any) -> Any:
        kind, row = Kind(*key[:5]), Terms()
        for work in parts[key]:
            row.add(1.0, work.variable(m))
        least = min(work.units for work in parts[key])
        carried = row_of(index, kind).busy_units / least if least > 0 else 1.0
        row.add(-min(1.0, carried), m.instances[kind.held])
        return row.at_most(0.0)

    m.instance_linking = block_rows(sorted(parts), rule=rule)


def instances_take_units(m: Any, index: Index) -> None:
    """What whole instances take of a pool, and that it is there.

        Σ_{d on k, c, role} units[d,c,role] · instances[s,d,c,role,t] ≤ instance_units[s,k,t] ≤ own[s,k,t] − reserved

    An instance takes 1/⌊GPUs of a unit / its own⌋ of a unit, or ⌈its own / GPUs of a unit⌉ units: several LLMs share a
    rack in whole groups of GPUs, and what is left over once a rack is filled with instances of one size is lost. Which
    instances stand in which rack is not told apart.
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
        return row.at_most(-index.reserved.get((t, site, sku), 0.0))

    m.instances_take_units = first_stage_rows(sorted(index.of(pools)), rule=taken)
    m.instances_within_units = first_stage_rows(sorted(index.of(pools)), rule=there)


def work_beside_instances(m: Any, index: Index) -> None:
    """Loads that are not counted in whole instances have the rest of a pool.

        Σ of their rate·rack_s·(serve or prefill) / usable_share[k] ≤ own[s,k,t] − reserved − instance_units[s,k,t]

    Units. Left out where nothing else works in the pool.
    """
    counted = {(work.what, work.site) for kind in index.of(whole_kinds) for work in index.of(work_of)[kind]}

    def beside(site: str, sku: str, at: TimeKey) -> Terms:
        row, usable = Terms(), index.sku[sku].usable_share
        for p, s in index.serve_by_pool.get((site, sku, at), []):
            if (p, s) not in counted:
                row.add(p.rate * p.rack_s / usable, m.serve[p.point, s])
        for o, s in index.prefill_by_pool.get((site, sku, at), []):
            if (o, s) not in counted:
                row.add(o.rate * o.rack_s / usable, m.prefill[o.option, s])
        return row

    def rule(m: Any, site: str, sku: str, at: TimeKey) -> Any:
        row = beside(site, sku, at)
        if not row.variables:
            return pyo.Constraint.Skip
        row.add(-1.0, m.own[site, sku, at.t])
        row.add(1.0, m.instance_units[site, sku, at.t])
        return row.at_most(-index.reserved.get((at.t, site, sku), 0.0))

    here = sorted({(kind.site, row_of(index, kind).sku, kind.at) for kind in index.of(whole_kinds)})
    m.work_beside_instances = block_rows(here, rule=rule)


def instances(d: Decided) -> pd.DataFrame:
    """Instances that the work of each LLM takes by role, and what rounding adds where the program left them fluid.

    Stated is what the work needs, not what the solver set up: an instance costs nothing by itself.
    """
    rows = []
    for kind, works in sorted(d.index.of(work_of).items()):
        one = row_of(d.index, kind)
        taken = [(work, d.value(work.variable(d.m))) for work in works]
        busy = sum(work.units * share for work, share in taken if share > TINY) / one.busy_units
        if busy <= TINY:
            continue
        count = math.ceil(busy - LEAST * max(1.0, busy))
        usable = d.index.sku[one.sku].usable_share
        fluid = sum(work.what.rate * work.what.rack_s * share for work, share in taken if share > TINY) / usable
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
