"""How a plan ends in sentences: its cost or margin, how near the best it is, what is served, what is short and why."""

from __future__ import annotations

from procure.plan import Plan, Status
from procure.plan.status import is_short
from procure.plan.summary import gap_of_decided
from procure.plan.tables import UnitCost
from procure.quarter import quarter_ranges
from procure.report.words import planned_quarters, share, usd
from procure.rules.objective import Objective
from procure.schema import CostLine, Span
from procure.timekey import grouped, summed, unmixed

WHOLE = "whole plan"
"""What the costs of tokens of all workloads together stand under."""


def objective(plan: Plan) -> Objective:
    """What the plan was chosen by."""
    return Objective(plan.summary["objective"])


def outcome(plan: Plan) -> str:
    """What the objective comes to: cost, margin or what is served, whichever is best; the cost beside what is served.

    Of what is served, also the most that any plan serves, by the bound on what must be short.
    """
    by = objective(plan)
    if by.earns:
        income, cost = income_and_cost(plan)
        return f"net present margin {usd(-plan.objective_usd)} ({usd(income)} of income less {usd(cost)} of cost)"
    cost_told = f"net present cost {usd(plan.objective_usd)}"
    if by.ranked and not by.promises:
        of, most = "tokens" if by.tokens else "requests", 1.0 - float(plan.summary["shortfall"]["bound"])
        served = f"{share(1.0 - short_share(plan))} of the planned {of}, weighted by priority"
        return f"{served}, served as promised (the most of any plan: {share(most)}), {cost_told}"
    return cost_told


def income_and_cost(plan: Plan) -> tuple[float, float]:
    """Net present income from what is served, and net present cost, both positive; their difference is the margin."""
    income = -summed(plan.tables["costs"][plan.tables["costs"]["line"] == CostLine.INCOME], "npv_usd")
    return income, plan.objective_usd + income


def short_share(plan: Plan) -> float:
    """Share of the planned quarters' requests, weighted by priority, that is not served as promised.

    0 where no workload is short by more than counts as served (:data:`procure.plan.status.SERVED`).
    """
    shortfall = plan.summary["shortfall"]
    return float(shortfall["share"]) if shortfall["workloads"] else 0.0


def gap_in_short(plan: Plan) -> tuple[str, str] | None:
    """How far the plan may be from the best possible, as a share of its objective and in USD; None without a bound."""
    gap, bound = plan.summary.get("gap"), plan.summary.get("bound_usd")
    if gap is None or bound is None:
        return None
    return f"{gap:.2%}", usd(max(plan.objective_usd - bound, 0.0))


def proven_gap(plan: Plan) -> str:
    """The same with what it is of what decisions move, in words; empty where no bound is known."""
    short, bound, standing = gap_in_short(plan), plan.summary.get("bound_usd"), plan.summary.get("standing_usd")
    if short is None or bound is None:
        return ""
    of_least, amount = short
    parts, best = [amount], "most" if objective(plan).earns else "least"
    if standing is not None:
        parts.append(f"{gap_of_decided(plan.objective_usd, bound, standing):.2%} of what decisions move")
    return f"{of_least} of the {best} possible ({', '.join(parts)})"


def status_sentence(plan: Plan) -> str:
    """How the run ended, in one sentence."""
    gap = proven_gap(plan)
    within = f"within {gap}" if gap else "not bounded"
    what = "margin" if objective(plan).earns else "cost"
    match plan.status:
        case Status.OPTIMAL:
            served = _served(plan, short_share(plan))
            return f"{served[0].upper()}{served[1:]}; the {what} is {within}."
        case Status.SHORT:
            short = share(short_share(plan))
            return f"The cost is {within}, but {short} of the planned requests cannot be served as promised."
        case Status.LIMIT:
            served = _served(plan, short_share(plan))
            served = f"{served[0].lower()}{served[1:]}"
            return f"Stopped by a limit before the proof was complete: {served}, the {what} is {within}."
    return "DO NOT USE: the plan does not pass its own verification; see the checks."


def _served(plan: Plan, lost: float) -> str:
    """What planned quarters serve, in a clause."""
    of = "tokens" if objective(plan).tokens else "requests"
    return (
        f"{share(lost)} of the planned {of} are not served as promised"
        if lost
        else "Every SLA of the planned quarters is met"
    )


def causes(plan: Plan, span: Span) -> list[str]:
    """What is short in the quarters of a span: workload, mean share of its requests, quarters, cause."""
    sla = plan.tables["sla"]
    planned = sla["quarter"].isin(planned_quarters(plan))
    short = sla[sla["short_share"].map(is_short).astype(bool) & (planned if span == Span.PLANNED else ~planned)]
    sentences = []
    for (workload, cause), rows in grouped(short, ["workload", "cause"], dropna=False):
        asked = summed(rows, "requests_per_s")
        lost = summed(rows.assign(lost=rows["short_share"] * rows["requests_per_s"]), "lost") / asked
        why = f" ({cause})" if str(cause) else ""
        sentences.append(f"{workload}: {share(lost)} of the peak requests in {quarter_ranges(rows['quarter'])}{why}.")
    return sentences


def unit_costs(plan: Plan) -> list[tuple[str, str, float, float, float]]:
    """USD per million tokens: workload (or the whole plan), kind of token, cost, market price, ratio; NaN for none."""
    table = UnitCost.rows(unmixed(plan.tables["unit_costs"]))
    return [
        (r.workload or WHOLE, r.tokens, r.usd_per_million_tokens, r.market_usd_per_million_tokens, r.cost_per_market)
        for r in table
    ]  # fmt: skip
