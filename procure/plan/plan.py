"""A plan: a summary, tidy tables, and a folder that is always whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from procure.csvtext import guarded, unguarded
from procure.errors import Fault, InputError
from procure.files import Listed, Tell, check_folder, silent, write_files
from procure.plan.reading import ADDED_TABLES, table_faults, with_added
from procure.plan.status import Status
from procure.plan.summary import RESULT, Summary, read_summary
from procure.plan.tables import ROWS, TABLES
from procure.schema import Row, Span

R = TypeVar("R", bound=Row)
_ROW = {made.schema.name: made for made in ROWS}


@dataclass(frozen=True)
class Plan:
    """What to buy and what follows from it.

    ``summary`` is the content of ``plan.json``; ``tables`` maps each name in :data:`procure.plan.tables.TABLES` to a
    DataFrame of the columns, kinds and units that are described there.
    """

    summary: Summary
    tables: dict[str, pd.DataFrame] = field(repr=False)

    @property
    def status(self) -> Status:
        """How the run ended."""
        return Status(self.summary["status"])

    @property
    def objective_usd(self) -> float:
        """Net present cost over planned and look-ahead quarters, in USD, less income where the objective counts it."""
        return float(self.summary["objective_usd"])

    @property
    def purchases(self) -> pd.DataFrame:
        """The recommended orders: planned quarters only."""
        bought = self.tables["purchases"]
        return bought[bought["span"] == Span.PLANNED].reset_index(drop=True)

    @property
    def sales(self) -> pd.DataFrame:
        """The recommended sales: planned quarters only."""
        sold = self.tables["sales"]
        return sold[sold["span"] == Span.PLANNED].reset_index(drop=True)

    def rows(self, of: type[R]) -> list[R]:
        """The rows of a table, by their class in :mod:`procure.plan.tables`."""
        return of.rows(self.tables[of.schema.name])

    @staticmethod
    def units(table: str) -> dict[str, str]:
        """The unit of each column of a table; empty for texts and where the row itself names it."""
        return {column.name: column.unit for column in TABLES[table].columns}

    def verified(self, checks: pd.DataFrame, seconds: Mapping[str, float]) -> Plan:
        """The plan with its checks, and its status where they hold; with the seconds that its run took so far."""
        status = self.status if checks["holds"].all() else Status.UNVERIFIED
        summary: Summary = {**self.summary, "status": str(status), "seconds": {"load": 0.0, **seconds, "write": 0.0}}
        return Plan(summary, {**self.tables, "checks": checks})

    @staticmethod
    def check_target(folder: str | Path) -> None:
        """Make sure that a result may be written there, before hours are spent on it.

        Raises:
            InputError: the folder holds something that is not a result, or cannot be written to.
        """
        check_folder(folder, RESULT, _is_result, "A folder that is new or empty, or holds a result of procure.")

    def write(
        self,
        folder: str | Path,
        extras: Callable[[Plan, Path], object] | None = None,
        tell: Tell = silent,
        load_s: float | None = None,
    ) -> Path:
        """Write ``tables/*.csv``, whatever ``extras`` adds, and ``plan.json`` to a folder, all or nothing.

        The result is made inside the folder and its files are renamed into place, so that a run that dies leaves an
        earlier result whole. ``plan.json`` lists the files with their hashes; only files that an earlier ``plan.json``
        lists, and that are as they were written, are replaced (see :mod:`procure.files`). The seconds that reading
        the case and writing took go into the summary that is stored.

        Args:
            folder: new, empty, or with an earlier result.
            extras: writes further files of the result into a folder that it is given.
            tell: called with a sentence for each file that was kept aside.
            load_s: seconds that reading the case took, where they are known.

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
            seconds = {**self.summary["seconds"], "write": round(time.perf_counter() - started, 4)}
            if load_s is not None:
                seconds["load"] = round(load_s, 4)
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
        if not (folder / RESULT).is_file():  # its tables are no faults of their own
            raise InputError(
                [Fault(str(folder / RESULT), 0, "", "", "A result folder of procure is needed; it has none.")]
            )
        try:
            summary, faults = read_summary(folder / RESULT), []
        except InputError as error:
            summary, faults = None, error.faults
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
        if faults or summary is None:
            raise InputError(faults)
        return cls(summary, tables)


def _is_result(content: dict[str, Any]) -> bool:
    """Whether the content of a ``plan.json`` is a plan's: other programs have files of that name."""
    return content.get("status") in list(Status) and isinstance(content.get("input_hash"), str)


def frame(name: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """A table of the plan from rows in the order of its columns."""
    return pd.DataFrame(rows, columns=list(TABLES[name].by_column)) if rows else _ROW[name].empty()
