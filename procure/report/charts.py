"""The charts of a plan, as matplotlib figures: the page embeds them as SVG, the pictures save them as PNG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from procure.plan import Plan
from procure.report.layout import Timeline, over_time
from procure.schema import Origin, Tier

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe and Ito's palette: distinguishable with every common kind of colour blindness."""
HATCHES = ("", "///", "...", "xx")
"""Set apart what uses a colour a second time."""
SHADE = "#EDEDED"
LATER = "look-ahead"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#DDDDDD",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # a name may hold a dollar sign
    "svg.fonttype": "none",
    "svg.hashsalt": "procure",
    "figure.facecolor": "white",
}


@contextmanager
def style() -> Iterator[None]:
    """The charts' look, without touching the caller's settings."""
    with mpl.rc_context(STYLE):
        yield


def charts(plan: Plan) -> dict[str, tuple[str, str, Callable[[], Figure]]]:
    """Every chart that the plan has data for: name → (title, what it shows, a function that draws it)."""
    timeline = Timeline.of(plan)
    tables = plan.tables
    made: dict[str, tuple[str, str, Callable[[], Figure]]] = {}
    if len(tables["fleet"]):
        made["fleet"] = (
            "Fleet by SKU",
            "Units in place at the end of each quarter, all sites; the dark part came with orders of this plan.",
            lambda: fleet(tables["fleet"], timeline),
        )
    power = power_limits(tables["limits"])
    if len(power):
        made["power"] = (
            "Power against limit by site",
            "Bars: planned use; line: the limit of the site, with expansions.",
            lambda: use_against_limit(power, timeline),
        )
    if len(tables["cash"]):
        made["money"] = (
            "Money by line",
            "Cash in the quarter it moves, not discounted; income is below zero. The last bar is the residual value "
            "at the end of the horizon. Dots: net of the quarter.",
            lambda: money(tables["cash"], Timeline.of(plan, end=True)),
        )
    if len(tables["kv_placement"]):
        made["kv"] = (
            "KV caches by tier",
            "Bytes parked for returning requests, all sites.",
            lambda: kv_bytes(tables["kv_placement"], timeline),
        )
    if len(tables["sla"]):
        made["service"] = (
            "Requests by workload",
            "Peak requests per second served; what cannot be served as promised is hatched.",
            lambda: service(tables["sla"], timeline),
        )
    return made


def power_limits(limits: pd.DataFrame) -> pd.DataFrame:
    """The power rows of a plan's limits."""
    words = limits["family"].astype(str) + " " + limits["item"].astype(str)
    return limits[words.str.contains("power") & (limits["unit"] == "kW")]


def fleet(table: pd.DataFrame, timeline: Timeline) -> Figure:
    """One panel for each SKU: units in place, those ordered by the plan apart."""
    closing = over_time(table, ["sku"], "closing", timeline)
    bought = over_time(table[table["origin"] == Origin.PURCHASE], ["sku"], "closing", timeline)
    skus = [key for key in closing if any(closing[key])]
    figure, panels = _panels(len(skus), 1.9)
    for panel, key in zip(panels, skus, strict=False):
        new = bought.get(key, [0.0] * len(timeline.quarters))
        old = [total - mine for total, mine in zip(closing[key], new, strict=True)]
        _bars(panel, {"in place and firm": old, "ordered by this plan": new}, ["#A6CEE3", "#0072B2"])
        _dress(panel, timeline, _short(key[0]), "units")
        panel.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    _legend(figure, [Patch(color="#A6CEE3", label="in place and firm"),
                     Patch(color="#0072B2", label="ordered by this plan"), _later_patch()])  # fmt: skip
    return figure


def use_against_limit(rows: pd.DataFrame, timeline: Timeline) -> Figure:
    """One panel for each site and item: use as bars, the limit as a line."""
    used, limit = (over_time(rows, ["site", "item"], column, timeline, empty=None) for column in ("used", "limit"))
    one_item = len({item for _, item in used}) == 1
    figure, panels = _panels(len(used), 2.4, columns=2)
    for panel, key in zip(panels, used, strict=False):
        _bars(panel, {"use": [(v or 0.0) / 1e3 for v in used[key]]}, [COLOURS[0]])
        line = [math.nan if v is None else v / 1e3 for v in limit[key]]
        panel.step(range(len(line)), line, where="mid", color=COLOURS[5], linewidth=2)
        highest = max([panel.get_ylim()[1], *(1.08 * v for v in line if not math.isnan(v))])
        panel.set_ylim(0, highest)
        _dress(panel, timeline, _short(key[0] if one_item else " ".join(key)), "MW")
    limit_line = Line2D([], [], color=COLOURS[5], linewidth=2, label="limit")
    _legend(figure, [Patch(color=COLOURS[0], label="use"), limit_line, _later_patch()])
    return figure


def money(cash: pd.DataFrame, timeline: Timeline) -> Figure:
    """Stacked cash by line and quarter, income below zero, with the net of each quarter."""
    rows = over_time(cash, ["line"], "cash_usd", timeline)
    rows = dict(sorted(rows.items(), key=lambda item: -sum(abs(v) for v in item[1])))
    net = [sum(values[i] for values in rows.values()) / 1e6 for i in range(len(timeline.quarters))]
    figure, (panel, *_) = _panels(1, 3.6, columns=1)
    series = {_short(key[0]): [v / 1e6 for v in values] for key, values in rows.items()}
    handles = _bars(panel, series)
    panel.plot(range(len(net)), net, "o", color="black", markersize=4)
    panel.axhline(0, color="black", linewidth=0.8)
    _dress(panel, timeline, "", "M USD per quarter", last="end")
    dot = Line2D([], [], color="black", marker="o", linestyle="", markersize=4, label="net")
    _legend(figure, [*handles, dot, _later_patch()])
    return figure


def kv_bytes(placement: pd.DataFrame, timeline: Timeline) -> Figure:
    """Stacked parked bytes by tier, fastest tier lowest."""
    rows = over_time(placement, ["tier"], "parked_bytes", timeline)
    rows = {(tier,): rows[tier,] for tier in Tier if (tier,) in rows}
    most = max((sum(v[i] for v in rows.values()) for i in range(len(timeline.quarters))), default=0.0)
    scale, unit = (1e15, "PB") if most >= 2e15 else (1e12, "TB")
    figure, (panel, *_) = _panels(1, 3.2, columns=1)
    series = {Tier(tier).word: [v / scale for v in values] for (tier,), values in rows.items()}
    handles = _bars(panel, series)
    _dress(panel, timeline, "", unit)
    _legend(figure, [*handles, _later_patch()])
    return figure


def service(sla: pd.DataFrame, timeline: Timeline) -> Figure:
    """One panel for each workload: requests served, and those that are not."""
    requests = over_time(sla, ["workload"], "requests_per_s", timeline)
    short = over_time(sla.assign(lost=sla["short_share"] * sla["requests_per_s"]), ["workload"], "lost", timeline)
    figure, panels = _panels(len(requests), 1.9)
    for panel, key in zip(panels, requests, strict=False):
        lost = [v or 0.0 for v in short[key]]
        served = [(total or 0.0) - missing for total, missing in zip(requests[key], lost, strict=True)]
        _bars(panel, {"served": served, "short": lost}, [COLOURS[2], "white"], ["", "////"])
        _dress(panel, timeline, _short(key[0]), "requests/s")
    _legend(figure, [Patch(color=COLOURS[2], label="served"),
                     Patch(facecolor="white", edgecolor="black", hatch="////", label="not served as promised"),
                     _later_patch()])  # fmt: skip
    return figure


def _panels(count: int, height: float, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure of panels in rows; unused places stay empty."""
    columns = min(columns, max(count, 1))
    rows = max(math.ceil(count / columns), 1)
    figure = Figure(figsize=(10, height * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes


def _bars(panel: Axes, series: dict[str, list[float]], colours: list[str] | None = None,
          hatches: list[str] | None = None) -> list[Any]:  # fmt: skip
    """Stacked bars; positive values upwards from zero, negative ones downwards. Returns legend handles."""
    above = [0.0] * max((len(v) for v in series.values()), default=0)
    below = list(above)
    handles = []
    for i, (name, values) in enumerate(series.items()):
        colour = (colours or COLOURS)[i % len(colours or COLOURS)]
        hatch = hatches[i] if hatches else HATCHES[i // len(COLOURS) % len(HATCHES)]
        bottoms = [above[j] if v >= 0 else below[j] for j, v in enumerate(values)]
        edge = "black" if hatch else "white"
        drawn = [v or math.nan for v in values]  # a bar of no height would still show its edge
        panel.bar(range(len(values)), drawn, bottom=bottoms, color=colour, hatch=hatch, edgecolor=edge,
                  linewidth=0.3, width=0.8)  # fmt: skip
        above = [a + max(v, 0.0) for a, v in zip(above, values, strict=True)]
        below = [b + min(v, 0.0) for b, v in zip(below, values, strict=True)]
        handles.append(Patch(facecolor=colour, hatch=hatch, edgecolor=edge, linewidth=0.3, label=name))
    low, high = min(below, default=0.0), max(above, default=0.0)
    panel.set_ylim(1.08 * low, 1.08 * high if high or low else 1.0)
    return handles


def _dress(panel: Axes, timeline: Timeline, title: str, unit: str, last: str = "") -> None:
    """Title, unit, quarter names (years under first quarters) and the shade over look-ahead quarters."""
    quarters = timeline.quarters
    panel.set_title(title)
    panel.set_ylabel(unit)
    panel.set_xlim(-0.6, len(quarters) - 0.4)
    step = max(1, math.ceil(len(quarters) / 16))
    places = list(range(0, len(quarters), step))
    labels = [q[4:] + (f"\n{q[:4]}" if i == 0 or q.endswith("Q1") else "") for i, q in enumerate(quarters)]
    labels[-1] = last or labels[-1]
    panel.set_xticks(places, [labels[i] for i in places], fontsize=7)
    panel.tick_params(axis="x", length=0)
    later = [i for i, quarter in enumerate(quarters) if quarter in timeline.later]
    if later:
        panel.axvspan(later[0] - 0.5, later[-1] + 0.5, color=SHADE, zorder=-1, linewidth=0)


def _later_patch() -> Patch:
    return Patch(color=SHADE, label=LATER)


def _legend(figure: Figure, handles: list[Any]) -> None:
    figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 6), frameon=False, fontsize=8)


def _short(name: str, longest: int = 28) -> str:
    """A name that fits above a panel, its middle left out where it is long; the tables hold it in full."""
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"
