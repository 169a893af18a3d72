"""The whole way from a case to a verified plan."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from procure.case import Case
from procure.check.day import coincident_peak
from procure.families.scales import BASIS_POINTS, USD_PER_UNIT
from procure.instance import Instance, build
from procure.plan.claims import rightful_status
from procure.plan.extrapolation import extrapolation_shares
from procure.plan.order_changes import changes_summary
from procure.plan.placement import Placed, moved_share
from procure.plan.plan import Plan
from procure.plan.premises import evidence_shares, premises_table
from procure.plan.provenance import premises_summary, provenance, versions
from procure.plan.rents import rents_summary
from procure.plan.sales import sales_summary
from procure.plan.status import Status, is_short
from procure.plan.summary import Short, Shortfall, Summary
from procure.plan.tables import Purchase, Service
from procure.plan.uncounted import uncounted_units
from procure.plan.unit_costs import cost_warnings, unit_costs_summary
from procure.plan.verify import checks_of
from procure.program import Program
from procure.rules.objective import Objective
from procure.schema import Span
from procure.solver.answer import Values, tables_of
from procure.solver.compile import Compiled, limited
from procure.solver.decompose import Decomposition
from procure.solver.explain import causes
from procure.solver.fair import even_out
from procure.solver.held import Hold, held
from procure.solver.highs import Options, Progress, relative_gap, write_mps
from procure.solver.memory import Memory
from procure.solver.solution import Solution
from procure.solver.steady import steady
from procure.solver.valleys import fill_valleys
from procure.solver.violation import smallest_violation
from procure.solver.whole import solve_whole
from procure.timekey import one_block, summed, time_keys

Method = Literal["decomposed", "whole"]

SHARE_TO_SERVE_ALL = 0.5
"""Of the time, what may be spent on finding a fleet that serves everything before a short one is looked for."""
SHARE_TO_BE_LEAST_SHORT = 0.5
"""Of the time left then, what the least shortfall may take: the rest is for what its fleet costs."""
LEAST_SECONDS_TO_STAY = 60.0
"""Wall seconds that the service which moves least may take even after a search that took less."""


NOTHING_RANKED = Solution("optimal", None, 0.0, 0.0)
"""The stage of least shortfall where there is none, or where it has a price."""


class Infeasible(Exception):
    """No plan exists, whatever is left unserved; the lines say which limits are broken when, and by how much."""

    NONE = "No plan fits the limits, whatever may be left unserved:"

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("\n  ".join([self.NONE, *lines]))


class NoPlan(Exception):
    """A limit was reached before any plan was found."""


class Clock:
    """Seconds by phase."""

    def __init__(self, started: float) -> None:
        self.seconds: dict[str, float] = {}
        self._last = started

    def lap(self, phase: str) -> None:
        """Time since the last lap belongs to a phase."""
        now = time.perf_counter()
        self.seconds[phase] = round(self.seconds.get(phase, 0.0) + now - self._last, 4)
        self._last = now


def solve(  # noqa: PLR0913 - one option of the search each, by name
    case: Case,
    *,
    gap: float = 0.005,
    time_limit_s: float = float("inf"),
    threads: int = 0,
    seed: int = 0,
    method: Method = "decomposed",
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    mps: str | Path | None = None,
    memory: Memory | None = None,
) -> Plan:
    """Choose what to buy: least shortfall first, then least net present cost, or what else the case's objective is.

    Args:
        case: what the planner asks.
        gap: relative gap between cost and its proven bound at which to stop.
        time_limit_s: wall seconds from the call on, for sizing, search and causes of shortfall; the best plan so far is
            kept, verified and labelled.
        threads: threads of HiGHS; 0 leaves it to HiGHS.
        seed: random seed of HiGHS.
        method: ``decomposed`` by quarter, or the ``whole`` program in one run.
        progress: called with what is known, from the first second on.
        stop: asked often while the search runs; once it is true, the best plan so far is kept as at a time limit.
        mps: file to write the final stage's whole program to, in plain MPS with money in M USD.
        memory: what earlier searches of cases alike have left; it is read, and renewed with what this one leaves. The
            same gap is reached in a fraction of the time where a price, a limit, a budget or a load has moved.

    Returns:
        the plan, verified; its status says whether it is optimal within the gap, short of demand, or cut off.

    Raises:
        InputError: the case cannot be turned into an instance.
        Infeasible: no plan fits the limits whatever is left unserved.
        NoPlan: the time limit, or the wish to stop, came before any plan.
    """
    options = Options(gap, time_limit_s, threads, seed, progress, stop)
    options.report("sizing", None, None)
    return plan_of(case, build(case), options, method, mps, memory=memory)


def plan_of(
    case: Case,
    instance: Instance,
    options: Options,
    method: Method = "decomposed",
    mps: str | Path | None = None,
    holds: Sequence[Hold] = (),
    memory: Memory | None = None,
    ask_causes: bool = True,
) -> Plan:
    """The plan of a case whose instance is at hand; as :func:`solve`, whose ``options`` began when the case was taken.

    With orders held it is the best of the plans that keep to them, and its bound is theirs. Where causes of shortfall
    are not asked for, those that would take a search are *not known*.

    Raises:
        Infeasible: as :func:`solve`.
        NoPlan: as :func:`solve`.
    """
    clock = Clock(options.started)
    clock.lap("size")
    options.report("building the program", None, None)
    program, free = (memory or Memory()).program_of(instance)
    compiled = held(free, program, holds, instance.quarters)
    clock.lap("build")
    options.standing, options.earns = free.standing, case.objective.earns
    least_short, final = _stages(compiled, options, method, instance, memory)
    if mps is not None:
        _write_mps(compiled, _held(least_short, compiled) if case.objective.ranked else None, Path(mps))
    clock.lap("solve")
    if final.values is None:
        raise _no_plan(options)
    values = even_out(program, compiled, final.values, options)
    final, cheapest = _steadied(case, program, compiled, replace(final, values=values), options)
    assert final.values is not None
    values = fill_valleys(program, compiled, final.values, options)
    value = Values(compiled, values)
    options.report("tables and causes", final.objective, final.bound)
    tables = tables_of(program, instance, value)
    clock.lap("tables")
    with nullcontext() if ask_causes else options.share(0.0):
        tables["sla"] = _with_causes(tables["sla"], program, compiled, instance, values, options)
    clock.lap("explain")
    tables["premises"] = premises_table(case)
    tables["checks"] = pd.DataFrame(columns=["check", "holds", "detail"])
    summary = _summary(case, instance, free, tables, final, least_short, options, method)
    if cheapest is not None:
        summary["placement"] = _placed(program, instance, compiled, cheapest, final)
    if (peak := coincident_peak(instance)) is not None:
        summary["coincident_peak"] = peak
    if mps is not None:
        summary["mps_scale"] = USD_PER_UNIT
    summary["status"] = rightful_status(summary)
    plan = Plan(summary, tables)
    clock.lap("tables")
    options.report("verification", final.objective, final.bound)
    checks = checks_of(plan, case, instance)
    clock.lap("verify")
    return plan.verified(checks, clock.seconds)


def _stages(
    compiled: Compiled, options: Options, method: Method, instance: Instance, memory: Memory | None
) -> tuple[Solution, Solution]:
    """Least shortfall, then least cost at that shortfall; or least cost at once where no shortfall is ranked.

    Whether everything can be served is asked first, since the cost stage with no shortfall allowed answers it for most
    cases at once. Where it ends without a plan, the least shortfall is asked for: a short plan is one.
    """
    decomposed = Decomposition(compiled, options, memory) if method == "decomposed" else None
    if decomposed is not None:
        run: Callable[[str, float | None], Solution] = decomposed.solve
        share: Callable[[float], AbstractContextManager[None]] = options.share
    else:  # a run of the whole program must not end early where it has a plan

        def share(part: float) -> AbstractContextManager[None]:
            return nullcontext()

        def run(objective: str, most: float | None) -> Solution:
            return solve_whole(compiled, options, objective, most)

    if not Objective(str(instance.settings["objective"])).ranked:
        final = run("cost", None)
        if final.status == "infeasible":
            raise Infeasible(smallest_violation(compiled, options, instance))
        return (NOTHING_RANKED, final) if final.values is not None else _nearest(decomposed, options)
    with share(SHARE_TO_SERVE_ALL):
        final = run("cost", 0.0)
    if final.values is not None:
        return NOTHING_RANKED, final
    if final.status == "infeasible" or options.left() > 0:
        with share(SHARE_TO_BE_LEAST_SHORT):
            least = run("shortfall", None)
        if least.status == "infeasible":
            raise Infeasible(smallest_violation(compiled, options, instance))
        if least.objective is not None:
            final = run("cost", _held(least, compiled))
            if final.values is not None:
                return least, final
            if method == "whole":
                return least, Solution("limit", least.values, None, final.bound)
    return _nearest(decomposed, options)


def _nearest(decomposed: Decomposition | None, options: Options) -> tuple[Solution, Solution]:
    """The fleet asked about that came nearest, where time was over before a stage had a plan."""
    kept = None if decomposed is None else decomposed.kept()
    if kept is None:
        raise _no_plan(options)
    return kept


def _steadied(
    case: Case, program: Program, compiled: Compiled, final: Solution, options: Options
) -> tuple[Solution, Solution | None]:
    """The plan whose service moves least within the tolerance that the case states, and the cheapest that it replaces.

    Without a tolerance, or where the search knows no cost, the cheapest and nothing beside it. What is no more than a
    choice among services may not take longer than the search before it: the cheapest stands for itself then.
    """
    tolerance = case.settings.placement_tolerance
    if tolerance <= 0 or final.values is None or final.objective is None:
        return final, None
    options.report("service that stays", final.objective, final.bound)
    with options.within(max(time.perf_counter() - options.started, LEAST_SECONDS_TO_STAY)):
        values = steady(program, compiled, final.values, options, tolerance)
    if values is None:
        return final, final
    return replace(final, values=values, objective=float(compiled.cost @ values)), final


def _placed(program: Program, instance: Instance, compiled: Compiled, cheapest: Solution, chosen: Solution) -> Placed:
    """What moves in the plan and in the cheapest service of its fleet, and what is given up for the difference."""
    moved = []
    for solution in (chosen, cheapest):
        assert solution.values is not None
        tables = tables_of(program, instance, Values(compiled, solution.values))
        moved.append(moved_share(instance, tables))
    costs = [_cost_usd(compiled, {}, solution)[0] for solution in (chosen, cheapest)]
    return {"moved": moved[0], "moved_cheapest": moved[1], "given_up_usd": costs[0] - costs[1]}


def _no_plan(options: Options) -> NoPlan:
    """What to say where the search ended before any plan."""
    if options.stop is not None and options.stop():
        return NoPlan("Stopped before any plan was found.")
    return NoPlan("The time limit came before any plan was found; allow more time or a wider gap.")


def _held(least: Solution, compiled: Compiled) -> float:
    """Basis points of shortfall that the cost stage may show: the first stage's, and a little where there is any.

    That little is counted from the bound, so that what the first stage left unproven is not added to it.
    """
    if not least.objective:
        return 0.0
    return max((least.bound or 0.0) + compiled.short_tolerance, least.objective + compiled.short_tolerance / 100)


def _with_causes(
    sla: pd.DataFrame,
    program: Program,
    compiled: Compiled,
    instance: Instance,
    values: np.ndarray,
    options: Options,
) -> pd.DataFrame:
    """The SLA table with the cause of every shortfall."""
    at = time_keys(sla.assign(t=sla["quarter"].map(instance.position)))
    keys = list(zip(at, sla["workload"], strict=True))
    short = {key: share for key, share in zip(keys, sla["short_share"], strict=True) if is_short(share)}
    told = {(c.at, c.workload): c.text for c in causes(program, compiled, instance, values, short, options)}
    return sla.assign(cause=[told.get(key, "") for key in keys])


def _summary(
    case: Case,
    instance: Instance,
    compiled: Compiled,
    tables: dict[str, pd.DataFrame],
    final: Solution,
    least_short: Solution,
    options: Options,
    method: Method,
) -> Summary:
    objective, bound = _cost_usd(compiled, tables, final)
    planned = tables["purchases"][tables["purchases"]["span"] == Span.PLANNED]
    return {
        "case": case.name,
        "case_folder": None if case.source is None else str(case.source),
        "points": case.settings.points,
        "objective": str(case.objective),
        "status": str(Status.LIMIT),
        "objective_usd": objective,
        "bound_usd": bound,
        "gap": None if bound is None else relative_gap(objective, bound),
        "standing_usd": compiled.standing * USD_PER_UNIT,
        "gap_asked": options.gap,
        "method": method,
        "seed": options.seed,
        "threads": options.threads,
        "shortfall": _shortfall(case, instance, tables["sla"], least_short),
        "planned_quarters": [str(q) for q in case.planned],
        "lookahead_quarters": [str(q) for q in case.lookahead],
        "discount_rate_per_year": case.settings.discount_rate_per_year,
        "purchases": [
            {"quarter": r.quarter, "site": r.site, "sku": r.sku, "count": r.count} for r in Purchase.rows(planned)
        ],
        "sales": sales_summary(tables["sales"][tables["sales"]["span"] == Span.PLANNED]),
        "rents": rents_summary(tables["rents"]),
        "order_changes": changes_summary(tables["order_changes"]),
        "uncounted": uncounted_units(tables, [str(q) for q in case.planned]),
        "versions": versions(),
        "input_hash": case.input_hash,
        "instance_hash": instance.hash,
        "provenance": provenance(case),
        "premises": premises_summary(tables["premises"]),
        "unit_costs": unit_costs_summary(tables["unit_costs"]),
        "cost_warnings": cost_warnings(tables["unit_costs"]),
        "demand_notes": instance["notes"]["sentence"].tolist(),
        "defaults_used": list(case.defaults_used),
        "doubts": [str(doubt) for doubt in case.doubts],
        "evidence": evidence_shares(tables, case),
        "extrapolation": extrapolation_shares(tables["serving"]),
        "seconds": {},
    }


def _cost_usd(compiled: Compiled, tables: dict[str, pd.DataFrame], final: Solution) -> tuple[float, float | None]:
    """Net present cost and its bound, USD; the price on what is tolerated is no money and taken out of both."""
    assert final.values is not None
    deterrent = float(compiled.cost[compiled.tolerated] @ final.values[compiled.tolerated])
    if final.objective is None:
        objective = summed(tables["cash"], "npv_usd")
    else:
        objective = (final.objective - deterrent) * USD_PER_UNIT
    # A stage cut off before its first relaxation knows no bound: minus infinity is not a number for a reader.
    bound = None if final.bound is None or math.isinf(final.bound) else (final.bound - deterrent) * USD_PER_UNIT
    return objective, bound


def _shortfall(case: Case, instance: Instance, sla: pd.DataFrame, least: Solution) -> Shortfall:
    """Who is short in planned and look-ahead quarters, and the weighted share with its bound."""
    short = sla[sla["short_share"].map(is_short).astype(bool)]
    in_plan = short["quarter"].isin({str(q) for q in case.planned})
    return {
        "share": _short_share(sla, instance),
        "bound": max(least.bound or 0.0, 0.0) / BASIS_POINTS,
        "workloads": _shortfalls(short[in_plan]),
        "lookahead_workloads": _shortfalls(short[~in_plan]),
    }


def _shortfalls(short: pd.DataFrame) -> list[Short]:
    """Rows of the SLA table that are short, as plan.json tells them."""
    return [
        {"quarter": r.quarter, "workload": r.workload, "share": r.short_share, "cause": r.cause}
        for r in Service.rows(short)
    ]


def _short_share(sla: pd.DataFrame, instance: Instance) -> float:
    """Priority-weighted share of the planned requests, or tokens, as the objective counts, that is not served."""
    one_block({"sla": sla, "rates": instance["rates"]})
    rates = instance["rates"].merge(instance["quarters"][["t", "quarter", "planned"]], on="t")
    rates["tokens"] = 1.0
    if Objective(str(instance.settings["objective"])).tokens:
        keys = ["t", "workload", "bucket"]
        sizes = rates[keys].merge(instance["lengths"], on=keys, how="left", validate="1:1")
        rates["tokens"] = sizes[["input_tokens", "thinking_tokens", "visible_tokens"]].sum(axis=1)
    rates = rates[rates["planned"] == 1].merge(instance["workloads"][["workload", "priority"]], on="workload")
    rates = rates.merge(sla[["quarter", "workload", "short_share"]], on=["quarter", "workload"])
    weight = rates["priority"] * rates["requests_per_s"] * rates["mean_per_peak"] * rates["tokens"]
    return float((weight * rates["short_share"]).sum() / weight.sum()) if weight.sum() > 0 else 0.0


def _write_mps(compiled: Compiled, most_short: float | None, path: Path) -> None:
    """The final stage as one file: cost, with the shortfall of stage one held where it is ranked."""
    stage = limited(compiled, most_short)
    held = ["shortfall_held"] if len(stage.row_upper) > len(compiled.rows) else []
    whole = replace(
        compiled,
        matrix=stage.matrix,
        row_lower=stage.row_lower,
        row_upper=stage.row_upper,
        col_upper=stage.col_upper,
        rows=[*compiled.rows, *held],
    )
    write_mps(whole, np.asarray(compiled.cost), whole.row_upper, whole.col_upper, path)
