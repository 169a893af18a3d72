"""The example, its stored reports, and the headline study on a case that solves in seconds."""

from pathlib import Path

import openpyxl
import pytest
from solved_case import built, searched

import procure
from procure.catalogue import packaged_path
from procure.plan.verify import verify

EXAMPLE = packaged_path("data") / "cases" / "agentic-2027"
STORED = Path(__file__).parents[2] / "reports" / "agentic-2027"


@pytest.fixture(scope="module")
def case() -> procure.Case:
    return procure.Case.read(EXAMPLE)


@pytest.fixture(scope="module")
def stored() -> procure.Plan:
    return procure.Plan.read(STORED)


def test_stored_report_answers_the_example_as_it_stands(case, stored):
    assert stored.summary["input_hash"] == case.input_hash, "run `make plan` and commit reports/"


@pytest.fixture(scope="module")
def book():
    """The stored workbook, with the values that stand in it."""
    return openpyxl.load_workbook(STORED / "plan.xlsx", data_only=True)


@pytest.mark.slow
def test_stored_plan_holds(case, stored):
    checks = verify(stored, case, built(case), STORED)
    assert checks["holds"].all(), checks[~checks["holds"]].to_string()


@pytest.mark.thorough
def test_stored_report_is_whole(stored, book):
    assert {"plan.json", "plan.xlsx", "plan.html", "tables", "pictures"} <= {p.name for p in STORED.iterdir()}
    assert stored.status == "optimal"
    assert stored.summary["gap"] <= 0.005
    assert book["Checks"]["B3"].value == "PASS"
    assert f"{stored.objective_usd / 1e6:,.1f} M USD" in (STORED / "plan.html").read_text(encoding="utf-8")


def test_example_may_buy_every_kind_and_buys_racks_lpx_and_cmx(case, stored):
    """Of drives it has enough with those of its GB300 racks: kits are on offer only."""
    kinds = {case.catalogue.sku(sku).kind for sku in stored.purchases["sku"]}
    assert kinds == {"gpu", "lpx", "cmx_rack", "cmx_enclosure"}
    offered = {case.catalogue.sku(sku).kind for sku in case.settings.may_buy}
    assert offered == {"gpu", "lpx", "cmx_rack", "cmx_enclosure", "ssd_kit"}


def test_summary_has_what_the_contract_names(stored):
    names = "status objective_usd bound_usd gap shortfall seconds versions input_hash purchases evidence"
    assert set(names.split()) <= set(stored.summary)
    assert set(stored.summary["seconds"]) >= {"load", "size", "build", "solve", "verify", "write"}
    assert all(set(p) == {"quarter", "site", "sku", "count"} for p in stored.summary["purchases"])


@pytest.mark.slow(seconds=100)
def test_example_solves_again_to_the_same_cost(case, stored):
    """The search, its plan, causes and checks; verbs and files have tests of their own on smaller cases."""
    again = searched(case, time_limit_s=900.0)
    assert again.status == stored.status
    assert again.tables["checks"]["holds"].all(), again.tables["checks"].to_string()
    gap = max(again.summary["gap"], stored.summary["gap"])
    assert abs(again.objective_usd - stored.objective_usd) <= gap * abs(stored.objective_usd)
    assert again.summary["bound_usd"] <= stored.objective_usd * (1 + 1e-9)


@pytest.mark.slow
def test_stored_workbook_is_what_libreoffice_works_out(book, recalculate):
    fresh = openpyxl.load_workbook(recalculate(STORED / "plan.xlsx"), data_only=True)
    compared = 0
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                other = fresh[sheet.title][cell.coordinate].value
                if isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool):
                    assert other == pytest.approx(cell.value, rel=1e-9, abs=1e-3), f"{sheet.title}!{cell.coordinate}"
                    compared += 1
    assert compared > 3_000
