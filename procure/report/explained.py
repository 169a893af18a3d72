"""An explanation on a terminal: what binds and what it is worth, why each order, why not something else."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby

from rich.console import Console
from rich.markup import escape

from procure.plan.summary import Short
from procure.quarter import quarter_ranges
from procure.report.words import count_of, share, usd
from procure.why import Answer, Explanation, Kind, Verdict

NOTICED = 1e-3
"""Share of a workload's requests by which it is said to be served less."""


def print_explanation(found: Explanation, console: Console) -> None:
    """Print what serves what is short, limits, orders and the other answers and, last, what was not asked."""

    def say(label: str, sentence: str) -> None:
        console.print(f"[bold]{label}[/bold]  {escape(sentence)}", highlight=False, soft_wrap=True)

    for about, group in groupby(found.of(Kind.SERVE), key=lambda a: a.question.about):
        _print_needs(about, list(group), say)
    for one in found.of(Kind.LIMIT):
        label = "binds" if one in found.binding else "slack"
        say(label, f"{one.question.about}, {one.question.quarters}: {one.question.what} {effect_words(one, found)}.")
    for kind in (Kind.ORDER, Kind.WHY_NOT):
        answers = sorted(found.of(kind), key=lambda a: a.question.about)
        for about, group in groupby(answers, key=lambda a: a.question.about):
            said = [f"{one.question.what} {effect_words(one, found)}" for one in group]
            say("order" if kind is Kind.ORDER else "why not", f"{about}: {'; '.join(said)}.")
    if found.not_asked:
        kinds = [f"{question.about} ({question.what})" for question in found.not_asked]
        many = f" and {len(kinds) - MOST_NAMED} more" if len(kinds) > MOST_NAMED else ""
        named = ", ".join(kinds[:MOST_NAMED])
        say("left", f"{count_of(len(kinds), 'question')} not asked for want of time: {named}{many}.")


def _print_needs(about: str, answers: list[Answer], say: Callable[[str, str], None]) -> None:
    """What serves somebody, at what cost; what does not alone; what cannot be asked."""
    for one in answers:
        if one.verdict is Verdict.HOLDS:
            cost = "" if math.isnan(one.cost_usd) else f", at {_cost(one.cost_usd)}{_instead(one)}"
            say("serve", f"{about}: {one.question.what}{cost}.")
    helpless = [one.question.what for one in answers if one.verdict is Verdict.NOT_ENOUGH]
    if helpless:
        say("serve", f"{about}, not alone by: {'; '.join(helpless)}.")
    for one in answers:
        if one.verdict is Verdict.FAILED:
            say("serve", f"{about}, {one.question.what}: cannot be asked ({one.note})")


MOST_NAMED = 5
"""Questions without an answer that are named."""


def effect_words(one: Answer, found: Explanation) -> str:
    """What came of a question, as the end of a sentence."""
    match one.verdict:
        case Verdict.SERVES_MORE:
            return f"serves {share(one.least_share)} more of the demand, at {_cost(one.cost_usd)}"
        case Verdict.SERVES_LESS:
            worse = _worse(one.short, found.plan["short"])
            who = f": {worse}" if worse else ""
            return f"serves {share(one.least_share)} less of the demand{who}"
        case Verdict.SAVES:
            return f"saves {_between(one)}{_instead(one)}"
        case Verdict.COSTS:
            return f"costs {_between(one)} more{_instead(one)}"
        case Verdict.BELOW:
            most = "an unknown amount" if math.isinf(one.most_usd) or math.isnan(one.most_usd) else usd(one.most_usd)
            return f"moves at most {most}: below the resolution of the gap{_instead(one)}"
        case Verdict.NO_PLAN:
            return f"leaves no plan ({one.note})"
    return f"has no answer ({one.note})"


def _cost(amount: float) -> str:
    return f"{usd(abs(amount))} {'more' if amount >= 0 else 'less'}"


def _between(one: Answer) -> str:
    if math.isinf(one.most_usd) or usd(one.least_usd) == usd(one.most_usd):
        return f"{usd(one.least_usd)}{' or more' if math.isinf(one.most_usd) else ''}"
    return f"{usd(one.least_usd)} to {usd(one.most_usd)}"


def _instead(one: Answer) -> str:
    moved = ", ".join(f"{units:+,d} {sku}" for sku, units in one.orders.items())
    return f" (orders {moved})" if moved else ""


def _worse(after: list[Short], before: list[Short]) -> str:
    """Who is served less than in the plan, when and by how much of the requests."""
    was = {(s["workload"], s["quarter"]): s["share"] for s in before}
    lost: dict[str, dict[str, float]] = {}
    for s in after:
        more = s["share"] - was.get((s["workload"], s["quarter"]), 0.0)
        if more > NOTICED:
            lost.setdefault(s["workload"], {})[s["quarter"]] = more
    return ", ".join(
        f"{workload} by up to {share(max(by_quarter.values()))} in {quarter_ranges(by_quarter)}"
        for workload, by_quarter in lost.items()
    )
