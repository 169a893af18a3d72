"""Verbs that study: ``sweep`` and ``tags``, which solve changed cases, and ``list``, which shows what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from procure.cli._doubts import tell
from procure.cli._json import show_json
from procure.cli._stopping import Stopping
from procure.cli.plan import LIMIT, NO_PLAN, Gap, Json, Seed, Threads, TimeLimit

if TYPE_CHECKING:
    import pandas as pd

    from procure.study import Step

PANEL = "Study"
BUG = 1
_BETTER = 1e-4
"""Share of the planned requests by which a shortfall is told to be less."""

Jobs = Annotated[int, typer.Option(help="Points worked on at a time, each in a process of its own.", min=1)]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(rich_help_panel=PANEL)(sweep)
    app.command(rich_help_panel=PANEL)(tags)
    app.command("list", rich_help_panel=PANEL)(list_stored)


def sweep(  # noqa: PLR0913 - one option of the verb each
    case: Annotated[Path, typer.Argument(help="A case: a folder, or an .xlsx workbook.")],
    vary: Annotated[list[str], typer.Option(help="name=start:stop:step or name=a,b,c; give it again for a grid.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder that is new or empty, or holds this sweep.")],
    gap: Gap = 0.005,
    time_limit: TimeLimit = float("inf"),
    threads: Threads = 0,
    seed: Seed = 0,
    jobs: Jobs = 1,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired",
            help="The first values of all names together, then the second "
            "ones, and so on, instead of every combination.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Solve the case for every value and show how the orders change.

    Ctrl-C (or SIGTERM) ends with the points at hand and keeps what is done (exit code 5). The same command goes on from
    there, after a kill too: points that are done stay. A point that fails is a row with its reason.

    A name is a setting (isl_growth_per_year), table.column, table.key.column, or hardware.sku.attribute.

    Exit codes: 0 done, 1 a point met a bug, 2 wrong input, 4 no point has a plan, 5 stopped.
    """
    from procure.case import Case
    from procure.report import plot_sweep
    from procure.report.sweeps import MOST_VARIED
    from procure.study import sweep as run
    from procure.study.sweep import unread
    from procure.study.vary import parse_vary

    varied = parse_vary(vary)
    read = Case.read(case)
    tell((*read.doubts, *unread(read, varied)))
    effort = {"gap": gap, "time_limit_s": time_limit, "threads": threads, "seed": seed}
    with Stopping("points that are done are kept.") as stopping:
        frame = run(read, varied, paired=paired, out=out, jobs=jobs, progress=tell_step, stop=stopping.asked, **effort)
    files = ["sweep.csv", "points/", "study.json"]
    along = list(varied)[:1] if paired else list(varied)
    if len(along) <= MOST_VARIED and len(frame):
        files[1:1] = [path.name for path in plot_sweep(frame, along, out / "sweep.png")]
    if as_json:
        show_json(frame)
    else:
        _show_sweep(frame, list(varied), along)
        typer.echo(f"Written to {out}: {', '.join(files)}")
    raise typer.Exit(_exit_code(frame, stopping.asked()))


def tags(
    case: Annotated[Path, typer.Argument(help="A case: a folder, or an .xlsx workbook.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder that is new or empty, or holds this study.")],
    gap: Gap = 0.005,
    time_limit: TimeLimit = float("inf"),
    threads: Threads = 0,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Price every workload: what the plan costs less where nothing is asked of it, by solving again.

    In USD and by million tokens, beside the workload's share of the whole plan's cost and what its tokens sell for. A
    tag lies between what the bounds of both plans leave; they do not add up to the plan's cost. Ctrl-C keeps what is
    done, and the same command goes on from there.

    Exit codes: 0 done, 1 a plan met a bug, 2 wrong input, 4 the case has no plan, or none without any
    workload, 5 stopped.
    """
    from procure.case import Case
    from procure.study import NothingToCompare, is_bug, price_tags

    read = Case.read(case)
    tell(read.doubts)
    effort = {"gap": gap, "time_limit_s": time_limit, "threads": threads, "seed": seed}
    with Stopping("plans that are done are kept.") as stopping:
        try:
            frame = price_tags(read, out=out, jobs=jobs, progress=tell_step, stop=stopping.asked, **effort)
        except NothingToCompare as nothing:
            typer.echo(str(nothing), err=True)
            code = LIMIT if stopping.asked() else NO_PLAN
            raise typer.Exit(BUG if is_bug(nothing.error) else code) from nothing
    if as_json:
        show_json(frame)
    else:
        _show_tags(frame)
        typer.echo(f"Written to {out}: tags.csv, points/, study.json")
    raise typer.Exit(_exit_code(frame, stopping.asked()))


def _exit_code(frame: pd.DataFrame, stopped: bool) -> int:
    from procure.study import is_bug

    if frame["error"].map(is_bug).any():
        return BUG
    if (frame["status"] == "failed").all():
        return NO_PLAN
    return LIMIT if stopped else 0


def list_stored(
    folder: Annotated[Path, typer.Argument(help="Where to look, with all folders below.")] = Path(),
    as_json: Json = False,
) -> None:
    """List stored plans and studies: status, cost, gap, date and hash of inputs, the latest first.

    Exit codes: 0 done, 2 no such folder.
    """
    from procure.study.stored import stored

    found, unread = stored(folder)
    for fault in unread:
        typer.echo(f"Not listed: {fault}", err=True)
    if as_json:
        show_json(found)
    elif found.empty:
        typer.echo(f"No plan or study under {folder}.")
    else:
        _show_stored(found)


def tell_step(step: Step) -> None:
    """Tell that a changed case is done, and the time left."""
    point = ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                      for name, value in step.outcome.change.items()) or "the case as it stands"  # fmt: skip
    left = f"{step.seconds_left / 60:.1f} min left" if step.done < step.total else "done"
    typer.echo(f"{step.done}/{step.total}  {point}: {step.outcome.status}, {left}", err=True)


def _show_sweep(frame: pd.DataFrame, varied: list[str], along: list[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from procure.cli._console import table_console
    from procure.study.sweep import ties

    ordered = [sku for sku in _ordered(frame) if frame[f"ordered {sku}"].fillna(0).sum() > 0]
    table = Table(title="Units ordered in planned quarters", box=SIMPLE_HEAD, pad_edge=False)
    for name in varied:
        table.add_column(name, overflow="fold")
    table.add_column("status")
    for name in ("M USD", "gap", "short", *ordered):
        table.add_column(name, justify="right", overflow="fold")
    tied = ties(frame, along)
    for row, tie in zip(frame.to_dict("records"), tied, strict=True):
        cells = [f"{row[n]:g}" if isinstance(row[n], float) else str(row[n]) for n in varied]
        cells.append(row["status"])
        if row["status"] != "failed":
            cost = f"{'~ ' if tie else ''}{row['objective_usd'] / 1e6:,.1f}"
            gap = (
                "unknown"
                if row["gap_usd"] is None or row["gap_usd"] != row["gap_usd"]
                else f"{row['gap_usd'] / 1e6:,.1f}"
            )
            cells += [cost, gap, f"{row['shortfall_share']:.2%}", *(f"{row[f'ordered {sku}']:.0f}" for sku in ordered)]
        table.add_row(*cells)
    table_console().print(table)
    if any(tied):
        typer.echo("~ the same within the gap as the point before: what changes there is no finding")
    for row in frame[frame["status"] == "failed"].to_dict("records"):
        typer.echo(f"{', '.join(f'{n}={row[n]}' for n in varied)}: {row['reason']}")


def _ordered(frame: pd.DataFrame) -> list[str]:
    """SKUs that may be ordered: each has a column over all planned quarters, and one for each of them."""
    words = [str(name).split(" ") for name in frame]
    return [word[1] for word in words if word[0] == "ordered" and len(word) == len(("ordered", "sku"))]


def _show_tags(frame: pd.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from procure.cli._console import table_console

    table = Table(title="What the plan costs less without a workload", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("workload", overflow="fold")
    for name in ("M USD", "from", "to", "USD/M\ntokens", "from", "to", "share of\nthe plan", "market"):
        table.add_column(name, justify="right", no_wrap=True)
    columns = [f"{end}_usd{per}" for per in ("", "_per_million_tokens") for end in ("tag", "least", "most")]
    columns += ["average_usd_per_million_tokens", "market_usd_per_million_tokens"]
    for row in frame.to_dict("records"):
        values = [row[name] / (1 if name.endswith("tokens") else 1e6) for name in columns]
        table.add_row(row["workload"], *("" if value != value else f"{value:,.4g}" for value in values))
    table_console().print(table)
    for row in frame.to_dict("records"):
        if row["reason"]:
            typer.echo(f"without {row['workload']}: {row['reason']}")
        elif row["least_usd"] <= 0 <= row["most_usd"]:
            typer.echo(f"{row['workload']}: below the resolution of the gap; ask for a smaller one with --gap")
        if row["shortfall_share"] - row["shortfall_share_without"] > _BETTER:
            typer.echo(f"without {row['workload']}: others are served better, which its tag pays for too")


def _show_stored(found: pd.DataFrame) -> None:
    from rich.table import Table

    from procure.cli._console import table_console

    table = Table()
    for name in ("place", "what", "case", "status", "cost, M USD", "gap", "made", "inputs"):
        table.add_column(name, justify="right" if name in ("cost, M USD", "gap") else "left", overflow="fold")
    for row in found.to_dict("records"):
        cost = "" if row["objective_usd"] is None else f"{row['objective_usd'] / 1e6:,.1f}"
        gap = "" if row["gap"] is None else f"{row['gap']:.2%}"
        words = (row["place"], row["what"], row["case"], row["status"])
        table.add_row(*words, cost, gap, row["made"] or "", row["input_hash"][:12])
    table_console().print(table)
