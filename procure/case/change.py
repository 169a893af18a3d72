"""One value of a case by its path: what :meth:`procure.case.Case.with_value` changes for sweeps and studies.

A path names one premise, the same in the plan's premises table, the ``premises`` table of a case and a sweep:
``case/<setting>``, ``hardware/<sku>/<attribute>``, ``scenario/chat/input_p50_tokens``; or cells of the case's own
tables, ``<table>/<column>`` for all rows and ``<table>/<key>/<column>`` for those with that key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from procure.case.reader import shown, type_value
from procure.case.resolved import Resolved
from procure.case.rows import Cell, Rows
from procure.case.schema import TABLES
from procure.case.settings import Settings
from procure.catalogue import Fact
from procure.catalogue.overlay import hardware_key, nearest_path
from procure.errors import Fault, InputError, nearest
from procure.schema import Evidence

WORDS = ("low", "base", "high")
"""Values in words: the ends of a premise's band, and the value that the case has."""
MILESTONES = ("milestone_order", "milestone_delivery", "milestone_acceptance")
"""Shares of a price by when they are paid: one cannot move alone."""
NO_CELLS = ("premises", "sources")
"""Tables whose cells have no path: what the first states has its own, and the second changes nothing."""
SOURCE = "with_value"
"""Where a figure comes from that a change states."""


def path_of(name: str) -> str:
    """The path of a name: of ``setting``, ``table.column``, ``table.key.column`` and ``hardware.sku.attribute`` too."""
    if "/" in name:
        return name
    if "." not in name:
        return f"case/{name}"
    first, _, rest = name.partition(".")
    key, _, last = rest.rpartition(".")
    return "/".join(part for part in (first, key, last) if part)


def changed(
    case: Resolved, premises: Mapping[str, Fact], name: str, value: Any
) -> tuple[dict[str, Any], dict[str, Rows]]:
    """Settings and tables, as stated, that replace those of a case.

    Args:
        case: where the change starts from.
        premises: everything that may be stated, by path.
        name: a path, or the other spelling that :func:`path_of` reads.
        value: a value of Python, a factor such as ``x1.2``, or one of :data:`WORDS`.

    Raises:
        InputError: nothing of that name, a word or factor for what has no band or is no number.
    """
    path = path_of(name)
    group, _, rest = path.partition("/")
    change = _Change(case, premises, value)
    if group == "case" and rest in Settings.model_fields:
        return {rest: change.setting(path)}, {}
    if path in case.catalogue.premises:
        return {}, {"premises": change.premise(path, case.catalogue.premises[path])}
    if group == "hardware":
        return {}, change.hardware(path)
    table = TABLES.get(group)
    key, _, column = rest.rpartition("/")
    if table is None or group in NO_CELLS or column not in table.by_column:
        columns = [f"{t}/{c}" for t, s in TABLES.items() if t not in NO_CELLS for c in s.by_column]
        hint = nearest_path(path, [*premises, *(f"case/{s}" for s in Settings.model_fields), *columns])
        expected = "The path of a premise, or of cells as table/column or table/key/column."
        raise InputError([Fault("sweep", 0, "path", name, expected, hint)])
    return {}, {group: change.cells(group, key, column)}


def _matches(case: Resolved, table: str, key: str) -> list[int]:
    """Positions of the rows of a table that a key means, all of them for "".

    A key is one value of the table's key columns, or several joined by ``/``.
    """
    names = TABLES[table].key
    ids = [[shown(cell) for cell in cells] for cells in case.tables[table][list(names)].itertuples(False, None)]
    stated = [[shown(row.get(name)) for name in names] for row in case.stated_rows(table).rows]
    known = list(enumerate(zip(ids, stated, strict=True)))
    found = [i for i, (own, said) in known if not key or key in own or key in said or key == "/".join(own)]
    return found or [i for i, (own, _) in known if set(key.split("/")) <= set(own)]


@dataclass(frozen=True)
class _Change:
    """A value on its way into a case."""

    case: Resolved
    premises: Mapping[str, Fact]
    value: Any

    def setting(self, path: str) -> Any:
        name = path.partition("/")[2]
        kind = Settings.model_fields[name].annotation
        new = self._resolve(path, getattr(self.case.settings, name))
        if kind is int and isinstance(new, float) and new.is_integer():
            return int(new)
        return new.split() if kind == list[str] and isinstance(new, str) else new

    def premise(self, path: str, fact: Fact) -> Rows:
        """The case's ``premises`` table with one row set, its band kept where it holds the value."""
        new = self._resolve(path, fact.value)
        rows = self._kept("premises", lambda row: row["path"] != path)
        low, high = _band(fact, new)
        _append(
            rows,
            {
                "path": path,
                "value": shown(new),
                "low": low,
                "high": high,
                "kind": Evidence.USER.value,
                "source": SOURCE,
            },
        )
        return rows

    def hardware(self, path: str) -> dict[str, Rows]:
        """The table of the case that states a figure of the catalogue, with one row set: ``hardware`` if none does."""
        case, facts = self.case, self.case.catalogue.facts
        names = {name for name, _ in facts}

        def canonical(sku: object) -> str:
            return case.catalogue.packaged.aliases.resolve(str(sku), names) or str(sku)

        sku, attribute = hardware_key(path) or (path.partition("/")[2], "")
        sku = canonical(sku)
        path = f"hardware/{sku}/{attribute}"
        fact = self._figure(sku, attribute)
        if fact is None:
            hint = nearest_path(path, self.premises)
            raise InputError([Fault("sweep", 0, "path", path, "A figure of the catalogue.", hint)])
        if any(row["path"] == path for row in case.stated_rows("premises").rows):
            return {"premises": self.premise(path, fact)}
        attach = case.stated_rows("attach").rows
        if any(canonical(row["sku"]) == sku and row.get(attribute) is not None for row in attach):
            return {"attach": self.cells("attach", sku, attribute)}
        new = self._resolve(path, fact.value)
        moved = {attribute: new} | self._other_milestones(sku, attribute, new)
        rows = self._kept("hardware", lambda row: canonical(row["sku"]) != sku or row["attribute"] not in moved)
        for name, value in moved.items():
            known = self._figure(sku, name) or fact
            low, high = _band(known, value)
            row: dict[str, Cell] = {"sku": sku, "attribute": name, "value": shown(value), "unit": known.unit}
            _append(rows, {**row, "low": low, "high": high, "source": SOURCE})
        return {"hardware": rows}

    def _figure(self, sku: str, attribute: str) -> Fact | None:
        """A figure of a SKU, class or price path; of a SKU without one that of its class."""
        facts = self.case.catalogue.facts
        kind = facts.get((sku, "depreciation_class"))
        return facts.get((sku, attribute)) or facts.get(("" if kind is None else str(kind.value), attribute))

    def _other_milestones(self, sku: str, attribute: str, value: Any) -> dict[str, float]:
        """The other milestones of a payment, in proportion, so that all still sum to 1."""
        others = {name: self._figure(sku, name) for name in MILESTONES if name != attribute}
        held = {name: fact.number for name, fact in others.items() if fact is not None}
        if attribute not in MILESTONES or len(held) < 2 or not _is_number(shown(value)):
            return {}
        left, total = 1.0 - float(value), sum(held.values())
        return {name: left * (share / total if total > 0 else 1 / len(held)) for name, share in held.items()}

    def cells(self, table: str, key: str, column: str) -> Rows:
        """A table with one column set in the rows of a key."""
        frame = self.case.tables[table]
        at = _matches(self.case, table, key)
        path = f"{table}/{key}/{column}" if key else f"{table}/{column}"
        if not at:
            known = {shown(cell) for name in TABLES[table].key for cell in frame[name]}
            expected = f"A key of {table}.csv; no row has {key!r}." if known else f"A row of {table}.csv; it has none."
            raise InputError([Fault("sweep", 0, "path", path, expected, nearest(key, known))])
        rows = self._kept(table, lambda row: True)
        faults: list[Fault] = []
        for i in at:
            new = self._resolve(path, frame[column].iloc[i], self._filler(table, i, column))
            rows.rows[i][column], problem = type_value(TABLES[table].by_column[column], new)
            if problem:
                faults.append(Fault(rows.file, rows.lines[i], column, shown(new), problem))
        if faults:
            raise InputError(faults)
        rows.columns = list(dict.fromkeys([*rows.columns, column]))
        return rows

    def _filler(self, table: str, position: int, column: str) -> Fact | None:
        """The one premise that filled a cell, whose band the words mean."""
        line = self.case.stated_rows(table).lines[position]
        paths = self.case.filled.cells.get((table, line), {}).get(column, ())
        return self.premises.get(paths[0]) if len(paths) == 1 else None

    def _kept(self, table: str, keep: Callable[[Mapping[str, Cell]], bool]) -> Rows:
        """A copy of the rows of a table as stated that are kept."""
        rows = self.case.stated_rows(table).copy()
        at = [i for i, row in enumerate(rows.rows) if keep(row)]
        rows.rows, rows.lines = [rows.rows[i] for i in at], [rows.lines[i] for i in at]
        return rows

    def _resolve(self, path: str, now: Any, filler: Fact | None = None) -> Any:
        """The value as stated, by its word, or as a factor on what stands now.

        Raises:
            InputError: a word where there is no band, a factor of what is no number.
        """
        value, fact = self.value, self.premises.get(path, filler)
        number = isinstance(now, Real) and not isinstance(now, bool) and not math.isnan(float(now))
        if isinstance(value, str) and value in WORDS and (number or (fact is not None and fact.low is not None)):
            end = now if value == "base" else None if fact is None else getattr(fact, value)
            if end is None:
                raise InputError([Fault("sweep", 0, path, value, "A value or a factor: no band of it is known.")])
            return end
        if isinstance(value, str) and value.startswith("x") and (number or _is_number(value[1:])):
            if not number or not _is_number(value[1:]):
                expected = "A value; a factor such as x1.2 where it is a number."
                raise InputError([Fault("sweep", 0, path, value, expected)])
            if math.isinf(float(now)):
                expected = "A value: there is no limit now, and no factor changes that."
                raise InputError([Fault("sweep", 0, path, value, expected)])
            return float(now) * float(value[1:])
        return value


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _band(fact: Fact, value: Any) -> tuple[str | None, str | None]:
    """Low and high of a premise for a new value: as they were where it lies between them, else none."""
    if isinstance(fact.value, str) or fact.low is None or fact.high is None or not _is_number(shown(value)):
        return None, None
    inside = float(fact.low) <= float(value) <= float(fact.high)
    return (shown(fact.low), shown(fact.high)) if inside else (None, None)


def _append(rows: Rows, row: dict[str, Cell]) -> None:
    """One more row at the end of a table."""
    rows.rows.append(row)
    rows.lines.append(max(rows.lines, default=1) + 1)
    rows.columns = list(dict.fromkeys([*rows.columns, *row]))
