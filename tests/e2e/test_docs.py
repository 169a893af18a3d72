"""What the docs list is what the code has."""

import re
from importlib import import_module
from pathlib import Path

from procure.case.settings import Settings
from procure.catalogue.sku import FIELDS
from procure.cli import build_app
from procure.demand.build import Demand
from procure.families.contents import programs
from procure.performance.points import COLUMNS
from procure.plan.docs import render

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_tables_is_written_from_the_schema():
    assert (DOCS / "tables.md").read_text(encoding="utf-8") == render(), "run `python -m procure.plan.docs`"


def section(begin: str, end: str) -> str:
    return (DOCS / "architecture.md").read_text(encoding="utf-8").split(begin)[1].split(end)[0]


def unnamed(names, text: str) -> list[str]:
    """Names that a text does not hold as words; ``..._output_tokens`` stands for the longer name with that end."""
    ends = tuple(re.findall(r"\.\.\.(_\w+)", text))
    words = set(re.findall(r"\w+", text))
    return [name for name in names if name not in words and not (ends and name.endswith(ends))]


def test_architecture_lists_every_attribute_of_a_sku_setting_column_of_a_point_and_table_of_demand():
    assert unnamed(FIELDS, section("`Sku` (frozen dataclass)", "### sizing")) == []
    assert unnamed(Settings.model_fields, section("`case.toml` → `case.settings`", "### plan tables")) == []
    assert unnamed(COLUMNS, section("decode_points(", "prefill_gpu_seconds(")) == []
    assert unnamed(Demand.__dataclass_fields__, section("build(case) -> Demand", "###")) == []


def test_program_page_names_every_constraint_family():
    text = (DOCS / "program.md").read_text(encoding="utf-8")
    names = [add.__name__ for part in programs().values() for add in part.rows]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_readme_lists_every_verb_under_its_group():
    table = (DOCS.parent / "README.md").read_text(encoding="utf-8").split("| group | verb |")[1].split("\n\n")[0]
    told, group = {}, ""
    for row in re.findall(r"^\| (\w*) ?\| ([^|]+) \|", table, flags=re.M):
        group = row[0] or group
        told |= dict.fromkeys(re.findall(r"`(\w+)`", row[1]), group)
    verbs = {
        (c.name or getattr(c.callback, "__name__", "")): c.rich_help_panel for c in build_app().registered_commands
    }
    assert told == verbs


def test_links_between_pages_lead_somewhere():
    pages = [*DOCS.glob("*.md"), *DOCS.parent.glob("*.md")]
    links = [(p, link) for p in pages for link in re.findall(r"\]\(([^)#:]+)\)", p.read_text(encoding="utf-8"))]
    assert len(links) > 15
    assert [(p.name, link) for p, link in links if not (p.parent / link).exists()] == []


def leads_somewhere(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            if not hasattr(found, part) and part not in getattr(found, "__annotations__", {}):
                return False
            found = getattr(found, part, None)
        return True
    return False


def test_names_of_the_code_in_docs_and_docstrings_lead_somewhere():
    root = DOCS.parent
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("data/**/*.md"), *root.glob("procure/**/*.py")]
    pages = [page for page in pages if page.name != "CHANGELOG.md"]  # it tells of what is gone, too
    named = {(page, name) for page in pages for name in re.findall(r"`~?(procure(?:\.\w+)+)`", page.read_text("utf-8"))}
    assert len(named) > 50
    assert [f"{page.relative_to(root)}: {name}" for page, name in sorted(named) if not leads_somewhere(name)] == []
