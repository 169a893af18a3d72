"""Page, pictures, terminal and verb: everything escaped, nothing fetched, sums that agree with the plan."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from rich.console import Console
from tools import need
from typer.testing import CliRunner

from procure.cli import build_app
from procure.families.wording import figure
from procure.plan import Plan
from procure.plan.tables import TABLES
from procure.quarter import quarter_ranges
from procure.report import print_plan, write_page, write_pictures
from procure.report.page import costs, render
from procure.report.sentences.limits import binding_sentences
from procure.report.sentences.outcome import status_sentence
from procure.report.words import rounded, share, usd

HOSTILE = "<script>alert(1)</script>[red]$x$_{&\"'"
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Tags(HTMLParser):
    """Every tag with its attributes, and whether the page's elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(plan: Plan) -> str:
    return render(plan)


@pytest.mark.thorough
def test_page_nests_and_fetches_nothing(page: str) -> None:
    text = page
    tags = Tags(text)
    assert tags.open == []
    assert not {tag for tag, _ in tags.found} & {"script", "link", "img", "iframe", "object"}
    for tag, attributes in tags.found:
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)


@pytest.mark.thorough
def test_ids_are_unique_and_every_reference_has_one(page: str) -> None:
    text = page
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert {*re.findall(r"url\(#([^)]+)\)", text), *re.findall(r'href="#([^"]+)"', text)} <= set(ids)


@pytest.mark.slow
def test_hostile_names_are_text_on_the_page(build_plan: Callable[..., Plan]) -> None:
    text = render(build_plan(rename=lambda name: HOSTILE + name, status="short"))
    tags = Tags(text)
    assert tags.open == []
    assert "script" not in {tag for tag, _ in tags.found}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_page_money_sums_to_the_objective(plan: Plan) -> None:
    rows, sums = costs(plan)
    assert sums[2] == pytest.approx(plan.objective_usd, rel=1e-12)
    assert sum(row[3] for row in rows) == pytest.approx(plan.objective_usd, rel=1e-12)


@pytest.mark.thorough
def test_page_lists_every_recommended_order_and_no_other_as_such(plan: Plan, page: str) -> None:
    table = page.split("What to order, and when")[1].split("</table>")[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    listed = [(r[0], r[1], r[2], int(r[3].replace(",", ""))) for r in rows if r]
    assert sorted(listed) == sorted(
        plan.purchases[["quarter", "site", "sku", "count"]].itertuples(index=False, name=None)
    )


@pytest.mark.slow
def test_a_plan_without_orders_or_caches_has_a_page(plan: Plan) -> None:
    none = {name: plan.tables[name].iloc[:0] for name in ("purchases", "kv_placement", "premises", "checks")}
    text = render(Plan(plan.summary, {**plan.tables, **none}))
    assert "Order nothing in the planned quarters." in text
    assert "KV caches by tier" not in text


@pytest.mark.thorough
def test_expansions_are_recommended_too(plan: Plan, page: str) -> None:
    assert "2027Q3: order 2 of expansion east wing at dfw (6.0 M USD)" in page
    console = Console(width=160)
    with console.capture() as captured:
        print_plan(plan, console)
    assert "expansion east wing" in captured.get()


def test_binding_limits_are_named_with_place_time_and_amount(plan: Plan) -> None:
    assert binding_sentences(plan) == (["power at osl facility: full in 2029Q1 to 2030Q2 (2,000 kW)."], [])


@pytest.mark.usefixtures("unplotted")
@pytest.mark.slow
def test_shortfall_is_told_with_its_cause(build_plan: Callable[..., Plan]) -> None:
    plan = build_plan(status="short")
    assert "agentic coding: 5.0% of the peak requests in 2027Q4 (inside lead time)" in render(plan)
    assert "cannot be served" in status_sentence(plan)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("optimal", "Every SLA of the planned quarters is met"),
        ("limit_with_plan", "Stopped by a limit"),
        ("verification_failed", "DO NOT USE"),
    ],
)
def test_each_status_reads_differently(build_plan: Callable[..., Plan], status: str, words: str) -> None:
    assert status_sentence(build_plan(status=status)).startswith(words)


@pytest.mark.usefixtures("unplotted")
@pytest.mark.slow
def test_an_unbounded_plan_is_not_called_within_a_gap(build_plan: Callable[..., Plan]) -> None:
    plan = build_plan(status="limit_with_plan", gap=None, bound_usd=None)
    assert "not bounded" in status_sentence(plan)
    assert "Proven within" not in render(plan)


def test_terminal_names_orders_and_ends_with_status_and_cost(build_plan: Callable[..., Plan]) -> None:
    plan = build_plan(rename=lambda name: "[red]" + name)
    console = Console(width=160)
    with console.capture() as captured:
        print_plan(plan, console)
    text = captured.get()
    assert "[red]vr-nvl72" in text
    last = text.strip().splitlines()[-1]
    assert last.startswith("optimal: net present cost")
    assert usd(plan.objective_usd) in last


def test_numbers_read_as_they_are() -> None:
    assert [usd(1.2345e9), usd(45.64e6), usd(-12e3), usd(999.6), usd(0)] == [
        "1.234 B USD", "45.6 M USD", "-12.0 k USD", "1.0 k USD", "0 USD",
    ]  # fmt: skip
    assert [share(0), share(0.0001), share(0.5), share(0.99999), share(1)] == [
        "0.0%", "less than 0.1%", "50.0%", "more than 99.9%", "100.0%",
    ]  # fmt: skip
    assert [figure(7e6), figure(0.1), figure(1234.5678), figure(2e15)] == ["7,000,000", "0.1", "1,234.57", "2e+15"]
    assert [figure(5052740.5), figure(1234567.8, 7), figure(0.07801671, 7)] == ["5,052,740", "1,234,568", "0.07801671"]
    assert [rounded(1396.0), rounded(1436.0, 2), rounded(0.0127976)] == ["1,400", "1,400", "0.0128"]
    assert quarter_ranges(["2028Q1", "2027Q4", "2027Q1"]) == "2027Q1, 2027Q4 to 2028Q1"


@pytest.mark.slow
def test_report_verb_writes_the_same_page_and_pictures_again(plan: Plan, page: str, tmp_path: Path) -> None:
    pictures = write_pictures(plan, tmp_path / "pictures")
    assert [p.name for p in pictures] == ["fleet.png", "power.png", "money.png", "kv.png", "service.png"]
    folder = plan.write(tmp_path / "result")
    found = CliRunner().invoke(build_app(), ["report", str(folder), "--pictures"])
    assert found.exit_code == 0, found.output
    assert {p.name for p in folder.iterdir()} == {"plan.json", "tables", "plan.xlsx", "plan.html", "pictures"}
    assert (folder / "plan.html").read_text() == page
    assert {p.name: p.read_bytes() for p in (folder / "pictures").iterdir()} == {
        p.name: p.read_bytes() for p in pictures
    }


@pytest.mark.thorough
def test_a_stored_plan_gives_the_same_workbook(plan: Plan, tmp_path: Path) -> None:
    from procure.report.workbook import build

    again = Plan.read(plan.write(tmp_path / "result"))
    for ours, theirs in zip(build(plan), build(again), strict=True):
        assert ours.cells.keys() == theirs.cells.keys(), ours.name
        for place, cell in ours.cells.items():
            value = theirs.cells[place].value
            assert value == pytest.approx(cell.value) if isinstance(cell.value, float) else value == cell.value, place


def chromium(path: Path, *flags: str) -> str:
    need("chromium")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *flags, path.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", HOSTILE])
def test_chromium_shows_the_page(build_plan: Callable[..., Plan], tmp_path: Path, prefix: str) -> None:
    path = write_page(build_plan(rename=lambda name: prefix + name), tmp_path / "plan.html")
    picture = tmp_path / "seen.png"
    seen = chromium(path, "--dump-dom", "--window-size=1280,3000", f"--screenshot={picture}")
    assert seen.count("<svg") == 5
    assert "<script" not in seen
    for heading in ("What to order, and when", "Limits that bind", "Premises", "Checks"):
        assert f">{heading}</h2>" in seen
    with Image.open(picture) as image:
        assert image.size == (1280, 3000)
        assert len(image.convert("RGB").resize((160, 375)).getcolors(60_000) or []) > 50


@pytest.mark.slow
def test_what_is_sold_is_told_beside_the_orders_with_what_it_brings_and_loses(plan: Plan) -> None:
    """Two old racks leave osl in 2028Q3, for 1.5 M USD, 2.0 M under their book value; none later."""
    page, console = render(plan), Console(record=True, width=200)
    assert "Sell 2 gb200-nvl72; this brings 1.5 M USD, 2.0 M USD under book value." in page
    sentence = "2028Q3: sell 2 gb200-nvl72 at osl (brings 1.5 M USD, 2.0 M USD under book value)"
    assert f"<li>{sentence}</li>" in page
    print_plan(plan, console)
    assert f"sell   {sentence}" in console.export_text()


@pytest.mark.thorough
def test_a_plan_that_sells_nothing_says_nothing_of_sales(plan: Plan) -> None:
    kept = Plan(plan.summary, {**plan.tables, "sales": plan.tables["sales"].iloc[:0]})
    assert "sell" not in render(kept).lower().split("<h2")[1]


def test_headings_are_the_schema_s_with_their_meaning(page: str) -> None:
    titles = {attributes["title"] for tag, attributes in Tags(page).found if tag == "th" and "title" in attributes}
    named = {"purchases": ["site", "capex_usd"], "costs": ["line"], "premises": ["kind", "source"]}
    for table, columns in named.items():
        for column in (TABLES[table].by_column[name] for name in columns):
            assert column.meaning in titles
            assert f">{column.title}" in page
