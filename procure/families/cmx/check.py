"""Pods with CMX checked: its reads and sessions against the racks beside it."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from procure.instance.tables import Prefill, Rate, Serve, Store, StoreReader
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.standing import Standing
from procure.plan.tables import CacheMove, Kept, Prefilled
from procure.schema import RECOMPUTE, SkuKind, Tier


def limits(s: Standing, rows: Rows) -> None:
    """Reads of CMX, and the work of requests whose caches lie there, against racks that read it, in pods with CMX."""
    port = {r.sku: r.read_bytes_per_s for r in s.instance.rows(StoreReader)}
    cmx = {r.store for r in s.instance.rows(Store) if r.tier is Tier.CMX}
    fills = {(r.t, r.workload, r.bucket, r.sku, r.store): r for r in s.instance.rows(Prefill)}
    frames = [name for name, sku in s.sku.items() if sku.kind is SkuKind.CMX_RACK]
    full, both = _least_on_readers(s, set(port))
    reading: dict[tuple[str, str], float] = defaultdict(float)
    work: dict[tuple[str, str], float] = defaultdict(float)
    for r in Prefilled.rows(s.tables["prefill"]):
        if r.store in cmx:
            t, sku = s.position[r.quarter], s.sku[r.sku]
            way = fills[t, r.workload, r.bucket, r.sku, r.store]
            ports = r.requests_per_s * way.read_bytes / port[r.sku]
            reading[r.quarter, r.site] += ports * sku.pod_slots / sku.present_share
            work[r.quarter, r.site] += r.requests_per_s * (way.rack_s - full.get((t, r.workload, r.bucket), 0.0))
    for kept in Kept.rows(s.tables["retention"]):
        if kept.store in cmx and kept.interval == 0:
            work[kept.quarter, kept.site] += kept.kept_requests_per_s * both[s.position[kept.quarter], kept.workload]
    for move in CacheMove.rows(s.tables["cache_moves"]):
        if move.to_store in cmx:
            work[move.quarter, move.site] += move.requests_per_s * both[s.position[move.quarter], move.workload]
    for quarter, site in sorted(set(work) | set(reading)):
        ours = {k: s.own[quarter, site, k] - s.reserved[quarter, site, k] for k in [*port, *frames]}
        racks = sum(s.sku[k].usable_share * ours[k] for k in port)
        rows.add("CMX sessions on readers", quarter, site, "", work[quarter, site], racks, "racks")
        if not s.places[site].cmx_crosses_pods:
            near = s.places[site].nvl72_per_pod * sum(ours[k] for k in frames)
            rows.add("CMX readers in pods", quarter, site, "", reading[quarter, site], near, "places")
            busy = max(s.sku[k].usable_share / s.sku[k].pod_slots for k in port)
            rows.add("CMX sessions in pods", quarter, site, "", work[quarter, site] / busy, near, "places")


def _least_on_readers(s: Standing, readers: set[str]) -> tuple[dict[Any, float], dict[Any, float]]:
    """Least rack-seconds on SKUs that read CMX: of a bucket's full prefill; of decode and it, mean of a workload."""
    full: dict[Any, float] = {}
    decode: dict[Any, float] = {}
    for way in s.instance.rows(Prefill):
        if way.sku in readers and way.store == RECOMPUTE:
            key = (way.t, way.workload, way.bucket)
            full[key] = min(full.get(key, math.inf), way.rack_s)
    for point in s.instance.rows(Serve):
        if point.sku in readers:
            key = (point.t, point.workload, point.bucket)
            decode[key] = min(decode.get(key, math.inf), point.rack_s)
    seconds: dict[Any, float] = defaultdict(float)
    rate: dict[Any, float] = defaultdict(float)
    for r in s.instance.rows(Rate):
        key = (r.t, r.workload, r.bucket)
        rate[r.t, r.workload] += r.requests_per_s
        seconds[r.t, r.workload] += r.requests_per_s * (full.get(key, 0.0) + decode.get(key, 0.0))
    return full, {key: seconds[key] / rate[key] for key in rate if rate[key] > 0}


CHECK = Check(limits)
