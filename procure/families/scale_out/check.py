"""The scale-out network checked: caches handed over and read from peers against the NICs of what stands."""

from __future__ import annotations

from collections import defaultdict

from procure.instance.tables import Handover, Nic, PeerReader, Prefill
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.standing import Standing

SENT, RECEIVED = "scale-out sent", "scale-out received"


def limits(s: Standing, rows: Rows) -> None:
    """Bytes/s that leave and reach the units of every pool at work in the part of the day in which they are most."""
    handed = {(s.quarters[r.t], r.workload, r.bucket): r.bytes for r in s.instance.rows(Handover)}
    shared = {(r.store, r.sku) for r in s.instance.rows(PeerReader)}
    read = {
        (s.quarters[r.t], r.workload, r.bucket, r.sku, r.store): r.read_bytes
        for r in s.instance.rows(Prefill)
        if (r.store, r.sku) in shared
    }
    most: dict[tuple[str, str, str, str], float] = defaultdict(float)
    for part in s.day:
        here: dict[tuple[str, str, str, str], float] = defaultdict(float)
        for fill in part.filled:
            pool, request = (fill.quarter, fill.site, fill.sku), (fill.quarter, fill.workload, fill.bucket)
            from_peers = fill.requests_per_s * read.get((*request, fill.sku, fill.store), 0.0)
            here[SENT, *pool] += fill.requests_per_s * handed.get(request, 0.0) + from_peers
            here[RECEIVED, *pool] += from_peers
        for decode in part.decoding:
            request = (decode.quarter, decode.workload, decode.bucket)
            pool = (decode.quarter, decode.site, decode.sku)
            here[RECEIVED, *pool] += decode.requests_per_s * handed.get(request, 0.0)
        for key, value in here.items():
            most[key] = max(most[key], value)
    nic = {r.sku: r.bytes_per_s for r in s.instance.rows(Nic)}
    for name in (SENT, RECEIVED):
        for (which, quarter, site, sku), value in sorted(most.items()):
            if which == name and value > 0:
                rows.add(name, quarter, site, sku, value, nic[sku] * s.serving(quarter, site, sku), "B/s")


CHECK = Check(limits)
