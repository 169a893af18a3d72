"""Checks: the workbook against the solver and against itself, with one verdict that every sheet shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from procure.plan import Plan
from procure.plan.tables import Check, Cost
from procure.report.cells import Cell, Sheet, absolute, either, errors_in, exact, largest, rounded, sumproduct, total
from procure.report.sheets.about import About
from procure.report.sheets.fleet import Fleet
from procure.report.sheets.limits import Limits
from procure.report.sheets.money import Money
from procure.report.sheets.purchases import ORDER_LINES, Purchases
from procure.report.sheets.service import Service
from procure.schema import CostLine
from procure.timekey import grouped

MONEY_TOLERANCE = 1e-6
"""Share by which two amounts that should be equal may differ; an input of the sheet."""
USE_TOLERANCE = 1e-5
"""Share by which uses and assignments may differ: ten times what the solver may leave; an input of the sheet."""
_FIRST = 9


@dataclass(frozen=True)
class Parts:
    """The sheets that are checked."""

    about: About
    purchases: Purchases
    fleet: Fleet
    limits: Limits
    money: Money
    service: Service


class _List:
    """The rows of the sheet as they are added."""

    def __init__(self, sheet: Sheet, tolerance: Cell) -> None:
        self.sheet, self.row = sheet, _FIRST
        self.tolerance = tolerance.fixed
        """What the next checks allow."""

    def compare(self, name: str, left: Any, right: Any, unit: str) -> None:
        """Both numbers equal within the tolerance times the larger of them (at least 1)."""
        put, row = self.sheet.put, self.row
        put(row, 0, name)
        a, b = put(row, 1, left, "calc:number"), put(row, 2, right, "calc:number")
        difference = put(row, 3, a - b, "calc:fine")
        allowed = put(row, 4, self.tolerance * largest(1, absolute(a), absolute(b)), "calc:fine")
        put(row, 5, unit)
        self._verdict(absolute(difference) <= allowed)

    def at_most(self, name: str, left: Any, right: float, unit: str) -> None:
        """The number is not above the other by more than the tolerance."""
        put, row = self.sheet.put, self.row
        put(row, 0, name)
        a, b = put(row, 1, left, "calc:fine"), put(row, 2, right, "calc:fine")
        difference = put(row, 3, a - b, "calc:fine")
        allowed = put(row, 4, self.tolerance * 1, "calc:fine")
        put(row, 5, unit)
        self._verdict(difference <= allowed)

    def stated(self, name: str, holds: bool, detail: str) -> None:
        """What the plan's own verification found when it was made."""
        self.sheet.put(self.row, 0, name)
        self.sheet.put(self.row, 5, detail, "text")
        verdict = self.sheet.put(self.row, 1, "yes" if holds else "no", "solver")
        self._verdict(exact(verdict, "yes"))

    def _verdict(self, condition: Any) -> None:
        self.sheet.put(self.row, 6, either(condition, "PASS", "FAIL"), "verdict")
        self.row += 1


def checks_sheet(plan: Plan, parts: Parts, others: list[Sheet]) -> tuple[Sheet, Cell]:
    """The checks and the cell with the overall verdict."""
    sheet = Sheet("Checks")
    sheet.put(0, 0, "Checks", "title")
    sheet.put(1, 0, "The workbook against the solver's own figures. After a change of an input some fail: the counts "
              "were not re-optimised, so the plan may no longer be best or feasible.", "note")  # fmt: skip
    sheet.widths = dict(enumerate((52, 20, 20, 16, 16, 44, 12)))
    sheet.put(4, 0, "Relative tolerance of money and counts")
    money_tolerance = sheet.put(4, 1, MONEY_TOLERANCE, "input:tiny")
    sheet.put(5, 0, "Relative tolerance of uses and service")
    use_tolerance = sheet.put(5, 1, USE_TOLERANCE, "input:tiny")
    for column, title in enumerate(("Check", "Workbook", "Solver or limit", "Difference", "Allowed", "Unit or detail",
                                    "Verdict")):  # fmt: skip
        sheet.put(_FIRST - 1, column, title, "header")
    sheet.freeze = (_FIRST, 1)
    rows = _List(sheet, money_tolerance)
    _money(rows, plan, parts)
    _units(rows, parts)
    rows.tolerance = use_tolerance.fixed
    for family, block in parts.limits.worst_use.items():
        rows.at_most(f"limit {family}: largest use", largest(block), 1.0, "share of the limit")
    _service(rows, parts.service)
    for other in others:
        last = max(row for row, _ in other.cells)
        width = max(column for _, column in other.cells)
        # Row 3 shows this sheet's verdict, so the scan begins below it.
        rows.compare(f"no error cells on {other.name}", errors_in(other.block(4, 0, last, width)), 0, "cells")
    for check in plan.rows(Check):
        rows.stated(f"plan: {check.check}", check.holds, check.detail)
    verdicts = sheet.column(6, _FIRST, rows.row - 1)
    count = sumproduct(exact(verdicts, "PASS") * 1)
    sheet.put(6, 0, "Checks that fail")
    failed = sheet.put(6, 1, (rows.row - _FIRST) - count, "calc:count")
    sheet.put(2, 0, "All checks")
    overall = sheet.put(2, 1, either(failed.equals(0), "PASS", "FAIL"), "verdict")
    return sheet, overall


def _service(rows: _List, service: Service) -> None:
    for name, served in service.served.items():
        decoded, prefilled = (
            total(table[name].over_time) if name in table else 0.0 for table in (service.decoded, service.prefilled)
        )
        rows.compare(f"decoded = served, {name}", decoded, total(served.over_time), "requests/s, sum of quarters")
        rows.compare(f"prefilled = decoded, {name}", prefilled, decoded, "requests/s, sum of quarters")


def _money(rows: _List, plan: Plan, parts: Parts) -> None:
    money, about = parts.money, parts.about
    rows.compare("NPV of all cash = objective", money.total.labels[7].fixed, about.objective.fixed, "USD")
    for cost in plan.rows(Cost):
        found = money.lines.get((cost.span, cost.line), [])
        npv: list[Any] = [row.labels[7] for row in found] or [0.0]
        rows.compare(f"NPV of {cost.line}, {cost.span}", total(*npv), cost.npv_usd, "USD")
    cash_usd = grouped(plan.tables["cash"], ["span", "line"])["cash_usd"].sum()
    for (span, line), found in money.lines.items():
        cash = [row.labels[6] for row in found]
        rows.compare(f"cash of {line}, {span}", total(*cash), float(cash_usd[span, line]), "USD")
    rows.compare("NPV of the detail = NPV of the lines", money.detail_npv, money.total.labels[7].fixed, "USD")
    rows.compare("sum of quarters = sum of lines", total(money.total.over_time), money.total.labels[6].fixed, "USD")
    bound = about.bound
    if bound is not None:
        gap = (about.objective.fixed - bound.fixed) / largest(absolute(about.objective.fixed), 1)
        rows.at_most("bound is not above the objective", 0 - gap, 0.0, "share of the objective")
    for number, (cell, stated) in enumerate(parts.purchases.capex, 1):
        rows.compare(f"capex of order {number}", cell.fixed, stated, "USD")
    rows.compare("payments = capex of all orders", total(parts.purchases.total.over_time),
                 parts.purchases.total.labels[7].fixed, "USD")  # fmt: skip
    ordered: list[Any] = [
        row.labels[6] for (_, line), found in money.lines.items() if line in ORDER_LINES for row in found
    ]
    rows.compare("payments = hardware, attach and installation of Money", total(parts.purchases.total.over_time),
                 total(*(ordered or [0.0])), "USD")  # fmt: skip
    paid: list[Any] = [
        cell for (_, line), found in money.lines.items() if line in (CostLine.RENT, CostLine.RENT_FROM_CAPITAL)
        for row in found for cell in row.cells[: len(parts.purchases.rent.cells)]
    ]  # fmt: skip
    rows.compare("rent of Purchases = rent of Money within the quarters", total(parts.purchases.rent.over_time),
                 total(*(paid or [0.0])), "USD")  # fmt: skip


def _units(rows: _List, parts: Parts) -> None:
    counts = parts.purchases.counts
    rows.compare("counts are whole numbers", sumproduct(absolute(counts - rounded(counts))), 0, "units")
    rows.compare("fleet roll-forward = stock by vintage", parts.fleet.misfit(), 0, "units")
