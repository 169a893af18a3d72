"""The page: one HTML file with everything in it, for reading and printing; no script, nothing fetched."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from matplotlib.figure import Figure

from procure.families import wording
from procure.plan import Plan, Status
from procure.plan.tables import TABLES, Check, Cost
from procure.plan.unit_costs import cost_warnings
from procure.quarter import quarter_ranges
from procure.report import explained, words
from procure.report.charts import charts, style
from procure.report.layout import Timeline
from procure.report.sentences import (
    caches,
    evidence,
    instances,
    limits,
    links,
    losses,
    modes,
    outcome,
    placement,
    trades,
)
from procure.report.sentences.day import day_sentences, parts_of_day
from procure.report.sheets.premises import as_number
from procure.schema import CostLine, Evidence, Span
from procure.timekey import grouped, summed, unmixed
from procure.why import Explanation


@dataclass(frozen=True)
class Chart:
    """A drawn chart with its words."""

    name: str
    title: str
    caption: str
    svg: Markup


def write_page(plan: Plan, path: str | Path, why: Explanation | None = None) -> Path:
    """Write a plan as one self-contained HTML page; the same plan gives the same bytes."""
    path = Path(path)
    path.write_text(render(plan, why), encoding="utf-8")
    return path


def render(plan: Plan, why: Explanation | None = None) -> str:
    """The page's HTML, with what was asked why; every text of the plan is escaped."""
    environment = Environment(
        loader=PackageLoader("procure.report", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["share"] = words.share
    environment.globals["column"] = lambda table, name: TABLES[table].by_column[name]
    outside, inside = limits.binding_sentences(plan)
    return environment.get_template("plan.html.j2").render(
        plan=plan,
        name=words.plan_name(plan),
        headline=headline(plan),
        status=outcome.status_sentence(plan),
        good=plan.status is Status.OPTIMAL,
        facts=facts(plan),
        orders=orders(plan),
        not_asked=explained.HOW,
        asks=list(explained.ASKS.values()),
        why=None if why is None else explained.Told.of(why),
        foreseen=foreseen(plan),
        expansions=trades.expansion_sentences(plan, Span.PLANNED),
        rents=trades.rent_sentences(plan, Span.PLANNED),
        changes=trades.change_sentences(plan),
        later_rents=trades.rent_sentences(plan, Span.LOOKAHEAD),
        sales=trades.sale_sentences(plan, Span.PLANNED),
        later_sales=trades.sale_sentences(plan, Span.LOOKAHEAD),
        later_expansions=trades.expansion_sentences(plan, Span.LOOKAHEAD),
        charts=drawn(plan),
        binding=outside,
        inner=inside,
        links=links.link_sentences(plan),
        placement=placement.placement_sentence(plan),
        moves=caches.move_sentences(plan),
        modes=modes.mode_sentences(plan),
        day=day_sentences(plan),
        parts_of_day=parts_of_day(plan),
        instances=instances.instance_sentences(plan),
        losses=losses.loss_sentences(plan),
        not_held=losses.NOT_HELD,
        spans=[span.word for span in Span],
        causes=outcome.causes(plan, Span.PLANNED),
        later_causes=outcome.causes(plan, Span.LOOKAHEAD),
        costs=costs(plan),
        unit_costs=[(who, kind, *map(figure_or_none, numbers)) for who, kind, *numbers in outcome.unit_costs(plan)],
        cost_warnings=cost_warnings(plan.tables["unit_costs"]),
        premises=premises(plan),
        kinds=kinds(plan),
        evidence=evidence.evidence_lines(plan.summary),
        extrapolation=evidence.extrapolation_lines(plan.summary),
        checks=[(c.check, c.holds, c.detail) for c in plan.rows(Check)],
    )


def headline(plan: Plan) -> str:
    """What to buy, to rent, to cancel or defer, and to sell in the planned quarters, in a sentence each."""
    bought = grouped(plan.purchases, ["sku"])["count"].sum()
    sold = plan.sales
    quarters = quarter_ranges(plan.purchases["quarter"])
    order = "Order nothing in the planned quarters."
    if not bought.empty:
        order = f"Order {words.listed(bought)}; orders fall in {quarters}."
    if rented := trades.rented(plan):
        order = f"{order} Rent {rented}."
    if changed := trades.changed(plan):
        order = f"{order} {changed[0].upper()}{changed[1:]}."
    if sold.empty:
        return order
    counts = grouped(sold, ["sku"])["count"].sum()
    brings = words.usd(summed(sold, "net_usd"))
    loss = trades.against_books(summed(sold, "book_loss_usd"))
    return f"{order} Sell {words.listed(counts)}; this brings {brings}, {loss}."


def facts(plan: Plan) -> list[tuple[str, str]]:
    """The few figures that a reader wants first."""
    planned = words.planned_quarters(plan)
    later = sorted(Timeline.of(plan).later)
    cash, npv = plan.tables["cash"], grouped(plan.tables["costs"], ["span"])["npv_usd"].sum()
    capital = cash["line"].isin([line for line in CostLine if line.capital])
    paid = summed(cash[capital & (cash["span"] == Span.PLANNED)], "cash_usd")
    by = outcome.objective(plan)
    what = "Net present cost less income" if by.earns else "Net present cost"
    found = [
        (f"{what}, planned quarters", words.usd(float(npv.get(Span.PLANNED, 0.0)))),
        ("with look-ahead and residual values", words.usd(plan.objective_usd)),
        ("Paid for orders in planned quarters", words.usd(paid)),
        (
            f"Planned {'tokens' if by.tokens else 'requests'} not served as promised, by priority",
            words.share(outcome.short_share(plan)),
        ),
        ("Planned", quarter_ranges(planned)),
        ("Look-ahead", quarter_ranges(later) or "none"),
    ]
    gap = outcome.gap_in_short(plan)
    if not by.promises:
        found.insert(0, ("Best by the objective", outcome.outcome(plan)))
    if gap is not None:
        found.insert(len(found) - 4, ("Proven within", " or ".join(gap)))
    return found


def orders(plan: Plan) -> list[dict[str, Any]]:
    """The recommended orders, quarter by quarter, with each quarter's sum."""
    bought = plan.purchases.sort_values(["quarter", "site", "sku"])
    return [
        {"quarter": quarter, "rows": rows.to_dict("records"), "capex_usd": summed(rows, "capex_usd")}
        for quarter, rows in grouped(bought, ["quarter"])
    ]


def foreseen(plan: Plan) -> list[dict[str, Any]]:
    """Orders of look-ahead quarters, which are not recommended yet."""
    table = plan.tables["purchases"]
    later = table[table["span"] == Span.LOOKAHEAD].sort_values(["quarter", "site", "sku"])
    return [{str(key): value for key, value in row.items()} for row in later.to_dict("records")]


def costs(plan: Plan) -> tuple[list[tuple[str, float, float, float]], tuple[float, float, float]]:
    """Net present cost by line: planned, look-ahead, both; and the sums. Lines of 0 are left out."""
    unmixed(plan.tables["costs"], ["line", "span"])
    npv_usd = {(cost.line, cost.span): cost.npv_usd for cost in plan.rows(Cost)}
    lines = dict.fromkeys(line for line, _ in npv_usd)
    rows = []
    for line in lines:
        planned, later = (npv_usd.get((line, span), 0.0) for span in (Span.PLANNED, Span.LOOKAHEAD))
        if planned or later:
            rows.append((str(line), planned, later, planned + later))
    planned, later = sum(row[1] for row in rows), sum(row[2] for row in rows)
    return rows, (planned, later, planned + later)


def premises(plan: Plan) -> list[dict[str, Any]]:
    """The premises as texts, by name."""
    rows = plan.tables["premises"].sort_values("name", kind="stable").to_dict("records")
    return [{str(k): figure(v) for k, v in row.items()} for row in rows]


def kinds(plan: Plan) -> list[tuple[str, int, str]]:
    """How many premises there are of each kind, and what the kind means."""
    found = Counter(plan.tables["premises"]["kind"].astype(str))
    return [
        (kind, number, Evidence(kind).word if kind in list(Evidence) else "") for kind, number in found.most_common()
    ]


def figure(value: Any) -> str:
    """A premise's value as text; a missing one is empty."""
    number = as_number(value)
    if number is None:
        return ""
    return number if isinstance(number, str) else wording.figure(number)


def figure_or_none(number: float) -> str:
    """A number with three figures; nothing for none."""
    return "" if math.isnan(number) else words.rounded(number)


def drawn(plan: Plan) -> list[Chart]:
    """Every chart as inline SVG."""
    with style():
        return [
            Chart(name, title, caption, _svg(name, draw())) for name, (title, caption, draw) in charts(plan).items()
        ]


def _svg(name: str, drawing: Figure) -> Markup:
    """A figure as an SVG element whose ids cannot meet those of another chart of the page."""
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r' id="([^"]+)"', rf' id="{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    return Markup(re.sub(r'<svg [^>]*?width="[^"]*"', lambda m: m[0].rsplit(" width", 1)[0], text, count=1))
