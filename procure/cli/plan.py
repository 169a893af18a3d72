"""The verb that plans: ``solve``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from procure.cli._doubts import tell
from procure.cli._json import show_json
from procure.cli._stopping import Stopping

if TYPE_CHECKING:
    from procure.plan import Plan

PANEL = "Plan"
INFEASIBLE, NO_PLAN, LIMIT = 3, 4, 5

Gap = Annotated[float, typer.Option(help="Relative gap to the proven bound at which to stop.", min=0.0, max=1.0)]
TimeLimit = Annotated[
    float, typer.Option(help="Seconds for sizing, search and causes; the best plan so far is kept.", min=0.0)
]
Threads = Annotated[int, typer.Option(help="Threads of HiGHS; 0 leaves it to HiGHS.", min=0)]
Seed = Annotated[int, typer.Option(help="Random seed of HiGHS.", min=0, max=2_147_483_647)]
Json = Annotated[bool, typer.Option("--json", help="Only JSON on stdout.")]
Method = Annotated[Literal["decomposed", "whole"], typer.Option(help="By quarter, or the whole program in one run.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(rich_help_panel=PANEL)(solve)


def solve(  # noqa: PLR0913 - one option of the verb each
    case: Annotated[Path, typer.Argument(help="A case: a folder, or an .xlsx workbook.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Result folder; reports/<case> if left out.")] = None,
    gap: Gap = 0.005,
    time_limit: TimeLimit = float("inf"),
    threads: Threads = 0,
    seed: Seed = 0,
    method: Method = "decomposed",
    points: Annotated[
        Literal["low", "base", "high"] | None, typer.Option(help="End of the points' band; the case's own if left out.")
    ] = None,
    write_mps: Annotated[Path | None, typer.Option(help="Write the final stage's whole program here (.mps).")] = None,
    pictures: Annotated[bool, typer.Option("--pictures", help="Also write the charts as PNG.")] = False,
    allow_short: Annotated[bool, typer.Option("--allow-short", help="Exit 0 although demand is not all met.")] = False,
    as_json: Json = False,
) -> None:
    """Choose what to buy and write plan, tables, workbook and page.

    Ctrl-C (or SIGTERM) ends the search and keeps the best plan so far, verified; a second one stops at once.

    Exit codes: 0 done and every SLA met, 2 wrong input, 3 infeasible, 4 limit without a plan, 5 limit with a plan,
    6 short of demand, 7 the plan fails its verification.
    """
    import time

    started = time.perf_counter()
    from procure import solver
    from procure.case import Case
    from procure.plan import Plan

    _check_mps(write_mps)
    read = Case.read(case)
    tell(read.doubts)
    if points is not None:
        read = read.replace(settings={"points": points})
    target = out if out is not None else Path("reports") / read.name
    Plan.check_target(target)
    load_s = time.perf_counter() - started
    try:
        with Stopping() as stopping, _Watch() as watch:
            plan = solver.solve(
                read,
                gap=gap,
                time_limit_s=time_limit,
                threads=threads,
                seed=seed,
                method=method,
                progress=watch.tell,
                stop=stopping.asked,
                mps=write_mps,
            )
    except solver.Infeasible as error:
        hint = f"What to do: `procure explain {case}` finds the smallest changes with which it has a plan."
        typer.echo(f"{error}\n{hint}", err=True)
        raise typer.Exit(INFEASIBLE) from error
    except solver.NoPlan as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(NO_PLAN) from error
    _store(plan, target, pictures, load_s)
    if as_json:
        show_json(Plan.read(target).summary)
    else:
        _say(plan, target)
    code = plan.status.exit_code
    raise typer.Exit(0 if allow_short and code == 6 else code)


def _check_mps(path: Path | None) -> None:
    from procure.errors import Fault, InputError

    if path is not None and path.suffix != ".mps":
        raise InputError([Fault("--write-mps", 0, "", str(path), "A file name that ends in .mps.")])
    if path is not None and not path.absolute().parent.is_dir():
        raise InputError([Fault("--write-mps", 0, "", str(path), "A file in a folder that exists.")])


def _store(plan: Plan, target: Path, pictures: bool, load_s: float) -> None:
    """Write the result; the plan is the work of a minute or an hour, so some place keeps it whatever happens."""
    from procure.report import write_reports

    try:
        plan.write(target, lambda plan, folder: write_reports(plan, folder, pictures=pictures), tell_kept, load_s)
    except Exception:
        typer.echo(_kept_elsewhere(plan, target), err=True)
        raise


def _kept_elsewhere(plan: Plan, target: Path) -> str:
    """Where a plan is that could not be written as a whole, in a sentence."""
    import tempfile

    from procure.report.sentences import trades

    try:
        plan.write(target)
    except OSError:
        left = f"What stood in {target} stands there as before."
    else:
        return f"Kept: plan.json and tables of this plan in {target}; its workbook and page could not be made."
    try:
        spare = Path(tempfile.mkdtemp(prefix="procure-plan-"))
        plan.write(spare)
    except OSError:
        orders = ", ".join(f"{r['quarter']} {r['site']} {r['count']} {r['sku']}" for r in plan.summary["purchases"])
        sales = ", ".join(f"{r['quarter']} {r['site']} {r['count']} {r['sku']}" for r in plan.summary["sales"])
        rents = ", ".join(f"{r['quarter']} {r['offer']} {r['count']} {r['sku']}" for r in plan.summary["rents"])
        told = f"It orders: {orders or 'nothing'}. It rents: {rents or 'nothing'}. It sells: {sales or 'nothing'}."
        if changes := trades.changed(plan):
            told = f"{told} Of firm orders it changes: {changes}."
        return f"{left} This plan could not be stored anywhere. {told}"
    return f"{left} This plan is kept in {spare}; `procure report {spare}` makes its workbook and page."


def tell_kept(sentence: str) -> None:
    """Say on stderr what was kept aside."""
    typer.echo(sentence, err=True)


def _say(plan: Plan, target: Path) -> None:
    from rich.console import Console

    from procure.report import print_plan

    print_plan(plan, Console())
    typer.echo(f"Written to {target}: plan.xlsx, plan.html, plan.json, tables/")


class _Watch:
    """A line on stderr with phase, incumbent, bound, gap and seconds; one for each phase and best if no terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.status import Status

        self._console = Console(stderr=True)
        self._status = Status("sizing and building the program", console=self._console)
        self._told: tuple[str, float | None] | None = None

    def __enter__(self) -> _Watch:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._status.stop()

    def tell(self, progress: Any) -> None:
        """One report of the solver; shortfall is in basis points of demand, cost in M USD."""
        if progress.incumbent is None and progress.bound is None:
            self._say(progress, f"{progress.phase}, {progress.seconds:.0f} s")
            return
        unit = "bp of demand" if progress.phase.startswith("shortfall") else "M USD"
        margin = progress.earns and unit == "M USD"  # the search lowers cost less income; a margin is read upwards
        sign, what = (-1.0, "margin ") if margin else (1.0, "")
        best = "no plan yet" if progress.incumbent is None else f"best {what}{sign * progress.incumbent:,.2f}"
        bound = "" if progress.bound is None else f", bound {sign * progress.bound:,.2f}"
        gap = "" if progress.gap is None else f", gap {progress.gap:.2%}"
        if gap and unit == "M USD":
            apart = progress.incumbent - progress.bound
            gap += f" ({max(apart, 0.0):,.2f} M USD, {progress.gap_of_decided:.2%} of what decisions move)"
        self._say(progress, f"{progress.phase}: {best}{bound} {unit}{gap}, {progress.seconds:.0f} s")

    def _say(self, progress: Any, line: str) -> None:
        if self._console.is_terminal:
            self._status.update(line)
        elif (progress.phase, progress.incumbent) != self._told:
            self._told = (progress.phase, progress.incumbent)
            self._console.print(line, highlight=False, soft_wrap=True)
