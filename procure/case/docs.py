"""``docs/case.md``, written from the schema: run ``python -m procure.case.docs`` after a change."""

from __future__ import annotations

from pathlib import Path

from procure.case.schema import TABLES
from procure.case.settings import REQUIRED, Settings
from procure.catalogue import Catalogue, Fact
from procure.schema import Column, Table

_HEAD = """\
# The case folder

<!-- written by `python -m procure.case.docs`; change procure/case/schema.py or settings.py instead -->

A case is a folder with `case.toml` and CSV tables of the names below. `procure new DIR` copies an example,
`procure check DIR` says all that is wrong with it at once. Files are UTF-8 with commas; a byte-order mark, CRLF line
ends and blank lines do no harm. Numbers have a decimal point and no thousands separators. Quarters are calendar
quarters such as `2027Q1`. Shares are fractions, sizes are decimal (1 TB = 1e12 bytes). An empty optional cell takes
its default, and the plan lists every default that was used.

A CSV file of another name is refused, as is a column or setting that does not exist: nothing is ignored in silence.
Other files (a README, cards of your own LLMs) may lie beside the tables.

An `.xlsx` workbook is a case as well: a sheet `case` (setting, value) and a sheet for each table. `procure template
OUT.xlsx [--from CASE]` writes one with lists, units and comments; `procure template DIR --from FILE.xlsx` goes back to
CSV without loss. Wrong cells are named by sheet and cell. Formulas count at their stored values; macros and links to
other workbooks are refused. Hidden rows, columns and sheets count, which is said. Formats cost nothing: a sheet is left
after 1,000 rows that hold formats alone, which is said too. Unpacked, a workbook may have 100 MB.

What is allowed and may have been meant otherwise is a **doubt**: `check`, `solve` and `sweep` say as what it was
understood and what to write if something else was meant, and go on; the plan, its page and workbook list it. In doubt
are numbers such as `3.000` in a column where every number with a point could be thousands; more than 1 USD/kWh; power
of a site, budgets and prices below those of one unit (MW for kW, M USD for USD); milliseconds for seconds, percent for
fractions; and counts of a whole number of servers under the name of their GPU (`h100,160` is 160 servers of 8).
"""


def render() -> str:
    """The page as Markdown."""
    catalogue = Catalogue.read()
    lines = [_HEAD, "## case.toml\n", *_settings(catalogue)]
    for table in TABLES.values():
        lines += ["", f"## {table.name}.csv\n", *_table(table, catalogue)]
    return "\n".join(lines) + "\n"


def _settings(catalogue: Catalogue) -> list[str]:
    lines = ["| setting | default | low to high | meaning | kind and source of the default |", "|---|---|---|---|---|"]
    for name, info in Settings.model_fields.items():
        if name in REQUIRED:
            lines.append(f"| `{name}` | needed | | {info.description} | |")
            continue
        fact = catalogue.premise(f"case/{name}")
        meaning = f"{info.description}{_choices(info.annotation)} {fact.note}"
        lines.append(
            f"| `{name}` | {_value(fact)} | {_band(fact)} | {_cell(meaning)} | {_cell(f'{fact.kind}: {fact.source}')} |"
        )
    return lines


def _choices(annotation: object) -> str:
    options = getattr(annotation, "__args__", ())
    return f" One of {', '.join(options)}." if options and all(isinstance(option, str) for option in options) else ""


def _table(table: Table, catalogue: Catalogue) -> list[str]:
    needed = "Needed." if table.required else f"May be left out: {table.when_absent}"
    key = ", ".join(f"`{column}`" for column in table.key)
    lines = [f"{table.description} {needed} One row for each {key}.\n"]
    lines += ["| column | unit | allowed | when empty | meaning |", "|---|---|---|---|---|"]
    for column in table.columns:
        default = "needed" if column.required else _default(table, column, catalogue)
        lines.append(
            f"| `{column.name}` | {column.unit} | {_allowed(column)} | {_cell(default)} | {column.description} |"
        )
    return lines


def _default(table: Table, column: Column, catalogue: Catalogue) -> str:
    fact = catalogue.premises.get(f"column/{table.name}.{column.name}")
    return column.default if fact is None else f"{_value(fact)} ({fact.kind}: {fact.source})"


def _allowed(column: Column) -> str:
    if column.choices:
        return ", ".join(column.choices)
    if column.kind in ("text", "quarter", "flag"):
        return {"text": "text", "quarter": "quarter", "flag": "true, false"}[column.kind]
    bounds = [
        *([f"{column.minimum:g} or more"] if column.minimum is not None else []),
        *([f"more than {column.above:g}"] if column.above is not None else []),
        *([f"{column.maximum:g} or less"] if column.maximum is not None else []),
    ]
    whole = "whole, " if column.kind == "integer" else ""
    return whole + ", ".join(bounds) if bounds else whole.rstrip(", ") or "number"


def _value(fact: Fact) -> str:
    if isinstance(fact.value, str):
        return f"`{fact.value}`" if fact.value else "empty"
    return "no limit" if fact.value == float("inf") else f"{fact.value:g}"


def _band(fact: Fact) -> str:
    return f"{fact.low:g} to {fact.high:g}" if isinstance(fact.low, float) and isinstance(fact.high, float) else ""


def _cell(text: str) -> str:
    return text.replace("|", "/").strip()


def main() -> None:
    """Write ``docs/case.md`` of the clone this package lies in."""
    page = Path(__file__).resolve().parents[2] / "docs" / "case.md"
    page.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
