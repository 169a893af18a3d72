"""The accuracy that the page states is the accuracy that the fit found."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from performance_fixtures import RULES

from procure.catalogue import packaged_path

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
