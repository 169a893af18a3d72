"""How ``procure kv`` prints: tables for people, JSON for programs."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from procure.cli._console import table_console
from procure.cli._json import show_json
from procure.sizing.compare import DsaPoints
from procure.sizing.quantities import show_bytes

Rows = list[dict[str, Any]]


def _count(value: int | None) -> str:
    return "no limit" if value is None else f"{value:,}"


def _table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    return table


def show_cards(as_json: bool) -> None:
    """The packaged cards."""
    from procure.sizing import card_names, load_card

    cards = [load_card(name) for name in card_names()]
    rows: Rows = [
        {
            "model": card.name,
            "attention": card.description,
            "max_context_tokens": card.known("max_position_embeddings"),
            "native_precision": card.known("native_precision"),
            "kind": card.source.kind,
        }
        for card in cards
    ]
    if as_json:
        show_json(rows)
        return
    table = _table("Packaged cards", ["card", "layers", "longest context", "weights", "source"])
    for row in rows:
        longest = f"{row['max_context_tokens']:,}" if row["max_context_tokens"] else "not known"
        table.add_row(row["model"], row["attention"], longest, str(row["native_precision"]), row["kind"])
    table_console().print(table)


def show_rows(rows: Rows, components: bool, as_json: bool) -> None:
    """Bytes of every card at every length; warnings go to stderr."""
    for model in dict.fromkeys(row["model"] for row in rows):
        _warn([row for row in rows if row["model"] == model])
    if as_json:
        show_json(rows)
        return
    for model in dict.fromkeys(row["model"] for row in rows):
        _one_card([row for row in rows if row["model"] == model], components)


def _warn(rows: Rows) -> None:
    first, longest = rows[0], rows[0]["max_context_tokens"]
    for note in first["notes"]:
        typer.echo(f"Note: {first['model']}: {note}.", err=True)
    beyond = [f"{row['tokens']:,}" for row in rows if longest and row["tokens"] > longest]
    if beyond:
        text = f"Note: {first['model']}: {', '.join(beyond)} tokens are beyond its longest context of {longest:,}."
        typer.echo(text, err=True)


def _one_card(rows: Rows, components: bool) -> None:
    first = rows[0]
    title = f"{first['model']}: {first['attention']}; KV {first['kv_format']}, {first['convention']}"
    columns = [
        "tokens",
        "stored",
        "loaded per step",
        "transferred",
        "fixed state",
        "per token",
        "reserved",
        "FLOP per byte",
    ]
    columns += [f"read at {first['tps_user']:g} TPS"] if "loaded_bytes_per_s" in first else []
    columns += ["sequences: formula", "reserved"] if "sku" in first else []
    table = _table(title, columns)
    for row in rows:
        cells = [f"{row['tokens']:,}"]
        names = (
            "stored_bytes",
            "loaded_bytes",
            "transferred_bytes",
            "state_bytes",
            "bytes_per_token",
            "reserved_bytes",
        )
        cells += [show_bytes(row[name]) for name in names]
        ratio = row["flops_per_loaded_byte"]
        cells.append("-" if ratio is None else f"{ratio:,.1f}")
        if "loaded_bytes_per_s" in row:
            cells.append(f"{show_bytes(row['loaded_bytes_per_s'])}/s")
        if "sku" in row:
            cells += [_count(row["sequences_formula"]), _count(row["sequences_reserved"])]
        table.add_row(*cells)
    table_console().print(table)
    _footer(rows)
    if components:
        _components(rows)


def _footer(rows: Rows) -> None:
    first = rows[0]
    times = sorted({f"{row['replication']:.3g}" for row in rows}, key=float)
    threshold = first["state_below_10_percent_tokens"]
    if threshold is None:
        typer.echo("The fixed state never falls under 10% of the stored bytes.")
    elif threshold:
        typer.echo(f"S*: the fixed state is under 10% of the stored bytes from {threshold:,} tokens on.")
    spread = " to ".join(dict.fromkeys((times[0], times[-1])))
    typer.echo(
        f"Reserved is what an engine sets aside: pages, state blocks, state dtypes of {first['engine_convention']}, "
        f"replication {spread} times. Limits on HBM use it; formula bytes are the lower bound."
    )
    if "sku" in first:
        typer.echo(
            f"{first['sku']}: HBM {show_bytes(first['hbm_bytes'])}, weights in {first['weight_precision']} "
            f"{show_bytes(first['weight_bytes'])}, "
            f"free {show_bytes(first['free_hbm_bytes'])}."
        )
    if first["stored_components_bytes"].get("host_memory"):
        typer.echo("Component host_memory lies in host memory, not in HBM.")
    typer.echo("")


def _components(rows: Rows) -> None:
    names = list(rows[0]["stored_components_bytes"])
    table = _table("Stored bytes by component", ["tokens", *names])
    for row in rows:
        split = row["stored_components_bytes"]
        table.add_row(f"{row['tokens']:,}", *(f"{split.get(name, 0):,.0f}" for name in names))
    table_console().print(table)


def show_fits(rows: Rows, as_json: bool) -> None:
    """The longest sequence and the most sequences within a budget."""
    if as_json:
        show_json(rows)
        return
    first = rows[0]
    title = f"What fits in {first['budget_bytes']:,} B; KV {first['kv_format']}, {first['convention']}"
    table = _table(title, ["card", "longest sequence", "its limit", "tokens", "sequences: formula", "reserved"])
    for row in rows:
        longest = row["longest"] if row["longest_tokens"] is None else f"{row['longest_tokens']:,}"
        limit = f"{row['max_context_tokens']:,}" if row["max_context_tokens"] else "not known"
        counts = (_count(row["sequences_formula"]), _count(row["sequences_reserved"]))
        table.add_row(row["model"], longest, limit, f"{row['tokens']:,}", *counts)
    table_console().print(table)


def show_compare(rows: Rows, sparse: str, points: DsaPoints, as_json: bool) -> None:
    """Architectures by loaded bytes, and the two lengths of DSA."""
    if as_json:
        show_json(rows)
        return
    first = rows[0]
    title = f"One sequence of {first['tokens']:,} tokens, KV {first['kv_format']}; least loaded per step first"
    table = _table(
        title,
        ["card", "layers", "class", "loaded", "stored", "rank stored", "per token", "fixed state", "FLOP per byte"],
    )
    for row in rows:
        table.add_row(
            row["model"],
            row["attention"],
            row["class"],
            show_bytes(row["loaded_bytes"]),
            show_bytes(row["stored_bytes"]),
            str(row["rank_stored"]),
            show_bytes(row["bytes_per_token"]),
            show_bytes(row["state_bytes"]),
            f"{row['flops_per_loaded_byte']:,.1f}",
        )
    table_console().print(table)
    typer.echo(
        f"DSA ({sparse}, equal dtypes, k = {points.top_k:,}): a step loads less than plain MLA above "
        f"{points.starts_to_save:,.0f} tokens; the index scan equals the top-k read at "
        f"{points.index_equals_read:,.0f} tokens; "
        f"the saving tends to {points.saving_limit:.3g} times. Stored bytes grow, they never shrink."
    )
