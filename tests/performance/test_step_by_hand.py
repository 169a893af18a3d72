"""A decode step and a prefill worked by hand from released configs, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from performance_fixtures import dense_card, mla_card, pool, setup

from procure.performance.physics import Physics
from procure.performance.prefill import prefill_at_peak, prefill_terms
from procure.performance.step import Layout, Streams, decode_terms, expert_share_read, step_seconds
from procure.performance.work import attention_peak_flops, work_of
from procure.sizing import load_card

ROUND = Physics(
    weight_efficiency=0.8,
    widening_efficiency=1.0,
    kv_efficiency=0.5,
    wide_kv_efficiency=0.8,
    gemm_efficiency=0.25,
    attention_efficiency=0.5,
    reduce_efficiency=0.1,
    exchange_efficiency=0.2,
    gather_efficiency=0.4,
    scale_out_efficiency=0.5,
    prefill_efficiency=0.25,
    prefill_attention_efficiency=0.4,
    exposed_exponentials=0.5,
    activation_passes=10.0,
    prefill_exchange_efficiency=0.5,
    index_s=1e-6,
    layer_latency_s=40e-6,
    latent_latency_s=30e-6,
    tensor_latency_s=5e-6,
    spread_latency_s=10e-6,
    off_domain_latency_s=60e-6,
    off_domain_spread_latency_s=90e-6,
    server_latency_factor=1.25,
    fp8_latency_factor=1.5,
    acceptance=0.5,
)


def layout(gpus, spread):
    return Layout.best(np.array([float(gpus)]), np.array([spread]))


def terms(hardware, card, spread_over, batch, *, context, precision="fp8", kv="fp8", draft=0.0, rules=ROUND, dp=True):  # noqa: PLR0913 - what a step depends on, by name
    streams = Streams(
        kv,
        np.array([draft]),
        np.asarray(card.loaded_bytes(np.array([context]), kv), dtype=float),
        np.asarray(card.decode_attention_flops(np.array([context])), dtype=float),
    )
    given = (hardware, rules, work_of(card, precision), layout(spread_over, dp), streams, np.array([float(batch)]))
    return {name: float(value[0]) for name, value in decode_terms(*given).items()}


def test_an_agentic_step_of_deepseek_v32_worked_by_hand():
    """100,000 tokens of context, 320 streams on 32 GPUs of a GB300 NVL72, attention data parallel, FP8, no drafts.

    Config: 61 layers, 58 of them MoE with 256 experts of 3 x 7168 x 2048 parameters, top 8; MLA rank 512 + 64 rope,
    128 heads; indexer: 64 heads of 128, top 2048.
    """
    found = terms(pool("gb300-nvl72"), load_card("deepseek-v3.2"), 32, 320, context=100_000)

    # Cache: per layer 2,048 chosen entries of 576 B, and 100,000 index keys of 128 B with a 4 B scale.
    loaded = 61 * (2_048 * 576 + 100_000 * 132)
    assert found["kv"] == pytest.approx(loaded * 10 / (8e12 * 0.5), rel=1e-9)

    # 320 tokens hit nearly all 256 experts: 8 on each GPU, so the busiest reads all 8.
    expert = 3 * 7_168 * 2_048
    attention = 7_168 * 1_536 + 1_536 * 128 * 192 + 7_168 * 576 + 512 * 128 * 256 + 128 * 128 * 7_168
    indexer = 1_536 * 64 * 128 + 7_168 * 128 + 7_168 * 64
    dense_ffn = 3 * 3 * 7_168 * 18_432
    shared = 58 * (expert + 7_168 * 256)  # one shared expert and the router
    head = 2 * 129_280 * 7_168  # bytes: the head stays in BF16
    read = 58 * 8 * expert + 61 * (attention + indexer) + dense_ffn + shared + head
    assert found["weights"] == pytest.approx(read / (8e12 * 0.8), rel=2e-3)  # norms and biases are not in this sum

    # Arithmetic: 10 tokens per GPU; head at the BF16 peak, the rest at the FP8 peak.
    body = 2 * (58 * 8 * expert + 61 * (attention + indexer) + dense_ffn + shared)
    gemm = 10 * (body / 5e15 + 2 * 129_280 * 7_168 / 2.5e15) / 0.25
    assert found["gemm"] == pytest.approx(gemm, rel=2e-3)

    # Scores and values on the absorbed 576- and 512-wide entries, index scores over the whole context.
    core = 61 * (2 * 128 * (576 + 512) * 2_048 + 2 * 64 * 128 * 100_000)
    assert found["attention"] == pytest.approx(10 * core / (5e15 * 0.5), rel=0.03)  # the indexer's weighting adds 1-3%

    # Each token reaches 31 (1 - (31/32)^8) other GPUs with 3 B per element, in each of 58 layers.
    sent = 58 * 10 * 7_168 * 3 * 31 * (1 - (31 / 32) ** 8)
    assert found["network"] == pytest.approx(sent / (900e9 * 0.2), rel=1e-9)

    # 40 us, 30 us for the shared cache, five doublings of 10 us; FP8 takes half as long again.
    assert found["latency"] == pytest.approx(61 * (40 + 30 + 50) * 1.5e-6, rel=1e-9)
    assert float(step_seconds({name: np.array(value) for name, value in found.items()})) == sum(found.values())


def test_an_agentic_prefill_of_deepseek_v32_worked_by_hand():
    """5,000 new tokens behind 95,000 reused ones."""
    card, hardware = load_card("deepseek-v3.2"), pool("gb300-nvl72")
    peak = prefill_at_peak(hardware, card, setup(), np.array([5_000.0]), np.array([95_000.0]))
    found = {name: float(value[0]) for name, value in prefill_terms(peak, ROUND).items()}
    active = 37.5e9 - 0.93e9 * 1  # without the head; the embedding is a look-up
    assert found["gemm"] == pytest.approx(5_000 * 2 * active / 5e15 / 0.25, rel=0.03)
    prefix = 61 * 95_000 * (576 + 132)
    assert found["prefix"] == pytest.approx(prefix / (8e12 * 0.5), rel=1e-9)
    index = 61 * 2 * 64 * 128 * 5_000 * 97_500  # every new token scores every token before it
    assert found["attention"] > index / 5e15 / 0.4
    assert found["attention"] < 4 * index / 5e15 / 0.4
    assert found["softmax"] == pytest.approx(61 * 128 * 2_048 * 5_000 / 8.8e12 * 0.5, rel=1e-9)  # of the chosen tokens
    assert found["index"] == pytest.approx(5_000 * 61 * 1e-6, rel=1e-9)
    assert found["moved"] == pytest.approx(5_000 * 61 * 7_168 * 2 * 10 / 8e12, rel=1e-9)
    # 690 GB of FP8 weights in 253 GB: 4 GPUs hold them, 8 prefill; a token of 8 experts reaches 7 (1 - (7/8)^8) others.
    reached = 7 * (1 - (7 / 8) ** 8)
    sent = 7_168 * (58 * 3 * reached + 3 * 2 * 2 * 7 * 2)
    assert found["exchange"] == pytest.approx(5_000 * sent / 900e9 / 0.5, rel=1e-9)


def at_peak(sku, name, tokens, kv, **changes):
    hardware = replace(pool(sku), **changes)
    return prefill_at_peak(hardware, load_card(name), setup("bf16", kv), np.array([float(tokens)]), np.zeros(1))


def test_exponentials_are_what_an_eight_bit_cache_cannot_halve():
    """Llama-3.1-8B, 32 layers of 32 heads of 128: a score costs 512 FLOP and one exponential whatever the format."""
    wide, narrow = (at_peak("hgx-b200", "llama-3.1-8b", 100_000, kv) for kv in ("bf16", "fp8"))
    pairs = 32 * 32 * 100_000 * 100_001 / 2
    assert wide["attention"][0] == pytest.approx(pairs * 512 / 2.25e15, rel=1e-9)
    assert narrow["attention"][0] == pytest.approx(wide["attention"][0] / 2, rel=1e-9)
    assert narrow["softmax"][0] == wide["softmax"][0] == pytest.approx(pairs / 4.4e12, rel=1e-9)


def test_arithmetic_that_grows_faster_than_bytes_is_used_less():
    """Four times the FLOP/s alone: moves and exponentials stay, so the prefill is not four times as fast."""
    rules, slow = ROUND, at_peak("hgx-h200", "llama-3.1-8b", 30_000, "bf16")
    fast = at_peak("hgx-h200", "llama-3.1-8b", 30_000, "bf16", bf16_flops_per_gpu=4 * 989e12)
    seconds = [float(sum(prefill_terms(peak, rules).values())[0]) for peak in (slow, fast)]
    assert seconds[1] < seconds[0] < 4 * seconds[1]


def test_recurrent_layers_take_no_exponentials():
    assert at_peak("hgx-h200", "nemotron-h-56b", 30_000, "bf16")["softmax"][0] < (
        at_peak("hgx-h200", "llama-3.1-70b", 30_000, "bf16")["softmax"][0] / 5
    )


def test_one_token_reads_exactly_its_own_experts():
    work = work_of(mla_card(), "fp8")
    assert float(work.expected_experts(np.array(1.0))) == pytest.approx(8.0)
    share = expert_share_read(work, layout(8, False), np.array([1.0]))
    assert float(share[0]) * 256 * 8 == pytest.approx(8.0)  # sliced: each of 8 GPUs reads an eighth of 8 experts


def test_a_huge_batch_reads_every_expert_once_and_no_more():
    work = work_of(mla_card(), "fp8")
    for spread in (False, True):
        assert float(expert_share_read(work, layout(32, spread), np.array([1e6]))[0]) == pytest.approx(1 / 32)


def test_the_busiest_gpu_reads_more_than_the_mean_while_few_experts_are_hit():
    work = work_of(mla_card(), "fp8")
    sliced, whole = (expert_share_read(work, layout(8, spread), np.array([4.0]))[0] for spread in (False, True))
    assert sliced < whole < 2 * sliced


def test_a_tiny_llm_is_all_latency():
    tiny = replace(dense_card(), params=replace(dense_card().params, attention=1e6, shared_ffn=1e6, lm_head=1e6))
    found = terms(pool("hgx-h200"), tiny, 1, 1, context=100, precision="bf16", kv="bf16", dp=False)
    assert found["latency"] == pytest.approx(32 * 40e-6 * 1.25)
    assert found["latency"] > 0.98 * sum(found.values())


def test_replicas_over_two_servers_pay_for_their_slow_link():
    within = terms(pool("hgx-h200"), mla_card(), 8, 80, context=4_000)
    across = terms(pool("hgx-h200"), mla_card(), 16, 160, context=4_000)
    assert across["network"] > within["network"]
    assert across["latency"] - within["latency"] == pytest.approx(61 * (10e-6 + 90e-6) * 1.5 * 1.25)
    within, across = (
        terms(pool("hgx-h200"), mla_card(), gpus, 10 * gpus, context=4_000, dp=False)["latency"] for gpus in (8, 16)
    )
    assert across - within == pytest.approx(61 * (5e-6 + 60e-6) * 1.5 * 1.25)


def test_a_server_is_slower_than_a_rack_by_its_factor_on_latencies_alone():
    """What a chip reads and multiplies does not depend on where it stands."""
    racked = pool("hgx-b200", scale_up_domain_gpus=72)
    alone, beside = (terms(each, mla_card(), 8, 80, context=4_000) for each in (pool("hgx-b200"), racked))
    assert alone.pop("latency") == pytest.approx(1.25 * beside.pop("latency"))
    assert alone == beside


def test_sliced_experts_are_given_every_token_and_whole_ones_only_theirs():
    """80 streams on 8 GPUs, 58 MoE layers of 7,168: 10 tokens to each of 7 others in BF16, and their results back."""
    card = mla_card()
    streams = Streams("fp8", np.array([0.0]), np.array([1.0]), np.array([1.0]))
    gathered = replace(layout(8, True), expert_parallel=np.array([False]), gathers=np.array([True]))
    network = [
        float(
            decode_terms(pool("gb200-nvl72"), ROUND, work_of(card, "fp8"), each, streams, np.array([80.0]))["network"][
                0
            ]
        )
        for each in (gathered, layout(8, True))
    ]
    assert network[0] == pytest.approx(58 * 10 * 7_168 * (2 + 2) * 7 / (900e9 * 0.4), rel=1e-9)
    assert network[1] == pytest.approx(58 * 10 * 7_168 * 3 * 7 * (1 - (7 / 8) ** 8) / (900e9 * 0.2), rel=1e-9)


def test_a_drafted_token_costs_its_arithmetic_and_one_more_layer():
    plain = terms(pool("gb200-nvl72"), mla_card(), 32, 320, context=4_000)
    drafted = terms(pool("gb200-nvl72"), mla_card(), 32, 320, context=4_000, draft=1.0)
    assert drafted["gemm"] == pytest.approx(2 * plain["gemm"] * 62 / 61)
    assert drafted["latency"] == pytest.approx(plain["latency"] * 62 / 61)
    assert float(ROUND.tokens_per_step(np.array(1.0))) == pytest.approx(1.5)
    assert float(ROUND.tokens_per_step(np.array(3.0))) == pytest.approx(1.875)


def test_weights_widened_to_bf16_are_slow_to_read_and_multiply():
    slow = replace(ROUND, widening_efficiency=0.5)
    card = mla_card()
    plain = terms(pool("hgx-h200"), card, 8, 80, context=4_000, precision="nvfp4")
    widened = terms(pool("hgx-h200"), card, 8, 80, context=4_000, precision="nvfp4", rules=slow)
    native = terms(pool("hgx-b200"), card, 8, 80, context=4_000, precision="nvfp4", rules=slow)
    assert widened["weights"] > 1.5 * plain["weights"]
    assert native["gemm"] < 0.3 * widened["gemm"]


def test_attention_runs_on_fp8_where_a_gpu_has_it_beside_fp4_and_else_on_bf16():
    whole = pool("hgx-b200", fp4_flops_per_gpu=9e15, fp8_flops_per_gpu=4e15, bf16_flops_per_gpu=2e15)
    assert attention_peak_flops(whole, "fp8") == 4e15
    assert attention_peak_flops(whole, "bf16") == 2e15
    for lacking in ("fp4_flops_per_gpu", "fp8_flops_per_gpu"):
        assert attention_peak_flops(replace(whole, **{lacking: 0.0}), "fp8") == 2e15
