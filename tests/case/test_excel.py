"""A workbook is a case: what goes in comes out, faults name their cell, nothing in it is run."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import load_workbook
from tools import need
from typer.testing import CliRunner

from procure.case import Case, sheets
from procure.case.schema import TABLES
from procure.case.settings import Settings
from procure.case.sheets import EMPTY_ROWS, as_text, read_sheets
from procure.case.template import write_workbook
from procure.catalogue import packaged_path
from procure.cli import build_app
from procure.errors import InputError

EXAMPLE = "data/cases/agentic-2027"


@pytest.fixture(scope="module")
def example():
    return Case.read(packaged_path(EXAMPLE))


@pytest.fixture(scope="module")
def written(tmp_path_factory, example):
    """The example as a workbook, written once."""
    return write_workbook(tmp_path_factory.mktemp("written") / "case.xlsx", example)


@pytest.fixture
def book(tmp_path, written):
    """A copy of it that a test may change."""
    return Path(shutil.copy(written, tmp_path / "case.xlsx"))


def changed(book, sheet, cell, value):
    """The workbook with one cell changed."""
    workbook = load_workbook(book)
    workbook[sheet][cell] = value
    workbook.save(book)
    return book


def faults_of(path):
    with pytest.raises(InputError) as caught:
        Case.read(path)
    return caught.value.faults


@pytest.mark.thorough
def test_csv_to_excel_to_csv_loses_nothing(tmp_path, example, book):
    back = Case.read(Case.read(book).write(tmp_path / "back"))
    assert back.given == example.given
    assert set(back.given_tables) == set(example.given_tables)
    for name, table in example.given_tables.items():
        pd.testing.assert_frame_equal(
            back.given_tables[name].dropna(axis=1, how="all"), table.dropna(axis=1, how="all"), check_like=True
        )  # the order of columns, which a template sets, says nothing
    assert back.input_hash == example.input_hash


@pytest.mark.thorough
def test_texts_that_look_like_numbers_or_formulas_stay_texts(tmp_path, example):
    sources = pd.DataFrame(
        {
            "table": "budget",
            "column": "budget_usd",
            "item": ["1e5", "=1+1", "007"],
            "kind": "user",
            "source": ["a, b", 'say "x"', "line\nend"],
        }
    )
    case = example.replace(tables={"sources": sources})
    back = Case.read(write_workbook(tmp_path / "t.xlsx", case)).given_tables["sources"]
    pd.testing.assert_frame_equal(back, case.given_tables["sources"])


@pytest.mark.thorough
def test_a_wrong_cell_is_named_by_sheet_and_cell_with_all_others(book):
    changed(book, "workloads", "B3", "chatt")
    changed(book, "forecast", "C5", -4)
    settings = load_workbook(book)["case"]
    row = next(r for r in range(2, 60) if settings.cell(r, 1).value == "planned_quarters")
    changed(book, "case", f"B{row}", "eight")
    faults = {fault.file: fault for fault in faults_of(book)}
    assert faults.keys() == {"case.xlsx, workloads!B3", "case.xlsx, forecast!C5", f"case.xlsx, case!B{row}"}
    assert "'chat'" in faults["case.xlsx, workloads!B3"].hint
    assert faults["case.xlsx, forecast!C5"].value == "-4"


@pytest.mark.thorough
def test_faults_of_agreement_between_tables_are_placed_too(book):
    cell = f"{_letter(book, 'context_cap_tokens')}2"
    changed(book, "workloads", cell, 10**7)
    found = [f for f in faults_of(book) if f.column == "context_cap_tokens"]
    assert [f.file for f in found] == [f"case.xlsx, workloads!{cell}"]


def _letter(book, heading):
    sheet = load_workbook(book)["workloads"]
    return next(cell.column_letter for cell in sheet[1] if cell.value == heading)


@pytest.mark.thorough
def test_a_formula_counts_at_its_stored_value_or_is_refused(tmp_path, book):
    changed(book, "forecast", "C5", "=1+1")  # openpyxl stores no result
    (fault,) = faults_of(book)
    assert fault.file == "case.xlsx, forecast!C5"
    assert "no stored result" in fault.expected
    _store_result(book, "7")
    assert Case.read(book).tables["forecast"]["peak_requests_per_s"][3] == 7


def _store_result(book, result):
    """Put a result beside the formula, as Excel does when it saves."""
    with zipfile.ZipFile(book) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(book, "w") as packed:
        for name, content in parts.items():
            content = content.replace(b"<f>1+1</f><v />", f"<f>1+1</f><v>{result}</v>".encode())
            content = content.replace(b"<f>1+1</f><v></v>", f"<f>1+1</f><v>{result}</v>".encode())
            content = content.replace(b"<f>1+1</f><v/>", f"<f>1+1</f><v>{result}</v>".encode())
            packed.writestr(name, content)


@pytest.mark.thorough
def test_links_to_other_workbooks_are_refused(book):
    changed(book, "forecast", "C5", "=[other.xlsx]Sheet1!A1")
    (fault,) = faults_of(book)
    assert "another workbook" in fault.expected


def test_macro_workbooks_and_files_that_are_no_workbooks_are_refused(tmp_path, book):
    macro = tmp_path / "case.xlsm"
    macro.write_bytes(book.read_bytes())
    assert "without macros" in faults_of(macro)[0].expected
    broken = tmp_path / "broken.xlsx"
    broken.write_text("not a workbook")
    assert "cannot be read" in faults_of(broken)[0].expected


@pytest.mark.thorough
def test_misspelt_sheets_and_cells_beside_the_table_are_not_ignored(book):
    workbook = load_workbook(book)
    workbook["budget"].title = "bugdet"
    workbook["fleet"]["K3"] = "note"
    workbook.save(book)
    faults = {fault.file: fault for fault in faults_of(book)}
    assert "'budget'" in faults["case.xlsx, bugdet"].hint
    assert "case.xlsx, fleet!K3" in faults


@pytest.mark.thorough
def test_an_empty_template_says_what_is_missing_and_holds_no_rows(tmp_path):
    book = write_workbook(tmp_path / "empty.xlsx")
    columns = {fault.column for fault in faults_of(book)}
    assert {"name", "first_quarter", "planned_quarters"} <= columns
    files = {fault.file for fault in faults_of(book)}
    assert {f"empty.xlsx, {name}" for name, table in TABLES.items() if table.required} <= files


@pytest.mark.thorough
def test_the_template_has_lists_units_and_comments(tmp_path, example):
    workbook = load_workbook(write_workbook(tmp_path / "t.xlsx", None, example))
    assert [s.title for s in workbook.worksheets] == ["read me", "case", *TABLES, "lists"]
    assert workbook["lists"].sheet_state == "hidden"
    for name, table in TABLES.items():
        sheet = workbook[name]
        assert [cell.value for cell in sheet[1]] == [column.name for column in table.columns]
        for column, cell in zip(table.columns, sheet[1], strict=True):
            assert column.description in cell.comment.text
            if column.unit:
                assert f"Unit: {column.unit}." in cell.comment.text
        lists = {str(v.sqref).split(":")[0]: v for v in sheet.data_validations.dataValidation if v.type == "list"}
        chosen = [c for c in table.columns if c.kind in ("choice", "flag", "quarter") or c.reference]
        assert len(lists) == len(chosen)
    assert "For example" in workbook["forecast"]["A1"].comment.text
    settings = [cell.value for cell in workbook["case"]["A"][1:]]
    assert settings == list(Settings.model_fields)


@pytest.mark.thorough
def test_the_verb_goes_both_ways(tmp_path, example):
    run = CliRunner().invoke
    book, folder = tmp_path / "a.xlsx", tmp_path / "csv"
    assert run(build_app(), ["template", str(book), "--from", str(packaged_path(EXAMPLE))]).exit_code == 0
    assert run(build_app(), ["template", str(folder), "--from", str(book)]).exit_code == 0
    assert Case.read(folder).input_hash == example.input_hash
    assert Case.read(book).input_hash == example.input_hash
    with pytest.raises(InputError, match="new file"):
        run(build_app(), ["template", str(book)], catch_exceptions=False)


@pytest.mark.thorough
def test_a_case_knows_what_to_read_again(example, book):
    case = Case.read(book)
    assert case.source == book
    assert Case.read(case.source).input_hash == example.input_hash
    assert example.source == example.folder


def with_rows(book, sheet, rows):
    """The workbook with rows of XML behind those of one sheet."""
    with zipfile.ZipFile(book) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    number = load_workbook(book, read_only=True).sheetnames.index(sheet) + 1
    name = f"xl/worksheets/sheet{number}.xml"
    assert b"</sheetData>" in parts[name]
    parts[name] = parts[name].replace(b"</sheetData>", rows.encode() + b"</sheetData>")
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as packed:
        for part, content in parts.items():
            packed.writestr(part, content)
    return book


@pytest.mark.thorough
def test_formats_below_the_table_cost_and_change_nothing(book, example):
    """One format in the last row made a million rows of a sheet; only what holds something is kept."""
    with_rows(book, "forecast", '<row r="1048576"><c r="A1048576" s="1"/></row>')
    sheets = {sheet.title: sheet for sheet in read_sheets(book)[0]}
    assert [line.number for line in sheets["forecast"].lines] == list(range(1, len(example.tables["forecast"]) + 2))
    read = Case.read(book)
    assert read.input_hash == example.input_hash
    assert read.doubts == ()


@pytest.mark.thorough
def test_a_sheet_is_left_after_many_empty_rows_which_is_said(book, example):
    first = len(example.tables["forecast"]) + 2
    empty = "".join(f'<row r="{i}"><c r="A{i}" s="1"/></row>' for i in range(first, first + 2 * EMPTY_ROWS))
    with_rows(book, "forecast", empty + f'<row r="{first + 3 * EMPTY_ROWS}"><c r="A1"><v>7</v></c></row>')
    read = Case.read(book)
    assert read.input_hash == example.input_hash
    (doubt,) = read.doubts
    assert doubt.file == "case.xlsx, forecast"
    assert f"Not read beyond row {first + EMPTY_ROWS - 1}" in doubt.expected


@pytest.mark.thorough
def test_a_workbook_that_is_huge_when_unpacked_is_refused(book, monkeypatch):
    monkeypatch.setattr(sheets, "MOST_BYTES", 1_000_000)
    with_rows(book, "forecast", " " * 2_000_000)
    (fault,) = faults_of(book)
    assert "At most 1 MB when unpacked" in fault.expected
    assert "only formatted" in fault.hint


def test_dates_numbers_and_runs_of_text_are_read_as_a_spreadsheet_shows_them(tmp_path):
    """Written by another library than the one that writes templates: shared strings, formats of dates, formulas."""
    import xlsxwriter

    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet, bold = made.add_worksheet("case"), made.add_format({"bold": True})
        sheet.write_row(0, 0, ["setting", "value"])
        sheet.write_rich_string(1, 0, "na", bold, "me")
        sheet.write_datetime(1, 1, datetime(2027, 2, 3), made.add_format({"num_format": "yyyy-mm"}))
        sheet.write_number(2, 0, 0.1)
        sheet.write_boolean(2, 1, True)
        sheet.write_formula(3, 0, "=1+2", None, 3)
        sheet.write_blank(9, 9, None, bold)
    (read,), others = read_sheets(path)
    assert others == []
    found = {(line.number, column): cell for line in read.lines for column, cell in line.cells.items()}
    assert found[2, 0].value == "name"
    assert as_text(found[2, 1].value) == "2027-02-03T00:00:00"
    assert found[3, 0].value == 0.1
    assert found[3, 1].value is True
    assert (found[4, 0].value, found[4, 0].formula) == (3, "=1+2")
    assert max(number for number, _ in found) == 4


@pytest.mark.slow
def test_a_workbook_saved_by_libreoffice_is_the_same_case(tmp_path, example, book):
    need("soffice")
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    words = ["soffice", "--headless", profile, "--convert-to", "xlsx", "--outdir", str(tmp_path / "out"), str(book)]
    subprocess.run(words, check=True, capture_output=True, timeout=180)
    back = Case.read(tmp_path / "out" / book.name)
    assert back.input_hash == example.input_hash
    assert back.given == example.given
