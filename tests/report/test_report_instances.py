"""Whole instances in terminal, page and workbook: which LLMs, and the most that rounding up of the others would add."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from procure.plan import Plan
from procure.plan.plan import frame
from procure.report import print_plan
from procure.report.page import render
from procure.report.sentences import instances
from procure.report.workbook import build
from procure.timekey import BASE, PEAK


@pytest.fixture
def counted(plan: Plan) -> Plan:
    """An LLM in one whole instance, and a large one whose decode and prefill round up by 0.3 and 0.2 racks."""
    quarter = plan.summary["planned_quarters"][0]
    batch = plan.tables["fleet"].query("quarter == @quarter and closing > 0").iloc[0]
    place = (batch["site"], batch["sku"])
    rows = [
        (quarter, place[0], "little", place[1], "both", place[1], 8, 0.3, 1, 0.25, True, 0.0, BASE, PEAK),
        (quarter, place[0], "large", place[1], "decode", place[1], 16, 4.8, 5, 1.25, False, 0.3, BASE, PEAK),
        (quarter, place[0], "large", place[1], "prefill", place[1], 8, 1.1, 2, 0.5, False, 0.2, BASE, PEAK),
    ]
    return Plan(plan.summary, {**plan.tables, "instances": frame("instances", rows)})


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_what_is_counted_in_whole_and_what_is_not_is_said_everywhere(counted):
    small, others = instances.instance_sentences(counted)
    assert small == "little: counted in whole instances, as the load is small."
    assert "would take at most 0.5 units more in" in others
    console = Console(file=io.StringIO(), width=400)
    print_plan(counted, console)
    assert all(sentence in console.file.getvalue() for sentence in (small, others))
    assert others.split(":")[1] in render(counted)


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_a_plan_without_instances_says_nothing_of_them(plan):
    assert instances.instance_sentences(plan) == []
    assert "Whole instances" not in render(plan)


def test_the_sheet_sums_instances_and_units_by_sku(counted):
    sheet = next(sheet for sheet in build(counted) if sheet.name == "Instances")
    sums = [row for row in sheet.cells.values() if row.content == "sum"]
    first = [sheet.cells[cell.row, 8].value for cell in sums]
    assert first == pytest.approx([8, 2.0, 0.5])
