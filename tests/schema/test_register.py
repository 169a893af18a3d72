"""Every frame that leaves demand, performance, instance and plan has a schema, and its columns are those of it."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest
from performance_fixtures import setup
from solved_case import built, checked
from tiny_case import rich

from procure.check.tables import Finding
from procure.demand import build as build_demand
from procure.demand.build import Demand
from procure.demand.tables import ROWS as DEMAND
from procure.instance.tables import ROWS as INSTANCE
from procure.performance.figure import Load, figure
from procure.performance.points import COLUMNS
from procure.performance.tables import DecodePoint, FigurePoint
from procure.plan.plan import frame
from procure.plan.tables import ROWS as PLAN
from procure.schema import Row
from procure.sizing import load_card

KINDS = {"text": str, "choice": str, "quarter": str, "number": float | int, "integer": int, "flag": bool}


def held(made: type[Row], table: pd.DataFrame) -> None:
    """The columns are those of the schema, cells of their kind, no two rows of one key, and rows go there and back."""
    assert tuple(table.columns) == made.columns, made.schema.name
    for column in made.schema.columns:
        cells = table[column.name].tolist()
        assert all(isinstance(cell, KINDS[column.kind]) for cell in cells), (made.schema.name, column.name)
        if column.choices:
            assert set(cells) <= set(column.choices), (made.schema.name, column.name)
    if made.schema.key:
        assert not table.duplicated(list(made.schema.key)).any(), made.schema.name
    assert tuple(made.frame(made.rows(table)).columns) == made.columns


@pytest.fixture(scope="module")
def case():
    return rich()


def test_every_frame_of_a_demand_has_its_schema(case):
    demand = build_demand(case)
    frames = {f.name: getattr(demand, f.name) for f in dataclasses.fields(Demand)}
    assert {name for name, made in frames.items() if isinstance(made, pd.DataFrame)} == {r.schema.name for r in DEMAND}
    for made in DEMAND:
        held(made, frames[made.schema.name])


def test_every_frame_of_an_instance_has_its_schema(case):
    tables = built(case).tables
    assert set(tables) == {made.schema.name for made in INSTANCE}
    for made in INSTANCE:
        held(made, tables[made.schema.name])


def test_decode_points_have_their_schema():
    assert COLUMNS is DecodePoint.columns


def test_the_figure_has_its_schema():
    load = Load(load_card("gpt-oss-120b"), "native", "fp8", 8000.0, 1000.0)
    held(FigurePoint, figure(["gb300-nvl72", "vr-nvl72"], load, setup("native"), speeds=(20.0, 50.0)))


@pytest.mark.thorough
def test_findings_have_their_schema(case):
    found = checked(case)
    held(Finding, found)
    assert found["finding"].nunique() > 4


@pytest.mark.parametrize("made", PLAN, ids=lambda made: made.schema.name)
def test_every_table_of_a_plan_is_made_by_its_schema(made):
    held(made, frame(made.schema.name, []))
