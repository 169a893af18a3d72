"""Reading released configs: traps that public calculators fall into, later LLMs, and faults that name the field."""

import json

import pytest

from procure.errors import InputError
from procure.sizing import card_names, load_card
from procure.sizing.cards import read_card

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def read(config, name="test"):
    return read_card(config, f"{name}.json", name)


def faults(config):
    with pytest.raises(InputError) as caught:
        read(config)
    return {fault.column: fault for fault in caught.value.faults}


def changed(**changes):
    return {key: value for key, value in (LLAMA | changes).items() if value is not None}


# --- traps ----------------------------------------------------------------------------------------------------------


def test_mla_is_not_read_as_gqa_through_its_kv_head_count():
    card = load_card("deepseek-v3")
    assert 2 * 128 * 128 * 61 * 2 / card.bytes_per_token(1000, "bf16") == pytest.approx(57, abs=0.2)
    assert card.bytes_per_token(1000, "bf16") == 70_272


def test_multi_query_hides_one_head_and_voids_falcons_head_count():
    falcon = {"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32}
    assert read({**falcon, "multi_query": True, "num_kv_heads": 71}).stored_bytes(1, "bf16") == 32 * 2 * 64 * 2
    newer = {
        **falcon,
        "num_attention_heads": 128,
        "hidden_size": 8192,
        "num_kv_heads": 8,
        "new_decoder_architecture": True,
    }
    assert read(newer).stored_bytes(1, "bf16") == 32 * 2 * 8 * 64 * 2
    assert load_card("starcoder-15b").description == "40 MQA"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("qwen3-235b-a22b", 64), ("glm-4.7", 5120 / 96), ("gpt-oss-120b", 45), ("kimi-linear-48b-a3b", 72)],
)
def test_head_dim_is_read_and_not_derived(name, wrong):
    card = load_card(name)
    dims = {getattr(layer, "k_dim", None) or getattr(layer, "latent_dim", None) for layer in card.attention}
    assert wrong not in dims


def test_hybrids_grow_by_their_full_layers_only():
    for name, per_token, fixed in [
        ("kimi-linear-48b-a3b", 8_064, 43_417_600),
        ("qwen3.5-122b-a10b", 24_576, 153_649_152),
        ("qwen3.5-397b-a17b", 30_720, 192_061_440),
        ("minimax-text-01", 40_960, 293_601_280),
        ("ring-2.5-1t", 11_520, 293_601_280),
        ("nemotron-3-nano-30b-a3b", 6_144, 49_082_368),
        ("jamba-v0.1", 16_384, 16_056_320),
    ]:
        card = load_card(name)
        assert (card.bytes_per_token(131_072, "bf16"), card.state_bytes("bf16")) == (per_token, fixed), name


def test_windows_have_their_own_heads_and_widths():
    mimo = load_card("mimo-v2-flash")
    assert mimo.bytes_per_token(131_072, "bf16") == 9 * 4 * (192 + 128) * 2
    assert mimo.components(131_072, "bf16")["window"] == 39 * 128 * 8 * (192 + 128) * 2
    gemma = load_card("gemma-4-26b-a4b")
    assert gemma.bytes_per_token(131_072, "bf16") == 5 * 2 * 2 * 512 * 2
    assert gemma.components(131_072, "bf16")["window"] == 25 * 1024 * 2 * 8 * 256 * 2


def test_gemma3_full_layers_are_every_sixth_and_the_last_two_are_local():
    kinds = [layer.window is None for layer in load_card("gemma-3-27b").attention]
    assert sum(kinds) == 10
    assert kinds[5]
    assert kinds[-2:] == [False, False]


def test_llama4_lists_no_pattern_and_has_every_fourth_layer_full():
    card = load_card("llama-4-maverick")
    assert card.description == "36 chunked 8192 + 12 GQA"
    assert card.stored_bytes(131_072, "bf16") == 131_072 * 49_152 + 1_207_959_552


def test_kimi_layer_numbers_count_from_one_and_others_from_zero():
    base = json.loads(json.dumps(_kimi()))
    assert [layer.family for layer in read(base).attention] == ["kda", "mla", "kda", "mla"]
    base["linear_attn_config"] |= {"full_attn_layers": [1, 3], "kda_layers": [0, 2]}
    assert [layer.family for layer in read(base).attention] == ["kda", "mla", "kda", "mla"]
    base["linear_attn_config"] |= {"full_attn_layers": [1, 4], "kda_layers": [0, 2]}
    assert "linear_attn_config" in faults(base)


def _kimi():
    return {
        "model_type": "kimi_linear",
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "kv_lora_rank": 32,
        "qk_rope_head_dim": 16,
        "linear_attn_config": {
            "full_attn_layers": [2, 4],
            "kda_layers": [1, 3],
            "num_heads": 4,
            "head_dim": 16,
            "short_conv_kernel_size": 4,
        },
    }


def test_v4_names_one_ratio_more_than_layers_for_its_draft_layer():
    card = load_card("deepseek-v4-pro")
    assert (card.layers, card.description) == (61, "31 HCA + 30 CSA")
    assert len(card.drafts) == 1


def test_same_layers_named_in_newer_words():
    card, config = load_card("deepseek-v4-pro"), _config("deepseek-v4-pro")
    names = {128: "heavily_compressed_attention", 4: "compressed_sparse_attention"}
    types = [names[ratio] for ratio in config.pop("compress_ratios")[:61]]
    assert read(config | {"layer_types": types}).attention == card.attention


def _config(name):
    from procure.catalogue.paths import packaged_path

    return json.loads((packaged_path("models") / f"{name}.json").read_text(encoding="utf-8"))["config"]


def test_window_switched_off_is_no_window():
    config = changed(model_type="qwen2", sliding_window=4096, use_sliding_window=False, max_window_layers=28)
    assert read(config).description == "32 GQA"
    config = changed(model_type="qwen2", sliding_window=4096, use_sliding_window=True, max_window_layers=28)
    assert read(config).description == "28 GQA + 4 SWA 4096"


def test_nested_text_config_is_the_one_that_counts():
    outer = {
        "model_type": "some_vl",
        "text_config": LLAMA,
        "vision_config": {"num_hidden_layers": 5},
        "num_hidden_layers": 99,
    }
    assert read(outer).layers == 32


def test_index_keys_only_on_layers_marked_full():
    config = _config("glm-5.1") | {"indexer_types": ["full", "full", *(["shared", "shared", "full", "shared"] * 19)]}
    card = read(config)
    full = config["indexer_types"].count("full")
    assert full == 21
    assert card.bytes_per_token(1000, "bf16") == (78 * 576 + 21 * 128) * 2


# --- later LLMs -----------------------------------------------------------------------------------------------------


def test_a_later_llm_is_read_by_its_fields_with_a_note():
    card = read(_config("deepseek-v3.2") | {"model_type": "deepseek_v35", "index_topk": 512, "num_hidden_layers": 80})
    assert card.description == "80 MLA+DSA"
    assert "deepseek_v35" in card.notes[0]
    hybrid = _config("qwen3.5-397b-a17b")["text_config"] | {"model_type": "qwen9_moe"}
    assert read(hybrid).stored_bytes(5000, "bf16") == load_card("qwen3.5-397b-a17b").stored_bytes(5000, "bf16")


def test_an_unknown_architecture_without_a_head_dim_is_refused():
    named = faults(changed(model_type="frobnicator"))
    assert "head_dim" in named
    assert read(changed(model_type="frobnicator", head_dim=128)).notes


def test_an_unknown_window_layout_is_refused():
    assert "layer_types" in faults(changed(model_type="frobnicator", head_dim=128, sliding_window=1024))


# --- faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["num_attention_heads", "num_hidden_layers"])
def test_a_missing_field_is_named(field):
    assert field in faults(changed(**{field: None}))


@pytest.mark.parametrize("field", ["kv_lora_rank", "qk_rope_head_dim"])
def test_a_missing_mla_field_is_named(field):
    config = _config("deepseek-v3.2")
    del config[field]
    named = faults(config) if field != "kv_lora_rank" else {}
    if field == "kv_lora_rank":  # without it nothing says MLA: the index fields are then not understood
        with pytest.raises(InputError, match="index_topk"):
            read(config)
    else:
        assert field in named


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ssm_state_size", 128),
        ("kv_compression_dim", 64),
        ("attention_window_size", 2048),
        ("linear_attention_ratio", 3),
        ("sparse_block_topk", 16),
    ],
)
def test_a_field_that_may_change_the_cache_and_is_not_understood_is_named(field, value):
    assert field in faults(changed(**{field: value}))


def test_all_faults_are_told_at_once():
    config = changed(num_attention_heads=None, num_hidden_layers=-3, kv_compression_dim=64)
    assert faults(config).keys() == {"num_attention_heads", "num_hidden_layers", "kv_compression_dim"}


@pytest.mark.parametrize("value", [0, -8, 2.5, "eight", True])
def test_counts_are_positive_whole_numbers(value):
    assert "num_key_value_heads" in faults(changed(num_key_value_heads=value))


def test_two_fields_that_describe_other_layers_are_refused():
    config = _config("qwen3.5-397b-a17b")
    config["text_config"]["full_attention_interval"] = 5
    assert "full_attention_interval" in faults(config)


def test_a_list_of_another_length_than_the_layers_is_refused():
    config = _config("gpt-oss-120b") | {"num_hidden_layers": 40}
    assert "num_hidden_layers" in faults(config)


def test_an_unknown_layer_type_is_refused_with_the_known_ones():
    config = changed(head_dim=128, layer_types=["full_attention"] * 31 + ["hyena"])
    fault = faults(config)["layer_types"]
    assert "hyena" in fault.value
    assert "sliding_attention" in fault.expected


def test_an_unknown_quantisation_is_refused():
    assert "quantization_config.quant_method" in faults(changed(quantization_config={"quant_method": "aqlm"}))


@pytest.mark.parametrize(
    ("block", "precision"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
    ],
)
def test_native_precision_is_read_from_the_quantisation_block(block, precision):
    assert read(changed(quantization_config=block)).native_precision == precision


def test_parameter_counts_name_what_a_trimmed_config_lacks():
    card = read(changed(intermediate_size=None, vocab_size=None))
    assert card.stored_bytes(10, "bf16")
    with pytest.raises(InputError) as caught:
        _ = card.params
    assert {fault.column for fault in caught.value.faults} == {"intermediate_size", "vocab_size"}


def test_a_file_that_is_no_json_is_refused(tmp_path):
    file = tmp_path / "config.json"
    file.write_text("{not json", encoding="utf-8")
    with pytest.raises(InputError, match="not valid"):
        load_card(file)


def test_a_folder_with_a_config_is_a_card(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    assert load_card(tmp_path).stored_bytes(1, "bf16") == 131_072


WRONG = [None, -1, 0, 2.5, "x", [], {}, True, [1, 2], {"a": 1}, 1e30]


@pytest.mark.slow
@pytest.mark.parametrize("name", card_names())
def test_no_value_of_any_field_is_a_crash(name):
    """Every field takes every kind of wrong value: the config is read, or refused with the field's name."""
    config = _config(name)
    text = config.get("text_config", config)
    for field in text:
        for value in WRONG:
            wrong = {**text, field: value}
            told = _faults_or_none({**config, "text_config": wrong} if "text_config" in config else wrong)
            assert told is None or all(fault.column for fault in told)


def _faults_or_none(config):
    try:
        card = read(config)
        _ = card.stored_bytes(100, "fp8"), card.params, card.prefill_attention_flops(10)
    except InputError as error:
        return error.faults
    return None


@pytest.mark.parametrize(
    "text",
    [
        "attention = 3",
        "attention = [3]",
        'attention = ["gqa"]',
        "[[attention]]\nfamily = 3\ncount = 1",
        '[[attention]]\nfamily = "kda"\ncount = "x"\nheads = 1\ndim = 1\nkernel = 4',
        '[[attention]]\nfamily = "mla"\ncount = 1\nheads = 1\nlatent_dim = 1\nrope_dim = 0\nindex = 3',
        'feed_forward = 3\n[[attention]]\nfamily = "none"\ncount = 1',
        "base = 3",
        'base = "gpt-oss-120b"\nconfig = 3',
        "config = 3",
        'published = 3\nbase = "gpt-oss-120b"',
        "text_config = 3",
        "",
    ],
)
def test_no_card_file_is_a_crash(tmp_path, text):
    file = tmp_path / "own.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        load_card(file)
