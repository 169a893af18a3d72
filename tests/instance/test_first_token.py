"""Seconds to the first token in an instance: those of ``procure perf``."""

from __future__ import annotations

import pytest
from tiny_case import tiny

from procure import performance
from procure.instance import build
from procure.performance.figure import Load, figure

GB = "gb300-nvl72"
ONE_LENGTH = dict.fromkeys(("input_mean_tokens", "input_p50_tokens", "input_p90_tokens", "input_p99_tokens"), 8000.0)


def test_a_plan_and_perf_give_a_prompt_the_same_time_to_first_token():
    fixed = {"chat": {**ONE_LENGTH, "reuse_curve": "none", "shared_prefix_tokens": 0.0}}
    case = tiny(workloads=fixed)
    card = next(iter(case.cards.values()))
    row = case.tables["workloads"].iloc[0]
    load = Load(card, row["weight_precision"], row["kv_format"], 8_000.0, 300.0)
    prefill = build(case)["prefill"]
    assert prefill["t"].tolist() == [0, 1, 2]
    for t, quarter in enumerate(case.quarters):
        vintage = performance.vintage_at(case.settings.vintage, str(quarter))
        told = figure([GB], load, vintage=vintage, speeds=(20.0,))["ttft_s"].item()
        assert prefill["ttft_s"].iloc[t] == pytest.approx(told)
