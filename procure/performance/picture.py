"""The figure as a picture: throughput per MW against TPS/User with bands, measured points on top, cost beside it."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from procure.schema import Evidence

if TYPE_CHECKING:
    import pandas as pd

    from procure.performance.figure import Load


_STYLES: dict[str, tuple[str, str]] = {Evidence.VENDOR: ("--", "Dashed"), Evidence.PROJECTION: (":", "Dotted")}
"""Lines of what was not measured, and what a reader calls them."""


def _legend(lines: pd.DataFrame, dots: list[dict[str, Any]]) -> str:
    """What is on the picture, and nothing else."""
    lengths = dict.fromkeys(f"{dot['isl']:,.0f}/{dot['osl']:,.0f}" for dot in dots)
    said = [f"Dots: measured at {', '.join(lengths)} tokens."] if dots else ["Nothing measured on this card."]
    kinds = set(lines["evidence"])
    said += [f"{word}: {kind}." for kind, (_, word) in _STYLES.items() if kind in kinds]
    return " ".join([*said, "Bands: low to high"])


def draw(lines: pd.DataFrame, dots: list[dict[str, Any]], load: Load, vintage: str, path: Path) -> None:
    """Write the picture; the ending of ``path`` names its format.

    Args:
        lines: rows of :func:`procure.performance.figure.figure`.
        dots: measured points.
        load: what is served.
        vintage: software vintage.
        path: where to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=(12.0, 5.6), layout="constrained")
    FigureCanvasAgg(picture)
    left, right = picture.subplots(1, 2)
    for position, (name, line) in enumerate(lines.groupby("pool", sort=False)):
        colour, style = f"C{position}", _STYLES.get(line["evidence"].iloc[0], ("-", ""))[0]
        speed, rate = line["tps_user"], line["tokens_per_s_per_mw"] / 1000
        left.plot(speed, rate, style, color=colour, label=str(name))
        left.fill_between(speed, (rate * line["low"]).clip(lower=0.1), rate * line["high"], color=colour, alpha=0.12)
        right.plot(speed, line["usd_per_million_output_tokens"], style, color=colour, label=str(name))
        mine = [dot for dot in dots if dot["pool"] == name]
        left.scatter(
            [dot["tps_user"] for dot in mine],
            [dot["tokens_per_s_per_mw"] / 1000 for dot in mine],
            color=colour,
            edgecolor="black",
            zorder=3,
            s=28,
        )
    speed_of = "TPS/User of the median stream"
    left.set(yscale="log", xlabel=speed_of, ylabel="thousand output tokens/s per MW", ylim=(1, None))
    right.set(yscale="log", xlabel=speed_of, ylabel="USD per million output tokens")
    left.set_title(_legend(lines, dots), fontsize=9)
    right.set_title("Straight-line over life at full use", fontsize=9)
    for axes in (left, right):
        axes.grid(True, which="both", alpha=0.25)
        axes.legend(fontsize=8)
    picture.suptitle(
        f"{load.card.name}, {load.input_tokens:,.0f} in ({load.reused_share:.0%} reused) / "
        f"{load.output_tokens:,.0f} out, software {vintage}",
        fontsize=11,
    )
    sources = "; ".join(dict.fromkeys(part for text in lines["source"] for part in str(text).split("; ")))
    picture.text(0.01, -0.02, fill(f"Sources: {sources}.", 220), fontsize=6, va="top")
    picture.savefig(path, dpi=150, bbox_inches="tight")
