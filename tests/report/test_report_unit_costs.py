"""Costs of tokens in page, workbook and terminal: figures beside the market, a warning where they are far from it."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from procure.plan import Plan
from procure.plan.plan import frame
from procure.report import print_plan
from procure.report.page import render
from procure.report.workbook import build

FAR = "chat: a million tokens cost 4.5 USD, 9.0 times the market's 0.5 for the same kinds."


def with_costs(plan: Plan) -> Plan:
    rows = [
        ("", "output", 1e3, 2e3, 2.0, 1.6, 1.25),
        ("", "blended", 1e3, 2e3, 2.0, 1.6, 1.25),
        ("chat", "cached input", 0.0, 1e3, math.nan, math.nan, math.nan),
        ("chat", "blended", 1e3, 4.5e3, 4.5, 0.5, 9.0),
    ]
    return Plan(plan.summary, {**plan.tables, "unit_costs": frame("unit_costs", rows)})


@pytest.mark.usefixtures("unplotted")
@pytest.mark.slow
def test_the_page_shows_costs_beside_the_market_and_warns(plan):
    html = render(with_costs(plan))
    assert "<td>whole plan</td><td>blended</td>" in html
    assert FAR.replace("'", "&#39;") in html
    assert "nan" not in html[html.index("USD per million tokens over") : html.index('id="premises"')]
    assert "Far from the market" not in render(plan)


def test_the_workbook_shows_costs_beside_the_market_and_warns(plan):
    about = build(with_costs(plan))[0]
    shown = {cell.content for cell in about.cells.values()}
    assert {"chat, blended", 4.5, "9 times the market's 0.5", FAR, "none served"} <= shown


def test_the_terminal_shows_the_whole_plans_costs_and_warns(plan):
    console = Console(file=io.StringIO(), width=300)
    print_plan(with_costs(plan), console)
    text = console.file.getvalue()
    assert "whole plan, blended: 2 USD per million, 1.2 x the market's 1.6" in text
    assert FAR in text
