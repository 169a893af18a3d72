"""Caches that move down between stores, and what that holds, reads and writes: what several families need."""

from __future__ import annotations

from typing import Any, NamedTuple

from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.rules.caches import held_seconds
from procure.schema import SkuKind, Tier
from procure.timekey import TimeKey

MoveKey = tuple[TimeKey, str, str, int, str, str]
"""Block, site, workload, interval at whose start copies move, store that they leave, store that they come to."""
MovedKey = tuple[TimeKey, str, str, int, str]
"""Block, site, workload, interval, store: copies that came from another store and stay through the interval."""


class Flow(NamedTuple):
    """What one share of a workload's rate in a decision takes of a store: bytes held, bytes/s read and written."""

    decision: str
    key: MoveKey | MovedKey
    store: str
    held_bytes: float
    read_bytes_per_s: float
    write_bytes_per_s: float

    def variable(self, m: Any) -> Any:
        """The decision, ``move`` or ``moved``."""
        return getattr(m, self.decision)[self.key]


def owner(index: Index, store: str) -> str:
    """The GPU SKU whose units a store belongs to; none for CMX."""
    sku = index.sku[index.store_units[store][0].sku]
    return sku.sku if sku.kind is SkuKind.GPU else sku.host


def moves_down(index: Index, source: str, target: str) -> bool:
    """Whether copies may move: to a slower tier of the same units, or from units that read CMX to it."""
    order = list(Tier)
    if order.index(Tier(index.tier[source])) >= order.index(Tier(index.tier[target])):
        return False
    if index.tier[target] == Tier.CMX:
        return owner(index, source) in index.reader_bytes_per_s
    return owner(index, source) == owner(index, target)


def moves(index: Index) -> list[MoveKey]:
    """Moves that a plan may make; none unless the case allows them."""
    if index.instance.settings["cache_moves"] == "none":
        return []
    stores = group((key for key in index.kept if key[3] == 0), lambda key: key[:3])
    return [
        (*place, age.interval, source, target)
        for place, found in stores.items()
        for source in (key[4] for key in found)
        for target in (key[4] for key in found)
        if moves_down(index, source, target)
        for age in index.ages[place[0], place[2]]
        if age.interval > 0
    ]


def moved(index: Index) -> list[MovedKey]:
    """Copies that came from another store, by the interval through which they stay."""
    return sorted({(*key[:4], key[5]) for key in index.of(moves)})


def out_of(index: Index) -> dict[Any, list[MoveKey]]:
    """Moves by the copies that they take away: (block, site, workload, interval, store)."""
    return group(index.of(moves), lambda key: key[:5])


def into(index: Index) -> dict[Any, list[MoveKey]]:
    """Moves by the copies that they bring: (block, site, workload, interval, store)."""
    return group(index.of(moves), lambda key: (*key[:4], key[5]))


def flows(index: Index) -> dict[tuple[TimeKey, str, str], list[Flow]]:
    """What moves, and copies that were moved, take of each store, by (block, site, store).

    β bytes of a parked sequence, R the workload's rate, α the chance that a return reaches a copy, ρR_i the mean share
    of its bytes that returns have taken back in interval i, r_i the share that returns in it.

        moved[i,h]    holds β·R·K_i, K_i at the least α of the stores that it may have come from and its own: where
                      fewer returns reached it, more of it is stale
        move[i,g→h], exclusive: reads at g and writes at h β·R·(1 − α_g·ρR_{i−1}), whatever is stale with it; and a
                      return to a moved copy, which is parked whole in the store it starts from, is credited no write
                      at h: valid·α_h·r_i·R written for each moved[i,h]
        move[i,g→h], write-through: the copy is written to h when it is parked, new tokens only where it returned to g
                      in time: β·R − valid·α_g·Σ_{j<i} r_j·R; and holds h as well through the intervals before i
    """
    through = index.instance.settings["cache_moves"] == "write_through"
    found: list[tuple[tuple[TimeKey, str, str], Flow]] = []
    for move in index.of(moves):
        at, site, w, interval, source, target = move
        rate, size, ages = index.load_rate[at, w], index.kv_bytes[at, w], index.ages[at, w]
        alpha = index.return_share[at, w, source]
        if through:
            share = _least_share(index, at, site, w, target)
            held = sum(held_seconds(age.seconds, age.mean_released, share) for age in ages[:interval])
            back = alpha * sum(age.return_share for age in ages[:interval])
            write = rate * (size - _valid_bytes(index, (at, site, target), w)[0] * back)
            found.append(((at, site, target), Flow("move", move, target, size * rate * held, 0.0, write)))
        else:
            taken = rate * size * (1.0 - alpha * ages[interval - 1].mean_released)
            found.append(((at, site, source), Flow("move", move, source, 0.0, taken, 0.0)))
            found.append(((at, site, target), Flow("move", move, target, 0.0, 0.0, taken)))
    for stays in index.of(moved):
        at, site, w, interval, store = stays
        rate, age = index.load_rate[at, w], index.ages[at, w][interval]
        share = _least_share(index, at, site, w, store)
        held = index.kv_bytes[at, w] * rate * held_seconds(age.seconds, age.mean_released, share)
        back = index.return_share[at, w, store] * age.return_share
        write = 0.0 if through else rate * back * _valid_bytes(index, (at, site, store), w)[1]
        found.append(((at, site, store), Flow("moved", stays, store, held, 0.0, write)))
    return {key: [flow for _, flow in rows] for key, rows in group(found, lambda item: item[0]).items()}


def _least_share(index: Index, at: TimeKey, site: str, workload: str, target: str) -> float:
    """The least chance that a return reached a copy that lies in a store, wherever it came from."""
    sources = {key[4] for key in index.of(into).get((at, site, workload, 1, target), [])}
    return min(index.return_share[at, workload, store] for store in {target, *sources})


def _valid_bytes(index: Index, place: tuple[TimeKey, str, str], workload: str) -> tuple[float, float]:
    """Bytes that stay valid when a hit is parked again, at the mix of buckets: of the ways with least and with most."""
    by_bucket: dict[str, list[float]] = {}
    for o, _ in index.reads[place]:
        if o.workload == workload:
            by_bucket.setdefault(o.bucket, []).append(o.valid_bytes)
    at = place[0]
    weight = {bucket: index.rate[at, workload, bucket] / index.load_rate[at, workload] for bucket in by_bucket}
    return (
        sum(weight[bucket] * min(found) for bucket, found in by_bucket.items()),
        sum(weight[bucket] * max(found) for bucket, found in by_bucket.items()),
    )


def add_flows(
    m: Any, index: Index, row: Terms, key: tuple[TimeKey, str, str], what: str, scale: dict[str, float] | float
) -> None:
    """Add an attribute of the flows of (block, site, store) to a row, times a scale or one for each workload."""
    for flow in index.of(flows).get(key, []):
        factor = scale if isinstance(scale, float) else scale[flow.key[2]]
        row.add(factor * getattr(flow, what), flow.variable(m))
