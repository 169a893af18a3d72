"""What routing keeps of the returns to a store, from the service's own ways to decode and prefill."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from oracle_once import once

from procure.demand.lengths import SHARES

KEPT_WITHOUT_AFFINITY = {1: 1.0, 2: 0.73, 5: 0.45, 10: 0.31, 20: 0.24}


@once
def reach(service: Any, t: int, w: str, store: str) -> float:
    """Chance that a return finds its copy in a store: the least over the pools that read it."""
    s, tier = service.s, store.split(":")[0]
    stated = s.pod_return_share if tier == "cmx" else s.rack_local_return_share
    if stated != "computed":
        return float(stated)
    shared = tier == "cmx" or getattr(s, f"{tier}_home") in ("pod", "site")
    found = s.shared_store_fidelity if shared else s.router_fidelity
    readers = [pool for pool in service.pools if store in service.stores(pool)]
    return found * min(_kept(service, t, w, store, pool) for pool in readers)


def _kept(service: Any, t: int, w: str, store: str, pool: str) -> float:
    s = service.s
    flight, busy = _load(service, t, w, store, pool)
    full = busy / service.up / s.utilisation_cap * s.llms_per_home / _units(service, store, pool)
    homes = max(1, math.ceil(full))
    if homes == 1:
        return 1.0
    if s.routing == "plain":
        points = np.array(list(KEPT_WITHOUT_AFFINITY.items()))
        nearest = min(homes, 20)
        return float(np.exp(np.interp(math.log(nearest), *np.log(points).T))) * nearest / homes
    each = flight / homes
    places = math.ceil(flight / full * s.router_release_load / s.utilisation_cap)  # of a home that is full
    term = total = 1.0  # chances of fewer requests in flight, over that of a full home
    for n in range(places, 0, -1):
        term *= n / each
        total += term
    return 1.0 - 1.0 / total


def _units(service: Any, store: str, pool: str) -> float:
    """Units of a pool that are one home."""
    hardware, s, tier = service.sku[pool], service.s, store.split(":")[0]
    across = all(place.cmx_crosses_pods for place in service.site.values())
    home = ("site" if across else "pod") if tier == "cmx" else getattr(s, f"{tier}_home")
    if home == "tray":
        return s.gpus_per_tray / hardware.gpus if hardware.gpus > 8 else 1.0
    if home == "pod":
        return s.nvl72_per_pod / hardware.pod_slots if hardware.pod_slots else 1.0
    return {"rack": 1.0, "site": math.inf}[home]


def _load(service: Any, t: int, w: str, store: str, pool: str) -> tuple[float, float]:
    """Requests in flight and units busy, were all of a workload on one pool and every return a hit from the store."""
    returns = min(sum(age.return_share for age in service.reuse[w]) * service.path[service.names[t], w].return_scale, 1)
    flight = busy = 0.0
    for b in service.buckets[service.names[t], w]:
        rate = service.rate(w, b)
        ways = [x for x in service.ways(t, w) if x.bucket == b.bucket and x.pool == pool]
        alone = [x for x in ways if not x.lpx] or ways
        if alone:
            best = min(alone, key=lambda x: x.rack_s)
            flight += rate * best.output_s
            busy += rate * best.rack_s
        for source, share in ((store, returns), ("recompute", 1.0 - returns)):
            fill = next(x for x in service.fills(t, w) if (x.bucket, x.pool, x.store) == (b.bucket, pool, source))
            flight += rate * share * mean_wall(service, service.as_in(t, w), w, fill)
            busy += rate * share * fill.rack_s
    return flight, busy


@once
def mean_wall(service: Any, t: int, w: str, fill: Any) -> float:
    """Mean seconds to the first token over the requests of a bucket, each point of the lengths with what lies in it."""
    rows = service.buckets[service.names[t], w]
    b = next(x for x in rows if x.bucket == fill.bucket)
    start = sum(x.share for x in rows if x.bucket < b.bucket)
    upto = np.cumsum(SHARES)
    inside = np.clip(np.minimum(upto, start + b.share) - np.maximum(upto - SHARES, start), 0.0, None)
    some = np.flatnonzero(inside > 0)
    lengths = np.asarray(service.asked.lengths[service.names[t], w])[some]
    return float(np.average(fill.walls(lengths), weights=inside[some]))
