"""Pictures of footprints: bytes against length, and architectures against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from procure.sizing.card import Card
from procure.sizing.compare import CLASSES, dsa_points

_COLOURS = dict(zip(CLASSES, ("#1b9e77", "#7570b3", "#66a61e", "#d95f02", "#a6761d"), strict=True))


def _figure(columns: int, width: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 5.2), layout="constrained")
    return figure, figure.subplots(1, columns)


def plot_lengths(cards: Sequence[Card], tokens: Sequence[int], fmt: str, rule: str, file: Path) -> None:
    """Stored and loaded bytes of one sequence against its length, one line per card; the lengths asked are marked.

    Raises:
        OSError: the file cannot be written.
    """
    figure, axes = _figure(2, 11)
    low, high = max(min(tokens) // 4, 16), max(max(tokens), 64) * 2
    lengths = np.unique(np.geomspace(low, high, 200).astype(np.int64))
    for axis, quantity in zip(axes, ("stored", "loaded"), strict=True):
        for card in cards:
            measure = card.stored_bytes if quantity == "stored" else card.loaded_bytes
            line = axis.loglog(lengths, measure(lengths, fmt, rule), label=card.name)[0]
            asked = np.array(sorted(tokens))
            axis.loglog(asked, measure(asked, fmt, rule), "o", color=line.get_color())
        title = "Stored by one sequence" if quantity == "stored" else "Loaded by one decode step of one sequence"
        axis.set(title=f"{title} ({fmt})", xlabel="tokens", ylabel="bytes")
        axis.grid(alpha=0.3, which="both")
    axes[0].legend(fontsize=8)
    figure.savefig(file)


def plot_compare(rows: Sequence[dict[str, Any]], dsa_card: Card, file: Path) -> None:
    """Stored and loaded bytes by card, and DSA's two lengths.

    Raises:
        OSError: the file cannot be written.
    """
    figure, (bars, axis) = _figure(2, 14)
    names = [row["model"] for row in rows][::-1]
    place = np.arange(len(names))
    ordered = list(rows)[::-1]
    colours = [_COLOURS[row["class"]] for row in ordered]
    bars.barh(place + 0.2, [row["stored_bytes"] / 1e9 for row in ordered], 0.38, color=colours, alpha=0.45)
    bars.barh(place - 0.2, [row["loaded_bytes"] / 1e9 for row in ordered], 0.38, color=colours)
    bars.set_yticks(place, names, fontsize=8)
    bars.set_xscale("log")
    first = rows[0]
    bars.set(
        xlabel="GB", title=f"{first['tokens']:,} tokens, {first['kv_format']}: stored (pale), loaded per step (full)"
    )
    for name, colour in _COLOURS.items():
        bars.barh([0], [0], color=colour, label=name)
    bars.legend(fontsize=8, loc="upper right")

    points = dsa_points(dsa_card)
    lengths = np.linspace(1, 12_288, 600)
    middle = points.entry_bytes * lengths[-1] / 2e6
    top = points.entry_bytes * np.minimum(lengths, points.top_k)
    axis.plot(lengths, points.entry_bytes * lengths / 1e6, color="#d95f02", label="plain MLA")
    axis.plot(lengths, (points.index_bytes * lengths + top) / 1e6, color="#1b9e77", label="MLA + DSA")
    axis.plot(lengths, points.index_bytes * lengths / 1e6, "--", color="#1b9e77", label="of which index keys")
    axis.plot(lengths, top / 1e6, ":", color="#1b9e77", label=f"of which top {points.top_k:,} entries")
    for value, text in ((points.starts_to_save, "starts to save"), (points.index_equals_read, "index = entries read")):
        axis.axvline(value, color="grey", linewidth=0.8)
        axis.annotate(f" {value:,.0f}\n {text}", (value, middle), fontsize=8)
    axis.set(
        xlabel="tokens",
        ylabel="MB loaded per layer and step (equal dtypes, bf16)",
        title=f"{dsa_card.name}: sparse attention",
    )
    axis.legend(fontsize=8, loc="upper left")
    figure.savefig(file)
