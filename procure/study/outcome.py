"""What came of one changed case: the facts of its plan, or the reason why there is none."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from procure.case import Case
from procure.errors import InputError
from procure.files import place_of
from procure.instance import Cache, build
from procure.plan import Plan, Status
from procure.plan.tables import ExpansionOrder, UnitCost
from procure.plan.unit_costs import BLENDED
from procure.schema import Span
from procure.solver import Infeasible, Memory, NoPlan, Options, plan_of
from procure.study.change import Change, Effort, changed, holds_of
from procure.timekey import BESIDE_QUARTER, summed, totals

FAILED = "failed"
TOKEN_FACTS = ("million_tokens", "usd_per_million_tokens", "market_usd_per_million_tokens")
"""Columns of a plan's ``unit_costs`` that studies keep, of all tokens of a workload together."""
DIED = "WorkerDied"
"""The ``error`` of a change whose process ended under it."""
UNSTORED = "OSError"
"""The ``error`` of a change whose plan the system would not store: the study ends there, and goes on from there."""


@dataclass(frozen=True)
class Outcome:
    """What came of one change.

    Attributes:
        number: its place among the changes of its study, from 1.
        change: paths and values.
        status: the plan's, or ``failed``.
        reason: why it failed, in one line; empty with a plan.
        error: class of what was raised; empty with a plan.
        facts: of the plan: ``objective_usd``, ``bound_usd``, ``gap``, ``gap_usd``, ``shortfall_share``,
            ``shortfall_bound``, ``short`` (who is short in planned quarters, as in ``plan.json``),
            ``planned_capex_usd``, ``costs`` (USD of net present cost by line), ``purchases``, ``rents``,
            ``order_changes`` and ``sales`` (as in ``plan.json``), ``expansions`` (quarter, site, expansion and count
            of planned quarters), ``kv_bytes`` (by tier, parked at the peak of the quarter that parks most), ``tokens``
            (blended tokens, cost and market price by workload, None for no number) and ``instance_hash``.
        stages: names of the stages of the instance that were run for it; the others were at hand.
        seconds: wall seconds.
        stopped: whether it ended because it was asked to: it is worked out anew when its study goes on.
    """

    number: int
    change: dict[str, Any]
    status: str
    reason: str = ""
    error: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    stages: tuple[str, ...] = ()
    seconds: float = 0.0
    stopped: bool = False

    @property
    def failed(self) -> bool:
        """Whether there is no plan."""
        return self.status == FAILED

    @property
    def is_infeasible(self) -> bool:
        """Whether there is no plan since none keeps the limits, which is proven; else another run may find one."""
        return self.error == Infeasible.__name__

    @property
    def is_final(self) -> bool:
        """Whether another run would find the same: neither stopped nor lost with its process."""
        return not self.stopped and self.error != DIED


EXPECTED = (InputError, Infeasible, NoPlan)
"""What an input may raise."""


def is_bug(error: str) -> bool:
    """Whether the ``error`` of an outcome is one that no input should raise."""
    return bool(error) and error not in (DIED, *(expected.__name__ for expected in EXPECTED))


@dataclass(frozen=True)
class Known:
    """What instances and searches of changed cases have left, for the next ones."""

    cache: Cache = field(default_factory=Cache)
    memory: Memory = field(default_factory=Memory)


class Solver:
    """Works out changes of one case, one after the other, keeping what instances and searches leave.

    Each search begins with what the one before it has left, so that within the gap asked for a plan may depend on which
    changes its process worked out before.
    """

    def __init__(self, case: Case, effort: Effort, points: Path | None, known: Known | None = None) -> None:
        self._case, self._effort, self._points = case, effort, points
        self._known = known or Known()

    def outcome(self, number: int, change: Change, stop: Callable[[], bool]) -> Outcome:
        """What comes of a change; whatever is raised is a reason. Its plan is stored under its number."""
        started = time.perf_counter()
        try:
            plan = self._plan(change, stop)
            if self._points is not None:
                plan.write(self._points / f"{number:03d}")
            found = Outcome(number, dict(change), str(plan.status), facts=facts_of(plan))
        except Exception as error:
            unstored = None if self._points is None else place_of(error)
            reason = _of_expected(error) if isinstance(error, EXPECTED) else _of_bug(error)
            name = type(error).__name__
            if unstored is not None:
                reason, name = f"{unstored.filename}: {unstored.strerror}.", UNSTORED
            found = Outcome(number, dict(change), FAILED, " ".join(reason.split()), name)
        seconds = round(time.perf_counter() - started, 2)
        cut_off = found.status in (FAILED, Status.LIMIT) and stop()
        return replace(found, seconds=seconds, stages=tuple(self._known.cache.ran), stopped=cut_off)

    def _plan(self, change: Change, stop: Callable[[], bool]) -> Plan:
        effort = self._effort
        self._known.cache.ran = []
        options = Options(effort.gap, effort.time_limit_s, effort.threads, effort.seed, stop=stop)
        case = changed(self._case, change)
        instance, holds = build(case, self._known.cache), holds_of(case, change)
        known = self._known
        return plan_of(
            case, instance, options, effort.method, holds=holds, memory=known.memory, ask_causes=effort.ask_causes
        )


def facts_of(plan: Plan) -> dict[str, Any]:
    """What studies compare of a plan, as JSON holds it."""
    costs = totals(plan.tables["costs"], ["line"], "npv_usd")
    bound = plan.summary["bound_usd"]
    return {
        "objective_usd": plan.objective_usd,
        "bound_usd": bound,
        "gap": plan.summary["gap"],
        "gap_usd": None if bound is None else plan.objective_usd - bound,
        "shortfall_share": plan.summary["shortfall"]["share"],
        "shortfall_bound": plan.summary["shortfall"]["bound"],
        "short": plan.summary["shortfall"]["workloads"],
        "planned_capex_usd": summed(plan.purchases, "capex_usd"),
        "costs": {str(line): float(usd) for line, usd in costs.items()},
        "purchases": plan.summary["purchases"],
        "rents": plan.summary["rents"],
        "order_changes": plan.summary["order_changes"],
        "sales": plan.summary["sales"],
        "expansions": [
            {"quarter": order.quarter, "site": order.site, "expansion": order.expansion, "count": int(order.count)}
            for order in plan.rows(ExpansionOrder)
            if order.span == Span.PLANNED
        ],
        "kv_bytes": _parked_bytes(plan),
        "tokens": {
            cost.workload: {name: _or_none(getattr(cost, name)) for name in TOKEN_FACTS}
            for cost in plan.rows(UnitCost)
            if cost.workload and cost.tokens == BLENDED
        },
        "instance_hash": plan.summary["instance_hash"],
    }


def _parked_bytes(plan: Plan) -> dict[str, float]:
    """Bytes of parked KV caches by tier, all sites, in the quarter that parks most there."""
    parked = totals(plan.tables["kv_placement"], ["tier", "quarter", *BESIDE_QUARTER], "parked_bytes")
    most: dict[str, float] = {}
    for (tier, *_), held in parked.items():
        most[str(tier)] = max(most.get(str(tier), 0.0), float(held))
    return most


def _or_none(value: float) -> float | None:
    """A number as JSON holds it."""
    return value if math.isfinite(value) else None


def _of_expected(error: Exception) -> str:
    """What was raised, in one line: limits that no plan keeps one after the other."""
    return f"{Infeasible.NONE} {'; '.join(error.lines)}." if isinstance(error, Infeasible) else str(error)


def _of_bug(error: Exception) -> str:
    """Class, message and place of what should not have been raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"This is a bug in procure: {type(error).__name__}: {error}{place}."
