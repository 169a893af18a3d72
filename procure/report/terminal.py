"""The plan on a terminal: what to order, what it costs, what binds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from procure.plan import Plan, Status
from procure.plan.tables import Check, Purchase
from procure.plan.unit_costs import cost_warnings
from procure.report import words
from procure.report.sentences import caches, instances, limits, links, losses, modes, outcome, placement, trades
from procure.report.sentences.day import day_sentences
from procure.schema import Span

_COLOURS = {Status.OPTIMAL: "green", Status.SHORT: "yellow", Status.LIMIT: "yellow", Status.UNVERIFIED: "red"}


WIDTH = 7
"""Characters of a label and the space behind it."""
LOSSES = 3
"""Losses that the terminal tells in words, those that take most first; page and workbook have all."""


def print_plan(plan: Plan, console: Console) -> None:
    """Print the recommended orders, limits that bind, shortfall by cause, failed checks and, last, status and cost."""
    table = Table(title=f"Purchase plan {escape(words.plan_name(plan))}".strip(), title_justify="left")
    for column in ("Order in", "Site", "SKU"):
        table.add_column(column)
    table.add_column("Units", justify="right")
    table.add_column("Delivered")
    table.add_column("Capex, M USD", justify="right")
    for r in Purchase.rows(plan.purchases):
        units, capex = f"{r.count:,.0f}", f"{r.capex_usd / 1e6:,.1f}"
        table.add_row(r.quarter, escape(r.site), escape(r.sku), units, r.delivery_quarter, capex)
    if table.row_count:
        console.print(table)
    else:
        console.print("Order nothing in the planned quarters.")
    outside, inside = limits.binding_sentences(plan)
    full = f"of what was bought: {words.count_of(len(inside), 'limit')} (see the page)"
    stays = placement.placement_sentence(plan)
    tokens = [_token_line(*row) for row in outcome.unit_costs(plan) if row[0] == outcome.WHOLE]
    said: list[tuple[str, Iterable[str]]] = [
        ("build", trades.expansion_sentences(plan, Span.PLANNED)),
        ("rent", trades.rent_sentences(plan, Span.PLANNED)),
        ("change", trades.change_sentences(plan)),
        ("sell", trades.sale_sentences(plan, Span.PLANNED)),
        ("full", [*outside, full] if inside else outside),
        ("link", links.link_sentences(plan)),
        ("stays", [stays] if stays else []),
        ("moves", caches.move_sentences(plan)),
        ("modes", modes.mode_sentences(plan)),
        ("day", day_sentences(plan)),
        ("whole", instances.instance_sentences(plan)),
        ("loss", _losses(plan)),
        ("short", outcome.causes(plan, Span.PLANNED)),
        ("later", outcome.causes(plan, Span.LOOKAHEAD)),
        ("note", plan.summary.get("demand_notes", [])),
        ("tokens", tokens),
    ]
    for label, sentences in said:
        _say(console, label, sentences)
    _say(console, "far", cost_warnings(plan.tables["unit_costs"]), "bold yellow")
    failed = [f"{check.check}: {check.detail}" for check in plan.rows(Check) if not check.holds]
    _say(console, "fails", failed, "bold red")
    colour = _COLOURS[plan.status]
    ended = f"{outcome.outcome(plan)}. {escape(outcome.status_sentence(plan))}"
    console.print(f"[{colour}]{plan.status}[/{colour}]: {ended}", highlight=False)


def _say(console: Console, label: str, sentences: Iterable[str], style: str = "bold") -> None:
    """Print sentences, each behind a label."""
    for sentence in sentences:
        console.print(f"[{style}]{label}[/{style}]{' ' * (WIDTH - len(label))}{escape(sentence)}", highlight=False)


def _losses(plan: Plan) -> Iterator[str]:
    """The losses that take most, what every workload takes without its caches, and how many others there are."""
    heavy, light = losses.loss_sentences(plan)
    said = list(dict.fromkeys(heavy[:LOSSES] + losses.cache_sentences(plan)))
    yield from said
    untold = [
        (len(set(heavy) - set(said)), "after which loads are short"),
        (len(set(light) - set(said)), "that what is left carries"),
    ]
    for number, kind in untold:
        if number > 0:
            counted = f"{number:,} {'more ' if said else ''}{'loss' if number == 1 else 'losses'}"
            yield f"{counted} {kind} (see the page)"
    if said or light:
        yield f"{losses.NOT_HELD}."


def _token_line(whose: str, tokens: str, usd: float, market: float, ratio: float) -> str:
    """What a million tokens of a kind cost beside what they sell for."""
    cost = "none served" if math.isnan(usd) else f"{words.rounded(usd)} USD per million"
    beside = "" if math.isnan(ratio) else f", {words.rounded(ratio, 2)} x the market's {words.rounded(market)}"
    return f"{whose}, {tokens}: {cost}{beside}"
