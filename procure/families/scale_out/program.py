"""Family 10b in the program: caches handed over and read from other units fit the scale-out network of what stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from procure.instance.tables import Handover, Nic, PeerReader
from procure.program.day import add_way, day_of
from procure.program.declare import block_rows
from procure.program.index import Index, Option, Point, lookup
from procure.program.linear import Terms
from procure.program.part import Part
from procure.schema import RECOMPUTE
from procure.timekey import TimeKey


class Moved(NamedTuple):
    """Bytes that a way to serve a request moves over the NICs of its pool, in one direction."""

    what: Point | Option
    bytes: float


Pools = dict[tuple[TimeKey, str, str], list[Moved]]
"""By (block, site, SKU)."""


def _between_peers(index: Index) -> set[tuple[str, str]]:
    """(store, SKU) whose units read each other's memory or drives."""
    return {(row.store, row.sku) for row in index.instance.rows(PeerReader)}


def sent(index: Index) -> Pools:
    """What pools send: caches that they prefilled, and what their units read from each other."""
    handed = lookup(index.timed(Handover.schema.name), ["at", "workload", "bucket"], "bytes")
    peers, made = index.of(_between_peers), Pools()
    for o, site in index.prefill:
        size = handed.get((o.at, o.workload, o.bucket), 0.0)
        size += o.read_bytes if (o.store, o.sku) in peers else 0.0
        made.setdefault((o.at, site, o.sku), []).append(Moved(o, size))
    return _that_may_bind(index, made)


def received(index: Index) -> Pools:
    """What pools receive: caches that they decode, and what their units read from each other."""
    handed = lookup(index.timed(Handover.schema.name), ["at", "workload", "bucket"], "bytes")
    peers, made = index.of(_between_peers), Pools()
    for p, site in index.serve:
        size = handed.get((p.at, p.workload, p.bucket), 0.0)
        made.setdefault((p.at, site, p.sku), []).append(Moved(p, size))
    for o, site in index.prefill:
        if o.store != RECOMPUTE and (o.store, o.sku) in peers:
            made.setdefault((o.at, site, o.sku), []).append(Moved(o, o.read_bytes))
    return _that_may_bind(index, made)


def per_unit(index: Index) -> dict[str, float]:
    """Bytes/s in one direction of a unit that stands, by SKU: of those that are up and no spares."""
    return {row.sku: row.bytes_per_s * index.sku[row.sku].present_share for row in index.instance.rows(Nic)}


def _that_may_bind(index: Index, pools: Pools) -> Pools:
    """Pools whose NICs could be full before their racks are busy: all others' rows follow from their work."""
    carried = index.of(per_unit)
    return {
        key: ways
        for key, ways in pools.items()
        if key[2] in carried
        and any(way.bytes * index.sku[key[2]].usable_share > carried[key[2]] * way.what.rack_s for way in ways)
    }


def _rows(m: Any, index: Index, moves: Callable[[Index], Pools]) -> Any:
    pools, carried, day = index.of(moves), index.of(per_unit), index.of(day_of)

    def rule(m: Any, at: TimeKey, site: str, sku: str) -> Any:
        row = Terms()
        for way in pools[at.block, site, sku]:
            add_way(m, index, row, way.bytes * way.what.rate / carried[sku], (way.what, site), at)
        row.add(-1.0, m.own[site, sku, at.t])
        return row.at_most(-index.reserved.get((at.t, site, sku), 0.0))

    keys = [(at, *key[1:]) for key in sorted(pools) for at in day.rows(key[0], {w.what.workload for w in pools[key]})]
    return block_rows(keys, rule=rule)


def sent_within_scale_out(m: Any, index: Index) -> None:
    """What a pool hands over, and its units read from each other, leaves through the NICs of its units.

        Σ_{o on k} (cache_bytes + read_bytes of peers' stores)·rate·prefill[o,s] / (nic[k]·present[k])
            ≤ own[s,k,t] − reserved[s,k,t]        for every t, s, k

    Units. A request hands over the whole cache of its input, also where it stays at the site or in the unit; ``nic`` is
    the scale-out network of a unit, in one direction and at the utilisation cap. With parts of the day in each of them
    (:func:`procure.program.day.add_way`): work that may wait moves all its bytes in its hours. The row is left out
    where no way of serving moves so much for its work that NICs could be full before racks are busy.
    """
    m.sent_within_scale_out = _rows(m, index, sent)


def received_within_scale_out(m: Any, index: Index) -> None:
    """What a pool decodes, and its units read from each other, arrives through the NICs of its units.

        Σ_{p on k} cache_bytes·rate·serve[p,s] + Σ_{o from peers' stores} read_bytes·rate·prefill[o,s]
            ≤ nic[k]·present[k] · (own[s,k,t] − reserved[s,k,t])        for every t, s, k

    Divided and by part of the day as in :func:`sent_within_scale_out`, and left out where that is.
    """
    m.received_within_scale_out = _rows(m, index, received)


PROGRAM = Part((sent_within_scale_out, received_within_scale_out))
