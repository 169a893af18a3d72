"""The shares of returns that a program counts on, beside those at the fleet and the batches that its plan chose."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from solved_case import built, planned
from tiny_case import fleet, tiny

from procure.instance.return_shares import Reach

AGENT = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}}
PARKED = 0.02
"""Share of a workload's requests below which what hits in a store is no matter."""


def own_shares(case: Any, plan: Any) -> list[tuple[str, str, float, float, float]]:
    """(quarter, store, hits/s, share counted on, share at the requests in flight per home of the plan)."""
    instance = built(case)
    reach, tier = Reach.of(case, instance["skus"]), instance["stores"].set_index("store")["tier"]
    usable = instance["skus"].set_index("sku")["usable_share"]
    counted = instance["return_shares"].set_index(["t", "workload", "store"])["return_share"]
    points = instance["serve"].merge(instance["lengths"], on=["t", "workload", "bucket"]).set_index("point")
    ways = instance["prefill"].set_index(["t", "workload", "bucket", "sku", "store"])
    asked = instance["rates"].groupby(["t", "workload"])["requests_per_s"].sum()
    flight: dict[Any, float] = defaultdict(float)
    units: dict[Any, float] = defaultdict(float)
    readers: dict[Any, set[str]] = defaultdict(set)
    for r in plan.tables["serving"].itertuples():
        point = points.loc[r.point]
        output = point["thinking_tokens"] + point["visible_tokens"]
        flight[r.quarter, r.site, r.workload, r.sku] += r.requests_per_s * output / point["tps_user"]
        units[r.quarter, r.site, r.workload, r.sku] += r.racks / usable[r.sku]
    for r in plan.tables["prefill"].itertuples():
        key = (r.quarter, r.site, r.workload, r.sku)
        way = ways.loc[instance.position[r.quarter], r.workload, r.bucket, r.sku, r.store]
        flight[key] += r.requests_per_s * way["ttft_s"]
        units[key] += r.racks / usable[r.sku]
        readers[r.quarter, r.site, r.workload, r.store].add(r.sku)
    found = []
    for r in plan.tables["kv_placement"].itertuples():
        t = instance.position[r.quarter]
        if r.hits_per_s < PARKED * asked[t, r.workload]:
            continue
        for sku in readers[r.quarter, r.site, r.workload, r.store]:
            key = (r.quarter, r.site, r.workload, sku)
            own = reach.share(tier[r.store], sku, flight[key], units[key]).return_share
            found.append((r.quarter, r.store, r.hits_per_s, counted[t, r.workload, r.store], own))
    return found


@pytest.mark.parametrize(
    ("settings", "most", "mean"),
    [({}, 0.10, 0.03), ({"dram_home": "tray", "ssd_home": "tray"}, 0.12, 0.04)],
    ids=["racks", "trays"],
)
@pytest.mark.thorough
def test_the_shares_counted_on_are_near_those_of_the_plan(settings, most, mean):
    """Requests in flight and racks grow together with the load, whatever is bought: batches and misses differ.

    So does a SKU that prefills alone, beside another that decodes: the two GB200 racks.
    """
    case = tiny(skus=("vr-nvl72", "ssd-kit-vr-nvl72"), peaks={"agent": [150, 170, 190]}, workloads=AGENT,
                sites=({"positions": 20.0},), settings=settings,
                tables={"fleet": fleet(("a", "gb200-nvl72", 2, "2026Q1", 3e6))})  # fmt: skip
    shares = own_shares(case, planned(case, gap=0.01))
    apart = {(quarter, store): (hits, abs(counted - own)) for quarter, store, hits, counted, own in shares}
    assert len(shares) >= 3
    assert max(error for _, error in apart.values()) <= most, shares
    hits = sum(rate for rate, _ in apart.values())
    assert sum(rate * error for rate, error in apart.values()) / hits <= mean, shares
