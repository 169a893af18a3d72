"""One layer of each kind from a config's fields; class defaults only for the model types whose class has them."""

from __future__ import annotations

from procure.sizing.attention import Attention
from procure.sizing.compressed import BlockSparse, Compressed
from procure.sizing.config import Config
from procure.sizing.recurrent import GatedDelta, KimiDelta, Lightning, Mamba1, Mamba2
from procure.sizing.softmax import GroupedQuery, Latent, SparseIndex

DERIVES_HEAD_DIM = frozenset(
    """
    llama mistral mixtral qwen2 qwen2_moe qwen2_vl phi phi3 phimoe opt gpt2 gpt_bigcode gpt_neox gptj bloom
    falcon jamba mpt starcoder2 stablelm granite granitemoe granitemoehybrid granitemoeshared olmo olmo2 cohere
    cohere2 baichuan internlm2 llama4_text apertus arcee bitnet dots1 ernie4_5_moe exaone4 exaone_moe
    flex_olmo granite_swa
    hunyuan_v1_moe ministral olmo3 olmoe smollm3 nemotron bamba
    """.split()  # noqa: SIM905
)
"""Model types whose class takes ``hidden_size / num_attention_heads`` where the config has no ``head_dim``."""

DEFAULTS_TO_MHA = frozenset("llama opt gpt2 gpt_neox gptj bloom mpt baichuan phi stablelm falcon".split())  # noqa: SIM905
"""Model types with one KV head per query head where the config names none."""

PURE_MAMBA = frozenset(("mamba", "falcon_mamba", "mamba2"))
"""Model types whose layers are all Mamba, and whose fields carry no prefix."""

KNOWN = (
    DERIVES_HEAD_DIM
    | DEFAULTS_TO_MHA
    | frozenset(
        """
    deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 kimi_k2 kimi_k25 kimi_linear glm4 glm4_moe glm_moe_dsa
    qwen3 qwen3_moe qwen3_next qwen3_5_moe_text qwen3_5_text minimax_m1 minimax_m2 minimax_text_01 minimax
    gpt_oss gemma gemma2 gemma3_text gemma4_text mimo_v2_flash nemotron_h bailing_hybrid bailing_moe_linear
    bailing_moe_v2 step3_text llama4_text mamba mamba2 falcon_mamba ministral mistral3 longcat_flash gemma3n_text
    """.split()  # noqa: SIM905
    )
)
"""Model types read by name in tests or known to need nothing beyond their fields."""


_BY_CLASS = {
    "GPT2LMHeadModel": "gpt2",
    "GPTBigCodeForCausalLM": "gpt_bigcode",
    "OPTForCausalLM": "opt",
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "FalconForCausalLM": "falcon",
    "Qwen2ForCausalLM": "qwen2",
}


def model_type(config: Config) -> str:
    """The model type of the text part; where a trimmed config lacks it, what its ``architectures`` entry stands for."""
    named = config.get("model_type")
    if named is None:
        named = next(
            (_BY_CLASS[name] for name in map(str, config.items("architectures") or ()) if name in _BY_CLASS), ""
        )
    return str(named)


def build_full(config: Config) -> Attention:
    """A layer that keeps every token: MLA, MFA, or grouped queries."""
    if config.has("kv_lora_rank"):
        return _latent(config)
    heads = config.need("num_attention_heads", "n_head")
    if config.has("share_q_dim"):
        groups, dim = config.need("num_attention_groups"), config.need("head_dim")
        return GroupedQuery(heads, groups, dim, dim, query_rank=config.need("share_q_dim"))
    if model_type(config).startswith("gemma4"):
        return _gemma4_global(config, heads)
    k_dim = _head_dim(config, heads)
    kv_heads = _kv_heads(config, heads)
    v_dim = config.optional("v_head_dim") or k_dim
    return GroupedQuery(heads, kv_heads, k_dim, v_dim, output_gate=_output_gate(config))


def _output_gate(config: Config) -> bool:
    """Qwen3-Next and Qwen3.5 gate the attention output; only the latter says so."""
    return bool(config.get("attn_output_gate", default=model_type(config) == "qwen3_next"))


def _gemma4_global(config: Config, heads: int) -> GroupedQuery:
    dim = config.optional("global_head_dim") or _head_dim(config, heads)
    kv_heads = config.optional("num_global_key_value_heads") or _kv_heads(config, heads)
    return GroupedQuery(heads, kv_heads, dim, dim, values_are_keys=bool(config.get("attention_k_eq_v")))


def _head_dim(config: Config, heads: int) -> int:
    for name in ("head_dim", "attention_head_dim"):
        if config.has(name):
            return config.need(name)
    if model_type(config) in DERIVES_HEAD_DIM:
        hidden = config.need("hidden_size", "n_embd")
        if hidden % heads and not any(fault.column in ("hidden_size", "n_embd") for fault in config.faults):
            config.fault("head_dim", "", f"Needed: hidden_size {hidden} is no multiple of {heads} heads.")
        return max(hidden // heads, 1)
    config.fault(
        "head_dim",
        "",
        "This field is needed: hidden_size / num_attention_heads is wrong for many LLMs, so it is not assumed.",
    )
    return 1


def _kv_heads(config: Config, heads: int) -> int:
    """KV heads; ``multi_query`` hides a single one (and makes Falcon-7B's ``num_kv_heads`` void)."""
    kind = model_type(config)
    named = config.optional("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups")
    if kind == "falcon" and config.get("new_decoder_architecture"):
        return named or heads
    if config.get("multi_query", default=kind == "gpt_bigcode"):
        return 1
    if named is not None and kind != "falcon":
        return named
    if kind in DEFAULTS_TO_MHA:
        return heads
    config.fault("num_key_value_heads", "", "This field is needed (a positive whole number).")
    return 1


def _latent(config: Config) -> Latent:
    index = None
    if config.has("index_topk", "index_head_dim"):
        index = SparseIndex(config.need("index_head_dim"), config.need("index_n_heads"), config.need("index_topk"))
    return Latent(
        heads=config.need("num_attention_heads"),
        latent_dim=config.need("kv_lora_rank"),
        rope_dim=0 if config.get("qk_rope_head_dim") == 0 else config.need("qk_rope_head_dim"),
        nope_dim=config.optional("qk_nope_head_dim"),
        v_dim=config.optional("v_head_dim"),
        query_rank=config.optional("q_lora_rank"),
        index=index,
    )


def build_block_sparse(config: Config) -> Attention:
    """MiniMax-M3: fields at the top level, or under their older names in ``sparse_attention_config``."""
    nested = config.block("sparse_attention_config")
    config.used.update(
        ("index_local_blocks", "index_n_heads", "index_head_dim", "index_block_size", "index_topk_blocks")
    )
    source = config if nested is None else Config(nested, f"{config.file}: sparse_attention_config")
    heads = config.need("num_attention_heads")
    k_dim = _head_dim(config, heads)
    layer = BlockSparse(
        query_heads=heads,
        kv_heads=_kv_heads(config, heads),
        k_dim=k_dim,
        v_dim=config.optional("v_head_dim") or k_dim,
        index_dim=source.need("index_head_dim", "sparse_index_dim"),
        index_heads=source.need("index_n_heads", "sparse_num_index_heads"),
        blocks=source.need("index_topk_blocks", "sparse_topk_blocks"),
        block_tokens=source.need("index_block_size", "sparse_block_size"),
    )
    if source is not config:
        config.faults.extend(source.faults)
    return layer


def build_window(config: Config) -> Attention:
    """A layer that keeps a window; its heads may differ from those of full layers."""
    other = config.block("attention_other_setting")
    window = config.need("sliding_window")
    if other is not None:  # Step-3.5: window layers have their own head counts
        inner = Config(other, f"{config.file}: attention_other_setting")
        heads, groups = inner.need("num_attention_heads"), inner.need("num_attention_groups")
        dim = inner.need("head_dim")
        config.faults.extend(inner.faults)
        return GroupedQuery(heads, groups, dim, dim, window=window)
    heads = config.optional("swa_num_attention_heads", "num_sliding_attention_heads") or config.need(
        "num_attention_heads"
    )
    k_dim = config.optional("swa_head_dim") or _head_dim(config, heads)
    kv_heads = config.optional("swa_num_key_value_heads") or _kv_heads(config, heads)
    v_dim = config.optional("swa_v_head_dim", "v_head_dim") or k_dim
    return GroupedQuery(heads, kv_heads, k_dim, v_dim, window=window, output_gate=_output_gate(config))


def build_chunked(config: Config) -> Attention:
    """A layer that attends within its chunk."""
    heads = config.need("num_attention_heads")
    dim = _head_dim(config, heads)
    return GroupedQuery(heads, _kv_heads(config, heads), dim, dim, chunk=config.need("attention_chunk_size"))


def _state_dtype(config: Config) -> str | None:
    dtype = config.get("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
    if dtype is not None and str(dtype) not in ("float32", "bfloat16", "float16"):
        config.fault("mamba_ssm_dtype", dtype, "float32, bfloat16 or float16 is allowed.")
        return None
    return dtype


def build_linear(config: Config) -> Attention:
    """A linear layer, told by its fields: KDA, GDN or lightning."""
    if config.has("linear_num_heads"):
        config.used.update(("short_conv_kernel_size", "linear_attn_config", "linear_lower_bound"))
        heads, dim = config.need("linear_num_heads"), config.need("linear_head_dim")
        return KimiDelta(heads, dim, config.need("linear_conv_kernel_dim"))
    nested = config.block("linear_attn_config")
    if nested is not None:
        inner = Config(nested, f"{config.file}: linear_attn_config")
        layer = KimiDelta(inner.need("num_heads"), inner.need("head_dim"), inner.need("short_conv_kernel_size"))
        config.faults.extend(inner.faults)
        return layer
    if config.has("linear_num_value_heads"):
        return GatedDelta(
            config.need("linear_num_key_heads"),
            config.need("linear_num_value_heads"),
            config.need("linear_key_head_dim"),
            config.need("linear_value_head_dim"),
            config.need("linear_conv_kernel_dim"),
            _state_dtype(config),
        )
    kind = model_type(config)
    if config.has("short_conv_kernel_size") and any(
        key.startswith(("kda", "no_kda", "use_kda")) for key in config.text
    ):
        config.used.update(("num_kv_heads_for_linear_attn", "linear_silu", "mtp_use_kda"))  # Ling 3.0
        heads = config.need("num_attention_heads")
        return KimiDelta(heads, _head_dim(config, heads), config.need("short_conv_kernel_size"))
    if kind.startswith("minimax"):
        config.used.add("block_size")  # of the kernel
    if kind.startswith("minimax") or "bailing" in kind or config.has("num_kv_heads_for_linear_attn"):
        heads = config.need("num_attention_heads")
        kept = config.optional("num_kv_heads_for_linear_attn") or heads
        return Lightning(kept, _head_dim(config, heads), heads, _state_dtype(config))
    config.fault(
        "linear_num_value_heads",
        "",
        "Linear layers need linear_num_value_heads and its companions, linear_attn_config, or "
        "num_kv_heads_for_linear_attn.",
    )
    return Lightning(1, 1, 1)


def build_mamba(config: Config) -> Attention:
    """Mamba-1 (a state size and no head count) or Mamba-2."""
    config.used.update(("expand", "time_step_rank", "mamba_expand", "mamba_chunk_size", "use_conv_bias"))
    pure = model_type(config) in PURE_MAMBA
    heads = ("mamba_num_heads", "mamba_n_heads") + (("num_heads",) if pure else ())
    if not config.has(*heads):
        expand = config.need("mamba_expand", "expand")
        return Mamba1(
            inner=config.optional("intermediate_size" if pure else "mamba_inner_size")
            or expand * config.need("hidden_size"),
            state_dim=config.need("mamba_d_state", "state_size"),
            time_step_rank=config.need("mamba_dt_rank", "time_step_rank"),
            kernel=config.need("mamba_d_conv", "conv_kernel"),
            state_dtype=_state_dtype(config),
        )
    return Mamba2(
        heads=config.need(*heads),
        head_dim=config.need("mamba_head_dim", "mamba_d_head", *(("head_dim",) if pure else ())),
        state_dim=config.need("ssm_state_size", "mamba_d_state", "state_size"),
        groups=config.need("n_groups", "mamba_n_groups"),
        kernel=config.need("conv_kernel", "mamba_d_conv"),
        state_dtype=_state_dtype(config),
    )


def build_compressed(config: Config, ratio: int) -> Compressed:
    """A layer of DeepSeek-V4 with that many tokens per entry."""
    indexed = ratio == 4
    return Compressed(
        heads=config.need("num_attention_heads"),
        dim=config.need("head_dim"),
        rope_dim=config.need("qk_rope_head_dim"),
        tokens_per_entry=ratio,
        window=config.need("sliding_window"),
        query_rank=config.need("q_lora_rank"),
        output_rank=config.need("o_lora_rank"),
        output_groups=config.need("o_groups"),
        index_dim=config.need("index_head_dim") if indexed else 0,
        index_heads=config.need("index_n_heads") if indexed else 0,
        top_k=config.need("index_topk") if indexed else None,
    )
