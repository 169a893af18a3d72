"""Words of tables: members are their texts, attributes go with them."""

from __future__ import annotations

import pandas as pd
import pytest

from procure.case.schema import TABLES as CASE_TABLES
from procure.catalogue import Catalogue
from procure.catalogue.sku import SKU_KINDS
from procure.instance import TABLES as INSTANCE_TABLES
from procure.plan.tables import TABLES as PLAN_TABLES
from procure.schema import CostLine, Evidence, Origin, Resource, SkuKind, Span, Tier, Unit


def test_members_are_texts_in_frames_files_and_sentences():
    frame = pd.DataFrame({"span": [Span.of(1), Span.of(0)]})
    assert frame.to_csv(index=False, lineterminator="\n") == "span\nplanned\nlookahead\n"
    assert (frame["span"] == "planned").tolist() == [True, False]
    assert f"{Resource.LIQUID} {Tier.CMX}" == "liquid_kw cmx"


@pytest.mark.parametrize("enum", [Resource, Tier, Span, Origin, CostLine, Evidence, SkuKind, Unit])
def test_members_are_found_by_their_text_alone(enum):
    assert [enum(str(member)) for member in enum] == list(enum)


def test_attributes_go_with_the_member():
    assert {r: (r.word, r.unit, r.scale) for r in Resource}["liquid_kw"] == ("liquid cooling", "kW", 1e3)
    assert [line for line in CostLine if line.capital] == [
        "hardware",
        "attach",
        "installation",
        "expansions",
        "rent from capital",
    ]
    assert sorted(["sales", "hardware"], key=lambda line: CostLine(line).order) == ["hardware", "sales"]
    assert [origin for origin in Origin if origin.firm] == ["fleet", "order"]
    assert all(kind.word for kind in Evidence)
    assert Span("lookahead").word == "Look-ahead quarters"


def test_large_units_are_of_the_base_unit_and_others_stay():
    assert Unit.shown_for("B/s") == ("GB/s", 1e9)
    assert Unit.shown_for("racks") == ("racks", 1.0)


def test_the_catalogue_uses_the_kinds_of_sku_and_evidence():
    catalogue = Catalogue.read()
    assert {sku.kind for sku in catalogue.skus.values()} == set(SkuKind) == set(SKU_KINDS)
    assert {fact.kind for fact in catalogue.facts.values()} <= {kind for kind in Evidence if kind.of_premise}


TABLES = [*CASE_TABLES.values(), *INSTANCE_TABLES.values(), *PLAN_TABLES.values()]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_and_column_is_described(table):
    assert table.description.endswith((".", "where."))
    assert [c.name for c in table.columns if not c.description or not c.word] == []


UNIT_ENDINGS = {"_usd": "USD", "_kw": "kW", "_tokens": "tokens", "_bytes": "B", "_bytes_per_s": "B/s", "_m2": "m2"}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_units_in_names_are_the_units_stated(table):
    for column in table.columns:
        for ending, unit in UNIT_ENDINGS.items():
            if column.numeric and column.name.endswith(ending) and "_per_" not in column.name.removesuffix("_per_s"):
                assert column.unit in (unit, f"M {unit}"), column.name


@pytest.mark.parametrize("tables", [INSTANCE_TABLES, PLAN_TABLES], ids=["instance", "plan"])
def test_references_name_a_column_that_is_there(tables):
    for table in tables.values():
        for column in table.columns:
            if column.reference:
                name, _, of = column.reference.partition(".")
                assert of in tables[name].by_column, f"{table.name}.{column.name}"
