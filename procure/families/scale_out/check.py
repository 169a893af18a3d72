"""The scale-out network checked: caches handed over and read from peers against the NICs of what stands."""

from __future__ import annotations

from collections import defaultdict

from procure.instance.tables import Handover, Nic, PeerReader, Prefill
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.standing import Standing
from procure.plan.tables import Prefilled


def limits(s: Standing, rows: Rows) -> None:
    """Bytes/s that leave and reach the units of every pool at work, against their NICs."""
    handed = {(s.quarters[r.t], r.workload, r.bucket): r.bytes for r in s.instance.rows(Handover)}
    shared = {(r.store, r.sku) for r in s.instance.rows(PeerReader)}
    read = {
        (s.quarters[r.t], r.workload, r.bucket, r.sku, r.store): r.read_bytes
        for r in s.instance.rows(Prefill)
        if (r.store, r.sku) in shared
    }
    leaves: dict[tuple[str, str, str], float] = defaultdict(float)
    reaches: dict[tuple[str, str, str], float] = defaultdict(float)
    for fill in Prefilled.rows(s.tables["prefill"]):
        pool, request = (fill.quarter, fill.site, fill.sku), (fill.quarter, fill.workload, fill.bucket)
        from_peers = fill.requests_per_s * read.get((*request, fill.sku, fill.store), 0.0)
        leaves[pool] += fill.requests_per_s * handed.get(request, 0.0) + from_peers
        reaches[pool] += from_peers
    for decode in s.decoding:
        request = (decode.quarter, decode.workload, decode.bucket)
        reaches[decode.quarter, decode.site, decode.sku] += decode.requests_per_s * handed.get(request, 0.0)
    nic = {r.sku: r.bytes_per_s for r in s.instance.rows(Nic)}
    for name, moved in (("scale-out sent", leaves), ("scale-out received", reaches)):
        for (quarter, site, sku), value in sorted(moved.items()):
            if value > 0:
                rows.add(name, quarter, site, sku, value, nic[sku] * s.serving(quarter, site, sku), "B/s")


CHECK = Check(limits)
