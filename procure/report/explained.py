"""An explanation in sentences, shared by terminal, page and workbook: what binds, why each order, what would serve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.markup import escape

from procure.plan.summary import Short
from procure.quarter import quarter_ranges
from procure.report.words import count_of, share, usd
from procure.why import LATER, LESS, NOTHING, WITHOUT, Answer, Explanation, Kind, Relation, Verdict

NOTICED = 1e-3
"""Share of a workload's requests by which it is said to be served less."""
MOST_NAMED = 5
"""Questions without an answer that are named."""
HOW = "Not asked yet: procure explain RESULT says what each order is for, what binds and what one more unit is worth."
"""What stands where a plan was never explained."""


ASKS = {
    NOTHING: "Not ordered, others as planned",
    LESS: "One less, others anew",
    LATER: "A quarter later, others anew",
    WITHOUT: "Not ordered, others anew",
}
"""What is asked of every order line, as the head of a column."""


@dataclass(frozen=True)
class Told:
    """Answers as the page shows them.

    Attributes:
        orders: each order line, and what came of each of :data:`ASKS`; empty where it was not asked.
        limits: each limit, its quarters, by how much it was moved, what that is worth, whether it is proven to bind.
        others: what else was asked about SKUs, in sentences.
        needs: what would serve what is short, in sentences.
        notes: how fine the answers are, and what is not asked yet.
    """

    orders: list[tuple[str, list[str]]]
    limits: list[tuple[str, str, str, str, bool]]
    others: list[str]
    needs: list[str]
    notes: list[str]

    @classmethod
    def of(cls, found: Explanation) -> Told:
        """The answers of an explanation."""
        lines = []
        for about, answers in by_subject(found, Kind.ORDER).items():
            known = {one.question.what: effect(one, found) for one in answers}
            lines.append((about, [known.get(asked, "") for asked in ASKS]))
        limits = [
            (one.question.about, one.question.quarters, what, effect(one, found), one in found.binding)
            for what, one in limit_answers(found)
        ]
        others = [
            f"{about}: {'; '.join(f'{one.question.what} {effect(one, found)}' for one in answers)}."
            for about, answers in by_subject(found, Kind.WHY_NOT).items()
        ]
        return cls(lines, sorted(limits, key=lambda row: not row[-1]), others, needs(found),
                   [*resolution(found), *left(found)])  # fmt: skip


def print_explanation(found: Explanation, console: Console) -> None:
    """Print what serves what is short, limits, orders and the other answers and, last, what was not asked."""
    for label, sentence in sentences(found):
        console.print(f"[bold]{label}[/bold]  {escape(sentence)}", highlight=False, soft_wrap=True)


def sentences(found: Explanation) -> Iterator[tuple[str, str]]:
    """Everything that is known, each with the label that it stands behind."""
    yield from (("none", f"{reason}.") for reason in found.plan.get("reasons", []))
    yield from (("needs" if "reasons" in found.plan else "serve", sentence) for sentence in needs(found))
    for what, one in limit_answers(found):
        when = f", {one.question.quarters}" if one.question.quarters else ""
        label = "binds" if one in found.binding else "limit"
        yield label, f"{one.question.about}{when}: {what} {effect(one, found)}."
    for kind in (Kind.ORDER, Kind.WHY_NOT):
        for about, answers in by_subject(found, kind).items():
            said = [f"{one.question.what} {effect(one, found)}" for one in answers]
            yield ("order" if kind is Kind.ORDER else "why not"), f"{about}: {'; '.join(said)}."
    yield from (("gap", sentence) for sentence in resolution(found))
    yield from (("left", sentence) for sentence in left(found))


def by_subject(found: Explanation, kind: Kind) -> dict[str, list[Answer]]:
    """The answers of a kind by what they are about, in the order of that."""
    answers = sorted(found.of(kind), key=lambda a: a.question.about)
    return {about: list(group) for about, group in groupby(answers, key=lambda a: a.question.about)}


def limit_answers(found: Explanation) -> list[tuple[str, Answer]]:
    """What came of each limit and by how much it was moved; once for a step and twice as much that tell nothing."""
    by_limit: dict[tuple[str, str], list[Answer]] = {}
    for one in found.of(Kind.LIMIT):
        by_limit.setdefault((one.question.about, one.question.quarters), []).append(one)
    rows = []
    for answers in by_limit.values():
        if all(one.verdict is Verdict.BELOW for one in answers):
            rows.append((", or ".join(one.question.what for one in answers), answers[-1]))
        else:
            rows += [(one.question.what, one) for one in answers]
    return rows


def effect(one: Answer, found: Explanation) -> str:
    """What came of a question, as the end of a sentence that begins with the change."""
    match one.verdict:
        case Verdict.SERVES_MORE:
            return f"serves {_shares(one)} more of the planned demand, at {_cost(one.cost_usd)}{_instead(one)}"
        case Verdict.SERVES_LESS:
            worse = _worse(one.short, found.plan["short"])
            more = " more" if found.plan["short"] else ""
            return f"leaves {_shares(one)}{more} of the planned demand unserved{f' ({worse})' if worse else ''}"
        case Verdict.SAVES:
            return f"saves {_amounts(one)}{_instead(one)}"
        case Verdict.COSTS:
            return f"costs {_amounts(one)} more{_instead(one)}"
        case Verdict.BELOW:
            return _hardly(one)
        case Verdict.NO_PLAN:
            return f"leaves no plan: {one.note.rstrip('.')}"
        case Verdict.NOT_ASKED:
            return "is not asked yet"
    return f"has no answer: {one.note.rstrip('.')}"


def needs(found: Explanation) -> list[str]:
    """What serves somebody or lets a case have a plan, at what cost; what does not alone; what cannot be asked."""
    said = []
    for about, group in groupby(found.of(Kind.SERVE), key=lambda a: a.question.about):
        answers = list(group)
        holds = [one for one in answers if one.verdict is Verdict.HOLDS]
        for one in holds:
            cost = "" if math.isnan(one.cost_usd) else f", at {_cost(one.cost_usd)}{_instead(one)}"
            said.append(f"{about}: {one.question.what}{cost}.")
        helpless = [one.question.what for one in answers if one.verdict is Verdict.NOT_ENOUGH]
        if helpless:
            said.append(f"{about}, not alone by: {'; '.join(helpless)}.")
        failed = [one for one in answers if one.verdict is Verdict.FAILED]
        if failed:
            what = "; ".join(one.question.what for one in failed)
            said.append(f"{about}, cannot be asked: {what}. Of the first: {failed[0].note}")
        if holds:
            said.append(f"{about}: to do is one of {len(holds)} above; state its values in the case and solve again."
                        if len(holds) > 1 else f"{about}: state these values in the case and solve again.")  # fmt: skip
        elif not found.not_asked:
            said.append(f"{about}: nothing that was tried does, moved as far as it may be, alone or together.")
    return said


def resolution(found: Explanation) -> list[str]:
    """How fine the answers are, where some are below it, and how to ask for finer ones."""
    gap_usd = found.gap_usd
    unclear = any(one.verdict is Verdict.BELOW and not one.most_usd < NOTHING_USD for one in found.answers)
    if gap_usd is None or not unclear:
        return []
    share_of = gap_usd / max(abs(float(found.plan["objective_usd"])), 1.0)
    finer = f"--gap {max(float(found.plan['gap']), share_of) / FINER:.2g}"
    return [
        f"The plan is within {usd(gap_usd)} ({share_of:.2%}) of the least cost, each answer within its own gap: what "
        f"moves less is not told apart; {finer} is finer, and slower."
    ]


FINER = 10.0
"""How many times finer a gap is offered."""
BELOW = "below the resolution of the gap"
NOTHING_USD = 0.5
"""An amount below this is none."""


def left(found: Explanation) -> list[str]:
    """Which questions are not asked yet."""
    if not found.not_asked:
        return []
    kinds = [f"{question.about} ({question.what})" for question in found.not_asked]
    many = f" and {len(kinds) - MOST_NAMED} more" if len(kinds) > MOST_NAMED else ""
    named = ", ".join(kinds[:MOST_NAMED])
    questions = count_of(len(kinds), "question")
    then = "Allow more time." if "reasons" in found.plan else "The same command goes on with them."
    return [f"{questions} not asked yet: {named}{many}. {then}"]


def _hardly(one: Answer) -> str:
    """What a change is worth, or costs, at most."""
    eases = one.question.relation is Relation.EASES
    if not math.isfinite(one.most_usd):
        known = math.isfinite(one.most_share)
        most = f"at most {share(max(one.most_share, 0.0))}" if known else "nobody knows how much"
        return f"serves {most} {'more' if eases else 'less'} of the planned demand: {BELOW}"
    if max(abs(one.least_usd), abs(one.most_usd)) < NOTHING_USD:
        return "is worth nothing" if eases else "costs nothing"
    if eases:
        return f"is worth at most {usd(one.most_usd)}: {BELOW}"
    if one.least_usd < 0.0:  # neither plan is one of the other case
        return f"costs between {usd(-one.least_usd)} less and {usd(one.most_usd)} more: {BELOW}"
    return f"costs at most {usd(one.most_usd)} more: {BELOW}"


def _cost(amount: float) -> str:
    if abs(amount) < NOTHING_USD:
        return "the same cost"
    return f"{usd(abs(amount))} {'more' if amount >= 0 else 'less'}"


def _amounts(one: Answer) -> str:
    """The interval in USD, its unit once where both ends have the same."""
    if not math.isfinite(one.most_usd):
        return f"{usd(one.least_usd)} or more"
    low, high = usd(one.least_usd), usd(one.most_usd)
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def _shares(one: Answer) -> str:
    low, high = share(one.least_share), share(max(one.most_share, one.least_share))
    return low if low == high or not math.isfinite(one.most_share) else f"{low} to {high}"


def _instead(one: Answer) -> str:
    moved = ", ".join(f"{units:+,d} {sku}" for sku, units in one.orders.items())
    return f" (orders {moved})" if moved else ""


ALL_BUT = 0.9995
"""Share of a workload's requests from which on none of it is served."""


def _worse(after: list[Short], before: list[Short]) -> str:
    """Who is served less than in the plan, when and by how much of the requests."""
    was = {(s["workload"], s["quarter"]): s["share"] for s in before}
    lost: dict[str, dict[str, float]] = {}
    for s in after:
        more = s["share"] - was.get((s["workload"], s["quarter"]), 0.0)
        if more > NOTICED:
            lost.setdefault(s["workload"], {})[s["quarter"]] = more
    return "; ".join(f"{_less(quarters)} of {workload} in {quarter_ranges(quarters)}"
                     for workload, quarters in lost.items())  # fmt: skip


def _less(by_quarter: dict[str, float]) -> str:
    most = max(by_quarter.values())
    if min(by_quarter.values()) > ALL_BUT:
        return "all"
    return f"{'up to ' if len(by_quarter) > 1 else ''}{'all' if most > ALL_BUT else share(most)}"
