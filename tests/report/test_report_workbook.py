"""The workbook: live formulas whose stored values are right, on any names, against the plan's own money."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import openpyxl
import pytest

from procure.errors import InputError
from procure.plan import Plan
from procure.plan.tables import Batch, Cash, ExpansionOrder, Limit, Placement, Premise, Purchase, Service
from procure.report import write_workbook
from procure.report.workbook import build
from procure.schema import Row

PAGE = (Path(__file__).parents[2] / "docs" / "workbook.md").read_text(encoding="utf-8")
SHEETS = re.findall(r"^\| ([A-Z]\w+) \|", PAGE.split("## How to read it")[0], flags=re.M)
"""What the docs list, in order."""
ERRORS = ("#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NUM!", "#NULL!", "Err:")
HOSTILE = '=cmd|"/c calc"!A1<b>&*?~$x$_{' + "n" * 300


def opened(path: Path, values: bool = False) -> openpyxl.Workbook:
    """A workbook with its formulas or with their stored values, parsed once as it stands: to be read, not changed."""
    return _parsed(path, path.stat().st_mtime_ns, values)


@lru_cache(maxsize=4)
def _parsed(path: Path, _: int, values: bool) -> openpyxl.Workbook:
    return openpyxl.load_workbook(path, data_only=values)


def cells(path: Path, values: bool) -> dict[tuple[str, str], object]:
    book = opened(path, values)
    return {(s.title, c.coordinate): c.value for s in book for row in s.iter_rows() for c in row if c.value is not None}


def formulas(path: Path) -> dict[tuple[str, str], str]:
    book = opened(path)
    return {(s.title, c.coordinate): str(c.value) for s in book for row in s.iter_rows() for c in row
            if c.data_type == "f"}  # fmt: skip


def differences(stored: dict, fresh: dict, where: dict) -> list:
    wrong = []
    for key in where:
        a, b = stored.get(key), fresh.get(key)
        a, b = ("" if v is None else v for v in (a, b))
        scale = a
        if key[0] == "Checks" and key[1].startswith("D"):  # the difference of two amounts of that size
            scale = stored["Checks", "B" + key[1][1:]]
        texts = isinstance(a, str) or isinstance(b, str)
        same = a == b if texts else abs(a - b) <= 1e-9 * max(1.0, abs(scale))
        if not same:
            wrong.append((key, where[key], a, b))
    return wrong


def labelled(path: Path, sheet: str, **labels: str) -> list[openpyxl.cell.Cell]:
    """The first row of a sheet whose columns hold these texts."""
    for row in opened(path, values=True)[sheet].iter_rows():
        if all(row["ABCDEFGH".index(column)].value == text for column, text in labels.items()):
            return list(row)
    raise AssertionError(f"no row {labels} on {sheet}")


@pytest.fixture(scope="module")
def book(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_workbook(plan, tmp_path_factory.mktemp("book") / "plan.xlsx")


@pytest.mark.thorough
def test_every_sheet_is_there_and_shows_the_verdict(book: Path) -> None:
    read = opened(book, values=True)
    assert read.sheetnames == SHEETS
    assert {sheet.title: sheet["B3"].value for sheet in read} == dict.fromkeys(SHEETS, "PASS")


@pytest.mark.thorough
def test_stored_npv_is_the_objective_and_lines_are_the_costs(book: Path, plan: Plan) -> None:
    total = labelled(book, "Money", A="Total")
    assert total[7].value == pytest.approx(plan.objective_usd, rel=1e-12)
    for cost in plan.tables["costs"].itertuples():
        assert labelled(book, "Money", A=cost.span, B=cost.line)[7].value == pytest.approx(cost.npv_usd, rel=1e-9)


def test_quarters_stand_in_the_same_columns_on_every_sheet(book: Path, plan: Plan) -> None:
    quarters = sorted(set(plan.tables["sla"]["quarter"]))
    for sheet in opened(book, values=True):
        for row in sheet.iter_rows(values_only=True):
            if row[8:9] == (quarters[0],):
                assert list(row[8 : 8 + len(quarters)]) == quarters, sheet.title


def test_numbers_that_follow_from_others_are_formulas(book: Path) -> None:
    live = formulas(book)
    for sheet, column, text in (("Purchases", "H", "capex"), ("Fleet", "J", "closing"), ("Limits", "I", "slack")):
        assert any(key[0] == sheet and key[1].startswith(column) for key in live), text
    total = labelled(book, "Money", A="Total")
    assert all(("Money", cell.coordinate) in live for cell in total[6:])
    built = labelled(book, "Money", A="planned", B="expansions", C="dfw", D="east wing")[8:16]
    assert [cell.value for cell in built] == [0, 0, 6e6, 0, 0, 0, 0, 0]
    assert all(("Money", cell.coordinate) in live for cell in built)
    pasted = labelled(book, "Money", A="planned", B="hardware", C="dfw", D="vr-nvl72")[6:]
    assert all(("Money", cell.coordinate) in live for cell in pasted[2:10])


def test_only_functions_that_every_spreadsheet_knows(book: Path) -> None:
    import re

    used = {name for text in formulas(book).values() for name in re.findall(r"([A-Z.]+)\(", text)}
    assert used <= {"SUM", "SUMPRODUCT", "EXACT", "IF", "ABS", "MAX", "MIN", "ROUND", "ISERROR"}


def test_fleet_rolls_forward(book: Path, plan: Plan) -> None:
    fleet = plan.tables["fleet"]
    closing = fleet[(fleet["site"] == "osl") & (fleet["sku"] == "gb200-nvl72")].groupby("quarter")["closing"].sum()
    row = labelled(book, "Fleet", A="osl", B="gb200-nvl72", C="closing")
    assert [c.value for c in row[8:22]] == closing.sort_index().tolist()


@pytest.mark.thorough
def test_same_plan_gives_the_same_bytes(plan: Plan, tmp_path: Path) -> None:
    first, second = (write_workbook(plan, tmp_path / name) for name in ("a.xlsx", "b.xlsx"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.thorough
def test_names_are_never_formulas(build_plan: Callable[..., Plan], tmp_path: Path) -> None:
    path = write_workbook(build_plan(rename=lambda name: f"{HOSTILE}{name}"), tmp_path / "hostile.xlsx")
    assert not [text for text in formulas(path).values() if "cmd" in text]
    stored = cells(path, values=True)
    assert stored["Checks", "B3"] == "PASS"
    assert any(str(v).startswith("=cmd") for v in stored.values())
    assert zipfile.ZipFile(path).testzip() is None


@pytest.mark.thorough
def test_a_text_too_long_for_a_cell_says_so(plan: Plan, tmp_path: Path) -> None:
    long = plan.tables["premises"].assign(note="x" * 40_000)
    path = write_workbook(Plan(plan.summary, {**plan.tables, "premises": long}), tmp_path / "long.xlsx")
    assert any("40,000 characters, cut" in str(v) for v in cells(path, values=True).values())


@pytest.mark.thorough
def test_a_plan_without_orders_has_a_whole_workbook(plan: Plan, tmp_path: Path) -> None:
    none = {name: plan.tables[name].iloc[:0] for name in ("purchases", "kv_placement", "prefill", "serving")}
    path = write_workbook(Plan(plan.summary, {**plan.tables, **none}), tmp_path / "none.xlsx")
    assert cells(path, values=True)["Checks", "B3"] == "FAIL"  # its capex is now paid for nothing ordered here


@pytest.mark.slow
@pytest.mark.parametrize("table", ["cash", "costs", "fleet", "purchases", "limits"])
def test_a_contradiction_between_tables_fails_a_check(plan: Plan, tmp_path: Path, table: str) -> None:
    """A number of one table moved by a little, the others left: the verdict must say FAIL."""
    column, by = {"cash": ("cash_usd", 1e4), "costs": ("npv_usd", 1e4), "fleet": ("closing", 1.0),
                  "purchases": ("capex_usd", 1e4), "limits": ("used", 1e5)}[table]  # fmt: skip
    wrong = plan.tables[table].copy()
    wrong[column] = wrong[column].astype(float)
    wrong.loc[wrong.index[0], column] += by
    path = write_workbook(Plan(plan.summary, {**plan.tables, table: wrong}), tmp_path / "wrong.xlsx")
    assert cells(path, values=True)["Checks", "B3"] == "FAIL"


def test_a_plan_without_its_discount_rate_is_refused(plan: Plan) -> None:
    premises = plan.tables["premises"]
    with pytest.raises(InputError, match="discount_rate_per_year"):
        build(
            Plan(plan.summary, {**plan.tables, "premises": premises[premises["name"] != "case/discount_rate_per_year"]})
        )


def test_a_rate_that_the_cash_was_not_discounted_with_is_refused(plan: Plan) -> None:
    premises = plan.tables["premises"].copy()
    premises.loc[premises["name"] == "case/discount_rate_per_year", "value"] = 0.05
    with pytest.raises(InputError, match=r"discount_rate_per_year = 0\.05"):
        build(Plan(plan.summary, {**plan.tables, "premises": premises}))


def plant(book: Path, planted: Path) -> Path:
    """A copy with another value stored for the sum of the money."""
    place = labelled(book, "Money", A="Total")[7].coordinate
    with zipfile.ZipFile(book) as source, zipfile.ZipFile(planted, "w") as target:
        for item in source.infolist():
            data = source.read(item)
            if item.filename == "xl/worksheets/sheet6.xml":
                before, after = data.split(f'<c r="{place}"'.encode(), 1)
                head, tail = after.split(b"<v>", 1)
                data = before + f'<c r="{place}"'.encode() + head + b"<v>999" + tail[tail.index(b"</v>") :]
            target.writestr(item, data)
    return planted


def raise_prices(book: Path, raised: Path) -> Path:
    """A copy with unit prices up by a tenth."""
    changed = openpyxl.load_workbook(book)
    sheet = changed["Purchases"]
    start = next(r for r in range(1, 200) if sheet.cell(r, 1).value == "Unit prices and payment terms") + 3
    orders = [r for r in range(start, start + 8) if isinstance(sheet.cell(r, 1).value, (int, float))]
    assert len(orders) == 6
    for row in orders:
        for column in (3, 4, 5):
            sheet.cell(row, column).value *= 1.1
    changed.save(raised)
    return raised


@pytest.fixture(scope="module")
def fresh(
    book: Path,
    build_plan: Callable[..., Plan],
    recalculate: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[Path, Path]]:
    """Workbooks as they were stored and as LibreOffice works them out, all by one start of it."""
    folder = tmp_path_factory.mktemp("workbooks")
    stored = {
        "plain": book,
        "hostile": write_workbook(build_plan(rename=lambda name: f"{HOSTILE}{name}"), folder / "hostile.xlsx"),
        "planted": plant(book, folder / "planted.xlsx"),
        "raised": raise_prices(book, folder / "raised.xlsx"),
    }
    first = recalculate(*stored.values())
    return {name: (path, first.with_name(path.name)) for name, path in stored.items()}


@pytest.mark.slow
def test_libreoffice_finds_every_stored_value(fresh: dict[str, tuple[Path, Path]]) -> None:
    book, worked_out = fresh["plain"]
    live = formulas(book)
    assert len(live) > 1_000
    again = cells(worked_out, values=True)
    assert not differences(cells(book, values=True), again, live)
    assert not [v for v in again.values() if isinstance(v, str) and v.startswith(ERRORS)]


@pytest.mark.slow
def test_libreoffice_agrees_on_hostile_names(fresh: dict[str, tuple[Path, Path]]) -> None:
    path, worked_out = fresh["hostile"]
    assert not differences(cells(path, values=True), cells(worked_out, values=True), formulas(path))


@pytest.mark.slow
def test_a_planted_wrong_value_is_found(book: Path, fresh: dict[str, tuple[Path, Path]]) -> None:
    planted, worked_out = fresh["planted"]
    wrong = differences(cells(planted, values=True), cells(worked_out, values=True), formulas(book))
    assert [key for key, *_ in wrong] == [("Money", labelled(book, "Money", A="Total")[7].coordinate)]


@pytest.mark.slow
def test_a_changed_price_moves_the_money_as_the_plan_would(
    build_plan: Callable[..., Plan], fresh: dict[str, tuple[Path, Path]]
) -> None:
    """Unit prices up by a tenth in the workbook = the same counts at those prices, capex line for capex line."""
    _, worked_out = fresh["raised"]
    dearer = build_plan(price_factor=1.1).tables["costs"].set_index(["line", "span"])["npv_usd"]
    for span in ("planned", "lookahead"):
        for line in ("hardware", "attach", "installation"):
            npv = labelled(worked_out, "Money", A=span, B=line)[7].value
            assert npv == pytest.approx(dearer[line, span], rel=1e-9)
    assert cells(worked_out, values=True)["Checks", "B3"] == "FAIL"


@pytest.mark.thorough
def test_a_plan_without_any_demand_or_order_can_be_reported(plan: Plan, tmp_path: Path) -> None:
    bare = {n: t.iloc[:0] for n, t in plan.tables.items() if n not in ("limits", "checks", "premises")}
    facts = {**plan.summary, "objective_usd": 0.0, "bound_usd": 0.0, "gap": 0.0}
    written = write_workbook(Plan(facts, {**plan.tables, **bare}), tmp_path / "bare.xlsx")
    read = opened(written, values=True)
    assert {sheet.title: sheet["B3"].value for sheet in read} == dict.fromkeys(SHEETS, "PASS")
    assert "2027Q1" in [cell.value for row in read["Purchases"].iter_rows() for cell in row]


@pytest.mark.thorough
def test_a_quarter_in_which_nothing_is_asked_keeps_its_column(plan: Plan, tmp_path: Path) -> None:
    quiet = {
        n: t[t["quarter"] != "2027Q2"] for n, t in plan.tables.items() if n in ("sla", "serving", "prefill", "demand")
    }
    written = write_workbook(Plan(plan.summary, {**plan.tables, **quiet}), tmp_path / "quiet.xlsx")
    read = opened(written, values=True)
    assert read["Money"]["B3"].value == "PASS"
    assert "2027Q2" in [cell.value for row in read["Money"].iter_rows() for cell in row]


@pytest.mark.parametrize(
    ("sheet", "of", "name"),
    [
        ("Purchases", Purchase, "capex_usd"),
        ("Purchases", Purchase, "count"),
        ("Purchases", ExpansionOrder, "expansion"),
        ("Fleet", Batch, "origin"),
        ("Limits", Limit, "family"),
        ("Money", Cash, "line"),
        ("Service", Service, "workload"),
        ("KV", Placement, "tier"),
        ("Premises", Premise, "kind"),
    ],
)
def test_a_heading_is_the_schema_s_with_unit_and_meaning(book: Path, sheet: str, of: type[Row], name: str) -> None:
    column = of.schema.by_column[name]
    cells = [cell for row in opened(book)[sheet].iter_rows() for cell in row if cell.comment]
    assert {cell.comment.text for cell in cells if cell.value == column.heading} >= {column.meaning}


@pytest.mark.thorough
def test_a_row_of_service_is_the_schema_s_with_unit_and_meaning(book: Path) -> None:
    column = Service.schema.by_column["short_share"]
    row = labelled(book, "Service", D=column.word, E=column.unit)
    assert row[3].comment is not None
    assert row[3].comment.text == column.meaning


def test_premises_show_their_whole_source_and_note(book: Path) -> None:
    """Texts are wrapped in rows high enough for them, and no row is higher than a spreadsheet allows."""
    sheet = opened(book)["Premises"]
    notes = [row[-1] for row in sheet.iter_rows(min_row=7) if row[-1].value]
    assert notes
    for cell in notes:
        assert cell.alignment.wrap_text
        height = sheet.row_dimensions[cell.row].height or 15.0
        assert min(15.0 * len(str(cell.value)) / 80, 409.0) <= height <= 409.0
