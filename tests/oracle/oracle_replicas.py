"""How many GPUs an instance of an LLM has, what it carries, and which loads are counted in whole ones.

Written from docs/program.md, with no word of ``procure.instance`` or ``procure.program``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from oracle_once import once

from procure import performance

EQUAL = 1e-9
Llm = tuple[str, str, str]
"""Card, format of weights, format of KV."""


@dataclass(frozen=True)
class Replica:
    """Instances of one LLM on a deployment in a role: all of one size."""

    gpus: int
    racks: float
    """Of a pool that one takes: its part of a rack full of its like, or whole racks."""
    works: float
    """Busy racks that one does."""
    load: float
    """Instances for the whole load."""
    shares: Any
    """By (workload, bucket): throughput over the best layout's."""
    up: float
    """Share of the racks that is up and no spare."""

    @property
    def taken(self) -> float:
        """Racks for the whole load."""
        return math.ceil(self.load - EQUAL) * self.racks

    def standing(self, down: int) -> float:
        """Racks for the whole load, or with so many down: all others are up, and carry it."""
        left = math.ceil(self.load * self.up - EQUAL) * self.racks
        return round(max(self.taken, left + down if down else 0.0), 9)


def llm_of(service: Any, w: str) -> Llm:
    """What an instance holds."""
    row = service.workloads[w]
    return (row.card, row.weight_precision, row.kv_format)


def replicas(service: Any, t: int) -> dict[tuple[Llm, str, str], tuple[Replica, bool]]:
    """Instances by (LLM, deployment, role) of a quarter, each with whether they are counted in whole ones."""
    served: dict[Llm, list[str]] = {}
    for w in service.workloads:
        if service.loaded(t, w):
            served.setdefault(llm_of(service, w), []).append(w)
    found = {}
    for llm, workloads in served.items():
        decode, prefill = _sizes(service, t, workloads)
        least = min((sizes[0].load for sizes in decode.values()), default=0.0)
        needed = least + min(one.load for one in prefill.values())
        few = 1e-3 <= needed <= service.s.whole_instances_up_to and service.s.whole_instances_up_to > 0
        whole = few and _worth_counting(service, t, served, decode, prefill)
        both = {pool: _both(service, sizes, prefill[pool], pool) for (pool, lpx), sizes in decode.items() if not lpx}
        mixed = _one_for_both(service, decode, prefill, both)
        down = max({"n+1": 1, "n+2": 2, "pod": 1}.get(service.workloads[w].resilience, 0) for w in workloads)
        for (pool, lpx), sizes in decode.items():
            if lpx or not mixed:
                best = min(sizes, key=lambda x: (x.standing(down), x.gpus))
                found[llm, pool + ("+" + lpx if lpx else ""), "decode"] = (best, whole)
        for pool, one in prefill.items():
            if mixed and pool in both:
                count = (lambda x: 0) if down else (lambda x: math.ceil(x.load - EQUAL))
                chosen = min(both[pool], key=lambda x: (x.standing(down), count(x), x.gpus))
                found[llm, pool, "both"] = (chosen, whole)
            else:
                found[llm, pool, "prefill"] = (one, whole)
    return found


def _sizes(service: Any, t: int, workloads: list[str]) -> tuple[Any, Any]:
    """Instances of an LLM by deployment, of every size, and for prefill by pool, on pools that may stand."""
    decode = {d: sizes for d in deployments(service, t) if (sizes := _decoding(service, t, workloads, *d))}
    return decode, {p: _prefill(service, t, workloads, p) for p in service.pools if service.anywhere(p, t, "prefill")}


def _worth_counting(service: Any, t: int, served: dict[Llm, list[str]], decode: Any, prefill: Any) -> bool:
    """Whether an instance of either role is enough of what all loads take on the same deployment."""
    every = [_sizes(service, t, workloads) for workloads in served.values()]
    parts = [
        sizes[0].racks / sum(other[d][0].load * other[d][0].racks for other, _ in every if d in other)
        for d, sizes in decode.items()
    ]
    parts += [
        one.racks / sum(other[p].load * other[p].racks for _, other in every if p in other)
        for p, one in prefill.items()
    ]
    return max(parts) >= service.s.whole_instances_least_share


def deployments(service: Any, t: int) -> list[tuple[str, str]]:
    """Pools that may stand, alone and with LPX beside them."""
    return [
        (pool, lpx)
        for pool in service.pools
        if service.anywhere(pool, t, "decode")
        for lpx in ("", *(service.lpx if service.sku[pool].pairs_with_lpx else ()))
    ]


def _stated(service: Any, workloads: list[str]) -> float:
    told = [service.workloads[w].instance_gpus for w in workloads]
    return max((g for g in told if g is not None), default=1.0)


def _replica(service: Any, pool: str, gpus: int, racks: float, shares: Any) -> Replica:
    each = service.sku[pool].gpus
    works = service.up * service.s.utilisation_cap * gpus / each
    takes = 1 / (each // gpus) if gpus <= each else math.ceil(gpus / each)
    return Replica(gpus, takes, works, racks / works, shares, service.up)


def _decoding(service: Any, t: int, workloads: list[str], pool: str, lpx: str) -> list[Replica]:
    """One for every size that decodes all buckets that are decoded on the deployment, smallest first."""
    work: dict[tuple[str, int], float] = {}
    speed: dict[tuple[str, int], dict[int, float]] = {}
    for w in workloads:
        for number, b in service.loaded(t, w).items():
            ways = [x.rack_s for x in service.ways(t, w) if (x.bucket, x.pool, x.lpx) == (number, pool, lpx)]
            if ways:
                work[w, number] = min(ways) * service.rate(w, b)
                speed[w, number] = _speeds(service, service.as_in(t, w), w, number, pool, lpx)
    if not work:
        return []
    known = {key: by for key, by in speed.items() if by}
    sizes = {g for by in known.values() for g in by}
    fitting = [g for g in sizes if all(g in by for by in known.values())]
    enough = [g for g in fitting if g >= _stated(service, workloads)] or [max(fitting)]
    made = []
    for g in sorted(enough):
        shares = {key: by[g] for key, by in known.items()}
        made.append(_replica(service, pool, g, sum(work[key] / shares[key] for key in known), shares))
    return made


@once
def _speeds(service: Any, t: int, w: str, bucket: int, pool: str, lpx: str) -> dict[int, float]:
    """Throughput of a bucket by size, over the best: all its phases on one instance, each at its own speed."""
    b = next(x for x in service.buckets[service.names[t], w] if x.bucket == bucket)
    row, phases, output = service.workloads[w], service.phases(w, b), b.thinking_tokens + b.visible_tokens
    gpus, rates = performance.decode_rates_by_size(
        service.sku[pool], service.case.cards[row.card], service.setup(t, row),
        context_mean=[b.input_tokens + output / 2] * len(phases),
        context_upper=[b.input_upper_tokens + output] * len(phases),
        tps_user=[max(tps, 1.0) for _, tps in phases], lpx=service.sku[lpx] if lpx else None,
    )  # fmt: skip
    best, seconds = 0.0, {}
    for (tokens, _), of in zip(phases, rates, strict=True):
        best += tokens / max(of, default=0.0) if of.any() else math.inf
        for g, rate in zip(gpus.tolist(), of.tolist(), strict=True):
            seconds[g] = seconds.get(g, 0.0) + (tokens / rate if rate > 0 else math.inf)
    return {g: best / x for g, x in seconds.items() if math.isfinite(x)}


def _prefill(service: Any, t: int, workloads: list[str], pool: str) -> Replica:
    """Instances that prefill everything in full."""
    racks, gpus = 0.0, 0
    for w in workloads:
        row = service.workloads[w]
        card, setup = service.case.cards[row.card], service.setup(t, row)
        sizes = performance.prefill_gpus_by_size(service.sku[pool], card, setup)
        gpus = next((size for size in sizes if size >= _stated(service, workloads)), sizes[-1])
        for fill in service.fills(t, w):
            if fill.pool == pool and fill.store == "recompute" and fill.bucket in service.loaded(t, w):
                racks += fill.rack_s * service.rate(w, service.loaded(t, w)[fill.bucket])
    return _replica(service, pool, gpus, racks, {})


def _both(service: Any, decode: list[Replica], prefill: Replica, pool: str) -> list[Replica]:
    """Instances that prefill and decode everything, no smaller than prefill takes if there are any."""
    enough = [one for one in decode if one.gpus >= prefill.gpus] or decode[-1:]
    work = prefill.load * prefill.works
    return [_replica(service, pool, one.gpus, one.load * one.works + work, one.shares) for one in enough]


def _one_for_both(service: Any, decode: Any, prefill: Any, both: Any) -> bool:
    """Whether instances do both: as stated, or where one for everything takes less than instances for each role."""
    if service.s.instance_roles != "by_load":
        return bool(both) and service.s.instance_roles == "shared"
    for pool, sizes in both.items():
        apart = min(one.taken for one in decode[pool, ""]) + prefill[pool].taken
        if any(one.load <= 1 + EQUAL and one.racks < apart - EQUAL for one in sizes):
            return True
    return False
