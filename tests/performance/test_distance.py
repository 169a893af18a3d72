"""How far a point lies from what was measured: in doublings, none where it is measured, and what a case makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from performance_fixtures import CATALOGUE, RULES, lpx_rack, mla_card, pool, setup
from solved_case import built
from tiny_case import tiny

from procure.performance import decode_points
from procure.performance.distance import UNMEASURED, Measured
from procure.performance.measured import COLUMNS, Curves
from procure.plan.extrapolation import NO_LOW_END, extrapolation_shares
from procure.sizing import load_card

ONE = Measured.of(
    {"tps_user": [50.0], "context_tokens": [8_000.0], "active_params": [37e9], "hbm_bytes_per_s_per_gpu": [8e12]}
)


def test_every_kind_of_doubling_counts_one_and_the_nearest_run_is_taken():
    card, hardware = mla_card(), pool("gb200-nvl72")
    context, speed = np.array([8_000.0, 16_000.0, 8_000.0, 2_000.0]), np.array([50.0, 50.0, 25.0, 200.0])
    assert ONE.distance(hardware, card, context, speed) == pytest.approx([0.0, 1.0, 1.0, 4.0])
    faster = replace(hardware, hbm_bytes_per_s_per_gpu=16e12)
    assert ONE.distance(faster, card, context[:1], speed[:1]) == pytest.approx([1.0])
    wider = replace(card, params=replace(card.params, active=74e9))
    assert ONE.distance(hardware, wider, context[:1], speed[:1]) == pytest.approx([1.0])
    two = Measured(np.vstack([ONE.logs, ONE.logs + np.array([0.0, 1.0, 0.0, 0.0])]))
    assert two.distance(hardware, card, context, speed) == pytest.approx([0.0, 0.0, 1.0, 4.0])


def far(sku="gb300-nvl72", context=7_833.6, tps_user=100.0, card="deepseek-r1", **more):
    table = decode_points(
        CATALOGUE.sku(sku), load_card(card), setup("nvfp4", curves=more.pop("curves", None)),
        context_mean=context, context_upper=1.2 * context, tps_user=tps_user, **more,
    )  # fmt: skip
    return table["distance"].iloc[0]


def test_a_measured_point_lies_nowhere_else_and_a_pair_with_lpx_far_from_everything():
    assert far() == 0.0
    assert far("vr-nvl72", lpx=lpx_rack()) == UNMEASURED
    assert far(context=120_000.0, tps_user=40.0) < 0.5 < far(context=30_000.0, tps_user=40.0)  # sweeps of 128k


def test_a_users_own_measurement_shrinks_the_distance():
    row = ["vr-nvl72", "deepseek-r1", "nvfp4", 60_000, 1_000, 40, 900, 0, "", "", "2026-10", "our replay", ""]
    own = Curves.of_table(pd.DataFrame([row], columns=list(COLUMNS)), "own.csv", CATALOGUE, ())
    before, after = (far("vr-nvl72", 120_000.0, 40.0, curves=curves) for curves in (None, own))
    assert after == pytest.approx(np.log2(120_000 / 60_500), abs=0.05)
    assert before > after + 0.5


def test_the_packaged_runs_are_those_that_the_fit_and_its_curves_rest_on():
    assert len(RULES.measured.logs) > 500
    assert np.isfinite(RULES.measured.logs).all()


LONG = {"chat": {f"input_{name}_tokens": 60_000.0 for name in ("mean", "p50", "p90", "p99")} | {"tps_user": 60.0}}


@pytest.mark.thorough
def test_a_case_plans_with_either_end_of_the_band():
    low, base, high = (built(tiny(workloads=LONG, settings={"points": end})) for end in ("low", "base", "high"))
    best = [made["serve"].groupby(["t", "bucket"])["rack_s"].min() for made in (low, base, high)]
    assert (best[0] > best[1]).all()
    assert (best[1] > best[2]).all()
    at_base = base["serve"].drop_duplicates(["t", "bucket"])
    at_low = low["serve"].drop_duplicates(["t", "bucket"])
    assert at_low["rack_s"].tolist() == pytest.approx((at_base["rack_s"] / at_base["low"]).tolist(), rel=1e-9)
    full = [made["prefill"].query("store == 'recompute'")["rack_s"].to_numpy() for made in (low, base, high)]
    assert full[0] / full[1] == pytest.approx(np.full(len(full[1]), 0.68 / 0.56))
    assert full[2] / full[1] == pytest.approx(np.full(len(full[1]), 0.68 / 0.75))


@pytest.mark.thorough
def test_points_too_far_from_a_measurement_are_not_offered():
    every = built(tiny(workloads=LONG))["serve"]
    assert every["distance"].between(0.01, 20).all()
    limit = float(every["distance"].median())
    kept = built(tiny(workloads=LONG, settings={"max_extrapolation": limit}))["serve"]
    assert 0 < len(kept) < len(every)
    assert kept["distance"].max() <= limit


def test_shares_by_distance_add_up_and_say_what_has_no_low_end():
    rows = [(5.0, 0.0, 0.9), (2.0, 0.5, 0.5), (2.0, 1.5, 0.0), (1.0, 100.0, 0.0)]
    found = extrapolation_shares(pd.DataFrame(rows, columns=["racks", "distance", "low"]))
    assert found == pytest.approx({
        "measured": 0.5, "up to 1 doubling": 0.2, "1 to 2 doublings": 0.2, "beyond 4 doublings": 0.1, NO_LOW_END: 0.3,
    })  # fmt: skip
    assert extrapolation_shares(pd.DataFrame([], columns=["racks", "distance", "low"])) == {}
