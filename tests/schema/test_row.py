"""A row class is the schema of its table: columns from annotations, frames there and back, enums and empty cells."""

from __future__ import annotations

import dataclasses
import math

import pandas as pd
import pytest

from procure.schema import Column, Resource, Row, col, row


@row("limits_of_a_hall", when_absent="No limit.")
class Hall(Row):
    """What a hall
    holds."""

    hall: str = col("name", key=True)
    resource: Resource = col("what is limited", key=True)
    limit_kw: float = col("most", unit="kW", empty="no limit", minimum=0.0)
    doors: int = col("doors", reference="doors.count")
    open: bool = col("whether it may be entered")
    since: str = col("first quarter", kind="quarter", word="from")
    note: str = col("anything else", empty="nothing")


def test_a_column_gives_its_heading_and_its_meaning():
    of = Hall.schema.by_column
    assert [of[name].heading for name in ("limit_kw", "since", "doors")] == ["Limit, kW", "From", "Doors"]
    assert (of["limit_kw"].meaning, of["open"].meaning) == ("Most. Empty: no limit.", "Whether it may be entered.")
    units = Column("count", "integer", "units ordered", unit="units", word="units")
    assert units.heading == "Units"


def test_the_class_describes_the_table():
    assert (Hall.schema.name, Hall.schema.description) == ("limits_of_a_hall", "What a hall holds.")
    assert Hall.columns == ("hall", "resource", "limit_kw", "doors", "open", "since", "note")
    assert Hall.schema.key == ("hall", "resource")
    assert [c.kind for c in Hall.schema.columns] == ["text", "choice", "number", "integer", "flag", "quarter", "text"]
    limit = Hall.schema.by_column["limit_kw"]
    assert (limit.unit, limit.required, limit.default, limit.minimum) == ("kW", False, "no limit", 0.0)
    assert (limit.word, Hall.schema.by_column["since"].word) == ("limit", "from")
    assert Hall.schema.by_column["resource"].choices == tuple(Resource)
    assert Hall.schema.by_column["doors"].reference == "doors.count"


def test_rows_of_a_frame_are_typed_and_go_back_to_it():
    frame = pd.DataFrame(
        [("a", "power_kw", 5.0, 2, True, "2027Q1", "x"), ("b", "ports", math.nan, 0, False, "2027Q2", None)],
        columns=list(Hall.columns),
    )
    first, second = Hall.rows(frame.assign(other=1)[["other", *reversed(Hall.columns)]])
    assert first == Hall("a", Resource.POWER, 5.0, 2, True, "2027Q1", "x")
    assert first.resource.unit == "kW"
    assert (math.isnan(second.limit_kw), second.note, type(second.doors)) == (True, "", int)
    assert Hall.frame([first]).equals(frame.iloc[:1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.doors = 3


def test_no_rows_have_the_columns_and_types_of_the_table():
    empty = Hall.frame([])
    assert tuple(empty.columns) == Hall.columns
    assert Hall.rows(empty) == []
    assert empty["limit_kw"].sum() == 0.0
    assert [empty[name].dtype.kind for name in ("limit_kw", "doors", "open")] == ["f", "i", "b"]


def test_a_text_that_is_none_of_the_enum_and_a_missing_column_are_told():
    frame = Hall.frame([Hall("a", Resource.POWER, 5.0, 2, True, "2027Q1", "x")])
    with pytest.raises(ValueError, match="steam"):
        Hall.rows(frame.assign(resource="steam"))
    with pytest.raises(KeyError, match="doors"):
        Hall.rows(frame.drop(columns="doors"))
    with pytest.raises(ValueError, match="limits_of_a_hall has columns"):
        Hall.checked(frame.drop(columns="doors"))
    assert Hall.checked(frame) is frame


def test_a_column_is_of_a_known_kind():
    with pytest.raises(ValueError, match="of kind float"):
        Column("x", "float", "no such kind")
