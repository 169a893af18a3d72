"""Instances of LLMs as work sees them: which work an instance may do, and what one instance is."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from procure.instance.tables import InstanceRate, InstanceRow
from procure.program.index import Index, Option, Point
from procure.schema import Role
from procure.timekey import TimeKey

LEAST = 1e-5
"""Part of an instance or copy that is the solver's tolerance, not work."""


def rounded_up(count: float) -> int:
    """Whole instances or copies that hold so many."""
    return math.ceil(count - LEAST * max(1.0, count))


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


def in_whole(index: Index) -> set[tuple[Point | Option, str]]:
    """Points and ways, each at a site, that whole instances do."""
    return {(work.what, work.site) for kind in index.of(whole_kinds) for work in index.of(work_of)[kind]}
