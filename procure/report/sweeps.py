"""The picture of a sweep: orders, cost with its gap and KV caches along what was varied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from procure.errors import Fault, InputError
from procure.report.charts import COLOURS, style
from procure.report.pictures import save
from procure.schema import Tier
from procure.study.outcome import FAILED
from procure.study.sweep import ties

MOST_VARIED = 2
"""Names that one picture can show: the first along it, the second side by side."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":")
_APART = 0.075
"""Share of a panel's height that the name of a line takes."""


def plot_sweep(frame: pd.DataFrame, varied: Sequence[str], path: str | Path) -> list[Path]:
    """Draw a sweep as PNG and, beside it, as SVG: units by SKU, cost with its gap as a band, parked KV caches by tier.

    A point that ties with the one before it (:func:`procure.study.sweep.ties`) is hollow: that something changes there
    is no finding. Points without a plan are crosses at the foot.

    Args:
        frame: as :func:`procure.study.sweep` returns it.
        varied: what was varied: the first along the picture; each value of a second in a column of its own.
        path: of the PNG.

    Raises:
        InputError: a needed column is missing, or more than two names.
    """
    needed = [*varied, "status", "objective_usd", "bound_usd", "shortfall_share", "shortfall_bound"]
    missing = [name for name in needed if name not in frame]
    if missing or not 1 <= len(varied) <= MOST_VARIED:
        expected = "A picture needs the columns of a sweep, and one or two names that were varied."
        raise InputError([Fault(str(path), 0, ", ".join(missing or varied), "", expected)])
    frame = frame.assign(tie=ties(frame, varied))
    columns: list[tuple[str, pd.DataFrame]] = [("", frame)]
    if len(varied) == MOST_VARIED:
        second = varied[1]
        columns = [(f"{second} = {value}", frame[frame[second] == value]) for value in frame[second].unique()]
    places = _Places(frame[varied[0]].tolist())
    with style():
        figure = Figure(figsize=(3.0 + 5.0 * len(columns), 8.4), layout="constrained")
        panels = figure.subplots(len(_PANELS), len(columns), squeeze=False, sharex=True, sharey="row")
        for row, (draw, title) in zip(panels, _PANELS, strict=True):
            for axis, (named, rows) in zip(row, columns, strict=True):
                draw(axis, rows, places, varied[0])
                axis.set_title(f"{title}{f', {named}' if named else ''}")
        for axis in panels[-1]:
            axis.set_xlabel(varied[0])
            places.dress(axis)
        notes = ["Hollow: the same within the gap as the point before, no finding."] if frame["tie"].any() else []
        notes += ["Cross: no plan."] if (frame["status"] == FAILED).any() else []
        if notes:
            figure.supxlabel(" ".join(notes), x=0.01, ha="left", fontsize=8)
        path = Path(path)
        return [save(figure, path), save(figure, path.with_suffix(".svg"))]


class _Places:
    """Where values stand along a picture: at their number, or one after the other where some are words."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._names = list(dict.fromkeys(values))
        self._are_numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in self._names)

    def __call__(self, value: Any) -> float:
        return float(value) if self._are_numbers else float(self._names.index(value))

    def dress(self, axis: Axes) -> None:
        if not self._are_numbers:
            axis.set_xticks(range(len(self._names)), [str(name) for name in self._names])


def _orders(axis: Axes, rows: pd.DataFrame, places: _Places, along: str) -> None:
    """Units by SKU as steps; crosses where there is no plan."""
    totals = {f"{what} {sku}" for what in ("ordered", "rented", "sold") for sku in _skus(rows)}
    shown = [name for name in rows if name in totals and (rows[name].fillna(0) > 0).any()]
    _lines(axis, rows, places, along, {name: rows[name] for name in shown}, steps=True)
    failed = [places(value) for value in rows.loc[rows["status"] == FAILED, along]]
    axis.set_ylim(0, max(1.0, 1.08 * max((float(rows[name].max()) for name in shown), default=0.0)))
    axis.plot(failed, [0.03] * len(failed), "x", color="black", markersize=9, transform=axis.get_xaxis_transform())
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylabel("units")


def _skus(rows: pd.DataFrame) -> set[str]:
    """SKUs that have a column of their own over all planned quarters; a quarter follows after a space elsewhere."""
    words = [str(name).split(" ") for name in rows]
    return {word[1] for word in words if word[0] in ("ordered", "rented", "sold")}


def _cost(axis: Axes, rows: pd.DataFrame, places: _Places, along: str) -> None:
    """What was found, over what is proven."""
    planned = rows[rows["status"] != FAILED].sort_values(along, key=lambda column: column.map(places))
    x, found = planned[along].map(places).astype(float), planned["objective_usd"].astype(float) / 1e6
    axis.fill_between(x, planned["bound_usd"].astype(float) / 1e6, found, color=COLOURS[4], alpha=0.5, linewidth=0)
    _lines(axis, rows, places, along, {"found": rows["objective_usd"] / 1e6})
    axis.set_ylabel("M USD, present value")


def _caches(axis: Axes, rows: pd.DataFrame, places: _Places, along: str) -> None:
    """Bytes of parked KV caches by tier."""
    parked = {tier.word: rows[f"kv_bytes {tier}"] / 1e12 for tier in Tier if rows[f"kv_bytes {tier}"].fillna(0).any()}
    _lines(axis, rows, places, along, parked)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("TB")


_PANELS = (
    (_orders, "Ordered in planned quarters"),
    (_cost, "Cost; band: down to what is proven"),
    (_caches, "Parked KV caches"),
)


def _lines(
    axis: Axes, rows: pd.DataFrame, places: _Places, along: str, series: dict[str, pd.Series], steps: bool = False
) -> None:
    """A line for each series over the points with a plan, named at its end; ties are hollow."""
    planned = rows.loc[rows["status"] != FAILED].sort_values(along, key=lambda column: column.map(places))
    if planned.empty:
        return
    x = planned[along].map(places).to_numpy()
    ends: list[tuple[float, str, str]] = []
    for i, (name, values) in enumerate(series.items()):
        y = values.loc[planned.index].astype(float).to_numpy()
        colour, marker = COLOURS[i % len(COLOURS)], _MARKERS[i % len(_MARKERS)]
        axis.plot(x, y, color=colour, linestyle=_LINES[i // len(COLOURS) % len(_LINES)], linewidth=1.5,
                  drawstyle="steps-mid" if steps else "default")  # fmt: skip
        for hollow in set(planned["tie"]):  # drawn of no point at all, markers beyond the clip would have no size
            chosen = (planned["tie"] == hollow).to_numpy()
            axis.plot(x[chosen], y[chosen], marker, color=colour, markersize=5, clip_on=False,
                      markerfacecolor="white" if hollow else colour)  # fmt: skip
        ends.append((y[-1], name.removeprefix("ordered "), colour))
    _name_ends(axis, float(x[-1]), ends)


def _name_ends(axis: Axes, x: float, ends: list[tuple[float, str, str]]) -> None:
    """Names right of where their lines end, moved apart where they would lie on one another."""
    low, high = axis.get_ylim()
    last = float("-inf")
    for y, name, colour in sorted(ends):
        last = max(y, last + _APART * (high - low))
        axis.annotate(name, (x, last), xytext=(8, 0), textcoords="offset points", va="center", fontsize=8,
                      color=colour, annotation_clip=False)  # fmt: skip
