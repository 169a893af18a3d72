"""A case: settings and tables that have passed every check, with what was filled in and where it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pandas as pd

from procure.case import checks
from procure.case import doubts as in_doubt
from procure.case.cards import copy_cards
from procure.case.defaults import fill
from procure.case.excel import located, read_workbook
from procure.case.forecast import fill_peaks
from procure.case.frames import frame_of, rows_of
from procure.case.hashing import hash_inputs
from procure.case.reader import Rows, read_table
from procure.case.schema import TABLES
from procure.case.settings import FILE, Settings, build, parse_toml
from procure.catalogue import Catalogue, Fact
from procure.errors import Fault, InputError, nearest
from procure.files import fill_folder
from procure.quarter import Quarter
from procure.schema import Table
from procure.sizing import Card


@dataclass(frozen=True)
class Case:
    """What the planner asks. :meth:`read` one; :meth:`replace`, :meth:`grow` or :meth:`with_value` gives a changed one.

    Attributes:
        settings: ``case.toml`` with defaults filled in.
        tables: every table as a DataFrame with all its columns, names resolved and defaults filled in; a table that
            the case leaves out is empty.
        catalogue: the packaged catalogue with the case's hardware, attach and prices tables over it.
        cards: the LLMs used, by the name in ``workloads.card``.
        defaults_used: one sentence per setting, column or table that was filled in.
        doubts: cells that are allowed and may have been meant otherwise, with what was understood; see
            :mod:`procure.case.doubts`.
        folder: where it was read from, None for a case made in Python.
        workbook: the .xlsx file that it was read from, None for CSV files.
    """

    settings: Settings
    tables: dict[str, pd.DataFrame] = field(repr=False)
    catalogue: Catalogue = field(repr=False)
    cards: dict[str, Card] = field(repr=False)
    defaults_used: tuple[str, ...] = field(repr=False)
    folder: Path | None
    _given: dict[str, Any] = field(repr=False)
    _given_tables: dict[str, pd.DataFrame] = field(repr=False)
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
        faults = [
            Fault(f"{name}.csv", 0, "", "", "Not a table of a case.", nearest(name, TABLES))
            for name in tables
            if name not in TABLES
        ]
        typed: dict[str, Rows] = {}
        for name, table in TABLES.items():
            if name in tables:
                typed[name], wrong = rows_of(table, tables[name])
                faults += wrong
            elif table.required:
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
    ) -> Case:
        given_tables = {name: frame_of(TABLES[name], rows, rows.columns) for name, rows in tables.items()}
        used = [
            f"{name}: no {'rows' if name in tables else 'table'}. {table.when_absent}"
            for name, table in TABLES.items()
            if table.when_absent and (name not in tables or not tables[name].rows)
        ]
        for name in TABLES:
            tables.setdefault(name, Rows(f"{name}.csv"))
        catalogue, wrong = _catalogue(tables)
        faults = faults + wrong
        settings, settings_used, wrong = build(given, catalogue)
        if any(fault.file == FILE for fault in faults):
            wrong = []  # the file itself could not be read: what it lacks is not known
        faults += wrong + checks.may_buy(settings, catalogue)
        said = [*doubts, *(doubt for rows in tables.values() for doubt in rows.doubts)]
        said += in_doubt.packages(tables, catalogue)
        found, cards = checks.references(checks.Names(tables, catalogue, folder))
        faults += found + checks.duplicates(tables)
        if faults or settings is None:
            raise InputError(faults)
        said += in_doubt.units(tables) + in_doubt.sizes(tables, settings.may_buy, catalogue)
        used += [f"case.toml {name}: premise case/{name}" for name in settings_used]
        used += fill(tables, settings, catalogue, cards)
        used_measures, faults = fill_peaks(tables)
        used += used_measures
        faults += checks.agreement(tables, settings, catalogue, cards)
        if faults:
            raise InputError(faults)
        frames = {name: frame_of(table, tables[name]) for name, table in TABLES.items()}
        return cls(
            settings,
            frames,
            catalogue,
            cards,
            tuple(used),
            folder,
            given,
            given_tables,
            doubts=tuple(sorted(set(said))),
        )

    @property
    def skus_in_play(self) -> tuple[str, ...]:
        """Names of the SKUs that exist, are on order, or may be bought, in order."""
        standing = {*self.tables["fleet"]["sku"], *self.tables["orders"]["sku"]}
        return tuple(sorted(standing | set(self.settings.may_buy)))

    @property
    def source(self) -> Path | None:
        """What :meth:`read` takes to read the case again: its workbook or folder, None for a case made in Python."""
        return self.workbook or self.folder

    @property
    def given(self) -> dict[str, Any]:
        """Settings as stated, without defaults."""
        return dict(self._given)

    @property
    def given_tables(self) -> dict[str, pd.DataFrame]:
        """Tables as stated, without defaults and without the columns that were left out."""
        return dict(self._given_tables)

    @property
    def name(self) -> str:
        """Name of the case."""
        return self.settings.name

    @cached_property
    def planned(self) -> tuple[Quarter, ...]:
        """Quarters whose orders are recommended."""
        first = Quarter(self.settings.first_quarter)
        return tuple(first + step for step in range(self.settings.planned_quarters))

    @cached_property
    def lookahead(self) -> tuple[Quarter, ...]:
        """Quarters after the planned ones."""
        return tuple(self.planned[-1] + step for step in range(1, self.settings.lookahead_quarters + 1))

    @cached_property
    def quarters(self) -> tuple[Quarter, ...]:
        """Planned and look-ahead quarters."""
        return self.planned + self.lookahead

    @cached_property
    def position(self) -> dict[str, int]:
        """Position t of each quarter by its name."""
        return {str(quarter): t for t, quarter in enumerate(self.quarters)}

    @cached_property
    def premises(self) -> dict[str, Fact]:
        """The premises behind defaults that were used: ``case/<setting>`` and ``column/<table>.<column>``."""
        used = {entry.split(":")[0] for entry in self.defaults_used}
        names = {("case", key): f"case.toml {key}" for key in Settings.model_fields}
        names |= {key: key[1] for key in self.catalogue.premises if key[0] == "column"}
        return {
            f"{group}/{key}": self.catalogue.premise(group, key)
            for (group, key), entry in names.items()
            if entry in used
        }

    def replace(
        self, *, settings: Mapping[str, Any] | None = None, tables: Mapping[str, pd.DataFrame] | None = None
    ) -> Case:
        """The case with some settings or whole tables replaced, checked again; defaults are worked out anew.

        Raises:
            InputError: what replaces does not fit.
        """
        return Case.from_tables(
            {**self._given, **(settings or {})}, {**self._given_tables, **(tables or {})}, self.folder
        )

    def grow(self, *, isl_growth_per_year: float, growth_route: str | None = None) -> Case:
        """The case with input lengths growing by that fraction a year, in workloads that state no growth themselves."""
        route = {} if growth_route is None else {"growth_route": growth_route}
        return self.replace(settings={"isl_growth_per_year": float(isl_growth_per_year), **route})

    def with_value(self, name: str, value: Any) -> Case:
        """The case with one value changed, for sweeps.

        Args:
            name: a setting (``utilisation_cap``); ``table.column`` for all rows (``budget.budget_usd``);
                ``table.key.column`` for the rows whose first key column, or site, SKU or workload, is that key
                (``workloads.chat.ttft_s``); or ``hardware.sku.attribute`` for a figure of the catalogue
                (``hardware.vr-nvl72.price_usd``).
            value: the new value; for a column of numbers also a factor such as ``"x1.2"``.

        Raises:
            InputError: nothing of that name, or a value that does not fit.
        """
        parts = name.split(".")
        if len(parts) == 1:
            return self.replace(settings={name: value})
        if parts[0] == "hardware" and len(parts) == 3:
            return self._with_hardware(parts[1], parts[2], value)
        table, column, key = parts[0], parts[-1], parts[1] if len(parts) == 3 else None
        if len(parts) > 3 or table not in TABLES or column not in TABLES[table].by_column:
            known = [*Settings.model_fields, *(f"{t}.{c}" for t, s in TABLES.items() for c in s.by_column)]
            raise InputError([Fault("sweep", 0, "name", name, "A setting or table.column.", nearest(name, known))])
        frame = self.tables[table] if table not in self._given_tables else self._given_tables[table]
        frame = frame.copy()
        if column not in frame:
            frame[column] = self.tables[table][column]
        rows = pd.Series(True, index=frame.index) if key is None else _rows_with(frame, TABLES[table], key)
        if not rows.any():
            raise InputError([Fault("sweep", 0, "name", name, f"A key of {table}.csv; no row has {key!r}.")])
        if TABLES[table].by_column[column].kind in ("number", "integer") and str(value).startswith("x"):
            frame[column] = frame[column].where(~rows, self.tables[table][column] * _factor(name, str(value)))
        else:
            frame[column] = frame[column].astype(object).where(~rows, value)
        return self.replace(tables={table: frame})

    def _with_hardware(self, sku: str, attribute: str, value: Any) -> Case:
        fact = self.catalogue.fact(sku, attribute)
        number = value
        if not isinstance(fact.value, str) and str(value).startswith("x"):
            number = fact.number * _factor(f"hardware.{sku}.{attribute}", str(value))
        row = {"sku": sku, "attribute": attribute, "value": str(number), "unit": fact.unit, "source": "with_value"}
        table = self._given_tables.get("hardware", pd.DataFrame(columns=list(TABLES["hardware"].by_column)))
        kept = table[~((table["sku"] == sku) & (table["attribute"] == attribute))]
        return self.replace(tables={"hardware": pd.concat([kept, pd.DataFrame([row])], ignore_index=True)})

    @cached_property
    def input_hash(self) -> str:
        """SHA-256 of what a plan depends on: settings, tables in any row order, cards, packaged data used."""
        return hash_inputs(self)

    def write(self, folder: str | Path) -> Path:
        """Write the case as given (without defaults) to a folder that is new or empty, all or nothing.

        Cards of the user's own are copied: to the same place if they are inside the case's folder, else to ``cards``.

        Raises:
            InputError: the folder holds something.
        """
        fill_folder(folder, self._write)
        return Path(folder)

    def _write(self, fresh: Path) -> None:
        lines = [f"{key} = {_toml(value)}" for key, value in self._given.items() if value is not None]
        (fresh / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
        stated, read = self._given_tables["workloads"]["card"], self.tables["workloads"]["card"]
        names = copy_cards(dict(zip(stated, read, strict=True)), self.folder, fresh)
        for name, frame in self._given_tables.items():
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


def _catalogue(tables: Mapping[str, Rows]) -> tuple[Catalogue, list[Fault]]:
    """The catalogue under the case's own rows; the packaged one where those are wrong."""
    own = {
        name: [{**row, "_row": line} for line, row in zip(tables[name].lines, tables[name].rows, strict=True)]
        for name in ("hardware", "attach", "prices")
    }
    complete = {
        name: [row for row in rows if all(row.get(column) is not None for column in TABLES[name].key)]
        for name, rows in own.items()
    }
    complete["prices"] = [row for row in complete["prices"] if row.get("price_usd") is not None]
    try:
        return Catalogue.read(complete["hardware"], attach=complete["attach"], prices=complete["prices"]), []
    except InputError as error:
        return Catalogue.read(), error.faults


def _factor(name: str, text: str) -> float:
    """The factor that a text such as ``x1.2`` states."""
    try:
        return float(text[1:])
    except ValueError:
        raise InputError([Fault("sweep", 0, name, text, "A value, or a factor such as x1.2.")]) from None


def _rows_with(frame: pd.DataFrame, table: Table, key: str) -> pd.Series:
    """Rows in which one of the table's key columns is ``key``."""
    hit = pd.Series(False, index=frame.index)
    for column in table.key:
        if column in frame:
            hit |= frame[column].astype(str) == key
    return hit


def _toml(value: object) -> str:
    """A TOML scalar; JSON's spelling of texts, numbers and flags is TOML's too."""
    return json.dumps(value, ensure_ascii=False)
