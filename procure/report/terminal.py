"""The plan on a terminal: what to order, what it costs, what binds."""

from __future__ import annotations

import math

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from procure.plan import Plan, Status
from procure.plan.tables import Check, Purchase
from procure.plan.unit_costs import cost_warnings
from procure.report import words
from procure.report.day import day_sentences
from procure.schema import Span

_COLOURS = {Status.OPTIMAL: "green", Status.SHORT: "yellow", Status.LIMIT: "yellow", Status.UNVERIFIED: "red"}


LOSSES = 5
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
    for sentence in words.expansion_sentences(plan, Span.PLANNED):
        console.print(f"[bold]build[/bold]  {escape(sentence)}", highlight=False)
    for sentence in words.rent_sentences(plan, Span.PLANNED):
        console.print(f"[bold]rent[/bold]   {escape(sentence)}", highlight=False)
    for sentence in words.sale_sentences(plan, Span.PLANNED):
        console.print(f"[bold]sell[/bold]   {escape(sentence)}", highlight=False)
    outside, inside = words.binding_sentences(plan)
    for sentence in outside:
        console.print(f"[bold]full[/bold]   {escape(sentence)}", highlight=False)
    if inside:
        console.print(f"[bold]full[/bold]   of what was bought: {words.count_of(len(inside), 'limit')} (see the page)")
    for sentence in words.link_sentences(plan):
        console.print(f"[bold]link[/bold]   {escape(sentence)}", highlight=False)
    if sentence := words.placement_sentence(plan):
        console.print(f"[bold]stays[/bold]  {escape(sentence)}", highlight=False)
    for sentence in words.move_sentences(plan):
        console.print(f"[bold]moves[/bold]  {escape(sentence)}", highlight=False)
    for sentence in words.mode_sentences(plan):
        console.print(f"[bold]modes[/bold]  {escape(sentence)}", highlight=False)
    for sentence in day_sentences(plan):
        console.print(f"[bold]day[/bold]    {escape(sentence)}", highlight=False)
    for sentence in words.instance_sentences(plan):
        console.print(f"[bold]whole[/bold]  {escape(sentence)}", highlight=False)
    heavy, light = words.loss_sentences(plan)
    for sentence in heavy[:LOSSES]:
        console.print(f"[bold]loss[/bold]   {escape(sentence)}", highlight=False)
    told = [(len(heavy) - LOSSES, "after which loads are short"), (len(light), "that what is left carries")]
    for number, kind in told:
        if number > 0:
            counted = f"{number:,} {'more ' if heavy else ''}{'loss' if number == 1 else 'losses'}"
            console.print(f"[bold]loss[/bold]   {counted} {kind} (see the page)")
    for span, label in ((Span.PLANNED, "short"), (Span.LOOKAHEAD, "later")):
        for sentence in words.causes(plan, span):
            console.print(f"[bold]{label}[/bold]  {escape(sentence)}", highlight=False)
    for sentence in plan.summary.get("demand_notes", []):
        console.print(f"[bold]note[/bold]   {escape(sentence)}", highlight=False)
    for row in (row for row in words.unit_costs(plan) if row[0] == words.WHOLE):
        console.print(f"[bold]tokens[/bold] {escape(_token_line(*row))}", highlight=False)
    for sentence in cost_warnings(plan.tables["unit_costs"]):
        console.print(f"[bold yellow]far[/bold yellow]    {escape(sentence)}", highlight=False)
    for check in plan.rows(Check):
        if not check.holds:
            console.print(f"[bold red]fails[/bold red]  {escape(f'{check.check}: {check.detail}')}", highlight=False)
    colour = _COLOURS[plan.status]
    console.print(f"[{colour}]{plan.status}[/{colour}]: {words.outcome(plan)}. {escape(words.status_sentence(plan))}",
                  highlight=False)  # fmt: skip


def _token_line(whose: str, tokens: str, usd: float, market: float, ratio: float) -> str:
    """What a million tokens of a kind cost beside what they sell for."""
    cost = "none served" if math.isnan(usd) else f"{usd:,.3g} USD per million"
    beside = "" if math.isnan(ratio) else f", {ratio:,.2g} x the market's {market:,.3g}"
    return f"{whose}, {tokens}: {cost}{beside}"
