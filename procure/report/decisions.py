"""The pictures of a trigger and of a tornado."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from procure.decision import Reading, State, Tornado, Trigger
from procure.decision.rounds import in_words
from procure.decision.trigger import crossings
from procure.families.wording import figure as told
from procure.report.charts import COLOURS, style
from procure.report.pictures import save

MOST_BARS = 30
"""Premises that a tornado draws; its table has all."""
_SHADES = {State.IN: COLOURS[2], State.TIE: COLOURS[7], State.OUT: "white", State.UNKNOWN: "black"}


def trigger_sentences(found: Trigger) -> list[str]:
    """Where a SKU is in, tied and out along a premise, what takes its place at each crossing, what would flip it."""
    known = [reading for reading in found.readings if reading.state is not State.UNKNOWN]
    if not known:
        stopped = any(not reading.error for reading in found.readings)
        return ["No value is known yet." if stopped else "No value has a plan."]
    said = []
    runs: list[list[Reading]] = []
    for reading in known:
        if runs and runs[-1][0].state is reading.state:
            runs[-1].append(reading)
        else:
            runs.append([reading])
    for run in runs:
        span = f"at {told(run[0].value)}" if len(run) == 1 else f"from {told(run[0].value)} to {told(run[-1].value)}"
        said.append(f"{found.sku} is {_STATES[run[0].state]} {span} of {found.path}.")
    for crossing in found.crossings:
        there = crossing.above if crossing.above.state is State.IN else crossing.below
        if there.state is State.IN and there.instead:
            said.append(
                f"Between {told(crossing.below.value)} and {told(crossing.above.value)} it turns from "
                f"{crossing.below.state} to {crossing.above.state}; without it at {told(there.value)}: "
                f"{in_words(there.instead)}."
            )
    if len(runs) == 1:
        said.append(_no_flip(found, known[-1]))
    return said


_STATES = {State.IN: "in", State.TIE: "a tie (it saves less than twice the gap)", State.OUT: "out"}


def _no_flip(found: Trigger, last: Reading) -> str:
    """That nothing flips in the range, and at which price it would."""
    said = "No flip in this range"
    if last.state is State.TIE:
        return f"{said}: a smaller gap would tell more."
    if not found.price:
        return f"{said}."
    flips = [
        crossing for crossing in crossings(found.price) if last.state in (crossing.below.state, crossing.above.state)
    ]
    if not flips:
        factor = max(found.price, key=lambda reading: abs(math.log(reading.value))).value
        return f"{said}, nor at {factor:g} times its price at {found.path} = {told(last.value)}."
    flip = flips[0]
    return (
        f"{said}. Its price would flip it: between {flip.below.value:.3g} and {flip.above.value:.3g} times today's, at "
        f"{found.path} = {told(last.value)}, it turns from {flip.below.state} to {flip.above.state}."
    )


def plot_trigger(found: Trigger, path: str | Path) -> list[Path]:
    """Draw, as PNG and SVG, what going without a SKU costs along a premise, and the units ordered; ties are shaded."""
    known = [reading for reading in found.readings if reading.state is not State.UNKNOWN]
    x = [reading.value for reading in known]
    with style():
        figure = Figure(figsize=(8, 6.4), layout="constrained")
        cost, units = figure.subplots(2, 1, sharex=True)
        low = [reading.least_usd / 1e6 for reading in known]
        high = [reading.most_usd / 1e6 for reading in known]
        cost.vlines(x, low, high, color=COLOURS[0], linewidth=3)
        for ends in (low, high):  # an interval of no width is a dash
            cost.plot(x, ends, "_", color=COLOURS[0], markersize=9, markeredgewidth=2)
        cost.axhline(0, color="black", linewidth=0.8)
        cost.set_ylabel("M USD, present value")
        cost.set_title(f"What going without {found.sku} costs, from the bounds of both plans")
        units.plot(
            x, [reading.ordered for reading in known], "o", color=COLOURS[0], drawstyle="steps-mid", linestyle="-"
        )
        units.set_ylabel("units")
        units.set_ylim(bottom=0)
        units.yaxis.set_major_locator(MaxNLocator(integer=True))
        units.set_title(f"{found.sku} ordered in planned quarters")
        units.set_xlabel(f"{found.path}{f', {found.unit}' if found.unit else ''}")
        for axis in (cost, units):
            for i, reading in enumerate(known):
                left = x[i] if i == 0 else (x[i - 1] + x[i]) / 2
                right = x[i] if i == len(x) - 1 else (x[i] + x[i + 1]) / 2
                axis.axvspan(left, right, color=_SHADES[reading.state], alpha=0.15, linewidth=0, zorder=-1)
        words = {State.IN: "in", State.TIE: "tie: less than twice the gap", State.OUT: "out"}
        patches = [Patch(facecolor=_SHADES[s], alpha=0.3, edgecolor="black", label=word) for s, word in words.items()]
        figure.legend(handles=patches, loc="outside upper center", ncols=len(patches), frameon=False, fontsize=8)
        path = Path(path)
        return [save(figure, path), save(figure, path.with_suffix(".svg"))]


def plot_tornado(found: Tornado, path: str | Path) -> list[Path]:
    """Draw, as PNG and SVG, by how much each premise is proven to move the cost at the ends of its band.

    A bar runs from nothing to the least move that both bounds leave; the thin line goes on to the most. A star marks
    premises that change the first orders.
    """
    bars = [bar for bar in found.bars if bar.matters][:MOST_BARS]
    with style():
        figure = Figure(figsize=(9, 1.6 + 0.3 * max(len(bars), 1)), layout="constrained")
        axis = figure.subplots()
        for place, bar in enumerate(reversed(bars)):
            for end, colour in ((bar.low, COLOURS[4]), (bar.high, COLOURS[1])):
                if end is None or end.least_usd != end.least_usd:
                    continue
                proven = max(end.least_usd, 0.0) + min(end.most_usd, 0.0)
                axis.barh(place, proven / 1e6, color=colour, height=0.7)
                axis.hlines(place, min(end.least_usd, 0) / 1e6, max(end.most_usd, 0) / 1e6, color=colour, linewidth=1)
        names = [f"{'* ' if bar.decides else ''}{bar.path}  [{bar.fact.kind}]" for bar in reversed(bars)]
        axis.set_yticks(range(len(bars)), names, fontsize=8)
        axis.grid(visible=True, axis="x")
        axis.grid(visible=False, axis="y")
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_xlabel("M USD, present value, more or less than as it stands")
        axis.set_title("What each premise moves at the ends of its band")
        handles = [Patch(color=COLOURS[4], label="low end"), Patch(color=COLOURS[1], label="high end")]
        figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8)
        figure.supxlabel("Bar: proven; line: up to what the bounds leave. *: changes the first orders.", x=0.01,
                         ha="left", fontsize=8)  # fmt: skip
        path = Path(path)
        return [save(figure, path), save(figure, path.with_suffix(".svg"))]
