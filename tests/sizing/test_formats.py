"""Number formats: layouts that engines publish, mixtures, faults."""

import pytest

from procure.errors import InputError
from procure.sizing import load_card
from procure.sizing.formats import convention, encodings, kv_format, weight_encodings


@pytest.mark.parametrize(
    ("encoding", "elements", "size"),
    [
        ("bf16", 576, 1152),
        ("fp8", 576, 576),
        ("fp8_block128", 512, 528),  # the latent of a 656-byte entry
        ("fp8_block128", 128, 132),  # an index key
        ("fp8_block64", 448, 456),  # DeepSeek-V4: 448 + 7 scales + 1 pad
        ("mxfp4", 128, 68),  # d/2 + d/32
        ("nvfp4", 128, 72),  # d/2 + d/16
        ("fp4", 128, 64),
        ("fp8_token_head", 128, 132),
        ("turboquant4", 128, 66),
        ("int4_group32", 32, 18),
    ],
)
def test_bytes_of_a_vector(encoding, elements, size):
    assert encodings()[encoding].bytes(elements) == size


@pytest.mark.parametrize(
    ("name", "fmt", "size"),
    [
        ("deepseek-v3.2", "bf16", 1408),
        ("deepseek-v3.2", "fp8", 576 + 132),
        ("deepseek-v3.2", "fp8_ds_mla", 656 + 132),
        ("deepseek-v3.2", "fp8+rope=bf16", 512 + 128 + 132),
        ("deepseek-v3.2", "fp8+rope=bf16+index_key=mxfp4", 512 + 128 + 68),
        ("deepseek-v3", "fp8_ds_mla", 656),
    ],
)
def test_bytes_of_an_entry_per_layer(name, fmt, size):
    assert load_card(name).stored_bytes(1, fmt) == 61 * size


def test_per_head_scales_cost_eight_bytes_per_kv_head():
    card = load_card("llama-3.1-8b")
    plain, scaled = card.stored_bytes(1, "fp8"), card.stored_bytes(1, "fp8_token_head")
    assert scaled - plain == 32 * 2 * 8 * 4
    assert card.components(1, "fp8_token_head")["scales"] == scaled - plain


def test_four_bits_halve_eight_and_scales_take_some_back():
    card = load_card("qwen3-235b-a22b")
    assert card.stored_bytes(1000, "fp8") == 2 * card.stored_bytes(1000, "fp4")
    assert (
        card.stored_bytes(1000, "fp4") < card.stored_bytes(1000, "turboquant4") < card.stored_bytes(1000, "fp8") / 1.9
    )


def test_a_kv_format_leaves_states_alone_unless_it_names_them():
    card = load_card("qwen3.5-397b-a17b")
    assert card.state_bytes("fp8") == card.state_bytes("bf16")
    halved = card.components(0, "fp8+state=bf16")["recurrent_state"]
    assert 2 * halved == card.components(0, "fp8")["recurrent_state"]


@pytest.mark.parametrize("spec", ["fp9", "fp8+ropes=bf16", "fp8+rope=bf17", "fp8+rope"])
def test_unknown_formats_are_refused(spec):
    with pytest.raises(InputError, match="kv_format"):
        kv_format(spec)


def test_unknown_conventions_and_precisions_are_refused():
    with pytest.raises(InputError, match="convention"):
        convention("vlm")
    with pytest.raises(InputError, match="weight_precision"):
        weight_encodings("fp3")


def test_lengths_must_be_numbers_of_tokens():
    card = load_card("llama-3.1-8b")
    for wrong in (-1, float("nan"), "8k"):
        with pytest.raises(ValueError, match="lengths"):
            card.stored_bytes(wrong, "bf16")
