"""Config forms on which the product was wrong once, each with its right value worked by hand, and their kinds."""

import json
from pathlib import Path

import pytest

from procure.errors import InputError
from procure.sizing import load_card
from procure.sizing.cards import read_card
from procure.sizing.docs import render
from procure.sizing.model_types import known_types

FOUND = Path(__file__).parent / "found"

RIGHT = {
    # one full layer of 2 heads of 512, five windows of 1,024 with 8 heads; V4-style overrides of single layers
    "per_layer_config": (128_000, 128_000 * 2 * (512 + 512) * 2 + 5 * 1024 * 8 * (256 + 256) * 2),
    # cross-layer attention: 32 of 64 layers own a cache
    "hunyuan_cla": (8_000, 8_000 * 32 * 8 * (80 + 80) * 2),
    "longcat_released_like": (128_000, 128_000 * 28 * 2 * 576 * 2),
    "hunyuan_dense_both_head_dims": (8_000, 8_000 * 32 * 8 * 256 * 2),
    "exaone4_text_pattern": (128_000, (16 * 128_000 + 48 * 4096) * 8 * 256 * 2),
    "qwen3_omni_nested": (8_000, 8_000 * 48 * 4 * 256 * 2),
}


@pytest.mark.parametrize("name", RIGHT)
def test_bytes_are_those_worked_by_hand(name):
    tokens, right = RIGHT[name]
    card = load_card(FOUND / f"{name}.json")
    assert card.stored_bytes(tokens, "bf16") == right
    assert card.notes == ()


def test_the_right_values_are_those_of_the_record():
    stated = {
        "per_layer_config": 0.566,
        "hunyuan_cla": 0.655,
        "longcat_released_like": 8.258,
        "hunyuan_dense_both_head_dims": 1.049,
        "exaone4_text_pattern": 9.194,
        "qwen3_omni_nested": 0.786,
    }
    assert {name: round(right / 1e9, 3) for name, (_, right) in RIGHT.items()} == stated


def test_a_window_without_the_layers_that_have_it_is_refused_by_name():
    named = faults(found("window_size_alone"))
    assert "sliding_window_size" in named["layer_types"].expected
    assert "global_attn_every_n_layers" in named


LLM = {
    "model_type": "somelm",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}
PER_TOKEN = 32 * 8 * 256 * 2


def found(name):
    return json.loads((FOUND / f"{name}.json").read_text(encoding="utf-8"))


def read(config, **card):
    return read_card({"config": config, **card}, "test.json", "test")


def faults(config, **card):
    with pytest.raises(InputError) as caught:
        read(config, **card)
    return {fault.column: fault for fault in caught.value.faults}


# --- fields that nothing reads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["cache_layout", "cla_share_factor", "num_loops", "share_every", "frobs", "qk_mode"])
def test_an_unknown_field_is_refused_whatever_its_name_looks_like(field):
    fault = faults({**LLM, field: 2})[field]
    assert "not known to leave the cache alone" in fault.expected


@pytest.mark.parametrize("off", [None, False, 0, [], {}, ""])
def test_an_unknown_field_that_is_switched_off_passes(off):
    assert read({**LLM, "frobs": off}).bytes_per_token(100, "bf16") == PER_TOKEN


def test_a_card_can_declare_a_field_harmless():
    card = read({**LLM, "frobs": 2}, harmless=["frobs"])
    assert card.bytes_per_token(100, "bf16") == PER_TOKEN
    assert any("frobs" in note for note in card.notes)


def test_what_a_card_declares_harmless_must_stand_in_its_config():
    assert "frops" in faults({**LLM, "frobs": 2}, harmless=["frops"])["harmless"].value
    assert "harmless" in faults(LLM, harmless="frobs")


def test_a_changed_card_can_declare_too(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('base = "llama-3.1-8b"\nfrobs = 2\nharmless = ["frobs"]\n', encoding="utf-8")
    with pytest.raises(InputError, match="Nothing reads"):  # a change that changes nothing is a slip
        load_card(own)
    (tmp_path / "config.json").write_text(json.dumps({**LLM, "frobs": 2}), encoding="utf-8")
    own.write_text('base = "config.json"\nharmless = ["frobs"]\n', encoding="utf-8")
    assert load_card(own).bytes_per_token(100, "bf16") == PER_TOKEN


def test_fields_known_of_one_model_type_do_not_pass_for_another():
    longcat = found("longcat_released_like")
    assert "attention_method" in faults({**longcat, "model_type": "somelm", "num_hidden_layers": 28})


def test_fields_of_draft_layers_are_told_and_do_not_stop_the_stack():
    config = {**LLM, "num_nextn_predict_layers": 1, "mtp_cache_heads": 2}
    card = read(config)
    assert card.bytes_per_token(100, "bf16") == PER_TOKEN
    assert any("mtp_cache_heads" in note for note in card.notes)


def test_fields_of_groups_are_asked_too():
    kinds = {"full_attn_layers": [2, 4], "kda_layers": [1, 3], "num_heads": 4, "head_dim": 16}
    config = {**LLM, "num_hidden_layers": 4, "linear_attn_config": {**kinds, "short_conv_kernel_size": 4}}
    assert read(config).description == "2 KDA + 2 GQA"
    config["linear_attn_config"]["state_copies"] = 2
    assert "linear_attn_config.state_copies" in faults(config)
    assert read(config, harmless=["linear_attn_config.state_copies"]).description == "2 KDA + 2 GQA"


def test_a_list_of_layers_may_go_on_with_the_draft_layers():
    config = {**LLM, "sliding_window": 64, "layer_types": ["sliding_attention"] * 31 + ["full_attention"] * 4}
    assert "num_hidden_layers" in faults(config)
    assert read({**config, "num_nextn_predict_layers": 3}).description == "31 SWA 64 + 1 GQA"


# --- layers that differ ----------------------------------------------------------------------------------------------


def test_fields_of_single_layers_change_those_layers_only():
    card = read({**LLM, "per_layer_config": {"3": {"num_key_value_heads": 4}, "04": {"head_dim": 64}}})
    assert card.bytes_per_token(100, "bf16") == (30 * 8 * 256 + 4 * 256 + 8 * 128) * 2


def test_a_layer_that_skips_its_attention_keeps_nothing():
    assert read({**LLM, "per_layer_config": {"0": {"skip": ["self_attn"]}}}).bytes_per_token(9, "bf16") == 31 * 4096


def test_a_layer_may_have_another_window_or_none():
    windows = {**LLM, "sliding_window": 64, "layer_types": ["sliding_attention"] * 32}
    own = {"0": {"sliding_window": None}, "1": {"sliding_window": 128}}
    assert read({**windows, "per_layer_config": own}).stored_bytes(1000, "bf16") == (1000 + 128 + 30 * 64) * 4096


def test_fields_of_single_layers_that_nothing_reads_are_refused():
    named = faults({**LLM, "per_layer_config": {"3": {"frobs": 4}, "32": {"head_dim": 64}}})
    assert named.keys() == {"per_layer_config.3.frobs", "per_layer_config.32"}
    named = faults({**LLM, "per_layer_config": {"3": {"num_hidden_layers": 4, "skip": ["nose"]}}})
    assert named.keys() == {"per_layer_config.3.skip"}
    assert "per_layer_config.3.num_hidden_layers" in faults(
        {**LLM, "per_layer_config": {"3": {"num_hidden_layers": 4}}}
    )


def test_widths_of_single_layers_leave_the_cache_alone_and_stop_parameter_counts():
    card = read({**LLM, "per_layer_config": {"3": {"intermediate_size": 64}}})
    assert card.bytes_per_token(9, "bf16") == PER_TOKEN
    with pytest.raises(InputError, match="intermediate_size"):
        _ = card.params


def blocks(*attention):
    rest = [{"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 2.0}}] * (32 - len(attention))
    return {"model_type": "nemotron-nas", **_without("num_key_value_heads"), "block_configs": [*attention, *rest]}


def _without(*names):
    return {key: value for key, value in LLM.items() if key not in (*names, "model_type")}


def test_blocks_found_by_search_keep_what_their_attention_says():
    first, second, third = (
        {"attention": {"no_op": True, "n_heads_in_group": None}},
        {"attention": {"replace_with_linear": True}},
        {"attention": {"n_heads_in_group": 16}},
    )
    assert read(blocks(first, second, third)).bytes_per_token(9, "bf16") == (2 + 29 * 8) * 256 * 2
    assert "block_configs.0.attention.sparsify" in faults(blocks({"attention": {"sparsify": [1]}}))
    for wrong in (True, 2.5, "x", 3):
        assert told(blocks({"attention": {"n_heads_in_group": wrong}})), wrong
    assert told(blocks({"attention": {"n_heads_in_group": 4, "window_length": 2.5}}))
    windowed = read(blocks({"attention": {"n_heads_in_group": 4, "window_length": 64}}))
    assert windowed.stored_bytes(1000, "bf16") == (31 * 1000 + 64) * 4096


def test_loops_keep_a_cache_for_every_pass():
    looped = {**LLM, "model_type": "ouro", "total_ut_steps": 4}
    assert read(looped).bytes_per_token(9, "bf16") == 4 * PER_TOKEN
    assert "total_ut_steps" in faults({**looped, "model_type": "somelm"})


def test_both_names_of_a_window_must_agree():
    one = {**LLM, "layer_types": ["sliding_attention"] * 32, "sliding_window_size": 64}
    assert read(one).stored_bytes(1000, "bf16") == 64 * PER_TOKEN
    assert read({**one, "sliding_window": 64}).stored_bytes(1000, "bf16") == 64 * PER_TOKEN
    assert "sliding_window_size" in faults({**one, "sliding_window": 32})


def test_both_names_of_a_head_dim_must_agree():
    assert "attention_head_dim" in faults(found("hunyuan_dense_both_head_dims") | {"attention_head_dim": 64})


def test_dual_chunk_attention_keeps_every_key_once():
    block = {"chunk_size": 262144, "local_size": 8192, "original_max_position_embeddings": 262144}
    assert read({**LLM, "dual_chunk_attention_config": block}).bytes_per_token(9, "bf16") == PER_TOKEN


@pytest.mark.parametrize("pattern", ["LLXG", "", -1, 2.5, ["L"]])
def test_a_pattern_that_is_none_is_refused(pattern):
    named = faults({**LLM, "sliding_window": 64, "sliding_window_pattern": pattern})
    assert named.keys() <= {"sliding_window_pattern", "layer_types"}


# --- sizes that a nested config leaves out ---------------------------------------------------------------------------


def test_sizes_left_out_of_a_nested_text_part_are_those_of_its_class_and_told():
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024}
    card = read({"model_type": "gemma3", "text_config": text})  # the released form of Gemma 3 4B
    assert card.bytes_per_token(131_072, "bf16") == 5 * 4 * (256 + 256) * 2
    assert "num_key_value_heads 4" in card.notes[0]
    assert "num_attention_heads" in faults({**text, "sliding_window_pattern": 6})


# --- no value of any field is a crash -------------------------------------------------------------------------------

WRONG = [None, -1, 0, 2.5, "x", [], {}, True, [1, 2], {"a": 1}, [{}], [{"attention": 3}], {"0": 3}, {"0": {"skip": 3}}]

FORMS = {name: found(name) for name in (*RIGHT, "window_size_alone")} | {
    "blocks": blocks({"attention": {"no_op": True}}),
    "layers": {**LLM, "per_layer_config": {"0": {"num_key_value_heads": 4}}},
    "loops": {**LLM, "model_type": "ouro", "total_ut_steps": 4},
    "zamba": {
        **_without("head_dim"),
        "model_type": "zamba2",
        "layers_block_type": ["hybrid"] * 32,
        "n_mamba_heads": 8,
        "mamba_d_state": 8,
        "mamba_ngroups": 1,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
    },
    "lfm2": {**_without("head_dim"), "model_type": "lfm2", "full_attn_idxs": [3], "conv_L_cache": 3},
    "rwkv": {"model_type": "rwkv6", "hidden_size": 64, "num_hidden_layers": 3, "head_size": 8},
}


def told(config):
    """Fields at fault, none where the config is read."""
    try:
        card = read(config)
        _ = card.stored_bytes(100, "fp8"), card.prefill_attention_flops(10), card.params
    except InputError as error:
        return [fault.column for fault in error.faults]
    return []


@pytest.mark.parametrize("name", FORMS)
def test_no_value_of_any_field_is_a_crash(name):
    for field in FORMS[name]:
        for value in WRONG:
            assert all(told({**FORMS[name], field: value})), (field, value)


@pytest.mark.parametrize("inner", ["head_dim", "num_key_value_heads", "skip", "sliding_window", "frobs", "layer_types"])
def test_no_value_of_a_layers_field_is_a_crash(inner):
    for value in WRONG:
        assert all(told({**LLM, "per_layer_config": {"0": {inner: value}}})), value


@pytest.mark.parametrize("inner", ["no_op", "n_heads_in_group", "num_key_value_heads", "window_length", "sparsify"])
def test_no_value_of_a_blocks_field_is_a_crash(inner):
    for value in WRONG:
        assert all(told(blocks({"attention": {"n_heads_in_group": 4, inner: value}}))), value


def test_the_page_of_model_types_is_what_the_table_says():
    page = Path(__file__).parents[2] / "docs" / "model_types.md"
    assert page.read_text(encoding="utf-8") == render(), "run `python -m procure.sizing.docs`"


def test_every_refused_type_says_why_and_every_outer_type_names_one_that_is_known():
    for known in known_types().values():
        assert bool(known.reason) == (known.status == "refused"), known
        assert not known.text_type or known.text_type in known_types(), known


def test_a_window_that_a_class_switches_off_is_none_where_a_nested_config_is_silent():
    text = {**_without(), "model_type": "qwen2"}
    assert read({"model_type": "llava", "text_config": text}).description == "32 GQA"
    assert read({"model_type": "llava", "text_config": {**text, "sliding_window": 4096}}).description == "32 GQA"
    assert read({"model_type": "llava", "text_config": {**text, "model_type": "mistral"}}).description == "32 SWA 4096"
