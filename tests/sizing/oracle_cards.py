"""Cards of LLMs that only an oracle needs, from the dimensions that the oracle's own row or source states."""

from procure.sizing import Card, load_card
from procure.sizing.cards import read_card


def _archetype(name: str, *attention: dict[str, object]) -> Card:
    return read_card({"name": name, "attention": list(attention)}, f"{name}.toml", name)


def _gqa(layers: int, kv_heads: int, dim: int, heads: int | None = None) -> dict[str, object]:
    heads = heads or kv_heads
    return {"family": "gqa", "count": layers, "query_heads": heads, "kv_heads": kv_heads, "k_dim": dim, "v_dim": dim}


def _gdn(layers: int, key_heads: int, value_heads: int, state_dtype: str | None = None) -> dict[str, object]:
    dims = {"k_dim": 128, "v_dim": 128, "kernel": 4} | ({"state_dtype": state_dtype} if state_dtype else {})
    return {"family": "gdn", "count": layers, "key_heads": key_heads, "value_heads": value_heads, **dims}


_MLA = {"family": "mla", "latent_dim": 512, "rope_dim": 64, "nope_dim": 128, "v_dim": 128}


def oracle_card(name: str) -> Card:
    """The packaged card, or one from stated dimensions."""
    stated = {
        "llama-3-70b": lambda: load_card("llama-3.1-70b"),  # the same shape
        "llama-3-8b": lambda: load_card("llama-3.1-8b"),
        "qwen3-235b-a22b-fp8": lambda: load_card("qwen3-235b-a22b"),
        "deepseek-v2": lambda: _archetype(name, {**_MLA, "count": 60, "heads": 128}),
        "qwen2.5-1.5b": lambda: _archetype(name, _gqa(28, 2, 128, 12)),
        "qwen3.6-35b-a3b": lambda: _archetype(name, _gdn(30, 16, 32), _gqa(10, 2, 256, 16)),
        "qwen3.6-27b": lambda: _archetype(name, _gdn(48, 16, 48, "float32"), _gqa(16, 4, 256, 24)),
        "internal-1t-hybrid": lambda: _archetype(
            name,
            {"family": "kda", "count": 42, "heads": 64, "dim": 128, "kernel": 4},
            {**_MLA, "count": 15, "heads": 64},
        ),
        "granite-4.0-h-small": lambda: _archetype(
            name,
            {
                "family": "mamba2",
                "count": 36,
                "heads": 128,
                "head_dim": 64,
                "state_dim": 128,
                "groups": 1,
                "kernel": 4,
                "state_dtype": "bfloat16",
            },
            _gqa(4, 8, 128, 32),
        ),
    }
    return stated[name]() if name in stated else load_card(name)
