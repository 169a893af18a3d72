"""A sweep: every combination of values a changed case; every outcome a row, of a plan or with the reason of none."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from procure.case import Case
from procure.csvtext import guard
from procure.errors import Fault, InputError
from procure.study.change import Effort
from procure.study.outcome import Outcome
from procure.study.run import Step, Study
from procure.study.vary import grid

FACTS = (
    "status", "reason", "objective_usd", "bound_usd", "gap", "shortfall_share", "planned_capex_usd", "seconds", "error",
)  # fmt: skip
"""Columns of ``sweep.csv`` between what was varied and the counts by SKU (``ordered <sku>``, ``sold <sku>``)."""
TABLE = "sweep.csv"


def sweep(
    case: Case,
    vary: Mapping[str, Sequence[Any]],
    *,
    out: str | Path | None = None,
    jobs: int = 1,
    progress: Callable[[Step], None] | None = None,
    stop: Callable[[], bool] | None = None,
    **effort: Any,
) -> pd.DataFrame:
    """Solve a case for every combination of values.

    Args:
        case: where every point starts from.
        vary: name → values; names as :meth:`procure.Case.with_value` takes them.
        out: folder that is new or empty, or holds this sweep, which then goes on: ``study.json`` says what was asked,
            ``outcomes.jsonl`` has a line and ``sweep.csv`` a row as soon as a point finishes, and ``points/`` each
            plan; nothing is stored without it.
        jobs: points worked on at a time, each in a process of its own. A script that asks for more than one stands
            below ``if __name__ == "__main__":``.
        progress: called after each point, with the seconds left at the pace so far.
        stop: asked often; once it is true, the points at hand end as at a time limit, and no other is begun.
        effort: ``gap``, ``time_limit_s`` (of each point), ``threads``, ``seed`` and ``method`` as for
            :func:`procure.solve`; threads that are left open share the cores among the jobs.

    Returns:
        one row per point: the values, status (of the plan, or ``failed``), the reason of a failure, objective and bound
        (USD), gap, shortfall (share of weighted planned demand), capital of planned orders (USD), seconds, the class of
        what failed, and units ordered in planned quarters by SKU (columns ``ordered <sku>``); where the case
        or a value allows sales also units sold (``sold <sku>``), where there are offers of rent units rented.

    Raises:
        InputError: ``out`` holds something else, or a name of which no value fits the case. A value that fits nowhere
            beside others that do is a point that failed.
    """
    _check_names(case, vary)
    study = Study("sweep", case, grid(vary), Effort(**effort))
    folder = None if out is None else Path(out)
    counts = _counts(case, vary)
    columns = [*vary, *FACTS, *counts]

    def told(step: Step) -> None:
        if folder is not None:
            _store(folder / TABLE, columns, [_row(step.outcome, counts)], "a")
        if progress is not None:
            progress(step)

    found = study.run(folder, jobs, told, stop or (lambda: False))
    rows = [_row(outcome, counts) for outcome in found]
    if folder is not None:
        _store(folder / TABLE, columns, rows, "w")
    return pd.DataFrame(rows, columns=columns)


def long_form(frame: pd.DataFrame, varied: list[str]) -> pd.DataFrame:
    """One row per point and SKU, as :func:`procure.report.plot_sweep` draws it; ``status`` is ``ok`` with a plan."""
    ordered = [c for c in frame.columns if c.startswith("ordered ")]
    long = frame.melt(id_vars=[*varied, "status"], value_vars=ordered, var_name="sku", value_name="count")
    long["sku"] = long["sku"].str.removeprefix("ordered ")
    long["status"] = long["status"].where(long["status"] == "failed", "ok")
    return long[[*varied, "status", "sku", "count"]]


def unread(case: Case, vary: Mapping[str, Sequence[Any]]) -> list[Fault]:
    """Names of which no two values make two different cases, as doubts: nothing in this case reads them."""
    doubts: list[Fault] = []
    for name, values in vary.items():
        hashes: set[str] = set()
        for value in values:
            with suppress(InputError):
                hashes.add(case.with_value(name, value).input_hash)
            if len(hashes) > 1:
                break
        if len(hashes) == 1 and len(set(map(str, values))) > 1:
            expected = "Understood as stated: every value gives the same inputs, so that nothing in this case reads it."
            doubts.append(Fault("--vary", 0, "", name, expected, "Vary what tables/premises.csv of a plan lists."))
    return doubts


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


_LISTS = {"ordered": "purchases", "rented": "rents", "sold": "sales"}
"""Facts that counts by SKU are taken from, by the first word of their column."""


def _counts(case: Case, vary: Mapping[str, Sequence[Any]]) -> list[str]:
    """Columns with units by SKU: ordered, rented where there are offers, and sold where any point may sell."""
    sells = case.settings.resale != "none" or any(name.split("/")[-1] == "resale" for name in vary)
    sold = sorted(case.skus_in_play) if sells else []
    ordered, rented = sorted(case.settings.may_buy), sorted(set(case.tables["rent"]["sku"]))
    words = (("ordered", ordered), ("rented", rented), ("sold", sold))
    return [f"{word} {sku}" for word, skus in words for sku in skus]


def _row(outcome: Outcome, counts: Sequence[str]) -> dict[str, Any]:
    """An outcome as a row; an empty cell is what a failed point does not know."""
    told = {name: getattr(outcome, name) for name in ("status", "reason", "seconds", "error")}
    row = {**outcome.change, **{name: outcome.facts.get(name) for name in FACTS}, **told}
    for column in counts:
        what, sku = column.split(" ", 1)
        found = outcome.facts.get(_LISTS[what], [])
        row[column] = None if outcome.failed else sum(each["count"] for each in found if each["sku"] == sku)
    return row


def _store(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], mode: str) -> None:
    """Rows at the end of a table (``a``), which gets its header first, or in place of it (``w``)."""
    head = [dict(zip(columns, columns, strict=True))] if mode == "w" or not path.exists() else []
    with path.open(mode, newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in (*head, *rows):
            cells = (row.get(column) for column in columns)
            writer.writerow(["" if c is None else guard(c) if isinstance(c, str) else c for c in cells])
