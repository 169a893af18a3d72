"""Measured curves and user's tables: who answers, what is reproduced, and that no law is broken where they begin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from performance_fixtures import CATALOGUE, RULES, lpx_rack, setup

from procure.errors import InputError
from procure.performance import decode_points
from procure.performance.frontier import over_all_gpus
from procure.performance.measured import COLUMNS, EXTRA, Curves
from procure.performance.own_prefill import prefill_gpu_seconds
from procure.sizing import load_card

RACKS = ("gb200-nvl72", "gb300-nvl72", "vr-nvl72")
CURVE_CONTEXT = 0.9 * (8_192 + 512)


def points(sku, context, tps_user, *, vintage="base", precision="nvfp4", card="deepseek-r1", curves=None, **more):
    context, tps_user = np.broadcast_arrays(np.atleast_1d(np.asarray(context, float)), np.atleast_1d(tps_user))
    return decode_points(
        CATALOGUE.sku(sku),
        load_card(card),
        setup(precision, vintage=vintage, curves=curves),
        context_mean=context,
        context_upper=context * 1.2,
        tps_user=tps_user,
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
    curve = RULES.curves.of(sku, "deepseek-r1", "nvfp4", "base")
    table = points(sku, CURVE_CONTEXT, curve["tps_user"].to_numpy()).drop_duplicates("element")
    prefill_s = prefill_gpu_seconds(
        CATALOGUE.sku(sku),
        load_card("deepseek-r1"),
        setup("nvfp4"),
        new_tokens=[0.9 * 8_192],
        prefix_tokens=[0.0],
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
def test_throughput_never_rises_with_tps_user_around_a_curve(sku):
    contexts, speeds = [600, 3_000, 6_800, CURVE_CONTEXT, 8_800, 20_000, 120_000], np.linspace(5, 420, 60)
    rates, _ = best(points(sku, np.repeat(contexts, len(speeds)), np.tile(speeds, len(contexts))), 7 * 60)
    along = rates.reshape(7, 60)
    assert np.all(np.diff(along) <= 1e-6 * along[:, :-1])


@pytest.mark.parametrize("sku", RACKS)
def test_throughput_and_streams_never_rise_with_context_around_a_curve(sku):
    contexts, speeds = np.geomspace(500, 150_000, 60), [20.0, 60.0, 150.0, 200.0, 250.0, 300.0]
    found = best(points(sku, np.tile(contexts, len(speeds)), np.repeat(speeds, len(contexts))), 6 * 60)
    for along in (values.reshape(6, 60) for values in found):
        assert np.all(np.diff(along) <= 1e-6 * along[:, :-1])


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
    columns = [*COLUMNS, *(name for name in EXTRA if name in changes)]
    pd.DataFrame([row, row | {"tps_user": 80, "tokens_per_s_per_gpu": 200}], columns=columns).to_csv(path, index=False)
    return path


def test_a_users_table_stands_before_physics_and_keeps_source_and_date(tmp_path):
    curves = Curves.read(own_table(tmp_path), CATALOGUE)
    ask = {"precision": "fp8", "card": "qwen3-235b-a22b", "vintage": "none", "curves": curves}
    table = points("hgx-h200", 4_500, [40.0, 56.57, 80.0], **ask).drop_duplicates("element")
    assert table["tokens_per_s_per_gpu"].to_numpy() == pytest.approx([500, 342, 200], rel=0.01)
    assert set(table["evidence"]) == {"user"}
    assert table["source"].iloc[0] == "our own replay"
    assert table["source_date"].iloc[0] == "2026-10"
    assert table["low"].iloc[0] == pytest.approx(0.9)


def test_a_users_table_stands_before_a_packaged_curve_where_it_answers(tmp_path):
    row = {"sku": "vr-nvl72", "card": "deepseek-r1", "weight_precision": "nvfp4", "isl": 7_400, "osl": 900}
    own = Curves.read(own_table(tmp_path, **row), CATALOGUE)
    there = points("vr-nvl72", 7_850, [40.0, 80.0], curves=own).drop_duplicates("element")
    assert there["tokens_per_s_per_gpu"].to_numpy() == pytest.approx([500, 200], rel=1e-9)
    assert set(there["evidence"]) == {"user"}
    beside = points("vr-nvl72", CURVE_CONTEXT, 200.0, curves=own)
    pd.testing.assert_frame_equal(beside, points("vr-nvl72", CURVE_CONTEXT, 200.0))
    assert set(beside["evidence"]) == {"measured"}


@pytest.mark.parametrize("all_gpus", [0, 1])
@pytest.mark.parametrize(
    ("sku", "power_mode"), [("hgx-h200", 1.0), ("gb300-nvl72", 0.9), ("vr-nvl72", 1.0), ("rubin-ultra-nvl144", 0.9)]
)
def test_a_users_points_are_reproduced_at_exactly_their_lengths_in_any_power_mode(tmp_path, sku, power_mode, all_gpus):
    own = Curves.read(own_table(tmp_path, sku=sku, all_gpus=all_gpus), CATALOGUE)
    card = load_card("qwen3-235b-a22b")
    hardware = replace(CATALOGUE.sku(sku), throughput_factor=power_mode)
    later = setup(vintage="base+7", curves=own)
    given = {"context_mean": [4_500.0] * 2, "context_upper": [5_000.0] * 2, "tps_user": [40.0, 80.0]}
    table = decode_points(hardware, card, later, **given).drop_duplicates("element")
    rate = table["tokens_per_s_per_gpu"].to_numpy()
    if all_gpus:
        work = prefill_gpu_seconds(hardware, card, later, new_tokens=[4_000.0], prefix_tokens=[0.0])[0]
        rate = over_all_gpus(rate, work / 1_000)
    assert rate == pytest.approx([500, 200], rel=1e-9)
    assert set(table["evidence"]) == {"user"}
    assert set(table["source"]) == {"our own replay"}


@pytest.mark.thorough
def test_a_speed_that_the_physics_does_not_reach_is_used_as_it_was_measured(tmp_path):
    path = own_table(tmp_path, tps_user=80)
    table = pd.read_csv(path)
    table.loc[1, ["tps_user", "tokens_per_s_per_gpu"]] = [2_000, 3]
    table.to_csv(path, index=False)
    ask = {"precision": "fp8", "card": "qwen3-235b-a22b"}
    assert points("hgx-h200", 4_500, 2_000.0, **ask).empty
    found = (
        points("hgx-h200", 4_500, 2_000.0, curves=Curves.read(path, CATALOGUE), **ask)
        .drop_duplicates("element")
        .iloc[0]
    )
    assert found["tokens_per_s_per_gpu"] == pytest.approx(3, rel=1e-9)
    assert found["tps_user"] >= 2_000
    assert found["evidence"] == "user"


@pytest.mark.slow
def test_a_users_curve_with_lpx_answers_for_the_pair_alone(tmp_path):
    row = {"sku": "vr-nvl72", "card": "deepseek-r1", "weight_precision": "nvfp4", "with_lpx": 1}
    own = Curves.read(own_table(tmp_path, **row), CATALOGUE)
    ask = {"context": 4_500, "tps_user": [40.0, 80.0]}
    paired, claimed = (points("vr-nvl72", **ask, lpx=lpx_rack(), curves=c) for c in (own, None))
    best_of, before = (t.drop_duplicates("element") for t in (paired, claimed))
    assert best_of["tokens_per_s_per_gpu"].to_numpy() == pytest.approx([500, 200], rel=1e-9)
    assert set(paired["evidence"]) == {"user"}
    # LPX racks work as long behind a token as GPUs do: both by the same factor
    for column, power in (("tokens_per_s_per_gpu", 1), ("lpx_rack_s_per_token", -1)):
        change = best_of[column].to_numpy() / before[column].to_numpy()
        scale = best_of["tokens_per_s_per_gpu"].to_numpy() / before["tokens_per_s_per_gpu"].to_numpy()
        assert change == pytest.approx(scale**power, rel=1e-9)
    alone = points("vr-nvl72", **ask, curves=own)
    pd.testing.assert_frame_equal(alone, points("vr-nvl72", **ask))


def test_a_stated_prefill_rate_is_used_as_stated_and_scales_the_rest(tmp_path):
    own = Curves.read(
        own_table(tmp_path, prefill_tokens_per_s_per_gpu=2_500, all_gpus=1, tokens_per_s_per_gpu=300), CATALOGUE
    )
    pool, card = CATALOGUE.sku("hgx-h200"), load_card("qwen3-235b-a22b")
    new, prefix = np.array([4_000.0, 4_000.0, 40_000.0]), np.array([0.0, 36_000.0, 0.0])
    stated, physics = (
        prefill_gpu_seconds(pool, card, setup(curves=c), new_tokens=new, prefix_tokens=prefix) for c in (own, None)
    )
    assert stated[0] == pytest.approx(4_000 / 2_500, rel=1e-9)
    assert stated[1:] / physics[1:] == pytest.approx(np.full(2, stated[0] / physics[0]), rel=1e-9)
    decode = points("hgx-h200", 4_500, 40.0, precision="fp8", card="qwen3-235b-a22b", curves=own).iloc[0]
    assert over_all_gpus(decode["tokens_per_s_per_gpu"], 4_000 / 2_500 / 1_000) == pytest.approx(300, rel=1e-9)


def test_later_software_on_a_path_takes_as_many_gpu_seconds_of_prefill():
    """Instances work out prefill once for all quarters of a path."""
    prompts = {"new_tokens": [2_000.0, 90_000.0], "prefix_tokens": [0.0, 9_000.0]}
    pool, card = CATALOGUE.sku("gb300-nvl72"), load_card("deepseek-v3.2")
    for level in ("base", "fast"):
        now, later = (
            prefill_gpu_seconds(pool, card, setup(vintage=vintage), **prompts) for vintage in (level, f"{level}+30")
        )
        assert (now == later).all()


def test_two_prefill_rates_for_one_prompt_length_are_refused(tmp_path):
    path = own_table(tmp_path, prefill_tokens_per_s_per_gpu=2_500)
    table = pd.read_csv(path)
    table.loc[1, "prefill_tokens_per_s_per_gpu"] = 2_600
    table.to_csv(path, index=False)
    with pytest.raises(InputError, match=r"row 3, column prefill_tokens_per_s_per_gpu.*2500 as in row 2"):
        Curves.read(path, CATALOGUE)


def test_every_fault_of_a_users_table_is_named_at_once(tmp_path):
    path = own_table(tmp_path, tps_user="fast", all_gpus=2, low="x")
    with pytest.raises(InputError) as error:
        Curves.read(path, CATALOGUE)
    text = str(error.value)
    assert "own.csv, row 2, column tps_user" in text
    assert "column all_gpus" in text
    assert "column low" in text
    path.write_text("sku,card\n")
    with pytest.raises(InputError, match="column tokens_per_s_per_gpu"):
        Curves.read(path, CATALOGUE)


def test_a_users_table_may_name_hardware_by_alias_and_names_what_is_not_known(tmp_path):
    assert set(Curves.read(own_table(tmp_path, sku="H200"), CATALOGUE).table["sku"]) == {"hgx-h200"}
    for changes, said in (
        ({"sku": "hgx-h2000"}, "Did you mean 'hgx-h200'"),
        ({"sku": "NVL72"}, "ambiguous"),
        ({"card": "qwen3-235b"}, "Did you mean 'qwen3-235b-a22b'"),
        ({"weight_precision": "fp9"}, "row 2, column weight_precision"),
    ):
        with pytest.raises(InputError, match=said):
            Curves.read(own_table(tmp_path, **changes), CATALOGUE)
    assert len(Curves.read(own_table(tmp_path, card="mine"), cards=["mine"]).table) == 2


def test_a_curve_whose_throughput_rises_or_repeats_a_speed_is_refused(tmp_path):
    with pytest.raises(InputError, match="row 3, column tokens_per_s_per_gpu"):
        Curves.read(own_table(tmp_path, tokens_per_s_per_gpu=100), CATALOGUE)
    with pytest.raises(InputError, match="row 3, column tps_user"):
        Curves.read(own_table(tmp_path, tps_user=80), CATALOGUE)


def test_a_users_point_that_leaves_no_time_for_decode_is_refused_and_never_passed_over(tmp_path):
    """4,000 prompt tokens x 44 GFLOP at 47% of H200's 1,979 TFLOP/s: over 0.3 ms of prefill per output token."""
    curves = Curves.read(own_table(tmp_path, all_gpus=1, tokens_per_s_per_gpu=5_000), CATALOGUE)
    with pytest.raises(InputError, match=r"own\.csv, row 2.*all_gpus 0"):
        points("hgx-h200", 4_500, 40.0, precision="fp8", card="qwen3-235b-a22b", curves=curves)
    fine = Curves.read(own_table(tmp_path, all_gpus=1), CATALOGUE)
    table = points("hgx-h200", 4_500, 40.0, precision="fp8", card="qwen3-235b-a22b", curves=fine)
    assert set(table["evidence"]) == {"user"}
