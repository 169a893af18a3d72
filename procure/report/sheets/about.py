"""About: what this workbook is, how the run ended, and how to read it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from procure.plan import Plan
from procure.plan.unit_costs import cost_warnings
from procure.report.cells import Cell, Sheet
from procure.report.layout import Timeline
from procure.report.sentences.evidence import evidence_lines, extrapolation_lines
from procure.report.sentences.outcome import objective as by_objective
from procure.report.sentences.outcome import outcome, proven_gap, status_sentence, unit_costs
from procure.report.words import plan_name

_SHEETS = (
    ("Purchases", "what to order and to sell, when it is paid, unit prices"),
    ("Why", "what each order is for, what binds and what one more unit is worth"),
    ("Fleet", "units in place: opening + delivered - retired = closing"),
    ("Limits", "use against power, floor, budget and every other limit"),
    ("Money", "cash by quarter and line, discounted; total = objective"),
    ("Service", "requests, service levels, racks busy"),
    ("KV", "KV caches by tier, hits and traffic"),
    ("Premises", "every number the plan rests on, with its source"),
    ("Checks", "workbook against solver, one verdict"),
)
_CONVENTIONS = (
    "Quarters stand in the same columns (I onwards) on every sheet; look-ahead quarters have a grey header.",
    "Look-ahead quarters keep the end of the horizon from hiding late demand; "
    "only orders of planned quarters are recommended.",
    "Costs are positive, income (sales, residual values) negative. USD, not adjusted for inflation.",
    "Cash moves at the start of its quarter and is discounted to the start of the first; "
    "residual values stand at the end of the horizon.",
    "Decimal units: 1 GB = 1e9 bytes. Formats round for display only.",
    "Counts, assignments and uses are solver output: they do not re-optimise when an input changes. "
    "A FAIL on Checks then says that the plan must be solved again.",
)


@dataclass(frozen=True)
class About:
    """The sheet and the cells that Checks compares with."""

    sheet: Sheet
    objective: Cell
    bound: Cell | None


def about_sheet(plan: Plan, timeline: Timeline) -> About:
    """Facts of the run as the solver stated them, legend, conventions and contents."""
    summary = plan.summary
    sheet = Sheet("About")
    sheet.widths = {0: 30, 1: 26, 2: 12, 3: 70}
    sheet.put(0, 0, f"Purchase plan {plan_name(plan)}".strip(), "title")
    sheet.put(1, 0, status_sentence(plan), "note")
    row, earns = _Rows(sheet), by_objective(plan).earns
    row.heading("Run")
    row.fact("Chosen by", str(by_objective(plan)), "", outcome(plan))
    less = " less income" if earns else ""
    objective = row.fact("Objective", plan.objective_usd, "USD", f"net present cost{less}, solver output", "solver:usd")
    bound = None
    if summary["bound_usd"] is not None:
        least = "no plan has less: its negative is the most margin" if earns else "no plan can cost less"
        bound = row.fact("Bound", summary["bound_usd"], "USD", least, "solver:usd")
    if summary["gap"] is not None:
        row.fact("Gap", summary["gap"], "", proven_gap(plan), "solver:rate")
    row.fact("Status", str(plan.status), "", status_sentence(plan), "solver")
    planned = [q for q in timeline.quarters if q not in timeline.later]
    row.fact(
        "Planned quarters", f"{planned[0]} to {planned[-1]}" if planned else "none", "", f"{len(planned)} quarters"
    )
    later = sorted(timeline.later)
    row.fact("Look-ahead quarters", f"{later[0]} to {later[-1]}" if later else "none", "", f"{len(later)} quarters")
    if summary["provenance"]["made"]:
        row.fact("Made", summary["provenance"]["made"], "", "date and time of the run, UTC")
    row.fact("Input hash", summary["input_hash"], "", "")
    for name, version in sorted((summary.get("versions") or {}).items()):
        row.fact(f"Version of {name}", str(version), "", "")
    lines = evidence_lines(summary)
    if lines:
        row.heading("What the plan rests on")
        for what, kind, share in lines:
            row.fact(f"{what}, {kind}", share, "", "share", "solver:share")
    for name, share in extrapolation_lines(summary):
        row.fact(f"Decode by distance from a measurement, {name}", share, "", "share of rack-seconds", "solver:share")
    costs = unit_costs(plan)
    if costs:
        row.heading("What a million tokens costs")
        for who, kind, cost, market, ratio in costs:
            beside = "" if math.isnan(ratio) else f"{ratio:,.2g} times the market's {market:,.3g}"
            row.fact(f"{who}, {kind}", cost if cost == cost else "none served", "USD", beside, "solver:fine")
        for sentence in cost_warnings(plan.tables["unit_costs"]):
            row.fact("Far from the market", sentence, "", "")
    if summary.get("doubts"):
        row.heading("Cells of the case that may have been meant otherwise")
        for doubt in summary["doubts"]:
            row.text(str(doubt))
    row.heading("How to read the cells")
    row.fact("1,234", None, "", "input: a premise or a limit; change it to see the money move", "input")
    row.fact("1,234", None, "", "solver output, pasted value", "solver")
    row.fact("1,234", None, "", "formula", "calc")
    row.heading("Conventions")
    for text in _CONVENTIONS:
        row.text(text)
    row.heading("Sheets")
    for name, purpose in _SHEETS:
        row.fact(name, purpose, "", "")
    return About(sheet, objective, bound)


class _Rows:
    def __init__(self, sheet: Sheet) -> None:
        self.sheet, self.row = sheet, 4

    def heading(self, title: str) -> None:
        self.row += 1
        self.sheet.put(self.row, 0, title, "heading")
        self.row += 1

    def fact(self, label: str, value: Any, unit: str, note: str, style: str = "text") -> Cell:
        """A labelled value; with no value the style is shown on the label, as in the legend."""
        put = self.sheet.put
        cell = put(self.row, 0, label, "text" if value is not None else style)
        if value is not None:
            cell = put(self.row, 1, value, style)
        if unit:
            put(self.row, 2, unit)
        if note:
            put(self.row, 3, note, "note")
        self.row += 1
        return cell

    def text(self, words: str) -> None:
        self.sheet.put(self.row, 0, words)
        self.row += 1
