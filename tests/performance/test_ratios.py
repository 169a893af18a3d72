"""Hardware against hardware at one TPS/User: each run in its own layout and pools."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from procure.catalogue import packaged_path
from procure.performance.observations import COLUMNS
from procure.performance.predict import Bench, Runs
from procure.performance.ratios import hardware_ratios, streams_over_measured
from procure.performance.validate import predicted_rows

BENCH = Bench.packaged()
FILE = packaged_path("data") / "performance" / "long_context.csv"


@pytest.fixture(scope="module")
def runs():
    return predicted_rows(FILE, BENCH)


def test_at_the_streams_found_the_computed_speed_is_the_measured_one(runs):
    factor, rules = streams_over_measured(runs, BENCH), BENCH.rules
    found = Runs(runs, BENCH).with_streams(factor)
    speed = found.tps_user(rules.reference, rules.framework, rules.software.fitted)
    assert speed == pytest.approx(runs["tps_user"].to_numpy(), rel=1e-6)
    assert (np.abs(factor - 1.0) > 0.01).all()  # a run that is computed exactly would show nothing


def test_a_speed_that_no_batch_reaches_has_no_streams(runs):
    impossible = runs.assign(tps_user=10_000.0)
    assert (streams_over_measured(impossible, BENCH) == 0).all()
    assert np.isnan([pair["computed"] for pair in hardware_ratios(impossible, BENCH)]).all()


def test_runs_are_paired_where_they_are_alike_and_as_fast(runs):
    pairs = hardware_ratios(runs, BENCH)
    assert [pair["tps_user"] for pair in pairs] == [[35.0, 35.0], [55.0, 55.0], [43.0, 45.0], [65.0, 65.0]]
    assert {(pair["hardware"], pair["over"]) for pair in pairs} == {("GB300-NVL72", "GB200-NVL72")}
    assert [pair["measured"] for pair in pairs] == pytest.approx([1.384, 1.577, 1.326, 1.403], abs=1e-3)
    assert hardware_ratios(runs[runs["sku"] == "gb300-nvl72"], BENCH) == []
    assert hardware_ratios(runs.iloc[:0], BENCH) == []
    far = runs.assign(tps_user=runs["tps_user"].where(runs["sku"] == "gb300-nvl72", 1.3 * runs["tps_user"]))
    assert len(hardware_ratios(far, BENCH)) < len(pairs)


def test_hardware_that_is_computed_as_it_was_measured_has_the_measured_ratio(tmp_path, runs):
    """Planted: throughput and speed moved together, so that the streams stay and the speed is the computed one."""
    exact = runs.assign(
        tps_per_gpu=runs["tps_per_gpu"] * runs["predicted"] / runs["tps_user"], tps_user=runs["predicted"]
    )
    path = tmp_path / "exact.csv"
    exact[list(COLUMNS)].to_csv(path, index=False)
    for pair in hardware_ratios(predicted_rows(path, BENCH), BENCH):
        assert pair["computed"] == pytest.approx(pair["measured"], rel=1e-3)
        assert pair["step"] == pytest.approx(1.0, abs=1e-4)


class Faster(Bench):
    """Every GPU with twice the rates of HBM and arithmetic."""

    def sku(self, name):
        sku = super().sku(name)
        rates = ("hbm_bytes_per_s_per_gpu", "fp4_flops_per_gpu", "fp8_flops_per_gpu", "bf16_flops_per_gpu")
        return replace(sku, **{field: 2.0 * getattr(sku, field) for field in rates})


def test_twice_the_rates_hold_at_least_nearly_twice_the_streams(runs):
    """Latency and exchange stay, and less time for weights leaves more for streams."""
    gain = streams_over_measured(runs, Faster(BENCH.catalogue, BENCH.rules)) / streams_over_measured(runs, BENCH)
    assert (gain > 1.95).all()
