"""``docs/tables.md``, written from the schema: run ``python -m procure.plan.docs`` after a change."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from procure.check.tables import Finding
from procure.demand import tables as demand
from procure.instance import tables as instance
from procure.performance.tables import DecodePoint, FigurePoint
from procure.plan import tables as plan
from procure.schema import Column, Row

_HEAD = """\
# Tables of a demand, of operating points, of an instance, of findings and of a plan

<!-- written by `python -m procure.plan.docs`; change the row classes in procure/*/tables.py instead -->

Base units. Columns of the key, which tells rows apart, are marked with a star. Tables of a case: [case.md](case.md).
"""

PARTS: tuple[tuple[str, tuple[type[Row], ...]], ...] = (
    ("demand", demand.ROWS),
    ("performance", (DecodePoint, FigurePoint)),
    ("instance", instance.ROWS),
    ("check", (Finding,)),
    ("plan", plan.ROWS),
)
"""Folders and the rows of the tables that they give."""


def render() -> str:
    """The page as Markdown."""
    lines = [_HEAD]
    for part, rows in PARTS:
        lines += [f"## {part}\n", *(line for row in rows for line in _table(row))]
    return "\n".join(lines).rstrip() + "\n"


def _table(row: type[Row]) -> Iterable[str]:
    yield f"### {row.schema.name}\n"
    yield f"{row.schema.description}\n"
    yield "| column | kind | unit | meaning |"
    yield "|---|---|---|---|"
    for column in row.schema.columns:
        star = "\\*" if column.key else ""
        yield f"| `{column.name}`{star} | {column.kind} | {column.unit} | {_meaning(column)} |"
    yield ""


def _meaning(column: Column) -> str:
    said = [column.description]
    if column.reference:
        said.append(f"one of `{column.reference}`")
    if not column.required:
        said.append(f"empty: {column.default}")
    return "; ".join(said).replace("|", "/")


def main() -> None:
    """Write ``docs/tables.md`` of the clone this package lies in."""
    page = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
    page.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
