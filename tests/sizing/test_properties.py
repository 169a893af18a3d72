"""Laws that hold for every card, format, convention and length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procure.catalogue.fact import packaged_rows
from procure.sizing import card_names, load_card
from procure.sizing.fits import NOTHING, UNLIMITED, longest_tokens, most_sequences, state_below_share_tokens
from procure.sizing.formats import format_names
from procure.sizing.reserve import Engine, reserved_bytes

CARDS = {name: load_card(name) for name in card_names()}
names = st.sampled_from(sorted(CARDS))
lengths = st.integers(0, 20_000_000)
forms = st.sampled_from(format_names())
rules = st.sampled_from(
    [name for row in packaged_rows("kv_formats/conventions") if (name := row["convention"]) != "transformers"]
)
GROWING = [
    name
    for name, card in CARDS.items()
    if set(card.families) <= {"gqa", "mla"} and "SWA" not in card.description and "chunked" not in card.description
]


@given(names, lengths, lengths, forms, rules)
def test_stored_bytes_never_shrink_with_length(name, a, b, fmt, rule):
    low, high = sorted((a, b))
    card = CARDS[name]
    assert card.stored_bytes(low, fmt, rule) <= card.stored_bytes(high, fmt, rule)
    assert card.transferred_bytes(low, fmt, rule) <= card.transferred_bytes(high, fmt, rule)


@given(st.sampled_from(GROWING), lengths, lengths, forms)
def test_softmax_families_are_linear(name, a, b, fmt):
    card = CARDS[name]
    assert card.stored_bytes(a + b, fmt) == card.stored_bytes(a, fmt) + card.stored_bytes(b, fmt)


@given(lengths, forms)
def test_windows_are_bounded(tokens, fmt):
    card = CARDS["mistral-7b-v0.1"]
    assert card.stored_bytes(tokens, fmt) == card.stored_bytes(min(tokens, 4096), fmt)


@given(names, st.integers(2048, 20_000_000), forms, rules)
def test_stored_is_at_least_loaded_once_beyond_the_top_k_apart_from_states_written_back(name, tokens, fmt, rule):
    card = CARDS[name]
    loaded = card.components(tokens, fmt, rule, "loaded")
    written_back = (loaded.get("recurrent_state", 0) + loaded.get("conv_state", 0)) / 2
    assert card.stored_bytes(tokens, fmt, rule) >= card.loaded_bytes(tokens, fmt, rule) - written_back


@given(names, lengths, forms, rules, st.sampled_from(["stored", "loaded"]))
def test_components_sum_to_the_total(name, tokens, fmt, rule, quantity):
    card = CARDS[name]
    total = card.stored_bytes(tokens, fmt, rule) if quantity == "stored" else card.loaded_bytes(tokens, fmt, rule)
    assert sum(card.components(tokens, fmt, rule, quantity).values()) == total


@given(names, st.integers(0, 2**45), forms, rules)
@pytest.mark.thorough
def test_longest_sequence_fits_and_one_token_more_does_not(name, budget, fmt, rule):
    card = CARDS[name]
    longest = longest_tokens(card, budget, fmt, rule)
    if longest == NOTHING:
        assert card.stored_bytes(0, fmt, rule) > budget
    elif longest != UNLIMITED:
        assert card.stored_bytes(longest, fmt, rule) <= budget < card.stored_bytes(longest + 1, fmt, rule)


@given(st.sampled_from(GROWING), lengths, forms)
@pytest.mark.thorough
def test_inverse_of_forward_is_the_identity(name, tokens, fmt):
    assert longest_tokens(CARDS[name], CARDS[name].stored_bytes(tokens, fmt), fmt) == tokens


@given(names, lengths, forms)
@pytest.mark.thorough
def test_inverse_of_forward_returns_a_length_with_the_same_bytes(name, tokens, fmt):
    card = CARDS[name]
    stored = card.stored_bytes(tokens, fmt)
    longest = longest_tokens(card, stored, fmt)
    assert longest >= tokens
    assert longest == UNLIMITED or card.stored_bytes(longest, fmt) == stored


@given(names, st.lists(st.integers(0, 2**44), min_size=2, max_size=8), forms)
@pytest.mark.thorough
def test_longest_sequence_never_shrinks_with_the_budget(name, budgets, fmt):
    found = longest_tokens(CARDS[name], np.array(sorted(budgets)), fmt)
    assert np.all(np.diff(found) >= 0)


@given(names, st.integers(1, 2**44), st.integers(1, 5_000_000), forms)
def test_most_sequences_fit_and_one_more_does_not(name, budget, tokens, fmt):
    card = CARDS[name]
    count, each = most_sequences(card, budget, tokens, fmt), card.stored_bytes(tokens, fmt)
    assert count * each <= budget < (count + 1) * each


@given(names, st.integers(1, 5_000_000), forms, rules, st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 16, 64]))
def test_an_engine_never_reserves_less_than_the_formula(name, tokens, fmt, rule, ranks, page):
    card = CARDS[name]
    engine = Engine(page, ranks, convention=rule)
    assert reserved_bytes(card, tokens, fmt, engine) >= card.stored_bytes(tokens, fmt, rule) * (1 - 1e-12)


@given(names, st.lists(lengths, min_size=1, max_size=20), forms, rules)
@pytest.mark.thorough
def test_arrays_and_single_lengths_agree(name, many, fmt, rule):
    card = CARDS[name]
    assert list(card.stored_bytes(np.array(many), fmt, rule)) == [card.stored_bytes(one, fmt, rule) for one in many]
    assert list(card.loaded_bytes(np.array(many), fmt, rule)) == [card.loaded_bytes(one, fmt, rule) for one in many]


@pytest.mark.parametrize("name", sorted(CARDS))
def test_state_share_falls_under_a_tenth_exactly_at_s_star(name):
    card = CARDS[name]
    threshold, state = state_below_share_tokens(card, "bf16"), card.state_bytes("bf16")
    if state == 0:
        assert threshold == 0
    else:
        assert state / card.stored_bytes(threshold, "bf16") < 0.1 <= state / card.stored_bytes(threshold - 1, "bf16")


@pytest.mark.parametrize("name", sorted(CARDS))
def test_fewer_bits_never_take_more_bytes(name):
    card = CARDS[name]
    sizes = [card.stored_bytes(10_000, fmt) for fmt in ("fp4", "nvfp4", "fp8", "fp8_ds_mla", "bf16")]
    assert sizes == sorted(sizes)


def test_sequences_that_store_nothing_and_infinite_budgets_are_without_limit():
    card, hybrid = CARDS["deepseek-v3.2"], CARDS["qwen3.5-122b-a10b"]
    assert most_sequences(card, 288e9, 0, "fp8") == UNLIMITED
    assert most_sequences(card, float("inf"), 8_000, "fp8") == UNLIMITED
    assert most_sequences(hybrid, 288e9, 0, "fp8") == 288_000_000_000 // hybrid.state_bytes("fp8")
    assert most_sequences(card, 1e9, np.array([0, 8_000, 10**12]), "fp8").tolist() == [UNLIMITED, 2, 0]


@pytest.mark.parametrize("name", card_names())
def test_every_softmax_score_is_worth_two_head_dimensions_of_arithmetic(name):
    """A score costs 2 (d_k + d_v) FLOP, at least 2 x 64 in any released LLM, and recurrent layers have no softmax."""
    card = load_card(name)
    flops, scores = card.prefill_attention_flops(4_096, 1_000), card.prefill_softmax_scores(4_096, 1_000)
    assert 128 * scores <= flops
    softmax = any(layer is not None and layer.prefill_scores() for layer in card.cached_layers)
    assert (scores > 0) == softmax


def test_softmax_scores_of_a_causal_prefill_by_hand():
    """Llama-3.1-8B: 32 layers of 32 heads; tokens 11 to 13 meet 11, 12 and 13 tokens."""
    assert load_card("llama-3.1-8b").prefill_softmax_scores(3, 10) == 32 * 32 * (11 + 12 + 13)


def test_an_index_is_counted_once_in_each_layer_that_owns_one():
    assert load_card("deepseek-v3.2").indexed_layers == 61
    assert load_card("deepseek-r1").indexed_layers == 0
