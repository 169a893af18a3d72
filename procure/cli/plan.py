"""Verbs that plan: ``solve`` and ``sweep``."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from procure.cli._doubts import tell

if TYPE_CHECKING:
    from procure.plan import Plan
    from procure.study.sweep import Step

PANEL = "Plan"
INFEASIBLE, NO_PLAN, LIMIT = 3, 4, 5
MOST_DRAWN = 2
"""Values that a sweep may vary for one picture to show them."""

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
    app.command(rich_help_panel=PANEL)(sweep)


def solve(  # noqa: PLR0913 - one option of the verb each
    case: Annotated[Path, typer.Argument(help="A case: a folder, or an .xlsx workbook.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Result folder; reports/<case> if left out.")] = None,
    gap: Gap = 0.005,
    time_limit: TimeLimit = float("inf"),
    threads: Threads = 0,
    seed: Seed = 0,
    method: Method = "decomposed",
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
        typer.echo(str(error), err=True)
        raise typer.Exit(INFEASIBLE) from error
    except solver.NoPlan as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(NO_PLAN) from error
    plan = Plan({**plan.summary, "seconds": {**plan.summary["seconds"], "load": round(load_s, 4)}}, plan.tables)
    _store(plan, target, pictures)
    if as_json:
        typer.echo(json.dumps(Plan.read(target).summary))
    else:
        _say(plan, target)
    code = plan.status.exit_code
    raise typer.Exit(0 if allow_short and code == 6 else code)


def sweep(
    case: Annotated[Path, typer.Argument(help="A case: a folder, or an .xlsx workbook.")],
    vary: Annotated[list[str], typer.Option(help="name=start:stop:step or name=a,b,c; give it again for a grid.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder that is new or empty.")],
    gap: Gap = 0.005,
    time_limit: TimeLimit = float("inf"),
    threads: Threads = 0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Solve the case for every value and show how the orders change.

    Ctrl-C (or SIGTERM) ends with the point at hand and keeps what is done (exit code 5).

    A name is a setting (isl_growth_per_year), table.column, table.key.column, or hardware.sku.attribute.
    """
    from procure.case import Case
    from procure.report import plot_sweep
    from procure.study import long_form
    from procure.study import sweep as run
    from procure.study.vary import parse_vary

    varied = parse_vary(vary)
    read = Case.read(case)
    tell(read.doubts)
    with Stopping() as stopping:
        frame = run(
            read,
            varied,
            out=out,
            progress=_tell_step,
            stop=stopping.asked,
            gap=gap,
            time_limit_s=time_limit,
            threads=threads,
            seed=seed,
        )
    files = ["sweep.csv", "points/"]
    if len(varied) <= MOST_DRAWN:
        plot_sweep(long_form(frame, list(varied)), out / "sweep.png")
        files.insert(1, "sweep.png")
    if as_json:
        typer.echo(frame.to_json(orient="records"))
    else:
        _show_sweep(frame, list(varied))
        typer.echo(f"Written to {out}: {', '.join(files)}")
    failed = bool((frame["status"] == "failed").all())
    raise typer.Exit(NO_PLAN if failed else LIMIT if stopping.asked() else 0)


def _check_mps(path: Path | None) -> None:
    from procure.errors import Fault, InputError

    if path is not None and path.suffix != ".mps":
        raise InputError([Fault("--write-mps", 0, "", str(path), "A file name that ends in .mps.")])
    if path is not None and not path.absolute().parent.is_dir():
        raise InputError([Fault("--write-mps", 0, "", str(path), "A file in a folder that exists.")])


def _store(plan: Plan, target: Path, pictures: bool) -> None:
    """Write the result; the plan is the work of a minute or an hour, so some place keeps it whatever happens."""
    from procure.report import write_reports

    try:
        plan.write(target, lambda plan, folder: write_reports(plan, folder, pictures=pictures), tell_kept)
    except Exception:
        typer.echo(_kept_elsewhere(plan, target), err=True)
        raise


def _kept_elsewhere(plan: Plan, target: Path) -> str:
    """Where a plan is that could not be written as a whole, in a sentence."""
    import tempfile

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
        return f"{left} This plan could not be stored anywhere. It orders: {orders or 'nothing'}."
    return f"{left} This plan is kept in {spare}; `procure report {spare}` makes its workbook and page."


def tell_kept(sentence: str) -> None:
    """Say on stderr what was kept aside."""
    typer.echo(sentence, err=True)


def _say(plan: Plan, target: Path) -> None:
    from rich.console import Console

    from procure.report import print_plan

    print_plan(plan, Console())
    typer.echo(f"Written to {target}: plan.xlsx, plan.html, plan.json, tables/")


class Stopping:
    """While it lasts, the first Ctrl-C or SIGTERM is a wish that the search asks about; the second acts as ever."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[signal.Signals, Any] = {}

    def asked(self) -> bool:
        """Whether to stop."""
        return self._asked

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():  # signals reach no other
            self._before = {number: signal.signal(number, self._note) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, *_: Any) -> None:
        self._asked = True
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        typer.echo("Stopping: the best plan so far is kept. Once more to stop at once.", err=True)


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
        best = "no plan yet" if progress.incumbent is None else f"best {progress.incumbent:,.2f}"
        bound = "" if progress.bound is None else f", bound {progress.bound:,.2f}"
        gap = "" if progress.gap is None else f", gap {progress.gap:.2%}"
        self._say(progress, f"{progress.phase}: {best}{bound} {unit}{gap}, {progress.seconds:.0f} s")

    def _say(self, progress: Any, line: str) -> None:
        if self._console.is_terminal:
            self._status.update(line)
        elif (progress.phase, progress.incumbent) != self._told:
            self._told = (progress.phase, progress.incumbent)
            self._console.print(line, highlight=False, soft_wrap=True)


def _tell_step(step: Step) -> None:
    point = ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                      for name, value in step.point.items())  # fmt: skip
    left = f"{step.seconds_left / 60:.1f} min left" if step.done < step.total else "done"
    typer.echo(f"{step.done}/{step.total}  {point}: {step.status}, {left}", err=True)


def _show_sweep(frame: Any, varied: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    ordered = [c for c in frame.columns if c.startswith("ordered ") and frame[c].fillna(0).sum() > 0]
    table = Table(title="Units ordered in planned quarters")
    for name in [*varied, "status", "cost, M USD", *(c.removeprefix("ordered ") for c in ordered)]:
        table.add_column(name, justify="left" if name == "status" else "right")
    for row in frame.to_dict("records"):
        failed = row["status"] == "failed"
        cells = [f"{row[n]:g}" if isinstance(row[n], float) else str(row[n]) for n in varied]
        cells += [row["status"], "" if failed else f"{row['objective_usd'] / 1e6:,.1f}"]
        cells += ["" if failed else f"{row[c]:.0f}" for c in ordered]
        table.add_row(*cells)
    Console().print(table)
    for row in frame[frame["status"] == "failed"].to_dict("records"):
        typer.echo(f"{', '.join(f'{n}={row[n]}' for n in varied)}: {row['reason']}")
