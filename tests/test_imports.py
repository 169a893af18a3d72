"""Imports run along the data flow: docs/architecture.md lists the folders in order, and each knows those above it.

Every import counts, wherever it stands: inside functions, for annotations alone, by the name in a string. Tools that
hold import contracts (import-linter) would state the list of folders a second time and know nothing of such strings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from procure.families.contents import NAMES

ROOT = Path(__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "procure").rglob("*.py"))
}
NAMED_IN_STRINGS = {name for name, path in MODULES.items() if path.name != "__init__.py"}
FACE = "procure"
"""The package itself offers names of several folders; nobody needs it but for the version."""
SOLVERS = {"pyomo": {"program", "families/*/program", "solver"}, "highspy": {"solver"}}
"""Libraries that only these folders know."""


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules that a file imports, wherever it does; a string that is a package's name may mean the files in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else str(node.module) for name in named)
        elif isinstance(node, ast.Constant) and node.value in NAMED_IN_STRINGS:
            yield str(node.value)


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def part(module: str) -> str:
    """The folder or file of ``procure`` that a module belongs to; of a family the program and the check, each apart."""
    names = module.split(".")
    if names[1] == "families" and names[3:] and names[3] in ("check", "program"):
        return f"families/*/{names[3]}"
    return names[1]


def levels() -> dict[str, int]:
    """Place of each folder in the list of docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Seams")[0]
    cells = re.findall(r"^\| (`procure/.*?) \|", text, flags=re.M)
    return {
        name: place for place, cell in enumerate(cells) for name in re.findall(r"`procure/([\w*/]+)(?:\.py)?`", cell)
    }


def test_the_list_of_folders_is_complete():
    assert set(levels()) == {part(module) for module in MODULES if module != FACE}


@pytest.mark.parametrize("name", sorted({part(module) for module in MODULES if module != FACE}))
def test_a_folder_imports_only_what_stands_above_it(name):
    place = levels()
    against = [
        (module, imported)
        for module in MODULES
        if module != FACE and part(module) == name
        for imported in imports(parsed(module))
        if imported.startswith("procure.") and part(imported) != name and place[part(imported)] > place[name]
    ]
    assert against == []


def test_a_family_knows_no_other_family_and_its_program_and_check_nothing_of_each_other():
    """Together with the order of folders: what a family demands is told twice, by two that never met."""
    against = []
    for module in (name for name in MODULES if name.startswith("procure.families.") and name.count(".") >= 3):
        family, mine = module.split(".")[2:4]
        for imported in imports(parsed(module)):
            strange = imported.startswith("procure.families.") and imported.split(".")[2] in NAMES
            if strange and imported.split(".")[2:4] not in ([family, mine], [family, "words"]):
                against.append((module, imported))
    assert against == []


def test_every_folder_of_a_family_is_in_the_contents():
    folders = {path.parent.name for path in (ROOT / "procure" / "families").glob("*/__init__.py")}
    assert folders == set(NAMES)


@pytest.mark.thorough
def test_only_program_and_solver_know_pyomo_and_only_the_solver_knows_highs():
    strangers = [
        (module, library)
        for module in MODULES
        if module != FACE
        for library in imports(parsed(module))
        if library.split(".")[0] in SOLVERS and part(module) not in SOLVERS[library.split(".")[0]]
    ]
    assert strangers == []


def test_the_brute_force_shares_nothing_with_instance_program_and_plan():
    place, known = levels(), set()
    for path in (ROOT / "tests" / "oracle").glob("oracle_*.py"):
        known |= {name for name in imports(ast.parse(path.read_text(encoding="utf-8"))) if name.startswith("procure.")}
    assert {name for name in known if place[part(name)] > place["demand"]} == set()
    assert known


def graph() -> dict[str, set[str]]:
    """Modules that each module imports."""
    return {
        module: {name for name in imports(parsed(module)) if name in MODULES and name != FACE} for module in MODULES
    }


@pytest.mark.thorough
def test_no_modules_import_each_other():
    assert len(list(TopologicalSorter(graph()).static_order())) == len(MODULES)  # raises with the circle it finds


@pytest.mark.parametrize(
    "text",
    [
        "from procure.case.case import Case",
        "def f():\n    from procure.case import case",
        "if TYPE_CHECKING:\n    from procure.case.case import Case",
        "import_module('procure.case.case')",
        "import procure.case.case",
    ],
)
def test_every_kind_of_import_is_seen(text):
    assert "procure.case.case" in set(imports(ast.parse(text)))
