"""A case: settings and tables that have passed every check, with what was filled in and where it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pandas as pd
import tomli_w

from procure.case import checks, rent
from procure.case import doubts as in_doubt
from procure.case.cards import copy_cards
from procure.case.change import changed
from procure.case.defaults import fill
from procure.case.excel import located, read_workbook
from procure.case.forecast import fill_peaks
from procure.case.frames import frame_of, rows_of
from procure.case.growth import Growth
from procure.case.hashing import hash_inputs
from procure.case.premises import all_premises, allowed, used_premises
from procure.case.reader import read_table
from procure.case.resolved import Resolved
from procure.case.rows import Rows
from procure.case.schema import TABLES
from procure.case.settings import FILE, build, parse_toml
from procure.catalogue import Catalogue, Fact, Packaged
from procure.errors import Fault, InputError, nearest
from procure.files import fill_folder
from procure.rules.objective import Objective


@dataclass(frozen=True)
class Case(Resolved):
    """What the planner asks. :meth:`read` one; :meth:`replace`, :meth:`grow` or :meth:`with_value` gives a changed one.

    Attributes:
        folder: where it was read from, None for a case made in Python.
        workbook: the .xlsx file that it was read from, None for CSV files.
        doubts: cells that are allowed and may have been meant otherwise, with what was understood; see
            :mod:`procure.case.doubts`.
    """

    folder: Path | None
    workbook: Path | None = None
    doubts: tuple[Fault, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Case:
        """Read and check a case folder, or a workbook with the same tables as sheets.

        Raises:
            InputError: with every fault found: file, row, column (of a workbook: sheet and cell), what was read, what
                is allowed.
        """
        folder = Path(path)
        if folder.is_file() and folder.suffix.lower().startswith(".xls"):
            return cls._read_workbook(folder)
        if not folder.is_dir():
            expected = "A folder with case.toml and the tables of a case, or an .xlsx workbook of them."
            raise InputError([Fault(str(path), 0, "", "", expected, "Start one with `procure new DIR`.")])
        faults, doubts = _stray_files(folder)
        if (folder / FILE).is_file():
            given, wrong = parse_toml((folder / FILE).read_bytes())
            faults += wrong
        else:
            given = {}
            faults.append(
                Fault(FILE, 0, "", "", "This file is missing; it needs name, first_quarter, planned_quarters.")
            )
        tables: dict[str, Rows] = {}
        for name, table in TABLES.items():
            file = folder / f"{name}.csv"
            if file.is_file():
                tables[name], wrong = read_table(file.read_bytes(), table)
                faults += wrong
            elif file.exists():
                faults.append(Fault(file.name, 0, "", "", "A file; this is a folder."))
            elif table.required:
                header = ",".join(column.name for column in table.columns if column.required)
                faults.append(Fault(file.name, 0, "", "", f"This table is missing; its header is {header}."))
        return cls._checked(given, tables, folder, faults, doubts)

    @classmethod
    def _read_workbook(cls, path: Path) -> Case:
        found = read_workbook(path)
        case = cast(
            Case,
            located(
                found.book, lambda: cls._checked(found.given, found.tables, path.parent, found.faults, found.doubts)
            ),
        )
        return replace(case, workbook=path, doubts=tuple(found.book.locate(doubt) for doubt in case.doubts))

    @classmethod
    def from_tables(
        cls, settings: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], folder: str | Path | None = None
    ) -> Case:
        """A case made in Python: settings as in ``case.toml``, tables as DataFrames; an empty cell is None or NaN.

        Raises:
            InputError: as :meth:`read`; rows are numbered as they would be in a CSV file.
        """
        typed, faults = _typed({name: tables[name] for name in (*TABLES, *tables) if name in tables})
        for name, table in TABLES.items():
            if table.required and name not in tables:
                faults.append(Fault(f"{name}.csv", 0, "", "", "This table is missing."))
        return cls._checked(dict(settings), typed, Path(folder) if folder else None, faults)

    @classmethod
    def _checked(
        cls,
        given: dict[str, Any],
        tables: dict[str, Rows],
        folder: Path | None,
        faults: list[Fault],
        doubts: Sequence[Fault] = (),
        packaged: Packaged | None = None,
    ) -> Case:
        """Resolve and check what is stated; ``packaged`` is read where the caller has none."""
        stated = {name: rows.copy() for name, rows in tables.items()}
        used = [
            f"{name}: no {'rows' if name in tables else 'table'}. {table.when_absent}"
            for name, table in TABLES.items()
            if table.when_absent and (name not in tables or not tables[name].rows)
        ]
        for name in TABLES:
            tables.setdefault(name, Rows(f"{name}.csv"))
        catalogue, wrong = _catalogue(tables, packaged or Packaged.read())
        faults = faults + wrong
        settings, settings_used, wrong = build(given, catalogue)
        if any(fault.file == FILE for fault in faults):
            wrong = []  # the file itself could not be read: what it lacks is not known
        faults += wrong + checks.may_buy(settings, catalogue)
        said = [*doubts, *(doubt for rows in tables.values() for doubt in rows.doubts)]
        said += in_doubt.packages(tables, catalogue)
        found, cards = checks.references(checks.Names(tables, catalogue, folder))
        faults += found + checks.duplicates(tables)
        faults += rent.prices(tables["rent"], catalogue, faults)
        no_gpus = list(checks.kinds(tables, catalogue))  # said with these, or with what tables must agree on
        if faults or settings is None:
            raise InputError(faults + no_gpus)
        said += in_doubt.units(tables) + in_doubt.sizes(tables, settings.may_buy, catalogue)
        said += in_doubt.providers(tables)
        said += in_doubt.unsold(tables["fleet"]) if "resale" in settings_used and settings.resale == "none" else []
        used += [f"case.toml {name}: premise case/{name}" for name in settings_used]
        filled = fill(tables, settings, catalogue, cards)
        used += sorted(filled.sentences)
        used_measures, faults = fill_peaks(tables)
        used += used_measures
        faults += no_gpus + checks.agreement(tables, settings, catalogue, cards)
        if faults:
            raise InputError(faults)
        frames = {name: frame_of(table, tables[name]) for name, table in TABLES.items()}
        case = cls(settings, frames, catalogue, cards, tuple(used), filled, given, stated, folder)
        said += in_doubt.never_rented(tables, catalogue, case.quarters)
        said += in_doubt.unread(tables["premises"], case.rests_on) if tables["premises"].rows else []
        return replace(case, doubts=tuple(sorted(set(said))))

    @property
    def objective(self) -> Objective:
        """What a plan of the case is chosen by."""
        return Objective(self.settings.objective)

    @property
    def source(self) -> Path | None:
        """What :meth:`read` takes to read the case again: its workbook or folder, None for a case made in Python."""
        return self.workbook or self.folder

    @property
    def given_tables(self) -> dict[str, pd.DataFrame]:
        """Tables as stated, without defaults and without the columns that were left out."""
        return {name: frame_of(TABLES[name], rows, rows.columns) for name, rows in self._stated.items()}

    @property
    def name(self) -> str:
        """Name of the case."""
        return self.settings.name

    @cached_property
    def growth(self) -> Growth:
        """Factors on the lengths of every quarter over the first."""
        return Growth.of(self.tables["workloads"], len(self.quarters))

    @cached_property
    def premises(self) -> Mapping[str, Fact]:
        """Every premise that may be stated or swept, by its path: packaged ones under the case's own statements."""
        return all_premises(self)

    @cached_property
    def rests_on(self) -> Mapping[str, Fact]:
        """The premises that a plan of the case rests on, by path: those that move a coefficient of it."""
        return {path: self.premises[path] for path in used_premises(self, self.premises)}

    def replace(
        self, *, settings: Mapping[str, Any] | None = None, tables: Mapping[str, pd.DataFrame] | None = None
    ) -> Case:
        """The case with some settings or whole tables replaced, checked again; defaults are worked out anew.

        Raises:
            InputError: what replaces does not fit.
        """
        typed, faults = _typed(tables or {})
        return self._with(settings or {}, typed, faults)

    def _with(self, settings: Mapping[str, Any], tables: Mapping[str, Rows], faults: list[Fault]) -> Case:
        """The case with settings and tables replaced as they are; what is packaged is not read again."""
        kept = {name: rows.copy() for name, rows in self._stated.items() if name not in tables}
        order = {name: {**kept, **tables}[name] for name in TABLES if name in kept or name in tables}
        given = {**self._given, **settings}
        return Case._checked(given, order, self.folder, faults, packaged=self.catalogue.packaged)

    def grow(self, *, isl_growth_per_year: float, growth_route: str | None = None) -> Case:
        """The case with input lengths growing by that fraction a year, in workloads that state no growth themselves."""
        route = {} if growth_route is None else {"growth_route": growth_route}
        return self.replace(settings={"isl_growth_per_year": float(isl_growth_per_year), **route})

    def with_value(self, path: str, value: Any) -> Case:
        """The case with one value changed, for sweeps and studies.

        Args:
            path: a premise by its path, as in :attr:`premises` and the plan's premises table
                (``case/utilisation_cap``, ``hardware/vr-nvl72/price_usd``, ``scenario/chat/input_p50_tokens``,
                ``sla/chat/good/ttft_s``, ``physics/kv_efficiency``); or cells of the case's tables:
                ``table/column`` for all rows, ``table/key/column`` for rows with that key (``workloads/chat/ttft_s``,
                ``forecast/chat/2027Q3/peak_requests_per_s``). The other spelling, with dots, means the same:
                ``utilisation_cap``, ``budget.budget_usd``, ``workloads.chat.ttft_s``, ``hardware.lpx.power_kw``.
            value: the new value; for a number also a factor such as ``"x1.2"``; for a premise with a band also
                ``"low"`` or ``"high"``, its ends, and ``"base"``, what the case has.

        Raises:
            InputError: nothing of that name (the nearest is named), or a value that does not fit.
        """
        settings, tables = changed(self, self.premises, path, value)
        return self._with(settings, tables, [])

    @cached_property
    def input_hash(self) -> str:
        """SHA-256 of what a plan depends on: settings, tables in any row order, cards, packaged data used."""
        return hash_inputs(self, self.rests_on)

    def write(self, folder: str | Path) -> Path:
        """Write the case as given (without defaults) to a folder that is new or empty, all or nothing.

        Cards of the user's own are copied: to the same place if they are inside the case's folder, else to ``cards``.

        Raises:
            InputError: the folder holds something.
        """
        fill_folder(folder, self._write)
        return Path(folder)

    def _write(self, fresh: Path) -> None:
        settings = {key: value for key, value in self._given.items() if value is not None}
        (fresh / FILE).write_text(tomli_w.dumps(settings), encoding="utf-8")
        given = self.given_tables
        stated, read = given["workloads"]["card"], self.tables["workloads"]["card"]
        names = copy_cards(dict(zip(stated, read, strict=True)), self.folder, fresh)
        for name, frame in given.items():
            if name == "workloads":
                frame = frame.assign(card=stated.map(names))
            frame.to_csv(fresh / f"{name}.csv", index=False, lineterminator="\n")


_OTHER_FORMS = (".tsv", ".txt", ".xlsx", ".xls", ".ods", ".json", ".parquet")
"""Files of these kinds that are named as a table are not read, which is said."""


def _stray_files(folder: Path) -> tuple[list[Fault], list[Fault]]:
    """Tables that nothing would read, as a misspelt name must not be ignored: faults and doubts.

    Names hold letter by letter: where ``budget.CSV`` and ``budget.csv`` are two files, only the second is a table.
    """
    names = {FILE, *(f"{name}.csv" for name in TABLES)}
    faults: list[Fault] = []
    doubts: list[Fault] = []
    for path in sorted(folder.iterdir()):
        stem, suffix = path.stem.strip().lower(), path.suffix.strip().lower()
        if path.name in names or path.name.startswith(".") or path.is_dir():
            continue
        if path.name.strip().lower() in names:
            faults.append(Fault(path.name, 0, "", "", f"A table is named {path.name.strip().lower()}.", "Rename it."))
        elif suffix == ".csv":
            faults.append(Fault(path.name, 0, "", "", "Not a table of a case.", nearest(path.stem, TABLES)))
        elif suffix in _OTHER_FORMS and stem.removesuffix(".csv") in TABLES:
            expected = f"Not read: a table is a CSV file, {stem.removesuffix('.csv')}.csv."
            doubts.append(Fault(path.name, 0, "", "", expected, "Save it as CSV, or delete it."))
    return faults, doubts


def _catalogue(tables: Mapping[str, Rows], packaged: Packaged) -> tuple[Catalogue, list[Fault]]:
    """The catalogue under the case's own rows; the packaged one where those are wrong."""
    own = {
        name: [{**row, "_row": line} for line, row in tables[name].numbered]
        for name in ("hardware", "attach", "prices", "premises")
    }
    complete = {
        name: [row for row in rows if all(row.get(column) is not None for column in TABLES[name].key)]
        for name, rows in own.items()
    }
    complete["prices"] = [row for row in complete["prices"] if row.get("price_usd") is not None]
    complete["premises"] = [row for row in complete["premises"] if row.get("value") is not None]
    try:
        return Catalogue.of(packaged, **complete, allowed=allowed(tables, packaged)), []
    except InputError as error:
        return Catalogue.of(packaged), error.faults


def _typed(tables: Mapping[str, pd.DataFrame]) -> tuple[dict[str, Rows], list[Fault]]:
    """DataFrames as the rows of tables, and what is wrong with them."""
    typed: dict[str, Rows] = {}
    faults: list[Fault] = []
    for name, frame in tables.items():
        if name not in TABLES:
            faults.append(Fault(f"{name}.csv", 0, "", "", "Not a table of a case.", nearest(name, TABLES)))
            continue
        typed[name], wrong = rows_of(TABLES[name], frame)
        faults += wrong
    return typed, faults
