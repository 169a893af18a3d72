"""What must be done after each loss, and by what: whole instances, LPX copies, pools."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, NamedTuple

from procure.program.index import Index, Option, Point
from procure.program.instances import Kind, Work, row_of, whole_kinds, work_of
from procure.program.losses import Done, left_busy, losses, work_after
from procure.timekey import TimeKey

MOST_PARTS = 16
"""Parts of caches that are told apart: of more one is counted as a sixteenth, at most 1/16 of the hits too many."""


class Held(NamedTuple):
    """Whole instances after a loss, as they are held: of an LLM on a deployment of a site, in one role."""

    loss: str
    site: str
    deployment: str
    llm: str
    role: str
    t: int


def done_by(index: Index) -> dict[tuple[Any, str], tuple[Kind, float]]:
    """Whole instances that do a point or a way at a site, and units of their size over those of the best layout."""
    return {(w.what, w.site): (kind, _slower(w)) for kind in index.of(whole_kinds) for w in index.of(work_of)[kind]}


def instances_after(index: Index) -> dict[tuple[str, Kind], list[tuple[float, Done]]]:
    """Work of whole instances after each loss, in units at the throughput of their size."""
    made: dict[tuple[str, Kind], list[tuple[float, Done]]] = defaultdict(list)
    for (name, *_), works in index.of(work_after).items():
        for done in works:
            if (done.what, done.site) in index.of(done_by):
                kind, slower = index.of(done_by)[done.what, done.site]
                made[name, kind].append((done.units * slower, done))
    return dict(made)


def _slower(work: Work) -> float:
    """Units of an instance's work over those of the best layout."""
    plain = work.what.rate * work.what.rack_s
    return work.units / plain if plain > 0 else 1.0


def copies_after(index: Index) -> dict[tuple[str, str, str, str, TimeKey], list[Done]]:
    """Points with LPX after each loss: loss, site, card, LPX SKU, block."""
    made: dict[tuple[str, str, str, str, TimeKey], list[Done]] = defaultdict(list)
    for (name, site, _, at), works in index.of(work_after).items():
        if not index.of(losses)[name].store:  # LPX holds no caches
            for done in works:
                if isinstance(done.what, Point) and done.what.lpx_sku:
                    made[name, site, done.what.card, done.what.lpx_sku, at].append(done)
    return dict(made)


class Hits(NamedTuple):
    """Hits of a pool, or of whole instances of it, whose caches lie in parts of a holder one of which a loss takes.

    ``llm`` and ``role`` are empty where the work is fluid; a prefill's deployment is its SKU.
    """

    loss: str
    site: str
    deployment: str
    llm: str
    role: str
    holder: str
    at: TimeKey


def hits_after(index: Index) -> dict[Hits, list[tuple[float, Done]]]:
    """Units of work that hits spare after a loss of a part of their caches, were none of them lost."""
    made: dict[Hits, list[tuple[float, Done]]] = defaultdict(list)
    for (name, site, sku, at), works in index.of(work_after).items():
        for done in works:
            if done.spared > 0:
                kind, slower = index.of(done_by).get((done.what, site), (None, 1.0))
                whose = (sku, "", "") if kind is None else (kind.deployment, kind.llm, kind.role)
                made[Hits(name, site, *whose, done.holder, at)].append((done.spared * slower, done))
    return dict(made)


def parts_at_most(index: Index, loss: str, site: str, holder: str) -> int:
    """Parts of equal size that the caches of a holder may be told to lie in, at :data:`MOST_PARTS` at most.

    After the loss of a CMX rack these are CMX racks; after that of a pod the units that hold them, at most the pods.
    """
    pods = index.pods_at[site]
    if index.of(losses)[loss].pod:
        return min(MOST_PARTS, pods.pods_max)
    return min(MOST_PARTS, pods.pods_max * pods.cmx_racks_per_pod)


def parts_of(index: Index) -> dict[tuple[str, str, int], int]:
    """Most parts that are told apart, by (site, holder, t)."""
    most: dict[tuple[str, str, int], int] = defaultdict(int)
    for hits in index.of(hits_after):
        key = (hits.site, hits.holder, hits.at.t)
        most[key] = max(most[key], parts_at_most(index, hits.loss, hits.site, hits.holder))
    return dict(most)


def spared_at_most(index: Index, works: list[tuple[float, Done]]) -> float:
    """Units of work that hits may spare: of each bucket and store the share that returns and finds its copy."""
    most: dict[tuple[str, str, str], float] = defaultdict(float)
    for units, done in works:
        if isinstance(done.what, Option):
            o = done.what
            back = sum(age.return_share for age in index.ages[o.at, o.workload])
            reached = min(1.0, index.return_share[o.at, o.workload, o.store] * back)
            key = (o.workload, o.bucket, o.store)
            most[key] = max(most[key], units * reached)
    return sum(most.values())


def pools_after(index: Index) -> list[tuple[str, str, str, int]]:
    """(loss, site, SKU, t) of pools, LPX among them, that something is to be done in after a loss."""
    of_gpus = {(name, site, sku, at.t) for name, site, sku, at in index.of(work_after)}
    return sorted(of_gpus | {(name, site, lpx, at.t) for name, site, _, lpx, at in index.of(copies_after)})


def held_after(index: Index) -> dict[Held, int]:
    """Whole instances after each loss, each with the number beyond which no further one has work."""
    most: dict[Held, int] = defaultdict(int)
    for (name, kind), works in index.of(instances_after).items():
        slowest: dict[tuple[str, str, bool], float] = {}
        for units, done in works:
            key = (done.what.workload, done.what.bucket, isinstance(done.what, Point))
            slowest[key] = max(slowest.get(key, 0.0), units)
        each = busy_after(index, name, kind)
        held = Held(name, kind.site, kind.deployment, kind.llm, kind.role, kind.at.t)
        most[held] = max(most[held], math.ceil(sum(slowest.values()) / each))
    return dict(most)


def busy_after(index: Index, name: str, kind: Kind) -> float:
    """Units of work that one whole instance does after a loss: its part of those of a unit."""
    one = row_of(index, kind)
    return left_busy(index, index.of(losses)[name], one.sku) * one.gpus / index.sku[one.sku].gpus
