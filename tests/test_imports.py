"""Imports run along the data flow: docs/architecture.md lists the folders in order, and each knows those above it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "procure").rglob("*.py"))
}
FACE = "procure"
"""The package itself offers names of several folders; nobody needs it but for the version."""
SOLVERS = {"pyomo": {"program", "solver"}, "highspy": {"solver"}}
"""Libraries that only these folders know."""
KNOWN_CIRCLES = {("procure.sizing.card", "procure.sizing.cards")}
"""``Card.load`` is how everybody makes a card; the module that reads files stays apart from the class."""


def imports(tree: ast.AST, with_types: bool) -> Iterator[str]:
    """Modules that a file imports, wherever it does; those for annotations alone if asked for."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not with_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else str(node.module) for name in named)
        else:
            yield from imports(node, with_types)


def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def part(module: str) -> str:
    """The folder or file of ``procure`` that a module belongs to."""
    return module.split(".")[1]


def levels() -> dict[str, int]:
    """Place of each folder in the list of docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Seams")[0]
    cells = re.findall(r"^\| (`procure/.*?) \|", text, flags=re.M)
    return {name: place for place, cell in enumerate(cells) for name in re.findall(r"`procure/(\w+)(?:\.py)?`", cell)}


def test_the_list_of_folders_is_complete():
    assert set(levels()) == {part(module) for module in MODULES if module != FACE}


@pytest.mark.parametrize("name", sorted({part(module) for module in MODULES if module != FACE}))
def test_a_folder_imports_only_what_stands_above_it(name):
    place = levels()
    against = [
        (module, imported)
        for module in MODULES
        if module != FACE and part(module) == name
        for imported in imports(parsed(module), with_types=True)
        if imported.startswith("procure.") and part(imported) != name and place[part(imported)] > place[name]
    ]
    assert against == []


def test_only_program_and_solver_know_pyomo_and_only_the_solver_knows_highs():
    strangers = [
        (module, library)
        for module in MODULES
        if module != FACE
        for library in imports(parsed(module), with_types=True)
        if library.split(".")[0] in SOLVERS and part(module) not in SOLVERS[library.split(".")[0]]
    ]
    assert strangers == []


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "oracle").glob("oracle_*.py")), ids=lambda path: path.name)
def test_the_brute_force_shares_nothing_with_instance_program_and_plan(path):
    place = levels()
    known = {name for name in imports(ast.parse(path.read_text(encoding="utf-8")), True) if name.startswith("procure.")}
    assert {name for name in known if place[part(name)] > place["demand"]} == set()
    assert known


def test_no_modules_import_each_other():
    graph = {
        module: {
            imported
            for imported in imports(parsed(module), with_types=False)
            if imported in MODULES and imported != FACE and (module, imported) not in KNOWN_CIRCLES
        }
        for module in MODULES
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)  # raises with the circle it finds
