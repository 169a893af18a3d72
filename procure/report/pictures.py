"""Pictures: the charts of a plan as PNG, and the plot of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from procure.errors import Fault, InputError
from procure.plan import Plan
from procure.report.charts import COLOURS, charts, style
from procure.timekey import grouped

DOTS_PER_INCH = 130
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":")


def write_pictures(plan: Plan, folder: str | Path) -> list[Path]:
    """Save every chart of a plan as ``<name>.png`` in a folder, made if missing; same plan, same bytes."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with style():
        for name, (title, _, draw) in charts(plan).items():
            figure = draw()
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
            paths.append(_save(figure, folder / f"{name}.png"))
    return paths


def plot_sweep(frame: pd.DataFrame, path: str | Path) -> Path:
    """Counts by SKU against the value or values that a sweep varied; points without a plan are marked at the foot.

    ``frame`` is long: one row for each point and SKU. Columns: one or two that name what was varied, then ``status``
    (``ok``, or why there is no plan), ``sku`` and ``count`` (units ordered in planned quarters; empty where failed).
    With two varied columns each value of the second gets its own panel.

    Raises:
        InputError: a needed column is missing, or not one or two values were varied.
    """
    varied = [c for c in frame.columns if c not in ("status", "sku", "count")]
    missing = [c for c in ("status", "sku", "count") if c not in frame.columns]
    if missing or len(varied) not in (1, 2):
        raise InputError([
            Fault(str(path), 0, ", ".join(missing or map(str, varied)), "", "A plot needs the columns status, "
                  "sku, count and one or two that were varied.")
        ])  # fmt: skip
    panels: list[tuple[Any, pd.DataFrame]] = [("", frame)]
    if len(varied) == 2:
        panels = [(f"{varied[1]} = {value}", rows) for value, rows in grouped(frame, [varied[1]])]
    skus = sorted(frame.loc[frame["count"].fillna(0) > 0, "sku"].astype(str).unique())
    with style():
        figure = Figure(figsize=(8, 3.6 * len(panels) + 0.6), layout="constrained")
        axes = figure.subplots(len(panels), 1, squeeze=False).ravel()
        for axis, (title, rows) in zip(axes, panels, strict=True):
            _sweep_panel(axis, rows, str(varied[0]), skus)
            axis.set_title(title)
        shown = {text: handle for axis in axes for handle, text in zip(*axis.get_legend_handles_labels(), strict=True)}
        figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=4, frameon=False, fontsize=8)
        return _save(figure, Path(path))


def _sweep_panel(axis: Axes, rows: pd.DataFrame, varied: str, skus: list[str]) -> None:
    planned = rows[rows["status"] == "ok"]
    failed = sorted(set(rows.loc[rows["status"] != "ok", varied]))
    points = sorted(set(planned[varied]))
    highest = 0.0
    for i, sku in enumerate(skus):
        counts = (
            grouped(planned[planned["sku"].astype(str) == sku], [varied])["count"].sum().reindex(points, fill_value=0)
        )
        highest = max(highest, float(counts.max()) if len(counts) else 0.0)
        axis.plot(points, counts.to_numpy(), color=COLOURS[i % len(COLOURS)], marker=_MARKERS[i % len(_MARKERS)],
                  linestyle=_LINES[i // len(COLOURS) % len(_LINES)], markersize=5, label=sku)  # fmt: skip
    top = max(1.0, 1.08 * highest)
    if failed:
        axis.plot(failed, [0.03 * top] * len(failed), "x", color="black", markersize=9, label="no plan")
    axis.set_ylim(0, top)
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel(varied)
    axis.set_ylabel("units ordered in planned quarters")


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})
    return path
