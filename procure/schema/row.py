"""Typed rows: one class for each table, which is its description as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from dataclasses import field as dataclass_field
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, get_type_hints

import pandas as pd

from procure.schema.column import Column, Table

_KINDS: dict[type, str] = {str: "text", float: "number", int: "integer", bool: "flag"}
_DTYPES = {"number": "float64", "integer": "int64", "flag": "bool"}
_COLUMN = "column"


def col(  # noqa: PLR0913 - one attribute of a column each, by name
    description: str,
    *,
    unit: str = "",
    key: bool = False,
    reference: str = "",
    word: str = "",
    kind: str = "",
    empty: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A column of a row class, see :class:`~procure.schema.Column`; its name is that of the attribute.

    The kind follows from the annotation (str, float, int, bool, or an enum, whose members are the choices) unless
    ``kind`` names another. ``empty`` says in words what an empty cell means; without it every cell holds a value.
    """
    stated: dict[str, Any] = {
        "description": description,
        "unit": unit,
        "key": key,
        "reference": reference,
        "word": word,
        "required": empty is None,
        "default": empty or "",
        "minimum": minimum,
        "maximum": maximum,
        "above": above,
        "choices": choices,
    }
    return dataclass_field(metadata={_COLUMN: (kind, stated)})


class Row:
    """One row of a table. A class made by :func:`row` describes the table and reads and writes its frames.

    Attributes:
        schema: the table: name, description (the class's docstring) and columns.
        columns: names of the columns, in order.
    """

    __slots__ = ()
    schema: ClassVar[Table]
    columns: ClassVar[tuple[str, ...]]
    _enums: ClassVar[tuple[tuple[int, type[StrEnum]], ...]]
    _texts: ClassVar[tuple[int, ...]]

    @classmethod
    def rows(cls, frame: pd.DataFrame) -> list[Self]:
        """The rows of a frame, in its order; texts of an enum become its members.

        An empty cell is NaN among numbers and "" among texts. Columns that the table does not have are left aside.

        Raises:
            KeyError: a column is missing.
            ValueError: a text that is no member of the column's enum.
        """
        of = cells_of(frame)
        cells = [of[name] for name in cls.columns]
        for place in cls._texts:
            cells[place] = ["" if cell is None or cell != cell else cell for cell in cells[place]]
        for place, enum in cls._enums:
            members = {value: enum(value) for value in set(cells[place])}
            cells[place] = [members[value] for value in cells[place]]
        return list(map(cls, *cells))

    @classmethod
    def frame(cls, rows: Iterable[Self]) -> pd.DataFrame:
        """A frame of rows; of columns with the right types where there is none."""
        made = list(rows)
        if not made:
            return cls.empty()
        cells = {name: [getattr(row, name) for row in made] for name in cls.columns}
        for place, _ in cls._enums:
            cells[cls.columns[place]] = [str(member) for member in cells[cls.columns[place]]]
        return pd.DataFrame(cells)

    @classmethod
    def empty(cls) -> pd.DataFrame:
        """A frame of no rows."""
        return _empty(cls.schema).copy()

    @classmethod
    def checked(cls, frame: pd.DataFrame) -> pd.DataFrame:
        """The same frame, whose columns are those of the table.

        Raises:
            ValueError: they are not; for developers, a user's tables are checked with their places.
        """
        if tuple(frame.columns) != cls.columns:
            raise ValueError(f"table {cls.schema.name} has columns {list(frame.columns)}, not {list(cls.columns)}")
        return frame


def cells_of(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """The cells of a frame by column, as Python's own numbers and texts; those of an object column as they are."""
    # Not public in pandas, whose ways by name or by row take ten times as long: a tenth of all of a case of few rows.
    arrays = frame._iter_column_arrays()  # type: ignore[operator]
    return {name: array.tolist() for name, array in zip(frame.columns.tolist(), arrays, strict=True)}


@cache
def _empty(table: Table) -> pd.DataFrame:
    return pd.DataFrame({c.name: pd.Series(dtype=_DTYPES.get(c.kind, "str")) for c in table.columns})


R = TypeVar("R", bound=Row)


@dataclass_transform(frozen_default=True, field_specifiers=(col,))
def row(name: str, *, required: bool = False, when_absent: str = "") -> Callable[[type[R]], type[R]]:
    """Make a class of annotated :func:`col` attributes the frozen, slotted row of the table ``name``.

    ``required`` and ``when_absent`` are for tables of a case, see :class:`~procure.schema.Table`.
    """

    def made(cls: type[R]) -> type[R]:
        rows: Any = dataclass(frozen=True, slots=True)(cls)
        kinds = get_type_hints(rows)
        described = tuple(_described(f.name, kinds[f.name], *f.metadata[_COLUMN]) for f in fields(rows))
        rows.schema = Table(name, " ".join((cls.__doc__ or "").split()), described, required, when_absent)
        rows.columns = tuple(column.name for column in described)
        hints = [kinds[name] for name in rows.columns]
        rows._enums = tuple((i, hint) for i, hint in enumerate(hints) if issubclass(hint, StrEnum))
        rows._texts = tuple(i for i, c in enumerate(described) if hints[i] is str and not c.required)
        return rows

    return made


def _described(name: str, annotation: type, kind: str, stated: dict[str, Any]) -> Column:
    if issubclass(annotation, StrEnum):
        return Column(name, "choice", **{**stated, "choices": tuple(annotation)})
    return Column(name, kind or ("choice" if stated["choices"] else _KINDS[annotation]), **stated)
