"""Stores checked: reads, writes and wear, and what readers take."""

from __future__ import annotations

import math
from collections import defaultdict

from procure.instance.tables import Prefill, StoreReader
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.standing import Standing
from procure.plan.tables import Prefilled
from procure.schema import Tier


def limits(s: Standing, rows: Rows) -> None:
    """Traffic and wear of stores against what their units that serve bear, and of CMX against its readers' ports."""
    for key, used in s.stored.items():
        if s.tier[key[2]] == Tier.HBM:
            continue  # its traffic is part of the step that uses it
        rows.add("store reads", *key, used.read_bytes_per_s, s.brought(key, "read_bytes_per_s"), "B/s")
        rows.add("store writes", *key, used.write_bytes_per_s, s.brought(key, "write_bytes_per_s"), "B/s")
        endured = s.brought(key, "write_bytes_per_day")
        if math.isfinite(endured):
            rows.add("store wear", *key, used.write_bytes_per_day, endured, "B/day")
    _readers(s, rows)


def _readers(s: Standing, rows: Rows) -> None:
    limit = {r.sku: r.read_bytes_per_s for r in s.instance.rows(StoreReader)}
    size = {(r.t, r.workload, r.bucket, r.sku, r.store): r.read_bytes for r in s.instance.rows(Prefill)}
    used: dict[tuple[str, str, str], float] = defaultdict(float)
    for r in Prefilled.rows(s.tables["prefill"]):
        if s.tier.get(r.store) == Tier.CMX:
            read = size[s.position[r.quarter], r.workload, r.bucket, r.sku, r.store]
            used[r.quarter, r.site, r.sku] += r.requests_per_s * read
    for (quarter, site, sku), value in sorted(used.items()):
        most = limit[sku] * s.serving(quarter, site, sku)
        rows.add("store readers", quarter, site, f"cmx by {sku}", value, most, "B/s")


CHECK = Check(limits)
