"""Caches that move between stores, in sentences."""

from __future__ import annotations

import math

from procure.plan import Plan
from procure.plan.tables import CacheMove
from procure.report.words import planned_quarters


def move_sentences(plan: Plan) -> list[str]:
    """Which caches move to which slower store in planned quarters, with the most bytes of any quarter."""
    found: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    for r in plan.rows(CacheMove):
        if r.quarter in set(planned_quarters(plan)):
            sums = found.setdefault((r.workload, r.site, r.store, r.to_store), {}).setdefault(
                r.quarter, [0.0, math.inf]
            )
            sums[0] += r.write_bytes_per_s
            sums[1] = min(sums[1], r.age_s)
    sentences = []
    for (workload, site, source, target), quarters in sorted(found.items()):
        quarter, (written, age_s) = max(sorted(quarters.items()), key=lambda item: item[1][0])
        sentences.append(
            f"{workload} at {site}: caches move from {source} to {target} from {age_s:,.0f} s of idle on, "
            f"{written / 1e9:.2f} GB/s written there in {quarter}."
        )
    return sentences
