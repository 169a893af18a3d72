"""Verbs that ask about a result: ``verify`` and ``explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from procure.cli._stopping import Stopping
from procure.cli.plan import LIMIT, NO_PLAN, Json, Seed, Threads
from procure.cli.study import Jobs

if TYPE_CHECKING:
    from procure.case import Case
    from procure.plan import Plan
    from procure.why import Explanation, How

PANEL = "Ask"


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(rich_help_panel=PANEL)(verify)
    app.command(rich_help_panel=PANEL)(explain)


AnsweredCase = Annotated[Path | None, typer.Option(help="The case it answers; the one named in plan.json if left out.")]


def verify(
    result: Annotated[Path, typer.Argument(help="Result folder, as written by `procure solve`.")],
    case: AnsweredCase = None,
    as_json: Json = False,
) -> None:
    """Recompute every limit, every SLA and the money of a stored plan from its case, without the program.

    Exit codes: 0 all holds, 2 wrong input, 7 something does not hold.
    """
    from procure.cli._json import show_json
    from procure.plan import Plan, Status
    from procure.plan.tables import Check
    from procure.plan.verify import verify as check

    plan = Plan.read(result)
    checks = check(plan, _answered(plan, result, case), folder=result)
    if as_json:
        show_json(checks)
    else:
        for row in Check.rows(checks):
            typer.echo(f"{'holds' if row.holds else 'FAILS'}  {row.check}{': ' + row.detail if row.detail else ''}")
    raise typer.Exit(0 if checks["holds"].all() else Status.UNVERIFIED.exit_code)


def explain(  # noqa: PLR0913 - one option of the verb each
    result: Annotated[Path, typer.Argument(help="Result folder, or a case that has no plan.")],
    case: AnsweredCase = None,
    limits: Annotated[bool, typer.Option("--limits", help="Ask about every limit that leaves no room.")] = False,
    limit: Annotated[
        list[str] | None, typer.Option(help="Ask about a limit, full or not: power, 'power at north', 'supply lpx'.")
    ] = None,
    orders: Annotated[bool, typer.Option("--orders", help="Ask why each order line.")] = False,
    why_not: Annotated[
        list[str] | None, typer.Option(help="Force a SKU or group (cmx, lpx, ssd, gpu) in, or out where it is ordered.")
    ] = None,
    to_serve: Annotated[
        list[str] | None,
        typer.Option(help="The smallest changes that serve a workload that is short; all of them: all."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep the plans of the answers here; the same command goes on.")
    ] = None,
    gap: Annotated[
        float | None, typer.Option(help="Gap of each plan; the plan's own if left out.", min=0, max=1)
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for all questions; the rest is named.", min=0)] = 900.0,
    questions: Annotated[
        int | None, typer.Option(help="Changed cases solved for limits and orders at most; the rest is named.", min=1)
    ] = None,
    threads: Threads = 0,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Say what binds and what a unit more is worth, why each order, why not a SKU, what serves what is short.

    Each by solving again. Without options limits and orders, and what serves what is short; of a case that has no plan,
    what lets it have one. Amounts lie between what the bounds of both plans leave; where 0 does, they are below the
    resolution of the gap. Written beside the plan: explain.json, tables/explain.csv, and page and workbook again with
    the answers. What is answered to the same gap is not asked again: the same command goes on where it was.

    Exit codes: 0 done, 2 wrong input, 4 no time to tell whether a case has a plan, 5 stopped or out of time before
    every question was asked.
    """
    from dataclasses import replace

    from rich.console import Console

    from procure.cli._json import show_json
    from procure.plan import Plan
    from procure.plan.summary import RESULT
    from procure.report import print_explanation, write_reports
    from procure.rules.objective import Objective
    from procure.study import Effort
    from procure.why import ALL, Asked, Explanation, How
    from procure.why import explain as run

    with Stopping("answers at hand are kept.") as stopping:
        most = float("inf") if questions is None else questions
        how = How(Effort(threads=threads, seed=seed), time_limit, most, jobs, out, _tell, stopping.asked)
        if not (result / RESULT).is_file() and _is_case(result):
            found, written = _unblocked(result, how), []
        else:
            plan = Plan.read(result)
            every = not (limits or limit or orders or why_not or to_serve)
            promised = Objective(plan.summary["objective"]).promises and plan.summary["shortfall"]["workloads"]
            short = (ALL,) if every and promised else tuple(to_serve or ())
            asked = Asked(limits or every, tuple(limit or ()), orders or every, tuple(why_not or ()), short)
            own = max(plan.summary["gap_asked"], plan.summary["gap"] or 0.0)
            how = replace(how, effort=Effort(own if gap is None else gap, threads=threads, seed=seed))
            found = run(plan, _answered(plan, result, case), asked, how, Explanation.read(result, plan))
            written = found.write(result)
            written += Plan.add(result, lambda folder: write_reports(plan, folder, found), _tell)
    if as_json:
        show_json(found.facts())
    else:
        print_explanation(found, Console())
        if written:
            typer.echo(f"Written: {', '.join(str(path) for path in written)}")
    raise typer.Exit(LIMIT if found.not_asked else 0)


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _unblocked(source: Path, how: How) -> Explanation:
    """What lets a case without a plan have one.

    Raises:
        InputError: it has one.
    """
    from procure.case import Case
    from procure.errors import Fault, InputError
    from procure.solver import NoPlan
    from procure.why import unblock

    try:
        found = unblock(Case.read(source), how)
    except NoPlan as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(NO_PLAN) from error
    if found is None:
        expected = "A result, or a case that has no plan; this case has one."
        raise InputError([Fault(str(source), 0, "", "", expected, "Solve it, and explain its result.")])
    return found


def _answered(plan: Plan, result: Path, case: Path | None) -> Case:
    """The case that a plan answers, as it was solved.

    Raises:
        InputError: it is neither named nor found.
    """
    from procure.case import Case
    from procure.errors import Fault, InputError

    source = case if case is not None else _case_of(plan, result)
    if source is None:
        stated = str(plan.summary.get("case_folder", ""))
        raise InputError(
            [Fault(str(result), 0, "case_folder", stated, "The case that the plan answers.", "Name it with --case.")]
        )
    answered, points = Case.read(source), plan.summary.get("points", "base")
    if points != answered.settings.points:  # solved with --points
        answered = answered.with_value("points", points)
    return answered


def _case_of(plan: Plan, result: Path) -> Path | None:
    """The case that the plan names, from here, the result or a folder above it; or the packaged one of that name."""
    from procure.catalogue import packaged_path

    stated = str(plan.summary.get("case_folder") or "")
    above = [result.resolve(), *result.resolve().parents]
    places = [Path(stated), *(folder / stated for folder in above)] if stated else []
    places.append(packaged_path("data") / "cases" / str(plan.summary.get("case", "")))
    return next((place for place in places if _is_case(place)), None)


def _is_case(place: Path) -> bool:
    return (place / "case.toml").is_file() or _is_workbook(place)


def _is_workbook(place: Path) -> bool:
    return place.suffix.lower() == ".xlsx" and place.is_file()
