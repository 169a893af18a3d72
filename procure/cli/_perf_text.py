"""How ``procure perf`` speaks: tables for people, JSON for programs."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from rich.table import Table

from procure.cli._console import table_console

if TYPE_CHECKING:
    from rich.console import Console

LEAST_WIDTH = 168
"""Columns that its widest table takes."""
FEW_RATIOS = 12
"""Pairs of runs that are listed one by one."""


def show_figure(lines: Any, load: Any, vintage: str) -> None:
    """One row per pool and TPS/User."""
    from procure.performance.tables import FigurePoint

    points = FigurePoint.rows(lines)
    title = (
        f"{load.card.name}, {load.input_tokens:,.0f} tokens in ({load.reused_share:.0%} reused), "
        f"{load.output_tokens:,.0f} out, software {vintage}; "
        "tokens/s count output over decode and prefill GPUs; MW all-in"
    )
    table = Table(title=title)
    for name in (
        "pool",
        "TPS/User p50",
        "p90",
        "tok/s/GPU",
        "k tok/s/MW",
        "low-high",
        "USD/M tok",
        "TTFT s",
        "streams/GPU",
        "layout",
        "binding",
        "evidence",
    ):
        table.add_column(name, justify="left" if name in ("pool", "layout", "binding", "evidence") else "right")
    for row in points:
        rate = row.tokens_per_s_per_mw / 1000
        table.add_row(
            row.pool,
            f"{row.tps_user:g}",
            f"{row.tps_user_p90:g}",
            f"{row.tokens_per_s_per_gpu:,.0f}",
            f"{rate:,.0f}",
            f"{rate * row.low:,.0f}-{rate * row.high:,.0f}",
            f"{row.usd_per_million_output_tokens:.2f}",
            f"{row.ttft_s:.2f}",
            f"{row.streams_per_gpu:.2f}",
            row.parallelism,
            row.binding,
            f"{row.evidence} {row.source_date}",
        )
    console = table_console(LEAST_WIDTH)
    console.print(table)
    for source in dict.fromkeys(part for row in points for part in row.source.split("; ")):
        console.print(f"  source: {source}")


def show_claims(found: list[Any]) -> None:
    """The article's claims with verdict and numbers."""
    table = Table(title="The source article's claims on this card")
    for name in ("claim", "verdict", "numbers"):
        table.add_column(name)
    for claim in found:
        table.add_row(claim.claim, claim.verdict, claim.numbers)
    table_console(LEAST_WIDTH).print(table)


def show_explanation(each: dict[str, Any]) -> None:
    """Every term of one step and of prefill."""
    console, step = table_console(LEAST_WIDTH), each["decode"]
    head = f"{each['pool']} at {each['tps_user']:g} TPS/User"
    if step is None:
        console.print(f"{head}: no layout serves it")
        return
    point = step["point"]
    table = Table(
        title=f"{head}: {point['parallelism']}, {point['batch_per_replica']:.1f} streams per replica, "
        f"{point['step_s'] * 1000:.2f} ms a step for {step['tokens_per_step']:.2f} tokens per stream; "
        f"binding {point['binding']}"
    )
    for name in ("term", "amount per GPU", "unit", "rate/s", "ms"):
        table.add_column(name, justify="left" if name in ("term", "unit") else "right")
    for term in step["terms"]:
        table.add_row(term.name, f"{term.amount:.4g}", term.unit, f"{term.rate:.4g}", f"{term.seconds * 1000:.3f}")
    console.print(table)
    console.print(
        f"  one stream's cache: {step['cache_bytes_stored']:,.0f} B stored, "
        f"{step['cache_bytes_loaded']:,.0f} B loaded a step; weights {step['weight_bytes']:,.0f} B; "
        f"free HBM {point['free_hbm_bytes_per_gpu'] / 1e9:.1f} GB per GPU"
    )
    parts = ", ".join(f"{term['term']} {term['gpu_s']:.4g}" for term in each["prefill"]["terms"])
    console.print(f"  prefill of one request on {each['prefill']['gpus']} GPUs, GPU-seconds: {parts}")


def show_validation(report: dict[str, Any]) -> None:
    """Errors by group, curves, and what could not be predicted."""
    console, rows = table_console(LEAST_WIDTH), report["rows"]
    console.print(f"{report['file']}: {rows['all']} rows, {rows['predicted']} predicted, {rows['unpredicted']} not")
    table = Table(title="Error of TPS/User at the measured batch (prefill rate and frontier throughput where named)")
    _headed(table)
    for name, errors in {"overall": report["overall"], **report["groups"]}.items():
        _add(table, name, errors)
    console.print(table)
    table = Table(title="Error of the predicted maximum tokens/s per GPU at a TPS/User, no measured batch")
    _headed(table)
    for name, errors in {"overall": report["curves"]["overall"], **report["curves"]["groups"]}.items():
        _add(table, name, errors)
    console.print(table)
    _show_ratios(console, report["ratios"])
    reasons: dict[str, int] = {}
    for row in report["unpredicted"]:
        reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1]):
        console.print(f"  not predicted, {count} rows: {reason}")


def _show_ratios(console: Console, ratios: list[dict[str, Any]]) -> None:
    """Medians of each pair of hardware, and the pairs themselves where they are few."""
    if not ratios:
        return
    table = Table(title="Tokens/s per GPU over those of other hardware, each run at its own TPS/User, layout and pools")
    table.add_column("hardware, rows of the file")
    for name in ("n", "TPS/User", "measured", "computed", "computed / measured step"):
        table.add_column(name, justify="right")
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in ratios:
        groups.setdefault(f"{each['hardware']} over {each['over']}", []).append(each)
    for name, pairs in groups.items():
        middles = (f"{median(each[what] for each in pairs):.2f}" for what in ("measured", "computed", "step"))
        table.add_row(name, str(len(pairs)), "", *middles)
        for each in pairs if len(ratios) <= FEW_RATIOS else ():
            drafts = "with drafts" if each["speculation"] else "no drafts"
            speeds = " and ".join(f"{speed:g}" for speed in each["tps_user"])
            found = (f"{each[what]:.2f}" for what in ("measured", "computed", "step"))
            table.add_row(f"  {each['lines'][0]} and {each['lines'][1]}, {drafts}", "", speeds, *found)
    console.print(table)


def _headed(table: Table) -> None:
    table.add_column("rows")
    for name in ("n", "MAPE", "median", "bias"):
        table.add_column(name, justify="right")


def _add(table: Table, name: str, errors: dict[str, Any]) -> None:
    if errors["n"]:
        table.add_row(name, str(errors["n"]), *(f"{errors[key]:.1%}" for key in ("mape", "median_ape", "bias")))
    else:
        table.add_row(name, "0", "", "", "")
