"""``procure kv``: KV-cache bytes of an LLM, from its architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "Prepare"

_ENGINE = {"formula": "sglang", "article": "sglang"}
"""State dtypes of reserved bytes where the convention is no engine's: fp32 states, and buffers that formulas forget."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(rich_help_panel=PANEL)(kv)


def kv(  # noqa: PLR0913 - one option of the verb each
    cards: Annotated[list[str] | None, typer.Argument(help="Cards by name, or paths of cards and config.json.")] = None,
    tokens: str = typer.Option("8Ki,32Ki,128Ki", help="Lengths: k is 1,000, Ki 1,024, M a million."),
    kv_format: str = typer.Option("fp8", help="KV format, with changes by part: fp8+rope=bf16+index_key=mxfp4."),
    convention: str = typer.Option("formula", help="State dtypes: formula, vllm, sglang, transformers, article."),
    tps: float = typer.Option(50.0, min=0.0, help="TPS/User at which the read rate of one stream is shown."),
    sku: str = typer.Option(None, help="Hardware: adds the sequences that its HBM holds beside the weights."),
    weights: str = typer.Option("native", help="Weight precision for --sku."),
    copies: int = typer.Option(1, min=1, help="Copies of the weights per unit of --sku."),
    hbm_share: float = typer.Option(1.0, min=0.0, max=1.0, help="Share of HBM for weights and caches."),
    speculate: int = typer.Option(0, min=0, help="Tokens proposed per step: counts draft layers' caches."),
    page: int = typer.Option(16, min=1, help="Tokens per page of the engine."),
    tp: int = typer.Option(1, min=1, help="Tensor-parallel ranks of one replica."),
    dp_attention: int = typer.Option(1, min=1, help="Data-parallel attention groups of those ranks."),
    chunk: int = typer.Option(1, min=1, help="Tokens a step adds to a sequence (a prefill chunk)."),
    state_slots: int = typer.Option(1, min=1, help="Recurrent states kept per sequence."),
    fits: str = typer.Option(None, help="The inverse: what fits in a size such as 288GB."),
    compare: bool = typer.Option(False, "--compare", help="Architectures against each other; DSA's two lengths."),
    components: bool = typer.Option(False, "--components", help="Show stored bytes by component."),
    show_list: bool = typer.Option(False, "--list", help="List the packaged cards."),
    as_json: bool = typer.Option(False, "--json", help="Rows as JSON on stdout."),
    plot: Annotated[Path | None, typer.Option(help="Also write a picture (.png, .svg or .pdf).")] = None,
) -> None:
    """KV-cache bytes of an LLM: stored, loaded per step, transferred, and how many sequences fit.

    For example: procure kv deepseek-v3.2 qwen3.5-397b-a17b --tokens 8k,32k,128Ki,1M --sku vr-nvl72 --tps 50
    """
    from procure.cli._kv_text import show_cards, show_compare, show_fits, show_rows
    from procure.sizing.compare import DEFAULT_CARDS, compare_rows, dsa_points
    from procure.sizing.quantities import parse_bytes, parse_tokens
    from procure.sizing.reserve import Engine
    from procure.sizing.table import Question, fits_rows, load_cards, rows

    if show_list:
        show_cards(as_json)
        return
    _check(tokens, cards, compare, plot, tp, dp_attention)
    lengths = parse_tokens(tokens)
    names = list(cards or (DEFAULT_CARDS if compare else ()))
    loaded = [card.speculating(speculate) if speculate else card for card in load_cards(names)]
    question = Question(
        tokens=lengths,
        kv_format=kv_format,
        convention=convention,
        engine=Engine(page, tp, dp_attention, chunk, state_slots, convention=_ENGINE.get(convention, convention)),
        tps_user=tps,
        sku=_sku(sku),
        weight_precision=weights,
        copies=copies,
        hbm_share=hbm_share,
    )
    if compare:
        found: Any = compare_rows(loaded, lengths[-1], kv_format, convention)
        sparse = next((card for card in loaded if "DSA" in card.description), None) or load_cards(["deepseek-v3.2"])[0]
        points = dsa_points(sparse)
        show_compare(found, sparse.name, points, as_json)
    elif fits is not None:
        show_fits(fits_rows(loaded, parse_bytes(fits), question), as_json)
    else:
        show_rows(rows(loaded, question), components, as_json)
    if plot is not None:
        from procure.sizing.plots import plot_compare, plot_lengths

        if compare:
            plot_compare(found, sparse, plot)
        else:
            plot_lengths(loaded, lengths, kv_format, convention, plot)
        typer.echo(f"Picture: {plot}", err=True)


def _sku(name: str | None) -> Any:
    if name is None:
        return None
    from procure.catalogue import Catalogue
    from procure.errors import Fault, InputError, nearest

    catalogue = Catalogue.read()
    sku = catalogue.sku(name)
    if not sku.gpus:
        known = [other.name for other in catalogue.skus.values() if other.gpus]
        raise InputError([Fault("--sku", 0, "", name, "Name hardware with GPUs.", nearest(name, known))])
    return sku


def _check(tokens: str, cards: list[str] | None, compare: bool, plot: Path | None, tp: int, dp_attention: int) -> None:
    """Faults of the command line, all at once."""
    from procure.errors import Fault, InputError
    from procure.sizing.quantities import parse_tokens

    faults = []
    try:
        parse_tokens(tokens)
    except InputError as error:
        faults.extend(error.faults)
    if not cards and not compare:
        faults.append(
            Fault("CARDS", 0, "", "", "Name a card or a config.json; `procure kv --list` lists the packaged ones.")
        )
    if tp % dp_attention:
        expected = f"The groups must divide the {tp} ranks of --tp."
        faults.append(Fault("--dp-attention", 0, "", str(dp_attention), expected))
    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        faults.append(Fault("--plot", 0, "", str(plot), "Name a .png, .svg or .pdf file."))
    if plot is not None and not plot.resolve().parent.is_dir():
        faults.append(Fault("--plot", 0, "", str(plot), "Name a file in a folder that exists."))
    if faults:
        raise InputError(faults)
