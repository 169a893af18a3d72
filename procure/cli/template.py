"""``procure template``: a workbook to fill in, and cases from CSV to Excel and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from procure.cli.prepare import EXAMPLE

PANEL = "Prepare"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(rich_help_panel=PANEL)(template)


def template(
    output: Annotated[Path, typer.Argument(help="A new .xlsx file, or a new folder for CSV files.")],
    source: Annotated[Path | None, typer.Option("--from", help="Case to write: a folder or an .xlsx file.")] = None,
) -> None:
    """Write a workbook to fill in: a sheet for each table, lists to choose from, units and meanings as comments.

    With --from it holds that case. With a folder as OUTPUT, --from is written as CSV files: a case goes from CSV
    to Excel and back without loss. Every verb that takes a case takes the .xlsx file as well.
    """
    from procure.case import Case
    from procure.case.template import write_workbook
    from procure.catalogue import packaged_path
    from procure.errors import Fault, InputError

    case = Case.read(source) if source is not None else None
    if output.suffix.lower() == ".xlsx":
        example = Case.read(packaged_path(f"data/cases/{EXAMPLE}"))
        write_workbook(output, case, example)
    elif case is None:
        raise InputError([Fault("OUTPUT", 0, "", str(output), "A file that ends in .xlsx, or --from with a folder.")])
    else:
        case.write(output)
    typer.echo(f"Written: {output}. Next: `procure check {output}`.")
