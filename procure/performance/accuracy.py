"""How far the physics lies from measured points, as pictures, each with the rows behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from procure.sizing.compare import architecture_class

if TYPE_CHECKING:
    from procure.performance.predict import Bench

FIT, KEPT, PREFILL, FRONTIER = (
    "decode, seen by the fit",
    "decode, kept out of it",
    "prefill rate",
    "best of a sweep",
)
KINDS = {FIT: ("#767676", "."), KEPT: ("#0072B2", "o"), PREFILL: ("#D55E00", "^"), FRONTIER: ("#009E73", "s")}
"""What is compared, with colours that the colour-blind tell apart (Okabe and Ito) and marks that need no colour."""
UNITS = {FIT: "TPS/User", KEPT: "TPS/User", PREFILL: "input tokens/s per GPU", FRONTIER: "output tokens/s per GPU"}
_BINS = np.array([1.5, 3, 6, 12, 50, 200]) * 1024.0
"""Edges of contexts whose medians are drawn, tokens."""
_LEAST = 3
"""Rows behind a median or a bar."""
_SPREAD = (0.1, 0.9)


def compared(rows: pd.DataFrame, bench: Bench) -> pd.DataFrame:
    """Predicted rows as pictures take them, one row each.

    Args:
        rows: what :func:`procure.performance.validate.predicted_rows` gives.
        bench: what it was predicted with.

    Returns:
        ``line`` of the points file, ``hardware``, ``card``, ``attention`` (class of the card), ``kind`` (of
        ``KINDS``), ``context_tokens`` (mean: prompt and half of the answer; the prompt of a prefill), ``measured`` and
        ``predicted`` in ``unit``, ``ratio`` of predicted over measured, ``source``.
    """
    usable = rows[rows["usable"] & (rows["is_run"] | rows["is_prefill"] | rows["is_frontier"])]
    decode = np.where(usable["part"] == "fit", FIT, KEPT)
    kind = np.select([usable["is_prefill"], usable["is_frontier"]], [PREFILL, FRONTIER], decode)
    answer = usable["osl"].fillna(0.0).where(~usable["is_prefill"], 0.0)
    attention = {name: architecture_class(bench.card(name)) for name in usable["card"].unique()}
    found = usable[["line", "hardware", "card"]].assign(
        attention=usable["card"].map(attention),
        kind=kind,
        context_tokens=(usable["isl"] + answer / 2) * usable["length_drawn"],
        measured=usable["measured"],
        predicted=usable["predicted"],
        unit=[UNITS[each] for each in kind],
        ratio=usable["predicted"] / usable["measured"],
        source=usable["source"].str.split(r" http| \(| run \d", regex=True).str[0],
    )
    return found.reset_index(drop=True)


def draw_accuracy(points: pd.DataFrame, file: str, folder: Path) -> list[str]:
    """Draw the pictures and write the rows behind them; names of the files written.

    ``compared-rows.csv`` stands behind ``predicted-against-measured.png`` and ``ratio-by-context.png``,
    ``ratio-by-kind.csv`` behind the picture of its name.

    Args:
        points: what :func:`compared` gives.
        file: name of the points file, for the line of sources.
        folder: where to write.
    """
    pictures: dict[str, tuple[Callable[..., None], pd.DataFrame, tuple[float, float]]] = {
        "predicted-against-measured": (_against, points, (10.5, 4.2)),
        "ratio-by-context": (_by_context, points, (9.0, 4.6)),
        "ratio-by-kind": (_by_kind, spreads(points), (9.0, 6.4)),
    }
    for name, (draw, table, size) in pictures.items():
        _save(draw, table, size, _sources(points, file), folder / f"{name}.png")
    tables = {"compared-rows": points, "ratio-by-kind": pictures["ratio-by-kind"][1]}
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g")
    return [*(f"{name}.png" for name in pictures), *(f"{name}.csv" for name in tables)]


def spreads(points: pd.DataFrame) -> pd.DataFrame:
    """10th percentile, median and 90th percentile of predicted over measured by attention and by hardware.

    Decode that the fit saw is left out: it flatters. Of prefill every row was fitted. Groups of fewer than three rows
    are left out.
    """
    unseen = points[points["kind"].isin([KEPT, PREFILL])]
    found = []
    for by in ("attention", "hardware"):
        for (kind, name), group in unseen.groupby(["kind", by]):
            if len(group) >= _LEAST:
                low, high = group["ratio"].quantile(_SPREAD[0]), group["ratio"].quantile(_SPREAD[1])
                found.append((by, name, kind, len(group), low, group["ratio"].median(), high))
    return pd.DataFrame(found, columns=["by", "name", "kind", "n", "ratio_p10", "ratio_median", "ratio_p90"])


def _sources(points: pd.DataFrame, file: str) -> str:
    counts = points["source"].value_counts()
    return f"Sources, rows each ({file}): " + "; ".join(f"{name} {count}" for name, count in counts.items()) + "."


def _save(draw: Callable[..., None], table: pd.DataFrame, size: tuple[float, float], below: str, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(picture)
    draw(picture, table)
    picture.text(0.01, -0.02, fill(below, int(size[0] * 19)), fontsize=6.5, va="top", color="#444444")
    picture.savefig(path, dpi=100, bbox_inches="tight", metadata={"Software": None})


def _against(picture: Any, points: pd.DataFrame) -> None:
    """One panel for each unit, the diagonal and a fifth either way."""
    panels = (("TPS/User at the measured batch", (FIT, KEPT)), ("Prefill, one GPU", (PREFILL,)),
              ("Best of a sweep, one GPU", (FRONTIER,)))  # fmt: skip
    shown = [(title, kinds) for title, kinds in panels if points["kind"].isin(kinds).any()]
    for axis, (title, kinds) in zip(np.atleast_1d(picture.subplots(1, max(len(shown), 1))), shown, strict=False):
        mine = points[points["kind"].isin(kinds)]
        ends = np.array([mine[["measured", "predicted"]].min().min(), mine[["measured", "predicted"]].max().max()])
        ends = ends * (0.8, 1.25)
        axis.plot(ends, ends, color="black", linewidth=0.8)
        axis.fill_between(ends, ends * 0.8, ends * 1.25, color="black", alpha=0.08, linewidth=0)
        for kind in kinds:
            rows = mine[mine["kind"] == kind]
            axis.scatter(rows["measured"], rows["predicted"], s=14, color=KINDS[kind][0], marker=KINDS[kind][1],
                         alpha=0.7, linewidth=0)  # fmt: skip
        for place, kind in enumerate(kinds):
            axis.text(0.04, 0.93 - 0.07 * place, f"{kind} (n = {(mine['kind'] == kind).sum()})",
                      transform=axis.transAxes, color=KINDS[kind][0], fontsize=8.5)  # fmt: skip
        axis.text(0.96, 0.05, "shaded: within 1.25 ×", transform=axis.transAxes, fontsize=7.5, ha="right")
        axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        axis.set(xlabel=f"measured, {UNITS[kinds[0]]}", ylabel=f"predicted, {UNITS[kinds[0]]}")
        axis.set_title(title, fontsize=10)


def _by_context(picture: Any, points: pd.DataFrame) -> None:
    """Predicted over measured along context, with the median of each range of contexts."""
    axis = picture.subplots()
    lowest, highest = 0.25, 4.0
    for kind, (colour, mark) in KINDS.items():
        rows = points[points["kind"] == kind]
        drawn = rows["ratio"].clip(lowest, highest)
        axis.scatter(rows["context_tokens"], drawn, s=13, color=colour, marker=mark, alpha=0.45, linewidth=0)
        if kind != FIT and len(rows):
            _medians(axis, rows, colour)
    for place, kind in enumerate(kind for kind in KINDS if (points["kind"] == kind).any()):
        words = f"{kind} (n = {(points['kind'] == kind).sum()})"
        axis.text(0.99, 0.94 - 0.055 * place, words, transform=axis.transAxes, color=KINDS[kind][0], fontsize=9,
                  ha="right")  # fmt: skip
    axis.axhline(1.0, color="black", linewidth=0.8)
    axis.axhspan(0.8, 1.25, color="black", alpha=0.08, linewidth=0)
    axis.set(xscale="log", yscale="log", ylim=(lowest * 0.95, highest * 1.05))
    axis.set(xlabel="context, tokens (mean of a decode run; prompt of a prefill)", ylabel="predicted / measured")
    _ticks(axis, "y")
    axis.set_xticks([1024 * 2.0**k for k in range(0, 11, 2)], ["1Ki", "4Ki", "16Ki", "64Ki", "256Ki", "1Mi"])
    axis.minorticks_off()
    outside = int(((points["ratio"] < lowest) | (points["ratio"] > highest)).sum())
    beyond = f"; {outside} beyond the edges are drawn on them" if outside else ""
    axis.set_title(
        f"Lines: medians (decode: kept-out rows; prefill: rows that the fit saw); shaded: within 1.25 ×{beyond}",
        fontsize=9,
    )


def _medians(axis: Any, rows: pd.DataFrame, colour: str) -> None:
    grouped = rows.groupby(np.digitize(rows["context_tokens"], _BINS))
    middle = grouped.agg(context=("context_tokens", "median"), ratio=("ratio", "median"), n=("ratio", "size"))
    enough = middle[middle["n"] >= _LEAST]
    axis.plot(enough["context"], enough["ratio"], color=colour, linewidth=1.8)


def _by_kind(picture: Any, table: pd.DataFrame) -> None:
    """A bar from the 10th to the 90th percentile with a dot at the median, a line for each group."""
    shown = [by for by in ("attention", "hardware") if (table["by"] == by).any()]
    heights = [int((table["by"] == by).sum()) + 1 for by in shown]
    axes = np.atleast_1d(picture.subplots(max(len(shown), 1), 1, sharex=True, height_ratios=heights or [1]))
    for axis, by in zip(axes, shown, strict=False):
        mine = table[table["by"] == by].sort_values(["kind", "ratio_median"], ascending=[False, False])
        for place, row in enumerate(mine.to_dict("records")):
            colour, mark = KINDS[row["kind"]]
            axis.plot([row["ratio_p10"], row["ratio_p90"]], [place, place], color=colour, linewidth=3, alpha=0.5)
            axis.plot(row["ratio_median"], place, mark, color=colour, markersize=6)
        names = [f"{name}, {kind.split(',')[0].removesuffix(' rate')} (n = {n})"
                 for name, kind, n in zip(mine["name"], mine["kind"], mine["n"], strict=True)]  # fmt: skip
        axis.set_yticks(range(len(mine)), names, fontsize=8)
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.axvspan(0.8, 1.25, color="black", alpha=0.08, linewidth=0)
        axis.set(xscale="log")
        how = ": bar from 10th to 90th percentile, mark at the median; decode kept out of the fit, prefill seen by it"
        axis.set_title(f"By {by}{how if by == shown[0] else ''}", fontsize=9, loc="left")
        _ticks(axis, "x")
    lowest, highest = table["ratio_p10"].min(), table["ratio_p90"].max()
    axes[-1].set_xlim(np.fmin(0.6, 0.95 * lowest), np.fmax(1.75, 1.05 * highest))
    axes[-1].set_xlabel("predicted / measured (decode: TPS/User; prefill: tokens/s per GPU); shaded: within 1.25 ×")


def _ticks(axis: Any, which: str) -> None:
    from matplotlib.ticker import NullLocator

    at = [0.25, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 4.0]
    getattr(axis, f"set_{which}ticks")(at, [f"{each:g}" for each in at])
    getattr(axis, f"{which}axis").set_minor_locator(NullLocator())
