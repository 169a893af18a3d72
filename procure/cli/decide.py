"""Verbs that say on what a decision hangs: ``trigger``, ``tornado`` and ``compare``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from procure.cli._doubts import tell
from procure.cli._json import show_json
from procure.cli._stopping import Stopping
from procure.cli.plan import LIMIT, NO_PLAN, Gap, Json, Seed, Threads, TimeLimit
from procure.cli.study import BUG, Jobs, tell_step

if TYPE_CHECKING:
    import pandas as pd

    from procure.decision import Reading, Tornado, Trigger
    from procure.plan.compare import Comparison

PANEL = "Decide"
MOST_SHOWN = 20
"""Premises that the terminal lists; the table has all."""

Out = Annotated[Path, typer.Option("--out", "-o", help="A folder that is new or empty, or holds this run.")]
Source = Annotated[Path, typer.Argument(help="A case: a folder, or an .xlsx workbook.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(rich_help_panel=PANEL)(trigger)
    app.command(rich_help_panel=PANEL)(tornado)
    app.command(rich_help_panel=PANEL)(compare)


def trigger(  # noqa: PLR0913 - one option of the verb each
    case: Source,
    sku: Annotated[str, typer.Option(help="What may be in or out of the plan; several that go together joined by +.")],
    along: Annotated[str, typer.Option(help="A premise, over its band; or PATH=start:stop.")],
    out: Out,
    points: Annotated[int, typer.Option(help="Values of the first scan.", min=2)] = 5,
    within: Annotated[
        float | None, typer.Option(help="Width to which a crossing is bisected; a 32nd of the range if left out.")
    ] = None,
    gap: Gap = 0.005,
    time_limit: TimeLimit = float("inf"),
    threads: Threads = 0,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Find the values of a premise at which a SKU enters or leaves the plan, and what takes its place.

    A SKU is in where going without it is proven to serve less or costs more than twice the gap, a tie where it is
    ordered and saves less than that, else out. Where nothing flips, the price that would flip it. Ctrl-C keeps what is
    done, and the same command goes on from there.

    Exit codes: 0 done, 1 a plan met a bug, 2 wrong input, 4 no value has a plan, 5 stopped.
    """
    from procure.case import Case
    from procure.decision import State
    from procure.decision import trigger as run
    from procure.decision.rounds import How
    from procure.decision.trigger import values_along
    from procure.errors import Fault, InputError
    from procure.report import plot_trigger
    from procure.study import Effort
    from procure.study.sweep import unread

    read = Case.read(case)
    path, values = values_along(read, along, points)
    tell((*read.doubts, *unread(read, {path: values}, "--along")))
    sku = "+".join(dict.fromkeys(name.strip() for name in sku.split("+")))
    if within is not None and not within > 0:
        raise InputError([Fault("--within", 0, "", f"{within:g}", "More than 0.")])
    with Stopping("points that are done are kept.") as stopping:
        how = How(Effort(gap, time_limit, threads, seed), out, jobs, tell_step, stopping.asked)
        found = run(read, sku, path, values, within or (values[-1] - values[0]) / 32, how)
    files = _store(found.frame, out / "trigger.csv", plot_trigger(found, out / "trigger.png"))
    if as_json:
        show_json(found.frame)
    else:
        _show_trigger(found)
        typer.echo(files)
    unknown = all(reading.state is State.UNKNOWN for reading in found.readings)
    raise typer.Exit(_exit_code(found.frame, stopping.asked(), NO_PLAN if unknown else 0))


def tornado(  # noqa: PLR0913 - one option of the verb each
    case: Source,
    out: Out,
    only: Annotated[
        list[str] | None, typer.Option(help="Premises whose path begins so (hardware/, physics); give it again.")
    ] = None,
    gap: Gap = 0.005,
    time_limit: TimeLimit = float("inf"),
    threads: Threads = 0,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Put every premise that the plan rests on, alone, at both ends of its band, and rank them by what that does.

    By what is proven of the cost, and by whether the first orders as they stand would be the worse choice there. What
    lies within the gap is below noise. Ctrl-C keeps what is done, and the same command goes on from there.

    Exit codes: 0 done, 1 a plan met a bug, 2 wrong input, 4 the case has no plan, 5 stopped.
    """
    from procure.case import Case
    from procure.decision import tornado as run
    from procure.decision.rounds import How
    from procure.report import plot_tornado
    from procure.study import Effort, NothingToCompare, is_bug

    read = Case.read(case)
    tell(read.doubts)
    with Stopping("points that are done are kept.") as stopping:
        how = How(Effort(gap, time_limit, threads, seed), out, jobs, tell_step, stopping.asked)
        try:
            found = run(read, only or (), how)
        except NothingToCompare as nothing:
            typer.echo(str(nothing), err=True)
            code = LIMIT if stopping.asked() else NO_PLAN
            raise typer.Exit(BUG if is_bug(nothing.error) else code) from nothing
    files = _store(found.frame, out / "tornado.csv", plot_tornado(found, out / "tornado.png"))
    if as_json:
        show_json(found.frame)
    else:
        _show_tornado(found)
        typer.echo(files)
    raise typer.Exit(_exit_code(found.frame, stopping.asked(), 0))


def _store(frame: pd.DataFrame, path: Path, pictures: list[Path]) -> str:
    """Write a table beside its pictures, and say what is in their folder."""
    from procure.csvtext import guarded

    guarded(frame).to_csv(path, index=False, lineterminator="\n")
    return f"Written to {path.parent}: {path.name}, {', '.join(picture.name for picture in pictures)}, rounds/"


def _exit_code(frame: pd.DataFrame, stopped: bool, done: int) -> int:
    from procure.study import is_bug

    return BUG if frame["error"].map(is_bug).any() else LIMIT if stopped else done


def compare(
    plans: Annotated[list[Path], typer.Argument(help="Result folders, two or more; each is held against the first.")],
    as_json: Json = False,
) -> None:
    """Say what other plans do otherwise than the first: orders pulled in, pushed out, added, dropped; cost by line.

    With loads and premises in which they differ, and by how much the least costs are proven to differ.

    Exit codes: 0 done, 2 wrong input.
    """
    from procure.errors import Fault, InputError
    from procure.plan import Plan
    from procure.plan.compare import compare as run

    if len(plans) == 1:
        raise InputError([Fault("compare", 0, "", str(plans[0]), "Two results or more, the first to compare with.")])
    first, *others = [Plan.read(folder) for folder in plans]
    found = {str(folder): run(first, other) for folder, other in zip(plans[1:], others, strict=True)}
    if as_json:
        show_json([{"first": str(plans[0]), "second": name, **c.facts()} for name, c in found.items()])
        return
    for name, comparison in found.items():
        _show_comparison(str(plans[0]), name, comparison)


def _show_comparison(first: str, second: str, found: Comparison) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from procure.cli._console import table_console
    from procure.families.wording import figure
    from procure.quarter import quarter_ranges

    console = table_console()
    cases = "the same case" if found.same_case else "another case"
    typer.echo(f"{second} against {first}: {cases}.")
    if not found.same_quarters:
        both = f"are compared in {quarter_ranges(found.quarters)}" if found.quarters else "cannot be compared"
        typer.echo(f"They plan other quarters: costs are each of their own, and orders {both}.")
    between = "" if found.least_usd != found.least_usd else (
        f"; least costs differ by {_millions(found.least_usd)} to {_millions(found.most_usd)}"
        f"{', the same within the gaps' if found.is_tie else ''}"
    )  # fmt: skip
    typer.echo(f"Cost as found: {_millions(found.cost_usd)} M USD, present value{between}.")
    if found.before_short_share or found.after_short_share:
        shares = f"{found.before_short_share:.4%} to {found.after_short_share:.4%}"
        typer.echo(f"Planned demand not served, weighted by priority: {shares}.")
    costs = Table(box=SIMPLE_HEAD, pad_edge=False)
    costs.add_column("line of cost, M USD")
    for name in ("first", "second", "more or less"):
        costs.add_column(name, justify="right")
    for row in found.costs.to_dict("records"):
        cells = (f"{row['before_usd'] / 1e6:,.2f}", f"{row['after_usd'] / 1e6:,.2f}", _millions(row["moves_usd"]))
        costs.add_row(str(row["line"]), *cells)
    console.print(costs)
    orders = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("orders", "SKU", "site", "from", "to", "units", "capital, M USD"):
        orders.add_column(name, justify="right" if name in ("units", "capital, M USD") else "left", overflow="fold")
    for order in found.orders:
        where = (order.sku, order.site, order.before, order.after)
        orders.add_row(order.move, *where, str(order.count), _millions(order.capex_usd))
    if found.orders:
        console.print(orders)
    else:
        typer.echo("Orders of the quarters that both plan are the same.")
    for row in found.loads.to_dict("records"):
        typer.echo(
            f"Load of {row['workload']}, {row['quarter']}: {figure(row['before_requests_per_s'])} to "
            f"{figure(row['after_requests_per_s'])} requests/s at the peak; not served "
            f"{row['before_short_share']:.2%} to {row['after_short_share']:.2%}."
        )
    for row in found.premises.to_dict("records"):
        typer.echo(f"Premise {row['path']}: {row['before'] or 'not used'} to {row['after'] or 'not used'}.")


def _millions(usd: float, sign: str = "+") -> str:
    """Millions, with their sign unless told otherwise; 0.00 without one, and what has no bound as not known."""
    if not math.isfinite(usd):
        return "unknown"
    text = f"{usd / 1e6:{sign},.2f}"
    return text.lstrip("+-") if float(text.replace(",", "")) == 0 else text


def _show_trigger(found: Trigger) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from procure.cli._console import table_console
    from procure.decision.rounds import in_words
    from procure.families.wording import figure
    from procure.report.decisions import trigger_sentences

    table = Table(title=f"{found.sku} along {found.path}", box=SIMPLE_HEAD, pad_edge=False)
    for name in (
        found.path.rpartition("/")[2],
        "is",
        "ordered",
        "without it, M USD\nat least",
        "\nat most",
        "M USD\ngap",
    ):
        table.add_column(name, justify="left" if name == "is" else "right", overflow="fold")
    table.add_column("instead of it")
    for reading in found.readings:
        gap = "" if reading.gap_usd != reading.gap_usd else _millions(reading.gap_usd, "")
        cells = (*_without(reading), gap)
        table.add_row(figure(reading.value), reading.state, str(reading.ordered), *cells, in_words(reading.instead))
    table_console().print(table)
    for reading in found.readings:
        if reading.reason:
            typer.echo(f"{figure(reading.value)}: {reading.reason}")
    for sentence in trigger_sentences(found):
        typer.echo(sentence)


def _without(reading: Reading) -> tuple[str, str]:
    """What going without it costs at least and at most, or, where less is served, the share that is not."""
    if reading.least_usd == reading.least_usd:
        return _millions(reading.least_usd, ""), _millions(reading.most_usd, "")
    shares = (reading.least_share, reading.most_share)
    least, most = ("" if share != share else f"{share:.2%} unserved" for share in shares)
    return least, most


def _show_tornado(found: Tornado) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from procure.cli._console import table_console
    from procure.decision.rounds import in_words
    from procure.families.wording import figure

    shown = [bar for bar in found.bars if bar.matters]
    table = Table(title="Each premise alone at the ends of its band", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("premise", "kind", "end", "M USD\nat least", "\nat most", f"orders of {found.first_quarter}"):
        table.add_column(name, justify="right" if "\n" in name else "left", overflow="fold")
    for bar in shown[:MOST_SHOWN]:
        for name, end in (("low", bar.low), ("high", bar.high)):
            if end is None or not (end.is_proven or end.decides):
                continue
            cells = ("" if usd != usd else _millions(usd) for usd in (end.least_usd, end.most_usd))
            said = "no plan" if end.is_infeasible else f"{in_words(end.moves)}{' (decides)' if end.decides else ''}"
            value = getattr(bar.fact, name)
            table.add_row(bar.path, str(bar.fact.kind), f"{name} {figure(value)}", *cells, said)
    table_console().print(table)
    deciding = [bar.path for bar in found.bars if bar.decides]
    noise = sum(bar.is_noise for bar in found.bars)
    typer.echo(f"As it stands: {found.cost_usd / 1e6:,.1f} M USD, gap {_millions(found.gap_usd, '')} M USD.")
    typer.echo(f"Change the first orders: {', '.join(deciding) or 'none of them'}.")
    if noise:
        typer.echo(
            f"Below noise: {noise} of {len(found.bars)} premises move the cost by less than the bounds can tell."
        )
    if len(shown) > MOST_SHOWN:
        typer.echo(f"{len(shown) - MOST_SHOWN} more stand in tornado.csv.")
    if found.left:
        typer.echo(f"Not worked out, or not whether they change the first orders: {', '.join(found.left)}.")
