"""``procure roll``: the case of the next quarter from last quarter's plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

    from procure.plan import Plan

PANEL = "Prepare"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(rich_help_panel=PANEL)(roll)


def roll(
    result: Annotated[Path, typer.Argument(help="Result folder of last quarter's plan.")],
    forecast: Annotated[Path, typer.Option(help="New forecast.csv, from the next quarter on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the new case; new or empty.")],
    case: Annotated[Path | None, typer.Option(help="The case that the plan answers, if plan.json's has moved.")] = None,
    actual_fleet: Annotated[Path | None, typer.Option(help="fleet.csv as it stands, instead of as planned.")] = None,
    actual_orders: Annotated[Path | None, typer.Option(help="orders.csv as it stands, instead of as planned.")] = None,
    workloads: Annotated[Path | None, typer.Option(help="workloads.csv for the new case.")] = None,
) -> None:
    """Make next quarter's case: fleet advanced, firm orders fixed, lengths grown, the old plan kept for comparison.

    Slips, failures and everything assumed are listed, and written to previous/differences.csv of the new case.
    """
    from procure.case import Case
    from procure.errors import Fault, InputError
    from procure.plan import Plan
    from procure.plan.roll import roll as advance

    plan = Plan.read(result)
    source = case if case is not None else _case_of(plan, result)
    if source is None:
        hint = "Name it with --case."
        stated = str(plan.summary.get("case_folder", ""))
        raise InputError([Fault(str(result), 0, "case_folder", stated, "The case that the plan answers.", hint)])
    read = Case.read(source)
    if read.input_hash != plan.summary.get("input_hash"):
        expected = "The case as it was when the plan was made; its inputs differ."
        raise InputError([Fault(str(source), 0, "", read.input_hash[:12], expected, "Solve it again first.")])
    rolled = advance(
        read,
        plan,
        _table("forecast", forecast),
        actual_fleet=_table("fleet", actual_fleet) if actual_fleet else None,
        actual_orders=_table("orders", actual_orders) if actual_orders else None,
        workloads=_table("workloads", workloads) if workloads else None,
    )
    rolled.write(output, result)
    if len(rolled.differences):
        typer.echo(rolled.differences.to_string(index=False))
    typer.echo(f"Written: {output}. Next: `procure check {output}`.")


def _case_of(plan: Plan, result: Path) -> Path | None:
    from procure.cli.ask import _case_of as find

    return find(plan, result)


def _table(name: str, path: Path) -> pd.DataFrame:
    """A CSV file as a table of the case, typed and checked."""
    from procure.case.frames import frame_of
    from procure.case.reader import read_table
    from procure.case.schema import TABLES
    from procure.cli._doubts import tell
    from procure.errors import Fault, InputError

    if not path.is_file():
        raise InputError([Fault(str(path), 0, "", "", "No such file.")])
    rows, faults = read_table(path.read_bytes(), TABLES[name])
    if faults:
        raise InputError([Fault(str(path), f.row, f.column, f.value, f.expected, f.hint) for f in faults])
    tell([Fault(str(path), d.row, d.column, d.value, d.expected, d.hint) for d in rows.doubts])
    return frame_of(TABLES[name], rows, rows.columns)
