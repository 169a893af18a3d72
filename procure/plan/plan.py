"""A plan: a summary, tidy tables, and a folder that is always whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from procure.csvtext import guarded, unguarded
from procure.errors import Fault, InputError, guard_reader
from procure.files import Listed, Tell, check_folder, silent, write_files
from procure.plan.reading import ADDED_TABLES, summary_faults, table_faults, with_added
from procure.plan.tables import ROWS, TABLES
from procure.schema import Row, Span

RESULT = "plan.json"
"""The listing of a result folder."""


SERVED = 2e-5
"""A workload of which no more than this share of its own demand is unserved counts as served.

The program, its decomposition, the status of a plan and its verification all use this one share. It is far below what
a forecast knows and far above what rounding leaves, so that demand which fills a fleet to the last digit needs no
further rack.
"""


def is_short(share: float) -> bool:
    """Whether a share unserved is more than counts as served."""
    return share > 1.1 * SERVED  # the stage that holds a shortfall may leave a little more


R = TypeVar("R", bound=Row)
_ROW = {made.schema.name: made for made in ROWS}


class Status(StrEnum):
    """How a run ended; each has one exit code."""

    OPTIMAL = "optimal"
    """Within the gap asked for, every SLA met."""
    SHORT = "short"
    """Within the gap asked for, but some requests cannot be served."""
    LIMIT = "limit_with_plan"
    """Stopped by a limit with a feasible plan, whose bound is known."""
    UNVERIFIED = "verification_failed"
    """The plan does not pass its own verification."""

    @property
    def exit_code(self) -> int:
        """The process exit code for this status."""
        return {Status.OPTIMAL: 0, Status.SHORT: 6, Status.LIMIT: 5, Status.UNVERIFIED: 7}[self]


@dataclass(frozen=True)
class Plan:
    """What to buy and what follows from it.

    ``summary`` is the content of ``plan.json``; ``tables`` maps each name in :data:`procure.plan.tables.TABLES` to a
    DataFrame of the columns, kinds and units that are described there.
    """

    summary: dict[str, Any]
    tables: dict[str, pd.DataFrame] = field(repr=False)

    @property
    def status(self) -> Status:
        """How the run ended."""
        return Status(self.summary["status"])

    @property
    def objective_usd(self) -> float:
        """Net present cost over planned and look-ahead quarters, in USD."""
        return float(self.summary["objective_usd"])

    @property
    def purchases(self) -> pd.DataFrame:
        """The recommended orders: planned quarters only."""
        bought = self.tables["purchases"]
        return bought[bought["span"] == Span.PLANNED].reset_index(drop=True)

    def rows(self, of: type[R]) -> list[R]:
        """The rows of a table, by their class in :mod:`procure.plan.tables`."""
        return of.rows(self.tables[of.schema.name])

    @staticmethod
    def units(table: str) -> dict[str, str]:
        """The unit of each column of a table; empty for texts and where the row itself names it."""
        return {column.name: column.unit for column in TABLES[table].columns}

    def with_status(self, status: Status, checks: pd.DataFrame | None = None) -> Plan:
        """The same plan with another status and, if given, other checks."""
        tables = dict(self.tables) if checks is None else {**self.tables, "checks": checks}
        return Plan({**self.summary, "status": str(status)}, tables)

    @staticmethod
    def check_target(folder: str | Path) -> None:
        """Make sure that a result may be written there, before hours are spent on it.

        Raises:
            InputError: the folder holds something that is not a result, or cannot be written to.
        """
        check_folder(folder, RESULT, _is_result, "A folder that is new or empty, or holds a result of procure.")

    def write(
        self, folder: str | Path, extras: Callable[[Plan, Path], object] | None = None, tell: Tell = silent
    ) -> Path:
        """Write ``tables/*.csv``, whatever ``extras`` adds, and ``plan.json`` to a folder, all or nothing.

        The result is made inside the folder and its files are renamed into place, so that a run that dies leaves an
        earlier result whole. ``plan.json`` lists the files with their hashes; only files that an earlier ``plan.json``
        lists, and that are as they were written, are replaced (see :mod:`procure.files`). The seconds that writing
        took go into the summary that is stored.

        Args:
            folder: new, empty, or with an earlier result.
            extras: writes further files of the result into a folder that it is given.
            tell: called with a sentence for each file that was kept aside.

        Raises:
            InputError: the folder holds something that is not a result.
            OSError: the result cannot be written there.
        """
        started = time.perf_counter()
        self.check_target(folder)

        def make(fresh: Path) -> None:
            (fresh / "tables").mkdir()
            for name, frame in self.tables.items():
                guarded(frame).to_csv(fresh / "tables" / f"{name}.csv", index=False, lineterminator="\n")
            if extras is not None:
                extras(self, fresh)

        def content() -> dict[str, Any]:
            seconds = {**self.summary.get("seconds", {}), "write": round(time.perf_counter() - started, 4)}
            return {**self.summary, "seconds": seconds}

        write_files(folder, make, listing=RESULT, is_ours=_is_result, content=content, tell=tell)
        return Path(folder)

    @staticmethod
    def add(folder: str | Path, make: Callable[[Path], object], tell: Tell = silent) -> list[Path]:
        """Add files to a stored result, in place of those of the same names; ``plan.json`` lists them from then on.

        Raises:
            OSError: they cannot be written there.
        """
        return write_files(folder, make, listing=RESULT, is_ours=_is_result, replaces=lambda name: False, tell=tell)

    @staticmethod
    def changed_files(folder: str | Path) -> list[str]:
        """Files of a stored result that are not as they were written, by the hashes that ``plan.json`` lists."""
        listed = Listed.read(Path(folder), RESULT, _is_result) or Listed()
        return [name for name in sorted(listed.files) if not listed.owns(Path(folder), name, RESULT)]

    @classmethod
    def read(cls, folder: str | Path) -> Plan:
        """Read a result folder back.

        Raises:
            InputError: ``plan.json`` or a table is missing, cannot be read, or holds what a plan does not.
        """
        folder = Path(folder)
        with guard_reader(str(folder / "plan.json"), "A result folder of procure is needed."):
            summary = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        faults = summary_faults(str(folder / "plan.json"), summary, [str(status) for status in Status])
        tables = {}
        for name, table in TABLES.items():
            path = folder / "tables" / f"{name}.csv"
            if name in ADDED_TABLES and not path.exists():
                tables[name] = frame(name, [])
                continue
            texts = {c.name: str for c in table.columns if c.textual}
            try:
                cells = pd.read_csv(path, dtype=texts, keep_default_na=False,
                                    na_values={c.name: [""] for c in table.columns if not c.textual})  # fmt: skip
            except (OSError, ValueError, pd.errors.ParserError) as error:
                faults.append(Fault(str(path), 0, "", "", "This table of the result cannot be read.", str(error)))
                continue
            cells = with_added(unguarded(cells), table)
            faults += table_faults(str(path), cells, table)
            tables[name] = cells
        if faults:
            raise InputError(faults)
        return cls(summary, tables)


def _is_result(content: dict[str, Any]) -> bool:
    """Whether the content of a ``plan.json`` is a plan's: other programs have files of that name."""
    return content.get("status") in list(Status) and isinstance(content.get("input_hash"), str)


def frame(name: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """A table of the plan from rows in column order, sorted by its leading columns as they stand."""
    return pd.DataFrame(rows, columns=list(TABLES[name].by_column)) if rows else _ROW[name].empty()
