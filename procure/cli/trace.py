"""``procure trace``: lengths, arrivals and reuse of real request traces, as tables for a case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from procure.errors import Fault, InputError, nearest

if TYPE_CHECKING:
    from procure.demand.trace import Trace

PANEL = "Prepare"
CLOCKS = {"auto": None, "session": True, "trace": False}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(rich_help_panel=PANEL)(trace)


def trace(  # noqa: PLR0913 - one option of the verb each
    files: Annotated[list[Path], typer.Argument(help="Trace files in order of time, plain or .gz.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the tables and the picture.")],
    workload: str = typer.Option("", help="Name of the workload; the first file's name when left out."),
    scenario: str = typer.Option("chat", help="Scenario that fills what a trace cannot say."),
    clock: str = typer.Option("auto", help="trace: one clock; session: each session its own; auto: by the first rows."),
    time_unit: str = typer.Option("", help="Unit of the times, where the file does not prove it: s, ms, us or ns."),
    quarter: str = typer.Option("", help="Quarter of forecast.csv; that of a dated trace's end, or today's."),
    block_tokens: int = typer.Option(0, min=0, help="Tokens per block; 0: inferred from the prompts."),
    service_tps: float = typer.Option(0.0, min=0.0, help="Assumed output tokens/s where completions are not stated."),
    service_ttft_s: float = typer.Option(1.0, min=0.0, help="Assumed seconds to the first token, with --service-tps."),
    as_json: bool = typer.Option(False, "--json", help="Summary as JSON on stdout."),
) -> None:
    """Measure request traces: lengths, arrival shape, exact reuse of KV blocks by age and by cache capacity.

    Reads Mooncake and Qwen-Bailian JSONL, Azure and BurstGPT CSV, sessions as JSON, benchmark results of vLLM and
    SGLang, rates, and CSV or JSONL that name time, input, output and a session, parents or block hashes. Writes the
    tables of a case under their own names. Bad lines are counted and numbered, never guessed.
    """
    from procure.catalogue import Packaged
    from procure.demand.trace import Options, analyse, forecast, write
    from procure.demand.trace.clock import UNITS
    from procure.files import check_folder
    from procure.quarter import Quarter

    faults = []
    if scenario not in (known := Packaged.read().scenarios):
        hint = nearest(scenario, known)
        faults.append(Fault("--scenario", 0, "", scenario, "A scenario of the library is expected.", hint))
    if clock not in CLOCKS:
        faults.append(Fault("--clock", 0, "", clock, "auto, session or trace is expected.", nearest(clock, CLOCKS)))
    if time_unit and time_unit not in UNITS:
        faults.append(Fault("--time-unit", 0, "", time_unit, f"One of {', '.join(UNITS)} is expected."))
    if quarter:
        try:
            quarter = str(Quarter(quarter))
        except ValueError:
            faults.append(Fault("--quarter", 0, "", quarter, "A quarter such as 2027Q1 is expected."))
    if faults:
        raise InputError(faults)
    check_folder(output)
    options = Options(CLOCKS[clock], block_tokens or None, service_ttft_s, service_tps or None, time_unit or None)
    measured = _with_progress(lambda progress: analyse(files, options, progress))
    name = workload or files[0].name.split(".")[0]
    written = write(measured, output, workload=name, scenario=scenario, quarter=quarter, tell=_tell)
    told = forecast(measured, quarter)
    measured.sentences.append("No forecast row: the trace has no arrivals." if told is None else told.sentence)
    summary = _summary(measured, name)
    if as_json:
        from procure.cli._json import show_json

        show_json(summary | {"files": written})
        return
    for key, value in summary.items():
        if key != "sentences":
            typer.echo(f"{key:28} {value:,.4g}" if isinstance(value, float) else f"{key:28} {value}")
    for sentence in measured.sentences:
        typer.echo(sentence)
    for file, line, what in measured.bad.kept[:5]:
        typer.echo(f"{file}, line {line}: {what}", err=True)
    typer.echo(f"Written to {output}: {', '.join(path.relative_to(output).as_posix() for path in written)}")


def _tell(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _with_progress(work: Any) -> Trace:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("reading"), BarColumn(), TextColumn("{task.percentage:.0f}%"), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading")
        measured: Trace = work(lambda done, total: bar.update(task, completed=done, total=total))
    return measured


def _summary(trace: Trace, name: str) -> dict[str, Any]:
    out: dict[str, Any] = {"workload": name, "requests": trace.requests, "bad_lines": trace.bad.count}
    if trace.has_arrivals:
        out |= {"span_s": trace.arrivals.span_s, "requests_per_s": trace.requests_per_s}
    if trace.inputs.requests:
        out["input_mean_tokens"] = trace.inputs.mean
        out |= {f"input_p{q}_tokens": trace.inputs.quantile(q / 100) for q in (50, 90, 99)}
        out["output_mean_tokens"] = trace.outputs.mean
    if trace.sessions:
        out["sessions"] = trace.sessions
    if trace.reuse is not None:
        out["block_references"] = trace.reuse.references
        out["hit_rate_unlimited"] = trace.reuse.hits[trace.clock].unlimited()
        out["reused_share"] = trace.reuse.reused_share
        out["shared_prefix_tokens"] = trace.shared_prefix_tokens
        out["clock"] = trace.clock
    out["sentences"] = trace.sentences
    return out
