"""Verbs that ask about a result: ``verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PANEL = "Ask"


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(rich_help_panel=PANEL)(verify)


def verify(
    result: Annotated[Path, typer.Argument(help="Result folder, as written by `procure solve`.")],
    case: Annotated[
        Path | None, typer.Option(help="The case it answers; the one named in plan.json if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Only JSON on stdout.")] = False,
) -> None:
    """Recompute every limit, every SLA and the money of a stored plan from its case, without the program.

    Exit codes: 0 all holds, 2 wrong input, 7 something does not hold.
    """
    from procure.case import Case
    from procure.cli._json import show_json
    from procure.errors import Fault, InputError
    from procure.plan import Plan, Status
    from procure.plan.tables import Check
    from procure.plan.verify import verify as check

    plan = Plan.read(result)
    source = case if case is not None else _case_of(plan, result)
    if source is None:
        stated = str(plan.summary.get("case_folder", ""))
        raise InputError(
            [Fault(str(result), 0, "case_folder", stated, "The case that the plan answers.", "Name it with --case.")]
        )
    answered, points = Case.read(source), plan.summary.get("points", "base")
    if points != answered.settings.points:  # solved with --points
        answered = answered.with_value("points", points)
    checks = check(plan, answered, folder=result)
    if as_json:
        show_json(checks)
    else:
        for row in Check.rows(checks):
            typer.echo(f"{'holds' if row.holds else 'FAILS'}  {row.check}{': ' + row.detail if row.detail else ''}")
    raise typer.Exit(0 if checks["holds"].all() else Status.UNVERIFIED.exit_code)


def _case_of(plan: object, result: Path) -> Path | None:
    """The case that the plan names, from here, the result or a folder above it; or the packaged one of that name."""
    from procure.catalogue import packaged_path
    from procure.plan import Plan

    assert isinstance(plan, Plan)
    stated = str(plan.summary.get("case_folder") or "")
    above = [result.resolve(), *result.resolve().parents]
    places = [Path(stated), *(folder / stated for folder in above)] if stated else []
    places.append(packaged_path("data") / "cases" / str(plan.summary.get("case", "")))
    return next((place for place in places if (place / "case.toml").is_file() or _is_workbook(place)), None)


def _is_workbook(place: Path) -> bool:
    return place.suffix.lower() == ".xlsx" and place.is_file()
