"""A sweep: every point a verified plan, or a row that says why there is none."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from procure.case import Case
from procure.csvtext import guard
from procure.errors import Fault, InputError
from procure.files import check_folder
from procure.plan import Plan
from procure.solver import Infeasible, NoPlan, solve
from procure.study.vary import grid
from procure.timekey import summed

FACTS = ("status", "reason", "objective_usd", "bound_usd", "gap", "shortfall_share", "planned_capex_usd", "seconds")
"""Columns of ``sweep.csv`` between what was varied and the counts by SKU (``ordered <sku>``)."""


@dataclass(frozen=True)
class Step:
    """Progress of a sweep: a point has finished."""

    done: int
    total: int
    point: dict[str, Any]
    status: str
    seconds_left: float


def sweep(
    case: Case,
    vary: Mapping[str, Sequence[Any]],
    *,
    out: str | Path | None = None,
    progress: Callable[[Step], None] | None = None,
    stop: Callable[[], bool] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Solve a case for every combination of values.

    Args:
        case: where every point starts from.
        vary: name → values; names as :meth:`procure.Case.with_value` takes them.
        out: folder that is new or empty for ``sweep.csv`` (a row as soon as a point finishes) and ``points/`` with
            each plan; nothing is stored without it.
        progress: called after each point, with the seconds left at the pace so far.
        stop: asked often; once it is true, the point at hand ends as at a time limit, and no other is begun.
        options: as for :func:`procure.solve`.

    Returns:
        one row per point: the values, status (of the plan, or ``failed``), the reason of a failure, objective and bound
        (USD), gap, shortfall (share of weighted planned demand), capital of planned orders (USD), seconds, and units
        ordered in planned quarters by SKU (columns ``ordered <sku>``).

    Raises:
        InputError: ``out`` holds something, or a name of which no value fits the case. A value that fits nowhere beside
            others that do is a point that failed.
    """
    _check_names(case, vary)
    points = grid(vary)
    folder = None if out is None else _fresh_folder(Path(out))
    skus = sorted(case.settings.may_buy)
    columns = [*vary, *FACTS, *(f"ordered {sku}" for sku in skus)]
    if folder is not None:
        _append(folder / "sweep.csv", columns)
    rows: list[dict[str, Any]] = []
    started = time.perf_counter()
    for number, point in enumerate(points, start=1):
        row, plan = _solve_point(case, point, {**options, "stop": stop})
        row |= {f"ordered {sku}": _ordered(plan, sku) for sku in skus}
        rows.append(row)
        if folder is not None:
            _append(folder / "sweep.csv", [row.get(c, "") for c in columns])
            if plan is not None:
                plan.write(folder / "points" / f"{number:03d}")
        if progress is not None:
            pace = (time.perf_counter() - started) / number
            progress(Step(number, len(points), point, row["status"], pace * (len(points) - number)))
        if stop is not None and stop():
            break
    return pd.DataFrame(rows, columns=columns)


def long_form(frame: pd.DataFrame, varied: list[str]) -> pd.DataFrame:
    """One row per point and SKU, as :func:`procure.report.plot_sweep` draws it; ``status`` is ``ok`` with a plan."""
    ordered = [c for c in frame.columns if c.startswith("ordered ")]
    long = frame.melt(id_vars=[*varied, "status"], value_vars=ordered, var_name="sku", value_name="count")
    long["sku"] = long["sku"].str.removeprefix("ordered ")
    long["status"] = long["status"].where(long["status"] == "failed", "ok")
    return long[[*varied, "status", "sku", "count"]]


def _check_names(case: Case, vary: Mapping[str, Sequence[Any]]) -> None:
    """A slip in a name is told before anything is solved."""
    for name, values in vary.items():
        first: InputError | None = None
        for value in values:
            try:
                case.with_value(name, value)
            except InputError as error:
                first = first or error
            else:
                break
        else:
            if first is not None:
                raise first


def _solve_point(
    case: Case, point: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], Plan | None]:
    started = time.perf_counter()
    row: dict[str, Any] = dict(point)
    try:
        changed = case
        for name, value in point.items():
            changed = changed.with_value(name, value)
        plan = solve(changed, **options)
    except (InputError, Infeasible, NoPlan) as error:
        seconds = round(time.perf_counter() - started, 2)
        return row | {"status": "failed", "reason": " ".join(str(error).split()), "seconds": seconds}, None
    row |= {
        "status": str(plan.status),
        "reason": "",
        "objective_usd": plan.objective_usd,
        "bound_usd": plan.summary["bound_usd"],
        "gap": plan.summary["gap"],
        "shortfall_share": plan.summary["shortfall"]["share"],
        "planned_capex_usd": summed(plan.purchases, "capex_usd"),
        "seconds": round(time.perf_counter() - started, 2),
    }
    return row, plan


def _ordered(plan: Plan | None, sku: str) -> int | None:
    if plan is None:
        return None
    bought = plan.purchases
    return int(summed(bought[bought["sku"] == sku], "count"))


def _fresh_folder(folder: Path) -> Path:
    if folder.is_file() or (folder.exists() and any(folder.iterdir())):
        raise InputError([Fault(str(folder), 0, "", "", "A folder that is new or empty.", "Name another folder.")])
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _append(path: Path, row: list[Any]) -> None:
    """One line, on disk before the next point begins."""
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow(
            ["" if cell is None else guard(cell) if isinstance(cell, str) else cell for cell in row]
        )
