"""``procure perf``: throughput against TPS/User for every pool, and what the numbers rest on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "Prepare"
HARDWARE_COLUMNS = ("sku", "attribute", "value", "unit", "low", "high", "kind", "source", "source_date", "note")
DEFAULT_POOLS = "gb200-nvl72,gb300-nvl72,vr-nvl72,vr-nvl72+lpx"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(rich_help_panel=PANEL)(perf)


def perf(
    card: Annotated[str | None, typer.Argument(help="LLM by name, or the path of a card or config.json.")] = None,
    pools: str = typer.Option(DEFAULT_POOLS, help="Hardware, separated by commas; `+lpx` pairs, `-max-q` saves power."),
    isl: str = typer.Option("8k", help="Prompt tokens: k is 1,000, Ki 1,024."),
    osl: str = typer.Option("1k", help="Answer tokens."),
    reuse: float = typer.Option(0.0, min=0.0, max=1.0, help="Share of the prompt whose cache is there already."),
    weights: str = typer.Option(
        "best", help="Weight precision; `native` is the released one, `best` NVFP4 where it pays."
    ),
    kv_format: str = typer.Option("fp8", help="KV format."),
    vintage: str = typer.Option("base", help="Software: none, base or fast."),
    tps: str = typer.Option(None, help="TPS/User, separated by commas."),
    table: Annotated[Path | None, typer.Option(help="Your own measured points (CSV, see docs/performance.md).")] = None,
    hardware: Annotated[Path | None, typer.Option(help="Your own hardware rows, as a case's hardware.csv.")] = None,
    explain: bool = typer.Option(False, "--explain", help="Bytes, FLOPs and seconds of every term of a step."),
    plot: Annotated[Path | None, typer.Option(help="Write the figure (.png, .svg or .pdf).")] = None,
    fit: Annotated[
        Path | None, typer.Option(help="Fit the physics on a points file; writes fitted.toml to --out.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for --fit: fitted.toml and split.csv.")] = None,
    validate: Annotated[Path | None, typer.Option(help="Errors of the shipped physics on a points file.")] = None,
    as_json: bool = typer.Option(False, "--json", help="JSON on stdout."),
) -> None:
    """Throughput per GPU and per MW against TPS/User, cost, and the source article's claims row by row.

    For example: procure perf deepseek-r1 --pools gb200-nvl72,vr-nvl72,vr-nvl72+lpx --isl 8k --osl 1k --plot perf.png
    """
    if fit is not None:
        _fit(fit, out, as_json)
    elif validate is not None:
        _validate(validate, as_json)
    else:
        _figure(card, pools, isl, osl, reuse, weights, kv_format, vintage, tps, table, hardware, explain, plot, as_json)


def _fit(points: Path, out: Path | None, as_json: bool) -> None:
    from procure.cli._perf_text import show_json
    from procure.performance.refit import refit, to_toml

    answer, split = refit(points)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "fitted.toml").write_text(to_toml(answer), encoding="utf-8")
        split.to_csv(out / "split.csv", index=False)
        typer.echo(f"Wrote {out / 'fitted.toml'} and {out / 'split.csv'}.", err=True)
    if as_json:
        show_json(answer)
    elif out is None:
        typer.echo(to_toml(answer))


def _validate(points: Path, as_json: bool) -> None:
    from procure.cli._perf_text import show_json, show_validation
    from procure.performance.validate import validate

    report = validate(points)
    if as_json:
        show_json(report)
    else:
        show_validation(report)


def _figure(
    card: str | None,
    pools: str,
    isl: str,
    osl: str,
    reuse: float,
    weights: str,
    kv_format: str,
    vintage: str,
    tps: str | None,
    table: Path | None,
    hardware: Path | None,
    explain: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    from procure.cli._perf_text import show_claims, show_explanation, show_figure, show_json
    from procure.errors import Fault, InputError
    from procure.performance.claims import claims
    from procure.performance.figure import SPEEDS, Load, figure, measured_points
    from procure.performance.measured import Curves
    from procure.sizing import Card
    from procure.sizing.quantities import parse_tokens

    if card is None:
        raise InputError([Fault("", 0, "CARD", "", "Name an LLM, or use --fit or --validate.")])
    names = [name.strip() for name in pools.split(",") if name.strip()]
    load = Load(Card.load(card), weights, kv_format, _one(parse_tokens(isl)), _one(parse_tokens(osl)), reuse)
    longest = load.input_tokens + load.output_tokens
    if longest > load.card.max_context_tokens:
        expected = f"Prompt and answer within the card's {load.card.max_context_tokens:,} tokens."
        raise InputError([Fault("", 0, "--isl", f"{longest:,.0f}", expected)])
    speeds = _speeds(tps) if tps else SPEEDS
    own = Curves.read(table) if table else None
    catalogue = _catalogue(hardware)
    lines = figure(names, load, vintage=vintage, speeds=speeds, curves=own, catalogue=catalogue)
    dots = measured_points(names, load, own, catalogue)
    found = claims(load, vintage, catalogue)
    if plot is not None:
        from procure.performance.picture import draw

        draw(lines, dots, load, vintage, plot)
    if as_json:
        answer: dict[str, Any] = {
            "card": load.card.name,
            "isl": load.input_tokens,
            "osl": load.output_tokens,
            "vintage": vintage,
            "points": lines.to_dict("records"),
            "measured": dots,
            "claims": [vars(claim) for claim in found],
        }
        if explain:
            answer["explain"] = _explanations(names, load, vintage, speeds, catalogue)
        show_json(answer)
        return
    show_figure(lines, load, vintage)
    show_claims(found)
    if explain:
        for each in _explanations(names, load, vintage, speeds, catalogue):
            show_explanation(each)
    if plot is not None:
        typer.echo(f"Wrote {plot}.")


def _catalogue(hardware: Path | None) -> Any:
    from procure.catalogue import Catalogue
    from procure.errors import Fault, InputError

    if hardware is None:
        return Catalogue.read()
    import pandas as pd

    try:
        rows = pd.read_csv(hardware, dtype=str, keep_default_na=False)
    except OSError as error:
        raise InputError([Fault(str(hardware), 0, "", "", f"The file cannot be read: {error.strerror}.")]) from error
    missing = [name for name in HARDWARE_COLUMNS if name not in rows]
    if missing:
        expected = f"Needs the columns {', '.join(HARDWARE_COLUMNS)}."
        raise InputError([Fault(hardware.name, 1, name, "", expected) for name in missing])
    return Catalogue.read(rows)


def _explanations(
    names: list[str], load: Any, vintage: str, speeds: tuple[float, ...], catalogue: Any
) -> list[dict[str, Any]]:
    from procure.performance.decode import Deployment
    from procure.performance.explain import explain_decode, explain_prefill
    from procure.performance.figure import Pool

    found = []
    kept = load.reused_share * load.input_tokens
    for name in names:
        pool = Pool.named(name, catalogue)
        deployment = Deployment(pool.sku, load.card, load.precision(pool.sku), load.kv_format, vintage, pool.lpx)
        prefill = explain_prefill(deployment, load.input_tokens - kept, kept)
        for speed in speeds:
            step = explain_decode(deployment, load.input_tokens + load.output_tokens / 2, speed)
            found.append({"pool": name, "tps_user": speed, "decode": step, "prefill": prefill})
    return found


def _one(lengths: Any) -> float:
    return float(next(iter(lengths)))


def _speeds(text: str) -> tuple[float, ...]:
    from procure.errors import Fault, InputError

    found, faults = [], []
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            value = 0.0
        if not value > 0:
            faults.append(Fault("", 0, "--tps", part, "Numbers above 0, separated by commas."))
        found.append(value)
    if faults:
        raise InputError(faults)
    return tuple(found)
