"""Chances that returns reach their copies equal those worked out from the service alone, whatever the homes."""

from __future__ import annotations

from typing import Any

import pytest
from oracle_reach import reach
from oracle_service import Service
from solved_case import built
from tiny_case import fleet, tiny

AGENT = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}}
SKUS = ("vr-nvl72", "ssd-kit-vr-nvl72", "cmx-rack", "cmx-enclosure")


SETTINGS: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "trays and pods": {"hbm_home": "tray", "dram_home": "tray", "ssd_home": "pod", "nvl72_per_pod": 2},
    "site, three LLMs": {"dram_home": "site", "llms_per_home": 3, "router_release_load": 0.7,
                         "shared_store_fidelity": 0.9},
    "plain": {"routing": "plain", "dram_home": "tray", "llms_per_home": 9, "router_fidelity": 0.9},
    "stated": {"rack_local_return_share": 0.4, "pod_return_share": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["as shipped", *(pytest.param(name, marks=pytest.mark.thorough) for name in list(SETTINGS)[1:])]
)
def test_shares_are_those_of_the_service_alone(name):
    case = tiny(skus=SKUS, peaks={"agent": [80, 300, 0]}, workloads=AGENT, settings=SETTINGS[name],
                tables={"fleet": fleet(("a", "hgx-h200", 4, "2026Q3", 3e5))})  # fmt: skip
    service, shares = Service(case), built(case)["return_shares"]
    assert len(shares) == 14
    for row in shares.itertuples():
        assert row.return_share == pytest.approx(reach(service, row.t, row.workload, row.store), abs=1e-12), row


@pytest.mark.thorough
def test_what_a_router_without_affinity_keeps_is_a_premise():
    case = tiny(skus=SKUS, peaks={"agent": [80, 300, 0]}, workloads=AGENT,
                settings={"routing": "plain", "dram_home": "tray", "llms_per_home": 9})  # fmt: skip
    before, lower = (built(c)["return_shares"] for c in (case, case.with_value("plain_routing/kept_of_20_homes", 0.2)))
    many = before["homes"] >= 20
    assert many.any()
    assert lower["return_share"][many].to_numpy() == pytest.approx(before["return_share"][many] * 0.2 / 0.24)
    assert "plain_routing/kept_of_20_homes" in case.rests_on
    assert "plain_routing/kept_of_20_homes" not in tiny(skus=SKUS).rests_on
