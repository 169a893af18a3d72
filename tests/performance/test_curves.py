"""Measured curves and user's tables: who answers, what is reproduced, and that no law is broken where they begin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from performance_fixtures import lpx_rack

from procure.catalogue import Catalogue
from procure.errors import InputError
from procure.performance import decode_points
from procure.performance.frontier import over_all_gpus
from procure.performance.measured import COLUMNS, Curves, packaged_curves
from procure.performance.points import prefill_gpu_seconds
from procure.sizing import Card

RACKS = ("gb200-nvl72", "gb300-nvl72", "vr-nvl72")
CURVE_CONTEXT = 0.9 * (8_192 + 512)


def points(sku, context, tps_user, *, vintage="base", precision="nvfp4", card="deepseek-r1", **more):
    context, tps_user = np.broadcast_arrays(np.atleast_1d(np.asarray(context, float)), np.atleast_1d(tps_user))
    return decode_points(
        Catalogue.read().sku(sku),
        Card.load(card),
        weight_precision=precision,
        kv_format="fp8",
        context_mean=context,
        context_upper=context * 1.2,
        tps_user=tps_user,
        vintage=vintage,
        **more,
    )


def best(table, count):
    rates, streams = np.zeros(count), np.zeros(count)
    rows = table.drop_duplicates("element")
    rates[rows["element"]] = rows["tokens_per_s_per_gpu"]
    streams[rows["element"]] = rows["streams_per_gpu"]
    return rates, streams


@pytest.mark.parametrize("sku", RACKS)
def test_a_measured_curve_is_reproduced_over_all_gpus(sku):
    curve = packaged_curves().of(sku, "deepseek-r1", "nvfp4", "base")
    table = points(sku, CURVE_CONTEXT, curve["tps_user"].to_numpy()).drop_duplicates("element")
    prefill_s = prefill_gpu_seconds(
        Catalogue.read().sku(sku),
        Card.load("deepseek-r1"),
        weight_precision="nvfp4",
        kv_format="fp8",
        new_tokens=[0.9 * 8_192],
        prefix_tokens=[0.0],
        vintage="base",
    )[0]
    found = over_all_gpus(table["tokens_per_s_per_gpu"].to_numpy(), prefill_s / (0.9 * 1_024))
    assert found == pytest.approx(curve["tokens_per_s_per_gpu"].to_numpy(), rel=1e-6)
    assert set(table["evidence"]) == {"measured"}
    assert np.allclose(table["streams_per_gpu"] * table["tps_user"], table["tokens_per_s_per_gpu"])


def test_other_lengths_cards_formats_and_vintages_stay_physics():
    assert set(points("vr-nvl72", 30_000, 100.0)["evidence"]) == {"physics"}
    assert "scaled to" in points("vr-nvl72", 30_000, 100.0)["source"].iloc[0]
    for change in ({"precision": "fp8"}, {"card": "deepseek-v3.2"}, {"vintage": "none"}):
        table = points("vr-nvl72", CURVE_CONTEXT, 100.0, **change)
        assert set(table["evidence"]) == {"physics"}
        assert "scaled" not in table["source"].iloc[0]


def test_the_pair_with_lpx_is_a_vendor_claim_with_a_wide_band():
    table = points("vr-nvl72", CURVE_CONTEXT, 100.0, lpx=lpx_rack())
    assert set(table["evidence"]) == {"vendor claim"}
    assert table["low"].iloc[0] <= 1 / 3.5 + 1e-9
    assert table["high"].iloc[0] > 3
    assert (table["lpx_rack_s_per_token"] > 0).all()
    assert (points("vr-nvl72", CURVE_CONTEXT, 100.0)["lpx_rack_s_per_token"] == 0).all()


@pytest.mark.parametrize("sku", RACKS)
@pytest.mark.parametrize("context", [600, 3_000, 6_800, CURVE_CONTEXT, 8_800, 20_000, 120_000])
def test_throughput_never_rises_with_tps_user_around_a_curve(sku, context):
    speeds = np.linspace(5, 420, 120)
    rates, _ = best(points(sku, context, speeds), 120)
    assert np.all(np.diff(rates) <= 1e-6 * rates[:-1])


@pytest.mark.parametrize("sku", RACKS)
@pytest.mark.parametrize("tps_user", [20.0, 60.0, 150.0, 200.0, 250.0, 300.0])
def test_throughput_and_streams_never_rise_with_context_around_a_curve(sku, tps_user):
    contexts = np.geomspace(500, 150_000, 90)
    rates, streams = best(points(sku, contexts, tps_user), 90)
    assert np.all(np.diff(rates) <= 1e-6 * rates[:-1])
    assert np.all(np.diff(streams) <= 1e-6 * streams[:-1])


def own_table(tmp_path, **changes):
    row = {
        "sku": "hgx-h200",
        "card": "qwen3-235b-a22b",
        "weight_precision": "fp8",
        "isl": 4_000,
        "osl": 1_000,
        "tps_user": 40,
        "tokens_per_s_per_gpu": 500,
        "all_gpus": 0,
        "low": 0.9,
        "high": "",
        "date": "2026-10",
        "source": "our own replay",
        "techniques": "none",
    } | changes
    path = tmp_path / "own.csv"
    pd.DataFrame([row, row | {"tps_user": 80, "tokens_per_s_per_gpu": 200}], columns=list(COLUMNS)).to_csv(
        path, index=False
    )
    return path


def test_a_users_table_stands_before_physics_and_keeps_source_and_date(tmp_path):
    curves = Curves.read(own_table(tmp_path))
    ask = {"precision": "fp8", "card": "qwen3-235b-a22b", "vintage": "none", "curves": curves}
    table = points("hgx-h200", 0.9 * 4_500, [40.0, 56.57, 80.0], **ask).drop_duplicates("element")
    assert table["tokens_per_s_per_gpu"].to_numpy() == pytest.approx([500, 342, 200], rel=0.01)
    assert set(table["evidence"]) == {"user"}
    assert table["source"].iloc[0] == "our own replay"
    assert table["source_date"].iloc[0] == "2026-10"
    assert table["low"].iloc[0] == pytest.approx(0.9)


def test_a_measured_curve_stands_before_a_users_table(tmp_path):
    path = own_table(tmp_path, sku="vr-nvl72", card="deepseek-r1", weight_precision="nvfp4", isl=8_192, osl=1_024)
    with_own = points("vr-nvl72", CURVE_CONTEXT, 60.0, curves=Curves.read(path))
    assert set(with_own["evidence"]) == {"measured"}
    assert with_own["tokens_per_s_per_gpu"].to_numpy() == pytest.approx(
        points("vr-nvl72", CURVE_CONTEXT, 60.0)["tokens_per_s_per_gpu"].to_numpy()
    )


def test_every_fault_of_a_users_table_is_named_at_once(tmp_path):
    path = own_table(tmp_path, tps_user="fast", all_gpus=2, low="x")
    with pytest.raises(InputError) as error:
        Curves.read(path)
    text = str(error.value)
    assert "own.csv, row 2, column tps_user" in text
    assert "column all_gpus" in text
    assert "column low" in text
    path.write_text("sku,card\n")
    with pytest.raises(InputError, match="column tokens_per_s_per_gpu"):
        Curves.read(path)


def test_a_users_table_may_name_hardware_by_alias_and_names_what_is_not_known(tmp_path):
    assert set(Curves.read(own_table(tmp_path, sku="H200")).table["sku"]) == {"hgx-h200"}
    for changes, said in (
        ({"sku": "hgx-h2000"}, "Did you mean 'hgx-h200'"),
        ({"sku": "NVL72"}, "ambiguous"),
        ({"card": "qwen3-235b"}, "Did you mean 'qwen3-235b-a22b'"),
        ({"weight_precision": "fp9"}, "row 2, column weight_precision"),
    ):
        with pytest.raises(InputError, match=said):
            Curves.read(own_table(tmp_path, **changes))
    assert len(Curves.read(own_table(tmp_path, card="mine"), cards=["mine"]).table) == 2


def test_a_curve_whose_throughput_rises_or_repeats_a_speed_is_refused(tmp_path):
    with pytest.raises(InputError, match="row 3, column tokens_per_s_per_gpu"):
        Curves.read(own_table(tmp_path, tokens_per_s_per_gpu=100))
    with pytest.raises(InputError, match="row 3, column tps_user"):
        Curves.read(own_table(tmp_path, tps_user=80))


def test_a_users_point_that_leaves_no_time_for_decode_is_refused_and_never_passed_over(tmp_path):
    """4,000 prompt tokens x 44 GFLOP at 47% of H200's 1,979 TFLOP/s: over 0.3 ms of prefill per output token."""
    curves = Curves.read(own_table(tmp_path, all_gpus=1, tokens_per_s_per_gpu=5_000))
    with pytest.raises(InputError, match=r"own\.csv, row 2.*all_gpus 0"):
        points("hgx-h200", 0.9 * 4_500, 40.0, precision="fp8", card="qwen3-235b-a22b", curves=curves)
    fine = Curves.read(own_table(tmp_path, all_gpus=1))
    table = points("hgx-h200", 0.9 * 4_500, 40.0, precision="fp8", card="qwen3-235b-a22b", curves=fine)
    assert set(table["evidence"]) == {"user"}
