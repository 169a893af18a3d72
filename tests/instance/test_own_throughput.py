"""A case's own measurements reach the plan's coefficients as they are stated."""

from __future__ import annotations

import pandas as pd
import pytest
from solved_case import built
from tiny_case import tiny

from procure import performance

LENGTHS = {f"input_{name}_tokens": 4_000.0 for name in ("mean", "p50", "p90", "p99")}
WORK = {
    **LENGTHS,
    "card": "gpt-oss-120b",
    "context_cap_tokens": 131_072,
    "shared_prefix_tokens": 0.0,
    "reuse_curve": "none",
    "output_thinking_tokens": 0.0,
    "output_visible_tokens": 1_000.0,
    "tps_user": 60.0,
    "weight_precision": "mxfp4",
}


def measured(sku, **more):
    row = {
        "sku": sku, "card": "gpt-oss-120b", "weight_precision": "mxfp4", "isl": 4_000, "osl": 1_000, "tps_user": 60,
        "tokens_per_s_per_gpu": 800.0, "all_gpus": 0, "date": "2027-01", "source": "our replay", **more,
    }  # fmt: skip
    return {"throughput": pd.DataFrame([row])}


def tables(skus, throughput):
    return built(tiny(skus=skus, workloads={"chat": WORK}, tables=throughput))


@pytest.mark.parametrize("sku", ["gb300-nvl72", "vr-nvl72"])
@pytest.mark.thorough
def test_fixed_lengths_decode_and_prefill_at_the_stated_rates(sku):
    made = tables((sku,), measured(sku, prefill_tokens_per_s_per_gpu=9_000.0))
    best = made["serve"].drop_duplicates(["t", "bucket"])
    assert best["rack_s"].tolist() == pytest.approx([1_000 / (800.0 * 72)] * 3, rel=1e-9)
    assert set(made["serve"]["evidence"]) == {"user"}
    full = made["prefill"].query("store == 'recompute'")
    assert full["rack_s"].tolist() == pytest.approx([4_000 / (9_000.0 * 72)] * 3, rel=1e-9)
    assert set(full["evidence"]) == {"user"}


@pytest.mark.thorough
def test_prefill_takes_what_a_pool_that_serves_takes_unless_it_was_measured():
    """Benchmarked GPU-seconds over the service factor; 9,000 tokens/s stated are taken as they are."""
    case = tiny(workloads={"chat": WORK})
    rules = performance.Rules.of(performance.premises_of(case.catalogue))
    setup = performance.Setup("mxfp4", case.tables["workloads"]["kv_format"].iloc[0], "base", rules)
    pool, card = case.catalogue.sku("gb300-nvl72"), case.cards["gpt-oss-120b"]
    bench_s = performance.prefill_gpu_seconds(pool, card, setup, new_tokens=[4_000.0], prefix_tokens=[0.0])[0]
    assert rules.prefill.service_factor == 0.68
    full = built(case)["prefill"].query("store == 'recompute'")
    assert full["rack_s"].tolist() == pytest.approx([bench_s / 72 / 0.68] * 3, rel=1e-9)
    own = performance.Curves.of_table(
        measured("gb300-nvl72", prefill_tokens_per_s_per_gpu=9_000.0)["throughput"], "own", case.catalogue, ()
    )
    stated = performance.Setup("mxfp4", setup.kv_format, "base", rules, own)
    served = performance.served_prefill_gpu_seconds(pool, card, stated, new_tokens=[4_000.0], prefix_tokens=[0.0])
    assert served[0] == pytest.approx(4_000 / 9_000, rel=1e-9)


@pytest.mark.slow
def test_a_measurement_with_lpx_reaches_the_pair_and_leaves_the_racks_alone():
    with_own = tables(("vr-nvl72", "lpx"), measured("vr-nvl72", with_lpx=1))["serve"]
    without = tables(("vr-nvl72", "lpx"), {})["serve"]
    pair = with_own[with_own["deployment"] == "vr-nvl72+lpx"]
    best = pair.drop_duplicates(["t", "bucket"])
    assert best["rack_s"].tolist() == pytest.approx([1_000 / (800.0 * 72)] * 3, rel=1e-9)
    assert set(pair["evidence"]) == {"user"}
    alone = [t[t["deployment"] == "vr-nvl72"].reset_index(drop=True) for t in (with_own, without)]
    pd.testing.assert_frame_equal(*alone)
