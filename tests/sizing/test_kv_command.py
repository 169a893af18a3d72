"""``procure kv``: what it prints, what it refuses."""

import json

import pytest

from procure.cli import main
from procure.errors import InputError
from procure.sizing import card_names, load_card
from procure.sizing.compare import CLASSES
from procure.sizing.quantities import parse_bytes, parse_tokens, show_bytes


def run(capsys, *words):
    code = main(["kv", *words])
    output = capsys.readouterr()
    return code, output.out, output.err


def rows(capsys, *words):
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    return json.loads(out)


def test_lengths_are_read_and_the_integer_is_printed(capsys):
    found = rows(capsys, "llama-3.1-8b", "--tokens", "8k,32k,128Ki,1M", "--kv-format", "bf16")
    assert [row["tokens"] for row in found] == [8_000, 32_000, 131_072, 1_000_000]
    _, out, err = run(capsys, "llama-3.1-8b", "--tokens", "128Ki,1M")
    assert "131,072" in out
    assert "1,000,000 tokens are beyond its longest context of 131,072" in err


def test_json_rows_carry_the_cards_numbers(capsys):
    row = rows(capsys, "qwen3.5-397b-a17b", "--tokens", "32768", "--kv-format", "fp8", "--tps", "50")[0]
    card = load_card("qwen3.5-397b-a17b")
    assert row["model"] == card.name
    assert row["stored_bytes"] == card.stored_bytes(32768, "fp8")
    assert row["loaded_bytes"] == card.loaded_bytes(32768, "fp8")
    assert row["transferred_bytes"] == card.transferred_bytes(32768, "fp8")
    assert row["state_bytes"] == 192_061_440
    assert row["bytes_per_token"] == 15_360
    assert row["loaded_bytes_per_s"] == 50 * row["loaded_bytes"]
    assert row["flops_per_loaded_byte"] == pytest.approx(card.decode_attention_flops(32768) / row["loaded_bytes"])
    assert sum(row["stored_components_bytes"].values()) == row["stored_bytes"]
    assert row["reserved_bytes"] != row["stored_bytes"]


def test_sequences_per_rack_are_what_hbm_holds_after_the_weights(capsys):
    row = rows(capsys, "deepseek-v3.2", "--tokens", "128Ki", "--sku", "vr-nvl72", "--hbm-share", "0.9")[0]
    card = load_card("deepseek-v3.2")
    assert row["hbm_bytes"] == pytest.approx(0.9 * 72 * 288e9)
    assert row["weight_bytes"] == card.weight_bytes("fp8")
    free = row["hbm_bytes"] - row["weight_bytes"]
    assert row["sequences_formula"] == free // card.stored_bytes(131_072, "fp8")
    assert row["sequences_reserved"] <= row["sequences_formula"]


def test_a_limit_never_counts_more_sequences_than_the_formula(capsys):
    found = rows(capsys, *card_names(), "--tokens", "1k,8k,128Ki", "--sku", "vr-nvl72", "--weights", "fp8")
    assert all(row["sequences_reserved"] <= row["sequences_formula"] for row in found)
    assert all(row["reserved_bytes"] >= row["stored_bytes"] for row in found)


def test_weights_that_do_not_fit_leave_no_sequence(capsys):
    row = rows(capsys, "deepseek-v3.2", "--sku", "hgx-a100", "--tokens", "8k")[0]
    assert (row["free_hbm_bytes"], row["sequences_formula"]) == (0, 0)


def test_fits_is_the_inverse(capsys):
    row = rows(capsys, "kimi-linear-48b-a3b", "--fits", "288GB", "--kv-format", "bf16", "--tokens", "1M")[0]
    card = load_card("kimi-linear-48b-a3b")
    assert (
        card.stored_bytes(row["longest_tokens"], "bf16") <= 288e9 < card.stored_bytes(row["longest_tokens"] + 1, "bf16")
    )
    assert row["sequences_formula"] == 288e9 // card.stored_bytes(1_000_000, "bf16")


def test_fits_says_when_nothing_or_anything_fits(capsys):
    assert rows(capsys, "kimi-linear-48b-a3b", "--fits", "1MB")[0]["longest"] == "the fixed state alone does not fit"
    assert rows(capsys, "mistral-7b-v0.1", "--fits", "10GB")[0]["longest"] == "unlimited"


def test_speculation_counts_draft_layers(capsys):
    plain = rows(capsys, "deepseek-v3.2", "--tokens", "8k")[0]["stored_bytes"]
    assert rows(capsys, "deepseek-v3.2", "--tokens", "8k", "--speculate", "1")[0]["stored_bytes"] == plain * 62 // 61


def test_tensor_parallelism_shows_replication(capsys):
    row = rows(capsys, "deepseek-v3.2", "--tokens", "8k", "--tp", "8")[0]
    assert row["replication"] == 8
    assert rows(capsys, "deepseek-v3.2", "--tokens", "8k", "--tp", "8", "--dp-attention", "8")[0]["replication"] == 1


def test_comparison_ranks_sparse_and_hybrid_before_latent_before_dense(capsys):
    found = rows(capsys, "--compare", "--tokens", "128Ki")
    kinds = [row["class"] for row in found]
    assert set(kinds) == set(CLASSES)
    light = [kind in ("sparse", "hybrid", "compressed") for kind in kinds]
    assert light == sorted(light, reverse=True)
    assert [kind for kind in kinds if kind in ("latent", "dense")] == ["latent"] * 2 + ["dense"] * 4
    by_name = {row["model"]: row for row in found}
    for name in ("deepseek-v3.2", "glm-5.1"):  # DSA saves what is loaded, not what is stored
        assert by_name[name]["stored_bytes"] > by_name["kimi-k2.5"]["stored_bytes"]
        assert by_name[name]["loaded_bytes"] < by_name["kimi-k2.5"]["loaded_bytes"] / 3
        assert by_name[name]["dsa_index_equals_read_tokens"] == 9216
        assert round(by_name[name]["dsa_starts_to_save_tokens"]) == 2633


def test_comparison_as_text_names_both_lengths(capsys):
    code, out, _ = run(capsys, "--compare")
    assert code == 0
    assert "2,633" in out
    assert "9,216" in out


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--compare",), ("deepseek-v3.2", "gpt-oss-120b", "--tokens", "8k,128Ki")])
def test_pictures_are_written(capsys, tmp_path, words):
    file = tmp_path / "kv.png"
    assert run(capsys, *words, "--plot", str(file))[0] == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size > 20_000


def test_a_config_file_is_a_card(capsys, tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 3,
    }
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    assert rows(capsys, str(file), "--tokens", "10", "--kv-format", "fp8")[0]["stored_bytes"] == 10 * 3 * 2 * 2 * 16


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "Name a card"),
        (("deepseek-v32",), "deepseek-v3.2"),
        (("gpt-oss-120b", "--tokens", "8x"), "8x"),
        (("gpt-oss-120b", "--tokens", "0.5"), "0.5"),
        (("gpt-oss-120b", "--tokens", "128,000"), "commas separate lengths"),
        (("gpt-oss-120b", "--kv-format", "fp9"), "fp9"),
        (("gpt-oss-120b", "--convention", "vlm"), "vllm"),
        (("gpt-oss-120b", "--sku", "vr-nvl73"), "vr-nvl72"),
        (("gpt-oss-120b", "--sku", "lpx"), "hardware with GPUs"),
        (("gpt-oss-120b", "--fits", "288"), "with its unit"),
        (("gpt-oss-120b", "--plot", "kv.txt"), "kv.txt"),
        (("gpt-oss-120b", "--tp", "8", "--dp-attention", "3"), "divide"),
    ],
)
def test_wrong_words_are_refused_with_exit_code_2(capsys, words, told):
    code, out, err = run(capsys, *words)
    assert code == 2
    assert told in err
    assert "Traceback" not in err
    assert not out


def test_all_faults_of_the_command_line_at_once(capsys):
    _, _, err = run(capsys, "gpt-oss-120b", "--tokens", "8x", "--plot", "kv.txt")
    assert "8x" in err
    assert "kv.txt" in err


def test_list_names_every_card(capsys):
    assert {row["model"] for row in rows(capsys, "--list")} >= {"deepseek-v3.2", "ring-2.5-1t", "llama-3.1-8b"}


def test_prefixes():
    assert parse_tokens("1e3,1.5e6,1e12") == [1000, 1_500_000, 10**12]
    with pytest.raises(InputError, match="at most 1e15"):
        parse_tokens("1e16")
    assert parse_tokens("8k, 8K,8Ki,1M,1Mi,8192,1_000") == [8000, 8000, 8192, 10**6, 2**20, 8192, 1000]
    assert parse_bytes("288GB") == 288 * 10**9
    assert parse_bytes("80GiB") == 80 * 2**30
    assert parse_bytes("20.7TB") == 20_700_000_000_000
    assert (show_bytes(999), show_bytes(1.5e9), show_bytes(20.736e12)) == ("999 B", "1.5 GB", "20.74 TB")
    with pytest.raises(InputError, match="with its unit"):
        parse_bytes("288")
