"""Price tags: what a plan costs less where one of its workloads is not asked for, by solving it again without it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from procure.case import Case
from procure.case.forecast import MEASURES
from procure.csvtext import guarded
from procure.study.change import Change, Effort
from procure.study.outcome import Outcome
from procure.study.run import Step, Study

TABLE = "tags.csv"


class NothingToCompare(Exception):
    """The whole case, as it stands, has no plan that changed ones could be held against.

    Attributes:
        error: class of what kept it from having one, as of an outcome; empty where it was not begun.
    """

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(f"The whole case has no plan to compare with. {reason}")
        self.error = error


def price_tags(
    case: Case,
    *,
    out: str | Path | None = None,
    jobs: int = 1,
    progress: Callable[[Step], None] | None = None,
    stop: Callable[[], bool] | None = None,
    **effort: Any,
) -> pd.DataFrame:
    """What each workload of a case costs: the plan's cost less that of the plan without it.

    Both are solved, the second with nothing asked of the workload in any quarter; everything else stays, fleet and firm
    orders too. So a tag holds what the workload alone makes the plan buy, not a share of what others need as well: tags
    do not add up to the plan's cost. A cost lies between its proven bound and what was found, so a tag does between the
    difference either way; where 0 lies between, it is below the resolution of the gap.

    Args:
        case: whose workloads are priced.
        out: folder that is new or empty, or holds this study, which then goes on; ``tags.csv`` is written at the end.
        jobs: plans worked on at a time, each in a process of its own.
        progress: called after each plan.
        stop: asked often; once it is true, what is at hand ends as at a time limit, and nothing else is begun.
        effort: as for :func:`procure.solve`: ``gap``, ``time_limit_s``, ``threads``, ``seed``, ``method``.

    Returns:
        one row per workload: ``tag_usd`` with ``least_usd`` and ``most_usd`` (present USD over planned and look-ahead
        quarters), ``million_tokens`` that the plan serves of it (input and output, discounted), the same by million,
        ``average_usd_per_million_tokens`` (its share of the whole plan's cost, as ``unit_costs`` has it) and
        ``market_usd_per_million_tokens``; ``shortfall_share`` of the plan and ``shortfall_share_without`` it, for where
        others are served better the tag pays for that too; ``status``, ``reason`` and ``error`` of the plan without it.
        NaN for what a plan that failed or was not begun does not know.

    Raises:
        InputError: the folder holds something else.
        NothingToCompare: the whole case has no plan.
    """
    workloads = case.tables["workloads"]["workload"].tolist()
    changes: list[Change] = [{}, *(_without(case, name) for name in workloads)]
    folder = None if out is None else Path(out)
    found = Study("tags", case, changes, Effort(**effort)).run(folder, jobs, progress, stop or (lambda: False))
    by_number = {outcome.number: outcome for outcome in found}
    whole = by_number.get(1)
    if whole is None:
        raise NothingToCompare("It was not solved.", "")
    if whole.failed:
        raise NothingToCompare(whole.reason, whole.error)
    frame = pd.DataFrame([_row(name, whole, by_number.get(n)) for n, name in enumerate(workloads, start=2)])
    if folder is not None:
        guarded(frame).to_csv(folder / TABLE, index=False, lineterminator="\n")
    return frame


def _without(case: Case, workload: str) -> dict[str, Any]:
    """A change that asks for nothing of a workload: zero in every measure that the forecast states of it."""
    rows = case.given_tables["forecast"]
    mine = rows[rows["workload"].astype(str) == workload]
    stated = [name for name in MEASURES if name in mine and mine[name].notna().any()]
    return {f"forecast/{workload}/{name}": 0.0 for name in stated}


def _row(workload: str, whole: Outcome, without: Outcome | None) -> dict[str, Any]:
    """One workload's tag, from the plan with it and the one without."""
    tokens = whole.facts["tokens"].get(workload, {})
    millions = float(tokens.get("million_tokens") or 0.0)
    row: dict[str, Any] = {"workload": workload}
    row |= dict.fromkeys(("tag_usd", "least_usd", "most_usd"), math.nan)
    if without is not None and not without.failed:
        row["tag_usd"] = whole.facts["objective_usd"] - without.facts["objective_usd"]
        row["least_usd"] = _less(whole.facts["bound_usd"], without.facts["objective_usd"])
        row["most_usd"] = _less(whole.facts["objective_usd"], without.facts["bound_usd"])
    row["million_tokens"] = millions
    for name in ("tag", "least", "most"):
        row[f"{name}_usd_per_million_tokens"] = row[f"{name}_usd"] / millions if millions else math.nan
    row["average_usd_per_million_tokens"] = _number(tokens.get("usd_per_million_tokens"))
    row["market_usd_per_million_tokens"] = _number(tokens.get("market_usd_per_million_tokens"))
    row["shortfall_share"] = whole.facts["shortfall_share"]
    row["shortfall_share_without"] = math.nan if without is None else _number(without.facts.get("shortfall_share"))
    told = ("not begun", "It was stopped before.", "") if without is None else (
        without.status, without.reason, without.error)  # fmt: skip
    return row | dict(zip(("status", "reason", "error"), told, strict=True))


def _less(a: float | None, b: float | None) -> float:
    """The difference of two amounts, NaN where one is not known."""
    return math.nan if a is None or b is None else a - b


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
