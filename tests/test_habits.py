"""Habits of the code that no style rule knows: short functions, nothing unused, no work while tests are imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from tools import need

ROOT = Path(__file__).parents[1]
FILES = [path for folder in ("procure", "tests", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
MOST_LINES = 60
"""Of the body of a function; its signature and docstring do not count."""
KINDS = {"class", "function", "method", "property", "import", "unreachable_code", "variable"}
"""What is looked for; attributes are mostly those of objects of other libraries."""
CALLED_BY_OTHERS = {
    "__getattr__": "Python, for names that a package imports late",
    "handle_starttag": "html.parser",
    "handle_startendtag": "html.parser",
    "handle_endtag": "html.parser",
    "pytestmark": "pytest",
    "pytest_collection_modifyitems": "pytest",
    "pytest_collection_finish": "pytest",
    "undrawn": "pytest, for tests that name it in usefixtures",
    "unpictured": "pytest, the same",
    "unplotted": "pytest, the same",
    "changed_ns": "the cache of files, which reads a changed file again",
}
FOR_USERS = {
    "grow": "Case.grow, named in docs/architecture.md",
    "COMPONENTS": "docs of Card.components lead here; a test holds the code to it",
    "NOT_CHECKED": "says what verification leaves out and why; a test holds that it is all",
}
"""What stands for users of the package alone."""


WORK = {"tiny", "rich", "built", "planned", "searched", "solved", "solved_rich", "build", "solve", "from_tables"}
"""What makes, builds or solves a case. While tests are collected every process would do it, whichever tests it runs."""


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("folder", ["procure", "tests", "benchmarks"])
@pytest.mark.thorough
def test_functions_are_short(folder):
    long = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": lines(function)
        for path in FILES
        if path.is_relative_to(ROOT / folder)
        for function in functions(path)
        if lines(function) > MOST_LINES
    }
    assert long == {}


def test_lines_are_those_of_the_body():
    text = (
        'def f(\n    a,\n    b,\n):\n    """One.\n\n    Two.\n    """\n    c = a\n    return [\n        b, c\n    ]\n'
    )
    [function] = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert lines(function) == 4


def called(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """Names of what runs when these statements do, with a line each: not what stands in functions that they define."""
    found: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found |= called(getattr(node, "decorator_list", []))
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            found[node.func.id if isinstance(node.func, ast.Name) else node.func.attr] = node.lineno
        found |= called(ast.iter_child_nodes(node))
    return found


def done_at_import(text: str) -> set[tuple[int, str]]:
    """Line and name of every call in a module's own statements that makes, builds or solves a case, by whatever way."""
    tree = ast.parse(text)
    at_work, before = set(WORK), set()
    inside = {node.name: called(node.body) for node in tree.body if isinstance(node, ast.FunctionDef)}
    while at_work != before:
        before = set(at_work)
        at_work |= {name for name, calls in inside.items() if calls.keys() & at_work}
    return {(line, name) for name, line in called(tree.body).items() if name in at_work}


@pytest.mark.thorough
def test_no_test_module_makes_or_solves_a_case_when_it_is_imported():
    modules = sorted((ROOT / "tests").rglob("*.py"))
    found = {str(path.relative_to(ROOT)): done_at_import(path.read_text(encoding="utf-8")) for path in modules}
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_what_is_done_at_import_is_found_through_functions_and_not_in_what_waits_for_a_test():
    text = "def made():\n    return build(tiny())\n\n\ndef of():\n    return lambda: made()\n\n\n"
    assert done_at_import(text + "ROWS = [made()]\n") == {(9, "made")}
    assert done_at_import(text + "CASES = [of(), lambda: tiny()]\n") == set()
    assert done_at_import(text + "@parametrize('case', [tiny()])\ndef test(case):\n    pass\n") == {(9, "tiny")}


def members(path: Path) -> set[int]:
    """Lines of what stands directly in a class: columns of tables and members of enums, which loops read."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {part.lineno for made in classes for part in made.body if isinstance(part, ast.Assign | ast.AnnAssign)}


@cache
def unused(*folders: str, beside: tuple[str, ...] = ()) -> tuple[dict[str, str], dict[str, str]]:
    """Names that nothing in the folders uses, with where each stands; and what is left with others beside them."""
    need("vulture")
    from vulture import Vulture

    found = Vulture(ignore_decorators=["@field_validator*", "@model_validator*"])

    def left(more: tuple[str, ...]) -> dict[str, str]:
        found.scavenge([str(ROOT / folder) for folder in more])
        return {
            item.name: f"{item.filename}:{item.first_lineno} {item.typ} {item.name}"
            for item in found.get_unused_code()
            if item.typ in KINDS and not (item.typ == "variable" and item.first_lineno in members(item.filename))
        }

    alone = left(folders)
    return alone, left(beside) if beside else alone


@cache
def dead() -> tuple[dict[str, str], dict[str, str]]:
    """What nothing uses in the package, and in it and its tests."""
    return unused("procure", "benchmarks", beside=("tests",))


@pytest.mark.thorough
def test_nothing_stands_that_nothing_uses():
    _, everywhere = dead()
    assert {name: place for name, place in everywhere.items() if name not in CALLED_BY_OTHERS} == {}


@pytest.mark.thorough
def test_nothing_in_the_package_is_used_by_its_tests_alone():
    package, _ = dead()
    known = CALLED_BY_OTHERS.keys() | FOR_USERS.keys()
    assert {name: place for name, place in package.items() if name not in known} == {}


@pytest.mark.thorough
def test_every_name_that_is_excused_needs_it():
    package, everywhere = dead()
    assert CALLED_BY_OTHERS.keys() | FOR_USERS.keys() <= package.keys() | everywhere.keys()


def test_what_nothing_uses_is_found(tmp_path):
    (tmp_path / "one.py").write_text("import os\n\n\ndef used():\n    return 1\n\n\ndef never():\n    return used()\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "two.py").write_text("from one import never\n\nnever()\n")
    package, everywhere = unused(str(tmp_path / "one.py"), beside=(str(tmp_path / "tests"),))
    assert (package.keys(), everywhere.keys()) == ({"os", "never"}, {"os"})
