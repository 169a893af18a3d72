"""What the docs list is what the code has."""

import re
from pathlib import Path

from procure.plan.plan import TABLES
from procure.program.program import FAMILIES

DOCS = Path(__file__).parents[2] / "docs"


def test_architecture_lists_the_columns_of_every_plan_table():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8").split("### plan tables")[1]
    rows = dict(re.findall(r"^\| (\w+) \| ([^|]+) \|", text, flags=re.M))
    rows.pop("table")
    assert {name: tuple(cell.strip().split(", ")) for name, cell in rows.items()} == TABLES


def test_program_page_names_every_constraint_family():
    text = (DOCS / "program.md").read_text(encoding="utf-8")
    assert [f.__name__ for f in FAMILIES if f"`{f.__name__}`" not in text] == []


def test_links_between_pages_lead_somewhere():
    pages = [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    links = [(p, link) for p in pages for link in re.findall(r"\]\(([^)#:]+)\)", p.read_text(encoding="utf-8"))]
    assert len(links) > 15
    assert [(p.name, link) for p, link in links if not (p.parent / link).exists()] == []
