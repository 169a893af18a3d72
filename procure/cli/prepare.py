"""Verbs that prepare a case: ``new`` and ``check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PANEL = "Prepare"

EXAMPLE = "agentic-2027"

OFFERED = "agentic-2027, premium-coding, archive-rag, agent-pod"
"""Packaged cases, for the help: the files are not read for it."""

SHORT = 6
"""Exit code: valid, but some promise cannot be kept."""


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(rich_help_panel=PANEL)(new)
    app.command(rich_help_panel=PANEL)(check)


def new(
    folder: Annotated[Path, typer.Argument(help="A folder that is new or empty.")],
    example: Annotated[str, typer.Option("--from", help=f"Which packaged case to copy: {OFFERED}.")] = EXAMPLE,
) -> None:
    """Copy an example case to start from."""
    from procure.case.example import copy_example

    files = copy_example(example, folder)
    typer.echo(f"{folder}: {', '.join(files)}")
    typer.echo(f"Next: edit the tables (README.md tells the story), then `procure check {folder}`.")


def check(
    case: Annotated[Path, typer.Argument(help="A case: a folder, or an .xlsx workbook.")],
    as_json: Annotated[bool, typer.Option("--json", help="Findings as JSON on stdout.")] = False,
) -> None:
    """Validate a case and do its arithmetic before any solver runs.

    Exit codes: 0 all findings hold, 2 the case is wrong, 6 some demand cannot be met whatever is bought.
    """
    from procure.case import Case
    from procure.check import check_case, show
    from procure.cli._doubts import tell
    from procure.cli._json import show_json

    read = Case.read(case)
    findings = check_case(read)
    if as_json:
        show_json(findings)
    else:
        typer.echo(f"{read.name}: {read.quarters[0]} to {read.quarters[-1]}, input {read.input_hash[:12]}")
        tell(read.doubts)
        typer.echo(f"{len(read.defaults_used)} values come from packaged defaults; the plan lists them.")
        typer.echo(show(findings))
    if not findings["holds"].all():
        raise typer.Exit(SHORT)
