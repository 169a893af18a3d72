"""What is written to flash beyond its endurance: a limit, or drives that are bought again."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import fleet, tiny, token_worth

import procure

VR, KIT = "vr-nvl72", "ssd-kit-vr-nvl72"
MEAN_TO_PEAK = 0.5
DWPD, KIT_BYTES, KIT_USD, AMPLIFIED = 0.02, 5e14, 50_000.0, 1.5


def plan_with(price_usd: float = KIT_USD, **settings: Any) -> procure.Plan:
    """Two racks with a kit each, little memory, short of racks: whatever saves rack time is kept."""
    figures = {(KIT, "price_usd"): price_usd, (KIT, "endurance_dwpd"): DWPD, (KIT, "store_bytes"): KIT_BYTES,
               (VR, "dram_usable_share_kv"): 0.01, (VR, "hbm_bytes_per_gpu"): 60e9}  # fmt: skip
    prices = pd.DataFrame([(KIT, f"2027Q{q}", price_usd) for q in (1, 2, 3)], columns=["sku", "quarter", "price_usd"])
    standing = fleet(("a", VR, 2, "2026Q4", 7e6), ("a", KIT, 2, "2026Q4", 5e4)).assign(retirable=False)
    case = tiny(skus=("gb300-nvl72",), peaks={"agent": [80, 80, 80]}, sites=({"positions": 3.6},), figures=figures,
                workloads={"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072,
                                     "mean_to_peak": MEAN_TO_PEAK}},
                tables={"fleet": standing, "prices": prices},
                settings={"write_amplification": AMPLIFIED, **settings})  # fmt: skip
    return planned(case, gap=1e-6)


def drive_wear(plan: procure.Plan) -> float:
    """USD of the first quarter."""
    cash = plan.tables["cash"]
    mine = cash[(cash["line"] == "drive wear") & (cash["quarter"] == "2027Q1")]
    assert set(mine["sku"]) <= {KIT}
    return float(mine["cash_usd"].sum())


def kit_use(plan: procure.Plan) -> tuple[float, float]:
    """Hits/s from the kits and mean bytes/day written to them, in the first quarter."""
    rows = plan.tables["kv_placement"].query("store == @store and quarter == '2027Q1'", local_dict={
        "store": f"ssd:{KIT}"})  # fmt: skip
    assert len(rows) == 1
    return float(rows["hits_per_s"].iloc[0]), float(rows["write_bytes_per_s"].iloc[0]) * MEAN_TO_PEAK * 86_400


ENDURED = 2 * 0.97 * 0.97 * DWPD * KIT_BYTES / AMPLIFIED
"""Bytes a day that two kits endure, in hosts of which 0.97 · 0.97 are up and no spares."""


@pytest.mark.thorough
def test_within_the_cap_nothing_is_paid():
    capped = plan_with()
    _, written = kit_use(capped)
    assert written == pytest.approx(ENDURED, rel=1e-4)
    assert drive_wear(capped) == 0.0


@pytest.mark.thorough
def test_replaced_drives_are_paid_by_the_byte_beyond_their_endurance():
    """A kit is rated for 0.02 · 365 · 5 times its bytes; 91.25 days of what is beyond, at 50,000 USD a kit."""
    capped, replaced = plan_with(), plan_with(flash_wear="replace")
    hits, written = kit_use(replaced)
    assert hits > 5 * kit_use(capped)[0]
    usd = (written - ENDURED) * 91.25 * AMPLIFIED * KIT_USD / (DWPD * KIT_BYTES * 365 * 5)
    assert drive_wear(replaced) == pytest.approx(usd, rel=1e-6)
    assert set(replaced.tables["limits"]["family"]).isdisjoint({"store wear"})
    assert replaced.tables["checks"]["holds"].all()


@pytest.mark.thorough
def test_a_cache_written_through_wears_more_drives_for_the_same_hits():
    once, through = (plan_with(flash_wear="replace", flash_writes=way) for way in ("write_once", "write_through"))
    assert kit_use(through)[1] / kit_use(through)[0] > 3 * kit_use(once)[1] / kit_use(once)[0]


@pytest.mark.thorough
def test_prefill_is_dearer_than_drives_only_up_to_a_price():
    """In the look-ahead, where the shortfall has a price, drives that cost too much are not worn."""
    cheap, dear = (
        plan_with(price_usd=usd, flash_wear="replace", **token_worth(60.0)) for usd in (KIT_USD, 1e4 * KIT_USD)
    )

    def later(plan: procure.Plan) -> float:
        rows = plan.tables["kv_placement"]
        return float(rows[(rows["store"] == f"ssd:{KIT}") & (rows["quarter"] > "2027Q1")]["write_bytes_per_s"].sum())

    assert later(dear) < later(cheap)
