"""Bytes of real cache tensors of tiny random LLMs equal the cards read from their own configs.

Every LLM is built from its transformers config class, run once over S tokens in bfloat16 on the CPU, and its cache
measured byte for byte against :meth:`Card.stored_bytes` under the ``transformers`` convention.
"""

import pytest
from tiny_llms import cache_bytes
from tools import need

from procure.sizing.cards import read_card

pytestmark = pytest.mark.slow

LENGTHS = (5, 16, 17, 33, 100, 257)
WINDOW = 16
BASE = {
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "vocab_size": 96,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "max_position_embeddings": 512,
}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 20}
MOE = {
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "n_shared_experts": 1,
    "n_group": 1,
}
LATENT = {
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
}
INDEX = {"index_topk": 8, "index_head_dim": 32, "index_n_heads": 2}

FAMILIES = {
    "mha": ("gpt2", {"n_embd": 48, "n_head": 4, "n_layer": 3, "n_positions": 512, "vocab_size": 96}),
    "gqa": ("llama", BASE | HEADS),
    "mqa": ("falcon", {**BASE, "num_attention_heads": 4, "multi_query": True, "alibi": False}),
    "window on all layers": ("mistral", BASE | HEADS | {"sliding_window": WINDOW}),
    "window and full, 5 to 1": ("gemma3_text", {**BASE, **HEADS, "num_hidden_layers": 7, "sliding_window": WINDOW}),
    "window and full, in turn": (
        "gpt_oss",
        {
            **BASE,
            **HEADS,
            "num_hidden_layers": 4,
            "sliding_window": WINDOW,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
        },
    ),
    "chunked": (
        "llama4_text",
        {
            **BASE,
            **HEADS,
            "num_hidden_layers": 4,
            "attention_chunk_size": 16,
            "intermediate_size_mlp": 64,
            "num_local_experts": 2,
        },
    ),
    "mla": ("deepseek_v3", BASE | LATENT | MOE | {"topk_group": 1, "first_k_dense_replace": 1}),
    "mla with dsa": ("deepseek_v32", BASE | LATENT | MOE | INDEX | {"topk_group": 1, "first_k_dense_replace": 1}),
    "mla with a shared index": (
        "glm_moe_dsa",
        {
            **BASE,
            **LATENT,
            **MOE,
            **INDEX,
            "topk_group": 1,
            "num_hidden_layers": 4,
            "indexer_types": ["full", "full", "shared", "full"],
        },
    ),
    "gated delta": (
        "qwen3_next",
        {
            **BASE,
            **HEADS,
            "num_hidden_layers": 4,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 16,
            "linear_value_head_dim": 16,
            "linear_conv_kernel_dim": 4,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 32,
        },
    ),
    "lightning": (
        "minimax",
        {**BASE, **HEADS, "num_hidden_layers": 4, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "mamba-1": (
        "jamba",
        {
            **BASE,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "num_hidden_layers": 4,
            "attn_layer_period": 4,
            "attn_layer_offset": 1,
            "num_experts": 2,
            "num_experts_per_tok": 1,
            "mamba_d_state": 8,
            "mamba_dt_rank": 4,
            "use_mamba_kernels": False,
        },
    ),
    "mamba-2": (
        "nemotron_h",
        {
            **BASE,
            **HEADS,
            "hybrid_override_pattern": "M-M*-",
            "num_hidden_layers": 5,
            "mamba_num_heads": 4,
            "mamba_head_dim": 16,
            "ssm_state_size": 8,
            "n_groups": 2,
            "conv_kernel": 4,
        },
    ),
    "compressed": (
        "deepseek_v4",
        {
            "vocab_size": 96,
            "hidden_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "head_dim": 32,
            "q_lora_rank": 24,
            "o_lora_rank": 16,
            "o_groups": 2,
            "qk_rope_head_dim": 16,
            "sliding_window": WINDOW,
            "compress_ratios": [0, 4, 128],
            "index_topk": 4,
            "index_head_dim": 16,
            "index_n_heads": 2,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
        },
    ),
    "block-sparse": (
        "minimax_m3_vl_text",
        {
            **BASE,
            **HEADS,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "dense_intermediate_size": 64,
            "shared_intermediate_size": 32,
            "rotary_dim": 16,
            "index_n_heads": 2,
            "index_head_dim": 32,
            "index_block_size": 8,
            "index_topk_blocks": 2,
            "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"],
        },
    ),
    "layers that share a cache": (
        "gemma3n_text",
        {
            **BASE,
            **HEADS,
            "num_hidden_layers": 6,
            "intermediate_size": 64,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
            "sliding_window": WINDOW,
            "num_kv_shared_layers": 2,
            "hidden_size_per_layer_input": 8,
            "vocab_size_per_layer_input": 96,
            "laurel_rank": 4,
            "activation_sparsity_pattern": [0.0] * 6,
        },
    ),
    "keys wider than values": (
        "mimo_v2_flash",
        {
            **BASE,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "head_dim": 24,
            "v_head_dim": 16,
            "swa_num_attention_heads": 4,
            "swa_num_key_value_heads": 2,
            "swa_head_dim": 24,
            "swa_v_head_dim": 16,
            "sliding_window": WINDOW,
            "hybrid_layer_pattern": [0, 1, 1],
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "n_group": 1,
            "topk_group": 1,
        },
    ),
    "kimi delta": (
        "kimi_linear",
        {
            **BASE,
            **LATENT,
            "num_hidden_layers": 4,
            "linear_attn_config": {
                "full_attn_layers": [2, 4],
                "kda_layers": [1, 3],
                "num_heads": 4,
                "head_dim": 16,
                "short_conv_kernel_size": 4,
            },
            "num_experts": 4,
            "num_experts_per_token": 2,
            "moe_intermediate_size": 32,
        },
    ),
    "attention beside mamba-2": (
        "falcon_h1",
        {
            **BASE,
            **HEADS,
            "head_dim": 12,
            "mamba_d_ssm": 64,
            "mamba_n_heads": 4,
            "mamba_d_head": 16,
            "mamba_n_groups": 2,
            "mamba_d_state": 8,
        },
    ),
    "shared attention over mamba-2": (
        "zamba2",
        {
            **BASE,
            "num_attention_heads": 4,
            "num_hidden_layers": 4,
            "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid"],
            "n_mamba_heads": 4,
            "mamba_ngroups": 2,
            "mamba_d_state": 8,
        },
    ),
    "short convolution": (
        "lfm2",
        {**BASE, "num_attention_heads": 4, "num_key_value_heads": 2, "full_attn_idxs": [1], "conv_L_cache": 3},
    ),
    "rwkv": (
        "rwkv",
        {"vocab_size": 96, "hidden_size": 48, "num_hidden_layers": 3},
    ),
}


@pytest.fixture(scope="module")
def engines():
    """Torch and transformers; absent, the tests fail, because then nothing checked real caches."""
    need("torch")
    need("transformers")
    import torch
    import transformers

    torch.manual_seed(0)
    torch.set_num_threads(1)
    return torch, transformers


@pytest.mark.parametrize("family", FAMILIES)
def test_card_bytes_equal_cache_tensor_bytes(family, engines):
    torch, transformers = engines
    kind, fields = FAMILIES[family]
    config = transformers.AutoConfig.for_model(kind, **fields)
    model = transformers.AutoModel.from_config(config, dtype=torch.bfloat16).eval()
    card = read_card(config.to_dict(), f"{kind}.json", kind)
    measured, stated = [], []
    for length in LENGTHS:
        with torch.no_grad():
            output = model(input_ids=torch.randint(0, 90, (1, length)), use_cache=True)
        measured.append(cache_bytes(output.state if kind == "rwkv" else output.past_key_values))
        stated.append(card.stored_bytes(length, "bf16", "transformers"))
    assert measured == stated
