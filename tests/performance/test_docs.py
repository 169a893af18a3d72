"""The accuracy that the page states is the accuracy that the fit found."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from performance_fixtures import RULES

from procure.catalogue import packaged_path
from procure.performance.decode import speed_band
from procure.performance.observations import observe, read_points
from procure.performance.predict import Bench, Runs
from procure.performance.ratios import hardware_ratios
from procure.performance.validate import predicted_rows

ERRORS = tomllib.loads((packaged_path("data") / "performance" / "errors.toml").read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["without_speculation", "with_speculation"])
def test_the_table_of_kept_out_runs_states_the_fits_errors(kind):
    found = ERRORS["test"][kind]
    row = f"| {found['n']} | {found['mape']:.1%} | {found['median_ape']:.1%} |"
    assert row in PAGE


@pytest.mark.parametrize(
    "name", ["gb200-nvl72", "gb300-nvl72", "hgx-b300", "kimi-k2.5", "minimax-m2.5", "gpt-oss-120b"]
)
def test_what_leaving_a_group_out_costs_is_stated(name):
    assert f"{ERRORS['left_out'][name]['without_speculation']['mape']:.1%}" in PAGE


def test_counts_of_runs_and_the_scale_are_stated():
    rows = ERRORS["rows"]
    assert f"{rows['fit']} distinct runs of the fit part, {rows['test']} of the test part" in PAGE
    assert f"({RULES.lpx.scale:.2f})" in PAGE


@pytest.mark.parametrize(
    "name", ["LMSYS chunked pipeline", "vLLM FP8 cache post", "LMSYS GB300 long context", "vLLM GLM-5.2"]
)
def test_what_prefill_errs_by_on_a_source_it_never_saw_is_stated_and_within_the_aims(name):
    found = ERRORS["prefill_left_out"][name]
    assert f"| {found['n']} | {found['mean_log']:.2f} | {found['factor']:.2f} × |" in PAGE
    assert found["mean_log"] <= 0.20
    assert found["factor"] <= 1.6


def test_the_runs_at_128k_are_predicted_as_the_page_says():
    """No fit saw them; each row of the page gives the step of GB300 and of GB200."""
    bench = Bench.packaged()
    rows = predicted_rows(packaged_path("data") / "performance" / "long_context.csv", bench)
    assert set(rows["part"]) == {"test"}
    ratio = {
        (sku, speed): f"{predicted / speed:.2f}"
        for sku, speed, predicted in zip(rows["sku"], rows["measured"], rows["predicted"], strict=True)
    }
    for fast, slow in ((23, 35), (35, 35), (55, 55), (43, 45), (65, 65)):
        assert f"| {ratio['gb300-nvl72', fast]} and {ratio['gb200-nvl72', slow]} |" in PAGE
    for drafted, word in ((False, "without and"), (True, "with speculation")):
        mape = (rows["predicted"] / rows["measured"] - 1)[rows["speculation"] == drafted].abs().mean()
        assert f"{mape:.1%} {word}" in PAGE
    for pair in hardware_ratios(rows, bench):
        assert f"= {pair['measured']:.2f} | {pair['computed']:.2f} " in PAGE


def test_how_far_off_sparse_decode_is_at_50k_is_stated_and_within_its_band():
    """Six runs of GLM-5.2 that no fit saw, in the software that plans take."""
    rows = observe(read_points(packaged_path("data") / "performance" / "sparse_context.csv"))
    reference = Runs(rows, Bench.packaged()).tps_user(
        RULES.reference, lambda _: RULES.framework("trt"), RULES.software.fitted
    )
    ratio = rows["tps_user"].to_numpy(dtype=float) / reference
    assert f"{ratio.min():.2f} to {ratio.max():.2f} times as fast" in PAGE
    for drafts in (0.0, 1.0):
        low, high = speed_band(RULES.band, np.array([drafts]), np.array([50_000.0]), sparse=True)
        mine = ratio[rows["speculation"] == (drafts > 0)]
        assert low.item() < mine.min() < mine.max() < high.item()
