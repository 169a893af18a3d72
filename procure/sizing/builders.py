"""One layer of each kind from a config's fields."""

from __future__ import annotations

from procure.sizing.attention import Attention
from procure.sizing.compressed import BlockSparse, Compressed
from procure.sizing.config import Config
from procure.sizing.parallel import Parallel
from procure.sizing.recurrent import GatedDelta, KimiDelta, Lightning, Mamba1, Mamba2, Rwkv, ShortConvolution
from procure.sizing.softmax import GroupedQuery, Latent, SparseIndex

PURE_MAMBA = frozenset(("mamba", "falcon_mamba", "mamba2"))
"""Model types whose layers are all Mamba, and whose fields carry no prefix."""


def build_full(config: Config) -> Attention:
    """A layer that keeps every token: MLA, MFA, or grouped queries."""
    if config.has("kv_lora_rank"):
        return _latent(config)
    heads = config.need("num_attention_heads", "n_head")
    if config.has("share_q_dim"):
        groups, dim = config.need("num_attention_groups"), config.need("head_dim")
        return GroupedQuery(heads, groups, dim, dim, query_rank=config.need("share_q_dim"))
    if config.kind.startswith("gemma4"):
        return _gemma4_global(config, heads)
    k_dim = _head_dim(config, heads)
    kv_heads = _kv_heads(config, heads)
    v_dim = config.optional("v_head_dim") or k_dim
    return GroupedQuery(heads, kv_heads, k_dim, v_dim, output_gate=_output_gate(config))


def _output_gate(config: Config) -> bool:
    """Qwen3-Next and Qwen3.5 gate the attention output; only the latter says so."""
    return bool(config.get("attn_output_gate", default=config.kind == "qwen3_next"))


def _gemma4_global(config: Config, heads: int) -> GroupedQuery:
    """Gemma 4: full layers have other heads; newer configs say so layer by layer (``per_layer_config``) instead."""
    dim, kv_heads = _head_dim(config, heads), _kv_heads(config, heads)
    config.used.update(("global_head_dim", "num_global_key_value_heads"))
    if not config.has("per_layer_config"):
        dim = config.optional("global_head_dim") or dim
        if config.get("attention_k_eq_v"):
            kv_heads = config.optional("num_global_key_value_heads") or kv_heads
    return GroupedQuery(heads, kv_heads, dim, dim, values_are_keys=bool(config.get("attention_k_eq_v")))


FROM_HIDDEN = "hidden_size / num_attention_heads"
"""What a class takes as head_dim where its config has none; the other defaults that follow a field name it."""


def _head_dim(config: Config, heads: int) -> int:
    """Elements of a head: as the config says, or derived for the model types whose class derives it."""
    value = config.get("head_dim", "attention_head_dim")
    if value is not None and value != FROM_HIDDEN:
        return _agreed(config, "head_dim", "attention_head_dim")
    if value == FROM_HIDDEN:
        hidden = config.need("hidden_size", "n_embd", "d_model")
        if hidden % heads and not any(fault.column in ("hidden_size", "n_embd") for fault in config.faults):
            config.fault("head_dim", "", f"Needed: hidden_size {hidden} is no multiple of {heads} heads.")
        return max(hidden // heads, 1)
    config.fault(
        "head_dim",
        "",
        "This field is needed: hidden_size / num_attention_heads is wrong for many LLMs, so it is not assumed.",
    )
    return 1


def _agreed(config: Config, *names: str) -> int:
    """One dimension under two names, which must not differ where both are given."""
    given = {name: value for name in names if isinstance(value := config.text.get(name), int)}
    if len(set(given.values())) > 1:
        config.fault(names[-1], given[names[-1]], f"It repeats {names[0]} ({given[names[0]]}); they must agree.")
    return config.need(*names)


def _kv_heads(config: Config, heads: int) -> int:
    """KV heads; ``multi_query`` hides a single one (and makes Falcon-7B's ``num_kv_heads`` void)."""
    named = config.get("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups")
    every = named == "num_attention_heads"
    named = (
        heads if every else config.optional("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups")
    )
    if config.kind == "falcon" and config.get("new_decoder_architecture"):
        return named or heads
    if config.get("multi_query", default=config.kind == "gpt_bigcode"):
        return 1
    if named is not None:
        return heads if config.kind == "falcon" else named
    config.fault("num_key_value_heads", "", "This field is needed (a positive whole number).")
    return 1


def _latent(config: Config) -> Latent:
    config.used.update(("num_key_value_heads", "head_dim", "qk_head_dim"))  # of the expanded heads: not cached
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
    nested = config.group("sparse_attention_config")
    config.used.update(
        ("index_local_blocks", "index_n_heads", "index_head_dim", "index_block_size", "index_topk_blocks")
    )
    source = config if nested is None else nested
    source.used.update(("sparse_attention_freq", "use_sparse_attention"))  # read with the kinds of layers
    heads = config.need("num_attention_heads")
    k_dim = _head_dim(config, heads)
    return BlockSparse(
        query_heads=heads,
        kv_heads=_kv_heads(config, heads),
        k_dim=k_dim,
        v_dim=config.optional("v_head_dim") or k_dim,
        index_dim=source.need("index_head_dim", "sparse_index_dim"),
        index_heads=source.need("index_n_heads", "sparse_num_index_heads"),
        blocks=source.need("index_topk_blocks", "sparse_topk_blocks"),
        block_tokens=source.need("index_block_size", "sparse_block_size"),
    )


def build_window(config: Config) -> Attention:
    """A layer that keeps a window; its heads may differ from those of full layers."""
    window, other = window_tokens(config), config.group("attention_other_setting")
    if other is not None:  # Step-3.5: window layers have their own head counts
        other.used.add("attention_type")
        heads, groups = other.need("num_attention_heads"), other.need("num_attention_groups")
        dim = other.optional("head_dim") or config.need("head_dim")
        return GroupedQuery(heads, groups, dim, dim, window=window)
    heads = config.optional("swa_num_attention_heads", "num_sliding_attention_heads") or config.need(
        "num_attention_heads"
    )
    k_dim = config.optional("swa_head_dim") or _head_dim(config, heads)
    kv_heads = _kv_heads(config, heads)
    if config.get("swa_num_key_value_heads") == "2 * num_key_value_heads":  # MiMo as its library saves it
        kv_heads = 2 * kv_heads
    elif config.has("swa_num_key_value_heads"):
        kv_heads = config.need("swa_num_key_value_heads")
    v_dim = config.optional("swa_v_head_dim", "v_head_dim") or k_dim
    return GroupedQuery(heads, kv_heads, k_dim, v_dim, window=window, output_gate=_output_gate(config))


def window_tokens(config: Config) -> int:
    """The window's length, under either of its names; MiMo's library counts the token itself under the first."""
    if config.kind.startswith("mimo"):
        return config.need("sliding_window", "sliding_window_size")
    return _agreed(config, "sliding_window", "sliding_window_size")


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
    inner = config.group("linear_attn_config")
    if inner is not None:
        inner.used.update(("full_attn_layers", "kda_layers"))  # read with the kinds of layers
        return KimiDelta(inner.need("num_heads"), inner.need("head_dim"), inner.need("short_conv_kernel_size"))
    if config.has("linear_num_value_heads"):
        return GatedDelta(
            config.need("linear_num_key_heads"),
            config.need("linear_num_value_heads"),
            config.need("linear_key_head_dim"),
            config.need("linear_value_head_dim"),
            config.need("linear_conv_kernel_dim"),
            _state_dtype(config),
        )
    kind = config.kind
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
    config.used.update(("expand", "time_step_rank", "mamba_expand", "mamba_chunk_size", "chunk_size", "use_conv_bias"))
    config.used.update(("mamba_d_ssm", "mamba_intermediate", "mamba_dt_rank"))
    pure = config.kind in PURE_MAMBA
    heads = ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads") + (("num_heads",) if pure else ())
    if not config.has(*heads) or config.kind == "zamba":
        expand = config.need("mamba_expand", "expand")
        return Mamba1(
            inner=config.optional("intermediate_size" if pure else "mamba_inner_size")
            or expand * config.need("hidden_size"),
            state_dim=config.need("mamba_d_state", "state_size"),
            time_step_rank=config.need("mamba_dt_rank", "time_step_rank"),
            kernel=config.need("mamba_d_conv", "conv_kernel"),
            state_dtype=_state_dtype(config),
        )
    count = config.need(*heads)
    return Mamba2(
        heads=count,
        head_dim=_mamba_head_dim(config, count, pure),
        state_dim=config.need("ssm_state_size", "mamba_d_state", "state_size"),
        groups=config.need("n_groups", "mamba_n_groups", "mamba_ngroups"),
        kernel=config.need("conv_kernel", "mamba_d_conv"),
        state_dtype=_state_dtype(config),
    )


def _mamba_head_dim(config: Config, heads: int, pure: bool) -> int:
    """Channels of a head; ``auto``: what the inner width (``mamba_d_ssm``, or expand times hidden) gives each."""
    names = ("mamba_head_dim", "mamba_d_head", "mamba_headdim") + (("head_dim",) if pure else ())
    if config.get(*names, default="auto") != "auto":
        return config.need(*names)
    inner = config.optional("mamba_d_ssm") or config.need("mamba_expand") * config.need("hidden_size")
    if inner % heads:
        config.fault(names[0], "auto", f"{heads} heads do not divide the inner width of {inner}.")
    return max(inner // heads, 1)


def build_parallel(config: Config) -> Attention:
    """Attention and Mamba-2 in one layer: Falcon-H1, and Zamba2's shared blocks (heads as wide as twice the stream)."""
    if config.kind.startswith("zamba"):
        config.used.update(("attention_hidden_size", "kv_channels", "num_query_groups"))
        config.gaps.append("num_mem_blocks")  # shared weights are not counted
    return Parallel((build_full(config), build_mamba(config)))


def build_convolution(config: Config) -> Attention:
    """A short convolution (LFM2)."""
    return ShortConvolution(config.need("hidden_size"), config.need("conv_L_cache"))


def build_rwkv(config: Config) -> Attention:
    """RWKV-4 (a state per channel) or a later version (a matrix per head)."""
    hidden = config.need("hidden_size")
    later = config.kind != "rwkv"
    head_dim = config.need("head_size", "head_dim") if later else None
    return Rwkv(hidden, config.optional("attention_hidden_size") or hidden, head_dim)


def build_compressed(config: Config, ratio: int) -> Compressed:
    """A layer of DeepSeek-V4 with that many tokens per entry."""
    indexed = ratio == 4
    return Compressed(
        heads=config.need("num_attention_heads"),
        dim=config.need("head_dim"),
        rope_dim=config.need("qk_rope_head_dim"),
        tokens_per_entry=ratio,
        window=window_tokens(config),
        query_rank=config.need("q_lora_rank"),
        output_rank=config.need("o_lora_rank"),
        output_groups=config.need("o_groups"),
        index_dim=config.need("index_head_dim") if indexed else 0,
        index_heads=config.need("index_n_heads") if indexed else 0,
        top_k=config.need("index_topk") if indexed else None,
    )
