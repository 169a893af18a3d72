"""The verb that writes a stored result's workbook, page and pictures again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PANEL = "Report"


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(rich_help_panel=PANEL)(report)


def report(
    result: Annotated[Path, typer.Argument(help="Result folder, as written by `procure solve`.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the files; the result folder if left out.")
    ] = None,
    pictures: Annotated[bool, typer.Option("--pictures", help="Also write the charts as PNG.")] = False,
) -> None:
    """Write the workbook and page of a stored result again, with what it was asked why, without solving."""
    from procure.files import check_folder, write_files
    from procure.plan import Plan
    from procure.report import write_reports
    from procure.why import Explanation

    plan = Plan.read(result)
    why = Explanation.read(result, plan)

    def make(folder: Path) -> None:
        write_reports(plan, folder, why, pictures=pictures)

    if out is None or (out.exists() and out.samefile(result)):
        written = Plan.add(result, make, _tell)
    else:
        check_folder(out)
        written = write_files(out, make, tell=_tell)
    for path in written:
        typer.echo(path)


def _tell(sentence: str) -> None:
    typer.echo(sentence, err=True)
