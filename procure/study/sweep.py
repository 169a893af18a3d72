"""A sweep: every combination of values a changed case; every outcome a row, of a plan or with the reason of none."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from procure.case import Case
from procure.case.change import path_of
from procure.csvtext import guard
from procure.errors import Fault, InputError
from procure.schema import CostLine, Tier
from procure.study.change import Effort
from procure.study.outcome import FAILED, Outcome
from procure.study.run import Step, Study
from procure.study.vary import grid, pairs

FACTS = (
    "status", "reason", "objective_usd", "bound_usd", "gap", "gap_usd", "shortfall_share", "shortfall_bound",
    "planned_capex_usd", "seconds", "error",
)  # fmt: skip
"""Columns of ``sweep.csv`` after what was varied; after them those of :func:`columns`."""
TABLE = "sweep.csv"
Reader = Callable[[dict[str, Any]], Any]
"""What a column takes from the facts of a plan."""


def sweep(
    case: Case,
    vary: Mapping[str, Sequence[Any]],
    *,
    paired: bool = False,
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
        paired: the first values of all names are one point, the second ones another, instead of every combination.
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
        one row per point: the values, :data:`FACTS` (``status`` of the plan, or ``failed`` with its reason and the
        class of what was raised; USD; shortfall as share of weighted planned demand; wall seconds), and the columns of
        :func:`columns`. Cells that a failed point does not know are empty.

    Raises:
        InputError: ``out`` holds something else, or a name of which no value fits the case, or values to be paired that
            are not equally many. A value that fits nowhere beside others that do is a point that failed.
    """
    _check_names(case, vary)
    study = Study("sweep", case, pairs(vary) if paired else grid(vary), Effort(**effort))
    folder = None if out is None else Path(out)
    readers = columns(case, vary)
    names = [*vary, *FACTS, *readers]

    def told(step: Step) -> None:
        if folder is not None:
            _store(folder / TABLE, names, [_row(step.outcome, readers)], "a")
        if progress is not None:
            progress(step)

    found = study.run(folder, jobs, told, stop or (lambda: False))
    rows = [_row(outcome, readers) for outcome in found]
    if folder is not None:
        _store(folder / TABLE, names, rows, "w")
    return pd.DataFrame(rows, columns=names)


def columns(case: Case, vary: Mapping[str, Sequence[Any]]) -> dict[str, Reader]:
    """What a sweep tells of each plan beside its facts, by column.

    ``cost <line>``: present USD by line of cost, which add up to ``objective_usd``. ``short <workload>``: the largest
    share of its requests in a planned quarter that is not served. ``kv_bytes <tier>``: parked KV caches of the quarter
    that parks most there. ``expansion <name>``: steps ordered in planned quarters. ``ordered <sku>``: units ordered in
    planned quarters, ``ordered <sku> <quarter>`` in each of them. ``rented <sku>`` where there are offers, and
    ``sold <sku>`` where the case or a value allows sales.
    """
    sells = case.settings.resale != "none" or "case/resale" in map(path_of, vary)
    made: dict[str, Reader] = {}
    made |= {f"cost {line}": _of("costs", line) for line in CostLine}
    made |= {f"short {workload}": _worst(workload) for workload in case.tables["workloads"]["workload"]}
    made |= {f"kv_bytes {tier}": _of("kv_bytes", tier) for tier in Tier}
    for name in sorted(set(case.tables["expansions"]["expansion"])):
        made[f"expansion {name}"] = _counted("expansions", {"expansion": name})
    planned = [str(quarter) for quarter in case.quarters[: case.settings.planned_quarters]]
    for sku in sorted(case.settings.may_buy):
        made[f"ordered {sku}"] = _counted("purchases", {"sku": sku})
        for quarter in planned:
            made[f"ordered {sku} {quarter}"] = _counted("purchases", {"sku": sku, "quarter": quarter})
    for sku in sorted(set(case.tables["rent"]["sku"])):
        made[f"rented {sku}"] = _counted("rents", {"sku": sku})
    for sku in sorted(case.skus_in_play) if sells else ():
        made[f"sold {sku}"] = _counted("sales", {"sku": sku})
    return made


def ties(frame: pd.DataFrame, varied: Sequence[str]) -> list[bool]:
    """Whether each point of a sweep ties with the one before it along the first name.

    Two plans tie where what is proven of their shortfall (from bound to found) overlaps, and that of their cost as
    well: the change between them may be the gap's, and is no finding.
    """
    told: list[bool] = []
    before: dict[tuple[Any, ...], Any] = {}
    for row in frame.to_dict("records"):
        line = tuple(row[name] for name in varied[1:])
        last, failed = before.get(line), row["status"] == FAILED
        told.append(not failed and last is not None and all(_overlap(row, last, *ends) for ends in _PROVEN))
        if not failed:
            before[line] = row
    return told


_PROVEN = (("shortfall_bound", "shortfall_share"), ("bound_usd", "objective_usd"))
"""What is proven of a plan: it lies between the first and the second; without the first, anywhere below."""


def _overlap(one: Mapping[Any, Any], other: Mapping[Any, Any], least: str, most: str) -> bool:
    return all(
        pd.isna(b[least]) or pd.isna(a[most]) or b[least] <= a[most] for a, b in ((one, other), (other, one))
    )  # fmt: skip


def unread(case: Case, vary: Mapping[str, Sequence[Any]], option: str = "--vary") -> list[Fault]:
    """Names of which no two values make two different cases, as doubts: nothing in this case reads them.

    ``option`` names where they are given.
    """
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
            doubts.append(Fault(option, 0, "", name, expected, "Vary what tables/premises.csv of a plan lists."))
    return doubts


def _check_names(case: Case, vary: Mapping[str, Sequence[Any]]) -> None:
    """A slip in a name is told before anything is solved, and one premise by two names."""
    paths = [path_of(name) for name in vary]
    twice = [name for name, path in zip(vary, paths, strict=True) if paths.count(path) > 1]
    if twice:
        raise InputError([Fault("vary", 0, "", ", ".join(twice), "One name for each premise: these are the same.")])
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


def _of(fact: str, name: str) -> Reader:
    """One number of a fact that has several by name; 0 where it has none of that name."""
    return lambda facts: facts[fact].get(name, 0.0)


def _worst(workload: str) -> Reader:
    """The largest share of a workload's requests that a planned quarter does not serve."""
    return lambda facts: max((short["share"] for short in facts["short"] if short["workload"] == workload), default=0.0)


def _counted(listed: str, which: Mapping[str, str]) -> Reader:
    """Units of a list of the facts, of the rows that say so."""
    return lambda facts: sum(
        each["count"] for each in facts[listed] if all(each[name] == value for name, value in which.items())
    )


def _row(outcome: Outcome, readers: Mapping[str, Reader]) -> dict[str, Any]:
    """An outcome as a row; an empty cell is what a failed point does not know."""
    told = {name: getattr(outcome, name) for name in ("status", "reason", "seconds", "error")}
    row = {**outcome.change, **{name: outcome.facts.get(name) for name in FACTS}, **told}
    return row | {name: None if outcome.failed else reader(outcome.facts) for name, reader in readers.items()}


def _store(path: Path, names: Sequence[str], rows: Sequence[Mapping[str, Any]], mode: str) -> None:
    """Rows at the end of a table (``a``), which gets its header first, or in place of it (``w``)."""
    head = [dict(zip(names, names, strict=True))] if mode == "w" or not path.exists() else []
    with path.open(mode, newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in (*head, *rows):
            cells = (row.get(column) for column in names)
            writer.writerow(["" if c is None else guard(c) if isinstance(c, str) else c for c in cells])
