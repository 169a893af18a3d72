"""Tiny instances of every decoder-only config class of the installed transformers, and the bytes of their caches."""

import dataclasses
import importlib
import inspect
import itertools
import os
from collections.abc import Iterator
from functools import cache

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

SMALL = {
    **dict.fromkeys(["vocab_size", "vocab_size_per_layer_input"], 128),
    **dict.fromkeys(["hidden_size", "n_embd", "d_model", "embed_dim", "embedding_dim", "attention_hidden_size"], 64),
    **dict.fromkeys(["intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "intermediate_size_mlp"], 64),
    **dict.fromkeys(["dense_intermediate_size", "dim_ff", "d_ff", "dff", "lru_width", "moe_hidden_size"], 64),
    **dict.fromkeys(["num_hidden_layers", "n_layer", "n_layers", "num_layers", "layers"], 6),
    **dict.fromkeys(["num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"], 4),
    **dict.fromkeys(["swa_num_attention_heads"], 4),
    **dict.fromkeys(["num_key_value_heads", "swa_num_key_value_heads"], 2),
    **dict.fromkeys(["n_groups", "mamba_n_groups", "mamba_ngroups"], 2),
    **dict.fromkeys(["head_dim", "swa_head_dim"], 20),
    **dict.fromkeys(["max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "context_length"], 512),
    **dict.fromkeys(["moe_intermediate_size", "expert_ffn_hidden_size", "shared_expert_intermediate_size"], 32),
    **dict.fromkeys(["shared_intermediate_size", "hidden_size_per_layer_input"], 32),
    **dict.fromkeys(["n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"], 4),
    **dict.fromkeys(["num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_topk", "moe_top_k"], 2),
    **dict.fromkeys(["n_shared_experts", "n_group", "topk_group", "num_expert_group"], 1),
    **{"kv_lora_rank": 32, "q_lora_rank": 24, "qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "v_head_dim": 16},
    **{"index_topk": 8, "index_head_dim": 32, "index_n_heads": 2, "o_lora_rank": 16, "o_groups": 2},
    **{"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16},
    **dict.fromkeys(["sliding_window", "attention_chunk_size", "sliding_window_size", "attention_window_size"], 16),
    **dict.fromkeys(["mamba_num_heads", "mamba_n_heads", "n_mamba_heads"], 8),
    **dict.fromkeys(["mamba_head_dim", "mamba_d_head"], 16),
    **dict.fromkeys(["mamba_d_state", "ssm_state_size", "state_size"], 8),
    **dict.fromkeys(["mamba_dt_rank", "time_step_rank"], 4),
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
}
"""Sizes that make any LLM tiny; windows and chunks of 16 tokens are passed by the longer sequences."""


def _sections(*sizes):
    """Positions of images: sections that add up to half of what is rotated of a head."""
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": list(sizes)}}


_LATENT = {"num_key_value_heads": 4}
OWN: dict[str, dict] = {
    "bamba": {"attn_layer_indices": [1, 3]},
    "lfm2": {"full_attn_idxs": [1, 4]},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention"] * 2},
    "falcon_h1": {"mamba_d_ssm": 128},
    "mamba2": {"num_heads": 8, "head_dim": 16},
    "zamba2": {"layers_block_type": ["linear_attention", "hybrid", "linear_attention"] * 2, "n_mamba_heads": 8},
    "zamba": {"n_mamba_heads": 2},
    "gemma3n_text": {
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,
        "laurel_rank": 4,
        "activation_sparsity_pattern": [0.0] * 6,
    },
    "gptj": {"rotary_dim": 8},
    "codegen": {"rotary_dim": 8},
    "gpt_neo": {"attention_types": [[["global", "local"], 3]], "num_layers": 6, "window_size": 16},
    "helium": {"head_dim": 16},
    "zaya": {"num_experts_per_tok": 1},
    "granitemoehybrid": {"layer_types": ["mamba", "attention", "mamba", "mamba", "attention", "mamba"]},
    "dots3_note_text": _LATENT,
    "minimax_m3_vl_text": {
        "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"] * 2,
        "index_block_size": 8,
        "index_topk_blocks": 2,
        "rotary_dim": 16,
    },
    "olmo_hybrid": {"layer_types": ["linear_attention", "full_attention"] * 3},
    "deepseek_v4": {"num_key_value_heads": 1, "head_dim": 32, "compress_ratios": [0, 4, 128, 4, 128, 0]},
    "kimi_linear": {
        **_LATENT,
        "linear_attn_config": {
            "full_attn_layers": [2, 4, 6],
            "kda_layers": [1, 3, 5],
            "num_heads": 4,
            "head_dim": 16,
            "short_conv_kernel_size": 4,
        },
    },
    "longcat_flash": {**_LATENT, "num_layers": 3, "head_dim": 16},
    **dict.fromkeys(["qwen2_vl_text", "qwen2_5_vl_text", "glm4v_text", "glm_ocr_text"], _sections(2, 3, 3)),
    **dict.fromkeys(["qwen2_5_omni_text"], _sections(2, 3, 3)),
    **dict.fromkeys(["qwen3_omni_moe_text", "paddleocr_vl_text"], _sections(4, 3, 3)),
    **dict.fromkeys(["hunyuan_vl_text", "cosmos3_edge_text"], _sections(4, 3, 3)),
    "glm4v_moe_text": _sections(1, 1, 2),
    "hy_v4_vl_text": _sections(3, 3, 2),
    "diffusion_gemma_text": {"top_k_experts": 2},
    "ernie4_5_vl_moe_text": {"moe_intermediate_size": [32, 32]},
    "hrm_text": {"num_hidden_layers": 2, "head_dim": 16},
}
"""What some classes need beside :data:`SMALL` to be built, or to have every kind of layer that they can have."""


def text_classes() -> dict[str, type]:
    """Config classes of decoder-only LLMs by model type, the text parts of multimodal ones included."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
    )

    found = {}
    for kind in sorted({*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES}):
        try:
            inner = CONFIG_MAPPING[kind]().get_text_config(decoder=True)
        except Exception:  # needs a package that is not installed, or has no defaults
            continue
        if inner.model_type:
            found[inner.model_type] = type(inner)
    return found


def tiny_config(kind: str, cls: type, **changes):
    """A tiny config of a class; sizes that it does not have are left out."""
    names = {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    names |= set(inspect.signature(cls.__init__).parameters)
    values = {name: value for name, value in SMALL.items() if name in names}
    if "kv_lora_rank" in names:
        values |= {"num_key_value_heads": 4}
    return cls(**{**values, **OWN.get(kind, {}), **changes})


LENGTHS = (5, 16, 33, 100)


@cache
def unchanged_sizes(kind: str, cls: type) -> dict[int, int]:
    """Bytes of the cache of the tiny config as it is, by length; worked out once for all tests of a process."""
    return dict(zip(LENGTHS, cache_sizes(tiny_config(kind, cls), LENGTHS), strict=True))


def cache_sizes(config, lengths) -> list[int]:
    """Bytes of the cache after a forward pass over each length, bfloat16 weights, on the CPU."""
    import torch

    torch.manual_seed(0)
    model = _model(config)
    sizes = []
    for length in lengths:
        with torch.no_grad():
            output = model(input_ids=torch.randint(3, 90, (1, length)), use_cache=True)
        names = ("past_key_values", "cache", "cache_params", "state")
        sizes.append(cache_bytes(next(c for n in names if (c := getattr(output, n, None)) is not None)))
    return sizes


KNOWN_TINY: set[type] = set()
"""Config classes of which an LLM was built: with one field changed it is about as large."""


def _model(config):
    """The LLM of a config in bfloat16: its causal model, else its base model, else its text model of no auto class."""
    import torch
    import transformers

    autos = [transformers.AutoModelForCausalLM.from_config, transformers.AutoModel.from_config]
    others = (cls._from_config for cls in _model_classes(type(config)))
    reasons = []
    for make in itertools.chain(autos, others):
        try:
            if type(config) not in KNOWN_TINY:
                with torch.device("meta"):
                    weights = sum(weight.numel() for weight in make(config).parameters())
                if weights > 30e6:
                    raise ValueError(f"{weights} weights are not tiny")
            model = make(config, dtype=torch.bfloat16).eval()
            KNOWN_TINY.add(type(config))
            return model
        except Exception as reason:
            reasons.append(reason)
    raise reasons[0]


def _model_classes(config_class: type) -> Iterator[type]:
    """Model classes beside a config class that are made for it and take a cache."""
    name = config_class.__module__.replace("configuration_", "modeling_")
    try:
        module = importlib.import_module(name)
    except ImportError:
        return
    classes = [c for c in vars(module).values() if inspect.isclass(c) and hasattr(c, "forward")]
    own = [c for c in classes if config_class in (c.__dict__.get("config"), getattr(c, "config_class", None))]
    own = [c for c in own if not c.__name__.endswith("PreTrainedModel")]
    yield from (c for c in own if {"use_cache", "input_ids"} & set(inspect.signature(c.forward).parameters))


def cache_bytes(cache: object) -> int:
    """Bytes of the distinct storages that a cache's layers hold, in whatever attribute they hold them."""
    import torch

    seen: dict[int, int] = {}

    def visit(value: object, depth: int) -> None:
        if isinstance(value, torch.Tensor):
            if value.numel() and value.is_floating_point():  # counters are integers
                seen[value.data_ptr()] = max(seen.get(value.data_ptr(), 0), value.numel() * value.element_size())
        elif isinstance(value, dict) and depth:
            for item in value.values():
                visit(item, depth - 1)
        elif isinstance(value, list | tuple) and depth:
            for item in value:
                visit(item, depth - 1)

    if isinstance(cache, list | tuple):
        visit(cache, 3)
        return sum(seen.values())
    for holder in (cache, *cache.layers):  # type: ignore[attr-defined]
        for name, value in vars(holder).items():
            if "position" not in name:
                visit(value, 3)
    return sum(seen.values())
