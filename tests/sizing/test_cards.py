"""Packaged cards against what their vendors publish; own cards and archetypes."""

import json

import pytest

from procure.catalogue.paths import packaged_path
from procure.errors import InputError
from procure.sizing import card_names, load_card
from procure.sizing.attention import COMPONENTS, STATE_COMPONENTS

# Totals that include vision parts or draft layers: how much more is published than the language part holds.
ROUNDED = {"gemma-4-26b-a4b": 0.035, "deepseek-v4-pro": 0.02, "glm-4.7": 0.02, "gemma-3-27b": 0.02, "step-3": 0.02}
# Active counts: names are rounded to whole billions, and some vendors count the embedding table.
ACTIVE = {"qwen3-next-80b-a3b": 0.2, "ring-flash-linear-2.0": 0.12, "qwen3.5-122b-a10b": 0.1, "llama-3.1-8b": 0.07}


def _content(name):
    return json.loads((packaged_path("models") / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", card_names())
def test_computed_parameters_meet_the_published_total(name):
    card = load_card(name)
    assert card.params.total == pytest.approx(card.source.published_total, rel=ROUNDED.get(name, 0.0155))


@pytest.mark.parametrize("name", card_names())
def test_components_are_those_that_are_documented_and_states_do_not_grow(name):
    short, long = (load_card(name).components(tokens, "bf16") for tokens in (1, 100_000))
    assert set(long) <= set(COMPONENTS)
    assert {part: long.get(part) for part in STATE_COMPONENTS} == {part: short.get(part) for part in STATE_COMPONENTS}


@pytest.mark.parametrize("name", card_names())
def test_computed_active_parameters_meet_the_published_ones(name):
    card = load_card(name)
    assert card.params.active == pytest.approx(card.source.published_active, rel=ACTIVE.get(name, 0.051))


@pytest.mark.parametrize("name", card_names())
def test_card_files_state_source_precision_context_and_the_counts_that_follow_from_the_config(name):
    content, card = _content(name), load_card(name)
    assert content["source"]
    assert content["kind"] in ("released-config", "report", "transformers-defaults")
    assert content["params"] == {field: getattr(card.params, field) for field in content["params"]}
    assert card.max_context_tokens == content["max_context_tokens"] > 0
    assert card.native_precision == content["native_precision"]
    assert card.notes == ()


@pytest.mark.parametrize("name", card_names())
def test_the_config_as_released_gives_the_same_bytes_as_the_card(tmp_path, name):
    (tmp_path / "config.json").write_text(json.dumps(_content(name)["config"]), encoding="utf-8")
    read, card = load_card(tmp_path / "config.json"), load_card(name)
    for tokens in (1, 5_000, 131_072):
        assert read.stored_bytes(tokens, "fp8_ds_mla") == card.stored_bytes(tokens, "fp8_ds_mla")
        assert read.loaded_bytes(tokens, "fp8_ds_mla") == card.loaded_bytes(tokens, "fp8_ds_mla")
    assert read.notes == ()


@pytest.mark.parametrize("name", card_names())
def test_components_add_up_to_the_total(name):
    params = load_card(name).params
    parts = params.attention + params.shared_ffn + params.experts + params.embedding + params.lm_head
    assert parts == params.total


@pytest.mark.parametrize("name", card_names())
def test_weights_shrink_with_precision(name):
    card = load_card(name)
    sizes = [card.weight_bytes(precision) for precision in ("nvfp4", "fp8", "bf16")]
    assert sizes == sorted(sizes)
    assert sizes[-1] == pytest.approx(2 * card.params.total)


def test_released_checkpoint_sizes():
    assert load_card("gpt-oss-120b").weight_bytes("native") == pytest.approx(65e9, rel=0.02)  # 63 to 65 GB on disk
    assert load_card("deepseek-v3").weight_bytes("native") == pytest.approx(671e9, rel=0.01)
    assert load_card("kimi-k2.5").weight_bytes("native") == pytest.approx(595e9, rel=0.03)  # 595 GB on disk


def test_moe_of_deepseek():
    moe = load_card("deepseek-v3.2").moe
    assert (moe.layers, moe.experts, moe.top_k, moe.params_per_expert) == (58, 256, 8, 3 * 7168 * 2048)
    assert load_card("llama-3.1-8b").moe is None


def test_kv_heads_that_tensor_parallelism_can_split():
    assert load_card("deepseek-v3.2").kv_heads_shardable == 1
    assert load_card("qwen3-235b-a22b").kv_heads_shardable == 4
    assert load_card("step-3").kv_heads_shardable == 1


# --- a user's own cards ---------------------------------------------------------------------------------------------


def write(tmp_path, text, name="own.toml"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_own_card_starts_from_another_and_changes_fields(tmp_path):
    file = write(tmp_path, 'base = "deepseek-v3.2"\nnum_hidden_layers = 80\nindex_topk = 512\n')
    card, base = load_card(file), load_card("deepseek-v3.2")
    assert card.bytes_per_token(1, "bf16") == 80 * (576 + 128) * 2
    assert card.attention[0].index.top_k == 512
    assert (card.name, card.native_precision, card.max_context_tokens) == ("own", "fp8", 163_840)
    assert card.params.total > base.params.total
    assert "num_hidden_layers" in card.source.text


def test_own_card_may_be_json_and_change_its_context(tmp_path):
    text = json.dumps({"name": "mine", "base": "minimax-text-01", "config": {"max_position_embeddings": 2_000_000}})
    assert load_card(write(tmp_path, text, "x.json")).max_context_tokens == 2_000_000


def test_own_card_changes_the_text_part_of_a_multimodal_base(tmp_path):
    file = write(tmp_path, 'base = "qwen3.5-397b-a17b"\nnum_key_value_heads = 4\n')
    assert load_card(file).bytes_per_token(1, "bf16") == 2 * 30_720


def test_own_card_may_start_from_a_config_beside_it(tmp_path):
    config = _content("llama-3.1-8b")["config"]
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    file = write(tmp_path, 'base = "config.json"\nnum_hidden_layers = 16\n')
    assert load_card(file).stored_bytes(1, "bf16") == 65_536


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ('base = "deepseek-v3.3"\n', "base", "deepseek-v3"),
        ('base = "deepseek-v3.2"\nindex_topkk = 1\n', "index_topkk", "index_topk"),
        ('base = "deepseek-v3.2"\nswa_window = 1\n', "swa_window", ""),
        ('base = "deepseek-v3.2"\nnum_hidden_layers = 0\n', "num_hidden_layers", ""),
    ],
)
def test_own_card_faults_name_the_field_and_the_nearest(tmp_path, text, column, hint):
    with pytest.raises(InputError) as caught:
        load_card(write(tmp_path, text))
    assert [fault.column for fault in caught.value.faults] == [column]
    assert hint in caught.value.faults[0].hint


ARCHETYPE = """
name = "next-1t"
num_layers = 60
hidden_size = 7168
vocab_size = 160000
native_precision = "nvfp4"
max_context_tokens = 1048576

[[attention]]
family = "kda"
ratio = 3
heads = 64
dim = 128
kernel = 4

[[attention]]
family = "mla"
ratio = 1
heads = 64
latent_dim = 512
rope_dim = 64
nope_dim = 128
v_dim = 128
query_rank = 1536

[feed_forward]
dense_layers = 1
dense_width = 18432
experts = 384
top_k = 8
expert_width = 2048
shared_width = 2048
"""


def test_archetype_card_serves_an_llm_that_is_not_released(tmp_path):
    card = load_card(write(tmp_path, ARCHETYPE))
    assert card.description == "45 KDA + 15 MLA"
    assert card.bytes_per_token(10_000, "bf16") == 15 * 576 * 2
    assert card.moe.layers == 59
    assert card.params.experts == 59 * 384 * 3 * 7168 * 2048
    assert card.params.total == pytest.approx(1.0155e12, rel=1e-3)
    assert card.weight_bytes("native") < 0.6 * card.params.total
    assert card.decode_attention_flops(10_000) > 0


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        ("num_layers = 60", "num_layers = 61", "num_layers"),
        ('family = "kda"', 'family = "kdaa"', "attention[1].family"),
        ("heads = 64\ndim", "head = 64\ndim", "attention[1].head"),
        ("latent_dim = 512\n", "", "attention[2].latent_dim"),
        ("kernel = 4", "kernel = -4", "attention[1].kernel"),
        ("top_k = 8\n", "", "feed_forward.top_k"),
        ("expert_width", "expert_widht", "feed_forward.expert_widht"),
        ("vocab_size", "vocabsize", "vocabsize"),
        ("ratio = 1", "count = 15", "attention.count / attention.ratio"),
    ],
)
def test_archetype_faults_name_the_field(tmp_path, old, new, column):
    assert old in ARCHETYPE
    with pytest.raises(InputError) as caught:
        load_card(write(tmp_path, ARCHETYPE.replace(old, new, 1)))
    assert column in [fault.column for fault in caught.value.faults]


def test_an_unknown_card_names_the_nearest():
    with pytest.raises(InputError, match=r"Did you mean 'deepseek-v3.2'"):
        load_card("deepseek-v32")
