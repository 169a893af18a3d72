"""``procure perf``: throughput against TPS/User for every pool, and what the numbers rest on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "Prepare"
HARDWARE_COLUMNS: tuple[str, ...] = (
    "sku",
    "attribute",
    "value",
    "unit",
    "low",
    "high",
    "kind",
    "source",
    "source_date",
    "note",
)
DEFAULT_POOLS = "gb200-nvl72,gb300-nvl72,vr-nvl72,vr-nvl72+lpx"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(rich_help_panel=PANEL)(perf)


def perf(  # noqa: PLR0913 - one option of the verb each
    card: Annotated[str | None, typer.Argument(help="LLM by name, or the path of a card or config.json.")] = None,
    pools: str = typer.Option(
        DEFAULT_POOLS, help="Hardware, separated by commas; `+lpx` pairs, `-max-q` saves power (`-max-p`: full power)."
    ),
    isl: str = typer.Option("8k", help="Prompt tokens: k is 1,000, Ki 1,024."),
    osl: str = typer.Option("1k", help="Answer tokens."),
    reuse: float = typer.Option(0.0, min=0.0, max=1.0, help="Share of the prompt whose cache is there already."),
    weights: str = typer.Option(
        "best", help="Weight precision; `native` is the released one, `best` NVFP4 where it pays."
    ),
    kv_format: str = typer.Option("fp8", help="KV format."),
    vintage: str = typer.Option("base", help="Software: none, base or fast."),
    tps: str = typer.Option(None, help="TPS/User of the median stream, separated by commas."),
    table: Annotated[Path | None, typer.Option(help="Your own measured points (CSV, see docs/performance.md).")] = None,
    hardware: Annotated[Path | None, typer.Option(help="Your own hardware rows, as a case's hardware.csv.")] = None,
    explain: bool = typer.Option(False, "--explain", help="Bytes, FLOPs and seconds of every term of a step."),
    plot: Annotated[Path | None, typer.Option(help="Write the figure (.png, .svg or .pdf).")] = None,
    fit: Annotated[
        Path | None, typer.Option(help="Fit the physics on a points file: premises, split and errors.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder that --fit writes premises to, and errors.")] = None,
    validate: Annotated[
        Path | None, typer.Option(help="Errors of the physics on a points file; rows may name CARD and --hardware.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for pictures of --validate (PNG) and the rows behind them (CSV).")
    ] = None,
    as_json: bool = typer.Option(False, "--json", help="JSON on stdout."),
) -> None:
    """Throughput per GPU and per MW against TPS/User, cost, and the source article's claims row by row.

    For example: procure perf deepseek-r1 --pools gb200-nvl72,vr-nvl72,vr-nvl72+lpx --isl 8k --osl 1k --plot perf.png
    """
    _check_plot(plot)
    _check_figures(figures, validate)
    if fit is not None:
        _fit(fit, out, as_json)
    elif validate is not None:
        _validate(validate, card, hardware, figures, as_json)
    else:
        asked = _asked(_load(card, isl, osl, reuse, weights, kv_format), pools, tps, vintage, hardware, table)
        _figure(asked, explain, plot, as_json)


def _fit(points: Path, out: Path | None, as_json: bool) -> None:
    from procure.cli._json import show_json
    from procure.files import check_folder, write_files
    from procure.performance.fitted_premises import to_csv
    from procure.performance.refit import refit, to_toml

    if out is not None:
        check_folder(out)
    found = refit(points)

    def make(folder: Path) -> None:
        (folder / "premises_fitted.csv").write_text(to_csv(found.premises), encoding="utf-8")
        (folder / "errors.toml").write_text(to_toml(found.errors), encoding="utf-8")
        found.split.to_csv(folder / "split.csv", index=False)
        found.measured.to_csv(folder / "measured.csv", index=False)

    if out is not None:
        write_files(out, make, tell=lambda sentence: typer.echo(sentence, err=True))
        names = "premises_fitted.csv, errors.toml, split.csv and measured.csv"
        typer.echo(f"Wrote {names} to {out}.", err=True)
    if as_json:
        show_json({"premises": {path: vars(fact) for path, fact in found.premises.items()}, "errors": found.errors})
    elif out is None:
        typer.echo(to_csv(found.premises))


def _validate(points: Path, card: str | None, hardware: Path | None, figures: Path | None, as_json: bool) -> None:
    """Errors on a points file, whose rows may name the user's own hardware and the card that is given."""
    from procure.cli._json import show_json
    from procure.cli._perf_text import show_validation
    from procure.performance.predict import Bench
    from procure.performance.rules import Rules, premises_of
    from procure.performance.validate import predicted_rows, summary
    from procure.sizing import load_card

    catalogue = _catalogue(hardware)
    own = load_card(card) if card is not None else None
    cards = {} if own is None else {own.name: own}
    bench = Bench(catalogue, Rules.of(premises_of(catalogue)), cards)
    rows = predicted_rows(points, bench)
    if figures is not None:
        _draw_accuracy(rows, bench, points.name, figures)
    report = summary(rows, points.name, bench)
    if as_json:
        show_json(report)
    else:
        show_validation(report)


def _draw_accuracy(rows: Any, bench: Any, file: str, folder: Path) -> None:
    from procure.errors import Fault, InputError
    from procure.files import write_files
    from procure.performance.accuracy import compared, draw_accuracy

    points = compared(rows, bench)
    if points.empty:
        raise InputError([Fault(file, 0, "", f"{len(rows)} rows", "At least one row that can be predicted, to draw.")])
    written = write_files(
        folder,
        lambda made: draw_accuracy(points, file, made),
        tell=lambda sentence: typer.echo(sentence, err=True),
    )
    typer.echo(f"Wrote {', '.join(path.name for path in written)} to {folder}.", err=True)


@dataclass(frozen=True)
class _Asked:
    """What the figure is asked about."""

    names: list[str]
    load: Any
    speeds: tuple[float, ...]
    setup: Any
    catalogue: Any


def _load(card: str | None, isl: str, osl: str, reuse: float, weights: str, kv_format: str) -> Any:
    """The LLM and its lengths; notes of the card go to stderr."""
    from procure.errors import Fault, InputError
    from procure.performance.figure import Load
    from procure.sizing import load_card
    from procure.sizing.quantities import parse_tokens

    if card is None:
        raise InputError([Fault("CARD", 0, "", "", "Name an LLM, or use --fit or --validate.")])
    lengths = _one("--isl", parse_tokens(isl, "--isl")), _one("--osl", parse_tokens(osl, "--osl"))
    load = Load(load_card(card), weights, kv_format, *lengths, reuse)
    for note in load.card.notes:
        typer.echo(f"Note: {load.card.name}: {note}.", err=True)
    longest = load.input_tokens + load.output_tokens
    if longest > load.card.max_context_tokens:
        expected = f"Prompt and answer within the card's {load.card.max_context_tokens:,} tokens."
        raise InputError([Fault("--isl, --osl", 0, "", f"{longest:,.0f}", expected)])
    return load


def _asked(load: Any, pools: str, tps: str | None, vintage: str, hardware: Path | None, table: Path | None) -> _Asked:
    from procure.errors import Fault, InputError
    from procure.performance.figure import SPEEDS
    from procure.performance.measured import Curves
    from procure.performance.rules import Rules, Setup, premises_of

    names = list(dict.fromkeys(name.strip() for name in pools.split(",") if name.strip()))
    if not names:
        raise InputError([Fault("--pools", 0, "", pools, "Name hardware, such as vr-nvl72,gb300-nvl72.")])
    catalogue = _catalogue(hardware)
    own = Curves.read(table, catalogue, [load.card.name]) if table else None
    setup = Setup(load.weight_precision, load.kv_format, vintage, Rules.of(premises_of(catalogue)), own)
    return _Asked(names, load, _speeds(tps) if tps else SPEEDS, setup, catalogue)


def _figure(asked: _Asked, explain: bool, plot: Path | None, as_json: bool) -> None:
    from procure.cli._json import show_json
    from procure.cli._perf_text import show_claims, show_explanation, show_figure
    from procure.performance.claims import claims
    from procure.performance.figure import figure, measured_points

    load, setup = asked.load, asked.setup
    lines = figure(asked.names, load, setup, speeds=asked.speeds, catalogue=asked.catalogue)
    missed = _not_reached(asked.names, asked.speeds, lines)
    _notes(asked, missed)
    dots = measured_points(asked.names, load, setup, asked.catalogue)
    found = claims(load, setup, asked.catalogue)
    explanations = _explanations(asked) if explain else []
    if plot is not None:
        from procure.performance.picture import draw

        draw(lines, dots, load, setup.vintage, plot)
    if as_json:
        answer: dict[str, Any] = {
            "card": load.card.name,
            "isl": load.input_tokens,
            "osl": load.output_tokens,
            "vintage": setup.vintage,
            "points": _points(lines),
            "not_reached": missed,
            "measured": dots,
            "claims": [vars(claim) for claim in found],
        }
        show_json(answer | ({"explain": explanations} if explain else {}))
        return
    show_figure(lines, load, setup.vintage)
    show_claims(found)
    for each in explanations:
        show_explanation(each)
    if plot is not None:
        typer.echo(f"Wrote {plot}.")


def _points(lines: Any) -> list[dict[str, Any]]:
    """Rows of the figure; ``low`` and ``high`` are tokens/s per GPU like the base, their factors stand beside them."""
    table = lines.rename(columns={"low": "low_factor", "high": "high_factor"})
    for end in ("low", "high"):
        table[end] = table["tokens_per_s_per_gpu"] * table[f"{end}_factor"]
        table[f"tokens_per_s_per_mw_{end}"] = table["tokens_per_s_per_mw"] * table[f"{end}_factor"]
    found: list[dict[str, Any]] = table.to_dict("records")
    return found


def _not_reached(names: list[str], speeds: tuple[float, ...], lines: Any) -> list[dict[str, Any]]:
    """Pools and speeds that were asked for and that no layout serves."""
    reached = set(zip(lines["pool"], lines["tps_user"], strict=True))
    return [{"pool": name, "tps_user": speed} for name in names for speed in speeds if (name, speed) not in reached]


def _notes(asked: _Asked, missed: list[dict[str, Any]]) -> None:
    """On stderr: speeds that are not reached, and a table of the user's that no pool reads."""
    from procure.performance.figure import Pool

    names, load, own = asked.names, asked.load, asked.setup.curves
    for name in names:
        speeds = [f"{each['tps_user']:g}" for each in missed if each["pool"] == name]
        if speeds:
            typer.echo(f"Note: {name} does not reach {', '.join(speeds)} TPS/User at these lengths.", err=True)
    if own is None:
        return
    pools = [Pool.named(name, asked.catalogue) for name in names]
    for pool in pools:
        if pool.slowed:
            text = f"Note: {own.file} states {pool.sku.name}, not its power mode {pool.label}, which stays physics."
            typer.echo(text, err=True)
    skus = [pool.sku for pool in pools]
    if all(own.of(sku.name, load.card.name, load.precision(sku), "").empty for sku in skus):
        wanted = " or ".join(dict.fromkeys(f"{sku.name} in {load.precision(sku)}" for sku in skus))
        typer.echo(f"Note: no row of {own.file} is for {load.card.name} on {wanted}; see --weights.", err=True)


def _check_plot(plot: Path | None) -> None:
    from procure.errors import Fault, InputError

    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        raise InputError([Fault("--plot", 0, "", str(plot), "Name a .png, .svg or .pdf file.")])
    if plot is not None and not plot.resolve().parent.is_dir():
        raise InputError([Fault("--plot", 0, "", str(plot), "Name a file in a folder that exists.")])


def _check_figures(figures: Path | None, validate: Path | None) -> None:
    from procure.errors import Fault, InputError
    from procure.files import check_folder

    if figures is None:
        return
    if validate is None:
        raise InputError([Fault("--figures", 0, "", str(figures), "Only with --validate POINTS; --plot draws a card.")])
    check_folder(figures)


def _catalogue(hardware: Path | None) -> Any:
    from procure.catalogue import Catalogue
    from procure.performance.files import read_csv

    return Catalogue.read() if hardware is None else Catalogue.read(read_csv(hardware, HARDWARE_COLUMNS))


def _explanations(asked: _Asked) -> list[dict[str, Any]]:
    from procure.performance.decode import Deployment
    from procure.performance.explain import explain_decode, explain_prefill
    from procure.performance.figure import Pool

    found, load = [], asked.load
    for name in asked.names:
        pool = Pool.named(name, asked.catalogue)
        deployment = Deployment(pool.sku, load.card, load.setup(pool.sku, asked.setup), pool.lpx)
        prefill = explain_prefill(deployment, load.input_tokens - load.kept_tokens, load.kept_tokens)
        for speed in asked.speeds:
            step = explain_decode(deployment, load.input_tokens + load.output_tokens / 2, speed)
            found.append({"pool": name, "tps_user": speed, "decode": step, "prefill": prefill})
    return found


def _one(option: str, lengths: list[int]) -> float:
    from procure.errors import Fault, InputError

    if len(lengths) != 1 or lengths[0] < 1:
        text = ", ".join(f"{length:,}" for length in lengths)
        raise InputError([Fault(option, 0, "", text, "One length of at least 1 token.")])
    return float(lengths[0])


def _speeds(text: str) -> tuple[float, ...]:
    from procure.errors import Fault, InputError

    found, faults = [], []
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            faults.append(Fault("--tps", 0, "", part, "Numbers above 0, separated by commas."))
        found.append(value)
    if faults:
        raise InputError(faults)
    return tuple(found)
