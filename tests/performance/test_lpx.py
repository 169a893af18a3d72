"""VR NVL72 with LPX: whole racks, what a token takes of them, and the vendor's multiple as an input."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from performance_fixtures import CATALOGUE, RULES, dense_card, lpx_rack, mla_card, pool, setup

from procure.performance import decode_points, idle_hbm_bytes_per_gpu, lpx_racks_per_copy
from procure.performance.calibrate import lpx_basis
from procure.performance.claims import claims
from procure.performance.figure import Load, figure
from procure.performance.predict import Bench
from procure.sizing import load_card


def test_a_copy_takes_whole_racks_at_their_fill():
    card = mla_card()
    ffn = card.params.experts + card.params.shared_ffn
    assert lpx_racks_per_copy(card, lpx_rack(), RULES.lpx) == math.ceil(ffn / (128e9 * 0.85)) == 7
    assert lpx_racks_per_copy(load_card("deepseek-r1"), CATALOGUE.sku("lpx"), RULES.lpx) == 7
    assert lpx_racks_per_copy(dense_card(), lpx_rack(), RULES.lpx) == 1
    assert lpx_racks_per_copy(card, lpx_rack(sram_bytes=2 * 128e9), RULES.lpx) == 4


def points(hardware, rack):
    return decode_points(
        hardware,
        mla_card(),
        setup(),
        context_mean=[8_000.0] * 4,
        context_upper=[9_000.0] * 4,
        tps_user=[50.0, 200.0, 400.0, 600.0],
        lpx=rack,
    ).drop_duplicates("element")


def test_more_lpx_arithmetic_takes_fewer_rack_seconds():
    slow, fast = points(pool("vr-nvl72"), lpx_rack()), points(pool("vr-nvl72"), lpx_rack(fp8_flops_per_rack=614e15))
    assert np.all(fast["lpx_rack_s_per_token"].to_numpy() < slow["lpx_rack_s_per_token"].to_numpy())


def test_a_token_takes_the_arithmetic_of_its_ffn_at_the_stated_shares():
    """2 x FFN parameters per token x verified tokens / (peak x 0.4 efficiency x 0.3 busy) / scale."""
    without = points(pool("vr-nvl72"), lpx_rack())
    card = replace(mla_card(0))
    plain = decode_points(
        pool("vr-nvl72"),
        card,
        setup(),
        context_mean=[8_000.0],
        context_upper=[8_000.0],
        tps_user=[50.0],
        lpx=lpx_rack(),
    )
    active = 58 * 8 * 44.04e6 + card.params.shared_ffn
    expected = 2 * active / (307e15 * 0.4 * 0.3) / RULES.lpx.scale
    assert plain["lpx_rack_s_per_token"].iloc[0] == pytest.approx(expected)
    assert without["lpx_rack_s_per_token"].min() > 0.9 * expected


def test_lpx_reaches_speeds_that_gpus_alone_do_not():
    alone, paired = points(pool("vr-nvl72"), None), points(pool("vr-nvl72"), lpx_rack())
    assert paired["element"].max() == 3
    assert alone["element"].max() < 3


@pytest.mark.thorough
def test_the_figure_shows_the_vendors_multiple_at_400_tps_user_on_the_claims_card():
    """Per MW with everything that units drag along, prefill included, beyond VR's last measured point at 350."""
    load = Load(load_card("deepseek-r1"), "best", "fp8", 8_000.0, 1_000.0)
    lines = figure(["vr-nvl72", "vr-nvl72+lpx"], load, setup(), speeds=(400.0,)).set_index("pool")
    per_mw = lines["tokens_per_s_per_mw"]
    assert per_mw["vr-nvl72+lpx"] / per_mw["vr-nvl72"] == pytest.approx(3.5, rel=0.001)
    assert lines.loc["vr-nvl72+lpx", "evidence"] == "vendor claim"
    three = next(claim for claim in claims(load, setup()) if "3.5 times" in claim.claim)
    assert three.numbers.startswith("3.5 here")


def test_the_answer_without_the_claim_is_the_fast_end_and_no_gain_the_slow_one():
    load = Load(load_card("deepseek-r1"), "best", "fp8", 8_000.0, 1_000.0)
    line = figure(["vr-nvl72+lpx"], load, setup(), speeds=(400.0,)).iloc[0]
    assert line["high"] == pytest.approx(1 / RULES.lpx.scale)
    assert line["low"] <= 1 / 3.5


def test_the_scale_is_the_one_that_the_fit_would_find():
    bench = Bench.packaged()
    found = replace(RULES.lpx, **lpx_basis(bench, RULES.physics("base", "vr-nvl72")))
    assert found.scale == pytest.approx(RULES.lpx.scale, rel=1e-4)


def test_idle_racks_hold_weights_and_leave_the_rest():
    hardware, card = pool("gb300-nvl72"), mla_card()
    free = idle_hbm_bytes_per_gpu(hardware, card, "fp8", RULES)
    assert free == pytest.approx(288e9 * 0.88 - (671e9 + 2 * 0.93e9) / 72, rel=0.01)
    assert idle_hbm_bytes_per_gpu(pool("hgx-h200"), card, "fp8", RULES) < free
