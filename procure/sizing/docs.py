"""``docs/model_types.md``, written from the tables: run ``python -m procure.sizing.docs`` after a change."""

from __future__ import annotations

from pathlib import Path

from procure.sizing.model_types import ModelType, known_types

_HEAD = """\
# Model types: read, not compared, refused

<!-- written by `python -m procure.sizing.docs`; change data/model_types/known.csv instead -->

[`docs/sizing.md`](sizing.md) has the rule. Types of transformers 5.24.0 that are read were compared with the cache of
a tiny instance, byte for byte at four lengths, from both forms in which the library writes a config
(`tests/sizing/test_every_config_class.py`); types that the library has no class of are read from released configs.
"""


def render() -> str:
    """The page as Markdown."""
    types = known_types().values()
    compared = [t for t in types if t.status == "read" and t.source.startswith("transformers") and not t.text_type]
    released = [t for t in types if t.status == "read" and not t.source.startswith("transformers")]
    outer = [t for t in types if t.text_type]
    unchecked = [t for t in types if t.status == "unchecked"]
    lines = [
        _HEAD,
        f"## Read and compared ({len(compared)})\n\n{_names(compared)}",
        f"## Read from released configs ({len(released)})\n\n{_names(released)}",
        f"## Read through their text part ({len(outer)})\n\n{_names(outer)}",
        f"## Read by their fields, with a note ({len(unchecked)})\n\nNo tiny instance could be built.",
        _names(unchecked),
        "## Refused\n\n| why | model types |\n|---|---|",
    ]
    reasons: dict[str, list[ModelType]] = {}
    for known in types:
        if known.status == "refused":
            reasons.setdefault(known.reason, []).append(known)
    rows = (f"| {reason} | {_names(named)} |" for reason, named in reasons.items())
    return "\n\n".join(lines) + "\n" + "\n".join(rows) + "\n"


def _names(types: list[ModelType]) -> str:
    return " ".join(f"`{known.name}`" for known in types)


if __name__ == "__main__":
    (Path(__file__).parents[2] / "docs" / "model_types.md").write_text(render(), encoding="utf-8")
