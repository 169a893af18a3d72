"""What engines reserve against the formula: pages, window blocks, state blocks, replication."""

import numpy as np
import pytest

from procure.sizing import load_card
from procure.sizing.reserve import Engine, hybrid_block, replication, reserved_bytes


def test_pages_round_up():
    card = load_card("llama-3.1-8b")
    assert reserved_bytes(card, 17, "bf16", Engine(page_tokens=16)) == 32 * 131_072
    assert reserved_bytes(card, 16, "bf16", Engine(page_tokens=16)) == 16 * 131_072
    assert reserved_bytes(card, 17, "bf16", Engine(page_tokens=1)) == 17 * 131_072


def test_a_window_takes_its_pages_and_one_that_is_partly_passed():
    card = load_card("mistral-7b-v0.1")
    per_token = 131_072
    assert reserved_bytes(card, 100_000, "bf16", Engine(page_tokens=16)) == (4096 + 16) * per_token
    prefill = Engine(page_tokens=16, chunk_tokens=8192)
    assert reserved_bytes(card, 100_000, "bf16", prefill) == (4096 - 1 + 8192 + 1 + 16) * per_token
    assert reserved_bytes(card, 2_000, "bf16", prefill) == 2_000 * per_token


def test_windows_kept_as_full_layers_grow_with_length():
    card = load_card("gpt-oss-120b")
    apart, together = Engine(), Engine(window_layers_apart=False)
    assert reserved_bytes(card, 131_072, "bf16", together) == 2 * 18 * 131_072 * 2048
    assert reserved_bytes(card, 131_072, "bf16", apart) < 0.51 * reserved_bytes(card, 131_072, "bf16", together)


@pytest.mark.parametrize(
    ("name", "rule", "tokens", "padding"),
    [("qwen3-next-80b-a3b", "vllm", 544, 0.0149), ("qwen3-next-80b-a3b", "sglang", 1056, 0.008)],
)
def test_hybrid_blocks_grow_until_a_page_covers_a_state(name, rule, tokens, padding):
    block = hybrid_block(load_card(name), "bf16", Engine(convention=rule))
    assert block.tokens == tokens
    assert block.padding == pytest.approx(padding, abs=1e-3)
    assert block.tokens % 16 == 0


def test_hybrids_reserve_whole_blocks_and_padded_states():
    card, engine = load_card("qwen3-next-80b-a3b"), Engine()
    block = hybrid_block(card, "bf16", engine)
    assert reserved_bytes(card, 1, "bf16", engine) == (12 + 36) * block.page_bytes
    assert reserved_bytes(card, block.tokens + 1, "bf16", engine) == (2 * 12 + 36) * block.page_bytes
    aligned = Engine(state_slots=2)
    assert reserved_bytes(card, 1, "bf16", aligned) == (12 + 2 * 36) * block.page_bytes
    everywhere = Engine(state_per_block=True)
    assert reserved_bytes(card, 10 * block.tokens, "bf16", everywhere) == 10 * (12 + 36) * block.page_bytes


def test_cards_without_states_have_no_hybrid_block():
    assert hybrid_block(load_card("deepseek-v3.2"), "bf16") is None


@pytest.mark.parametrize(
    ("name", "ranks", "groups", "times"),
    [
        ("deepseek-v3", 8, 1, 8),  # one latent: on every rank
        ("deepseek-v3", 8, 8, 1),  # data-parallel attention: on one
        ("deepseek-v3", 8, 2, 4),
        ("deepseek-v4-pro", 4, 1, 4),
        ("step-3", 8, 1, 8),
        ("starcoder-15b", 2, 1, 2),
        ("qwen3-235b-a22b", 4, 1, 1),
        ("qwen3-235b-a22b", 8, 1, 2),  # four KV heads
        ("llama-3.1-70b", 8, 1, 1),
    ],
)
def test_replication_under_tensor_parallelism(name, ranks, groups, times):
    engine = Engine(page_tokens=1, tensor_parallel=ranks, attention_data_parallel=groups)
    card = load_card(name)
    assert replication(card, engine) == pytest.approx(times)
    reserved = reserved_bytes(card, 4096, "bf16", engine)
    alone = reserved_bytes(card, 4096, "bf16", Engine(page_tokens=1))
    assert reserved == pytest.approx(times * alone)


def test_states_split_over_ranks_and_mamba_groups_replicate_where_they_do_not_divide():
    card = load_card("nemotron-3-nano-30b-a3b")  # 8 groups, 2 KV heads
    assert replication(card, Engine(tensor_parallel=2)) == pytest.approx(1)
    split, whole = replication(card, Engine(tensor_parallel=16), tokens=1), replication(card, Engine(), tokens=1)
    assert whole == 1
    conv, state, kv = 3 * (4096 + 2 * 16 * 128) * 2, 64 * 64 * 128 * 2, 2 * 2 * 128 * 2
    assert split > 1
    state = 64 * 64 * 128 * 4  # float32 in its config
    expected = (23 * (state + conv) + 6 * 8 * kv) / (23 * (state + 3 * (4096 + 2 * 8 * 128) * 2) + 6 * kv)
    assert split == pytest.approx(expected)


def test_groups_must_divide_ranks():
    with pytest.raises(ValueError, match="do not divide"):
        _ = Engine(tensor_parallel=8, attention_data_parallel=3).ranks


def test_reserved_bytes_are_vectorised():
    card, lengths = load_card("gpt-oss-120b"), np.array([1, 100, 5000])
    assert list(reserved_bytes(card, lengths, "fp8")) == [reserved_bytes(card, int(one), "fp8") for one in lengths]
