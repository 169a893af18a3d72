"""What is allowed and may have been meant otherwise is said: where, as what it was understood, what to write if not."""

from __future__ import annotations

import json

import pytest
from openpyxl import load_workbook

from procure.case import Case
from procure.case.schema import TABLES
from procure.case.template import write_workbook
from procure.catalogue import Catalogue
from procure.cli import main
from procure.errors import InputError


def doubts_of(folder, **kwargs):
    return [(doubt.file, doubt.row, doubt.column, doubt.value) for doubt in Case.read(folder(**kwargs)).doubts]


def test_the_small_case_and_the_example_leave_no_doubt(small):
    assert small.doubts == ()


def test_a_point_before_three_digits_is_in_doubt_until_another_cell_settles_it(folder):
    """3.000 is three; a forecaster who separates thousands with points meant three thousand."""
    rows = [f"2027Q{q},talk,3.000\n2027Q{q},code,12\n" for q in (1, 2, 3, 4)]
    rows += [f"2028Q{q},talk,1.250\n2028Q{q},code,12\n" for q in (1, 2, 3, 4)]
    table = "quarter,workload,peak_requests_per_s\n" + "".join(rows)
    (doubt,) = Case.read(folder(files={"forecast.csv": table}, name="a")).doubts
    assert (doubt.file, doubt.row, doubt.column, doubt.value) == ("forecast.csv", 2, "peak_requests_per_s", "3.000")
    assert "Understood as 3 (and 7 more)" in doubt.expected
    assert "Write 3000" in doubt.hint
    assert not doubts_of(folder, files={"forecast.csv": table.replace("code,12\n", "code,12.5\n", 1)}, name="b")
    assert not doubts_of(folder, files={"forecast.csv": table.replace("code,12\n", "code,0.125\n", 1)}, name="c")


def test_a_number_whose_thousandfold_is_not_allowed_is_not_in_doubt(folder):
    """A PUE of 1.150 cannot be 1,150."""
    assert not doubts_of(folder, edits={"sites.csv": [("1.15", "1.150")]})


@pytest.mark.parametrize(
    ("edits", "column", "value", "meant"),
    [
        ({"sites.csv": [("0.08", "80")]}, "electricity_usd_per_kwh", "80", "Write 0.08 if 80 USD per MWh"),
        ({"sites.csv": [("10000,it", "40,it")]}, "power_kw", "40", "Write 40000 if 40 MW"),
        ({"fleet.csv": [("3.7e6", "3.7")]}, "paid_usd_per_unit", "3.7", "Write 3.7e+06 if 3.7 million USD"),
        ({"fleet.csv": [("3.7e6", "3700")]}, "paid_usd_per_unit", "3700", "Write 3.7e+06 if 3700 thousand USD"),
        ({"budget.csv": [("2027Q1,1e8", "2027Q1,100")]}, "budget_usd", "100", "Write 1e+08 if 100 million USD"),
        ({"fleet.csv": [("GB200_NVL72,4", "h100,160")]}, "sku", "h100,160", "Write 20 if 160 GPUs"),
    ],
)
def test_numbers_in_another_unit_are_said(folder, edits, column, value, meant):
    (doubt,) = [doubt for doubt in Case.read(folder(edits=edits)).doubts if doubt.column == column]
    assert (doubt.value, doubt.row) == (value, 2)
    assert doubt.expected.startswith("Understood as")
    assert meant in doubt.hint


def test_power_of_one_rack_is_the_edge(folder):
    """The smallest GPU unit that may be bought or stands at the site, to the kW."""
    catalogue = Catalogue.read()
    case = Case.read(folder(name="a"))
    names = [*case.settings.may_buy, "gb200-nvl72"]
    least = min(catalogue.sku(name).power_kw for name in names if catalogue.sku(name).kind == "gpu")
    enough = {"sites.csv": [("10000,it", f"{least},it")]}
    short = {"sites.csv": [("10000,it", f"{least - 1},it")]}
    assert not doubts_of(folder, edits=enough, name="b")
    assert doubts_of(folder, edits=short, name="c") == [("sites.csv", 2, "power_kw", f"{least - 1:g}")]


def test_servers_by_their_own_name_and_numbers_that_are_no_gpus_are_not_in_doubt(folder):
    """160 hgx-h100 are servers; 12 H100 fill no whole number of servers, so that servers are meant."""
    assert not doubts_of(folder, edits={"fleet.csv": [("GB200_NVL72,4", "hgx-h100,160")]}, name="a")
    assert not doubts_of(folder, edits={"fleet.csv": [("GB200_NVL72,4", "h100,12")]}, name="b")


def test_files_that_only_look_like_tables_are_said(folder):
    with pytest.raises(InputError, match=r"budget\.CSV.*named budget\.csv"):
        Case.read(folder(files={"budget.csv": None, "budget.CSV": "quarter,budget_usd\n"}, name="a"))
    with pytest.raises(InputError, match=r"Fleet\.csv.*named fleet\.csv"):
        Case.read(folder(files={"fleet.csv": None, "Fleet.csv": "any"}, name="b"))
    read = Case.read(folder(files={"budget.xlsx": "any", "notes.txt": "any", "README.md": "any"}, name="c"))
    assert [(doubt.file, doubt.expected[:8]) for doubt in read.doubts] == [("budget.xlsx", "Not read")]


@pytest.mark.slow
def test_check_and_json_say_what_is_in_doubt(folder, capsys):
    path = folder(edits={"sites.csv": [("0.08", "80")]})
    assert main(["check", str(path)]) in (0, 6)
    assert "1 in doubt" in capsys.readouterr().err
    assert main(["check", str(path), "--json"]) in (0, 6)
    findings = json.loads(capsys.readouterr().out)
    (said,) = [row for row in findings if "meant otherwise" in row["finding"]]
    assert said["holds"]
    assert "80 USD per MWh" in said["detail"]


# ------------------------------------------------------------------ workbooks


@pytest.fixture
def book(tmp_path, small):
    return write_workbook(tmp_path / "case.xlsx", small)


@pytest.mark.thorough
def test_hidden_rows_columns_and_sheets_count_and_are_said(book, small):
    workbook = load_workbook(book)
    workbook["forecast"].row_dimensions[3].hidden = True
    workbook["forecast"].row_dimensions[4].hidden = True
    workbook["sites"].column_dimensions["C"].hidden = True
    workbook["budget"].sheet_state = "hidden"
    workbook.save(book)
    read = Case.read(book)
    assert read.input_hash == small.input_hash
    said = {doubt.file: doubt.expected for doubt in read.doubts}
    assert said.keys() == {"case.xlsx, forecast", "case.xlsx, sites", "case.xlsx, budget"}
    assert "2 rows are hidden (the first is 3)" in said["case.xlsx, forecast"]
    assert said["case.xlsx, sites"].endswith(": C.")


@pytest.mark.thorough
def test_doubts_of_a_workbook_are_placed_in_its_cells_and_numbers_are_no_texts(book):
    """Whether 1.234 is a number is in doubt in text alone: a spreadsheet stores numbers."""
    workbook = load_workbook(book)
    heading = {cell.value: cell.column_letter for cell in workbook["sites"][1]}
    workbook["sites"][f"{heading['electricity_usd_per_kwh']}2"] = 80
    for row in range(2, 18):
        workbook["forecast"][f"C{row}"] = 1.234
    workbook.save(book)
    (doubt,) = Case.read(book).doubts
    assert doubt.file == f"case.xlsx, sites!{heading['electricity_usd_per_kwh']}2"
    for row in range(2, 18):
        workbook["forecast"][f"C{row}"] = "1.234"
    workbook.save(book)
    assert {doubt.file for doubt in Case.read(book).doubts} == {doubt.file, "case.xlsx, forecast!C2"}


@pytest.mark.thorough
def test_a_second_sheet_for_a_table_is_a_fault(book):
    workbook = load_workbook(book)
    workbook.create_sheet("budget ")["A1"] = "quarter"
    workbook.save(book)
    with pytest.raises(InputError) as caught:
        Case.read(book)
    (fault,) = caught.value.faults
    assert "'budget' is it too" in fault.expected
    assert set(TABLES) >= {"budget"}


@pytest.mark.thorough
def test_a_chart_sheet_is_said_and_not_read(book, small):
    workbook = load_workbook(book)
    workbook.create_chartsheet("drawn")
    workbook.save(book)
    read = Case.read(book)
    assert read.input_hash == small.input_hash
    assert [(doubt.file, doubt.expected[:8]) for doubt in read.doubts] == [("case.xlsx, drawn", "Not read")]
