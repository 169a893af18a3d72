"""Cells of a workbook whose formula and cached value come from one definition.

An expression is built once from cells; :meth:`Expr.text` writes it as a spreadsheet formula and :attr:`Expr.value`
works it out in Python. So the number stored beside a formula cannot belong to another formula. Only functions that
every spreadsheet program knows are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from xlsxwriter.utility import xl_col_to_name

Scalar = float | str | bool | None
_RANK = {"=": 1, "<=": 1, ">=": 1, "<>": 1, "&": 2, "+": 3, "-": 3, "*": 4, "/": 4, "^": 5}


def number(value: Scalar) -> float:
    """A cell's value in arithmetic: an empty cell is 0, a text is an error (as in a spreadsheet)."""
    if value is None:
        return 0.0
    if isinstance(value, str):
        raise TypeError(f"the text {value!r} stands in arithmetic")
    return float(value)


class Expr:
    """Something with a value and a way to write it in a formula; arithmetic on it gives another one."""

    rank = 9

    def text(self, sheet: str) -> str:
        """The formula, without its leading ``=``, as written in a cell of ``sheet``."""
        return self._text(sheet)

    def values(self) -> list[Scalar]:
        """The values in row-major order; one for a scalar."""
        return self._values()

    @property
    def value(self) -> Scalar:
        """The value of a scalar expression."""
        return self._value()

    def _text(self, sheet: str) -> str:
        raise NotImplementedError

    def _values(self) -> list[Scalar]:
        return [self._value()]

    def _value(self) -> Scalar:
        raise NotImplementedError

    def __add__(self, other: Any) -> Infix:
        return Infix(self, "+", other)

    def __sub__(self, other: Any) -> Infix:
        return Infix(self, "-", other)

    def __mul__(self, other: Any) -> Infix:
        return Infix(self, "*", other)

    def __truediv__(self, other: Any) -> Infix:
        return Infix(self, "/", other)

    def __pow__(self, other: Any) -> Infix:
        return Infix(self, "^", other)

    def __radd__(self, other: Any) -> Infix:
        return Infix(lift(other), "+", self)

    def __rsub__(self, other: Any) -> Infix:
        return Infix(lift(other), "-", self)

    def __rtruediv__(self, other: Any) -> Infix:
        return Infix(lift(other), "/", self)

    def __le__(self, other: Any) -> Infix:
        return Infix(self, "<=", other)

    def __ge__(self, other: Any) -> Infix:
        return Infix(self, ">=", other)

    def equals(self, other: Any) -> Infix:
        """The comparison ``self = other`` (of numbers; for texts use :func:`exact`)."""
        return Infix(self, "=", other)


class Literal(Expr):
    """A number or text written into the formula; only for what is no input (0, 1, a word to show)."""

    def __init__(self, content: float | str) -> None:
        self.content = content

    def _text(self, sheet: str) -> str:
        if isinstance(self.content, str):
            return '"' + self.content.replace('"', '""') + '"'
        return f"{self.content:g}"

    def _value(self) -> Scalar:
        return self.content


def lift(item: Any) -> Expr:
    """``item`` itself if it is an expression, else a literal."""
    return item if isinstance(item, Expr) else Literal(item)


class Infix(Expr):
    """Two operands and an operator; element by element where an operand is a range."""

    def __init__(self, left: Any, operator: str, right: Any) -> None:
        self.left, self.operator, self.right = lift(left), operator, lift(right)
        self.rank = _RANK[operator]

    def _text(self, sheet: str) -> str:
        left, right = self.left.text(sheet), self.right.text(sheet)
        if self.left.rank < self.rank:
            left = f"({left})"
        if self.right.rank <= self.rank and not (self.operator in "+*" and self.right.rank == self.rank):
            right = f"({right})"
        return f"{left}{self.operator}{right}"

    def _apply(self, a: Scalar, b: Scalar) -> Scalar:
        if self.operator == "&":
            return f"{a}{b}"
        x, y = number(a), number(b)
        match self.operator:
            case "+":
                return x + y
            case "-":
                return x - y
            case "*":
                return x * y
            case "/":
                return x / y
            case "^":
                return x**y
            case "<=":
                return x <= y
            case ">=":
                return x >= y
            case "<>":
                return x != y
        return x == y

    def _values(self) -> list[Scalar]:
        left, right = self.left.values(), self.right.values()
        if len(left) != len(right):
            left, right = (left * len(right), right) if len(left) == 1 else (left, right * len(left))
        return [self._apply(a, b) for a, b in zip(left, right, strict=True)]

    def _value(self) -> Scalar:
        return self._apply(self.left.value, self.right.value)


class Call(Expr):
    """A spreadsheet function with the Python function that does the same."""

    def __init__(self, name: str, arguments: list[Any], work: Callable[[list[Expr]], Any]) -> None:
        self.name, self.arguments, self.work = name, [lift(a) for a in arguments], work

    def _text(self, sheet: str) -> str:
        return f"{self.name}({','.join(a.text(sheet) for a in self.arguments)})"

    def _values(self) -> list[Scalar]:
        result = self.work(self.arguments)
        return result if isinstance(result, list) else [result]

    def _value(self) -> Scalar:
        return self._values()[0]


def _numbers(arguments: list[Expr]) -> Iterator[float]:
    """Every number in the arguments; texts and empty cells are passed over, as SUM and MAX do."""
    for argument in arguments:
        yield from (float(v) for v in argument.values() if v is not None and not isinstance(v, str))


def total(*items: Any) -> Call:
    """SUM."""
    return Call("SUM", list(items), lambda a: sum(_numbers(a)))


def largest(*items: Any) -> Call:
    """MAX; 0 where there is no number."""
    return Call("MAX", list(items), lambda a: max(_numbers(a), default=0.0))


def smallest(*items: Any) -> Call:
    """MIN; 0 where there is no number."""
    return Call("MIN", list(items), lambda a: min(_numbers(a), default=0.0))


def sumproduct(*items: Any) -> Call:
    """SUMPRODUCT of ranges of one shape (or of one array expression)."""

    def work(arguments: list[Expr]) -> float:
        result = 0.0
        for row in zip(*(a.values() for a in arguments), strict=True):
            product = 1.0
            for value in row:
                product *= 0.0 if isinstance(value, str) else number(value)
            result += product
        return result

    return Call("SUMPRODUCT", list(items), work)


def exact(left: Any, right: Any) -> Call:
    """EXACT: same text, case counts; element by element. Safe with names that look like patterns or operators."""

    def work(arguments: list[Expr]) -> list[Scalar]:
        a, b = (["" if v is None else v for v in x.values()] for x in arguments)
        if len(a) == 1:
            a = a * len(b)
        if len(b) == 1:
            b = b * len(a)
        return [x == y for x, y in zip(a, b, strict=True)]

    return Call("EXACT", [left, right], work)


def absolute(item: Any) -> Call:
    """ABS, element by element."""
    return Call("ABS", [item], lambda a: [abs(number(v)) for v in a[0].values()])


def rounded(item: Any) -> Call:
    """ROUND to whole numbers, element by element."""
    return Call("ROUND", [item, 0], lambda a: [float(round(number(v))) for v in a[0].values()])


def errors_in(item: Any) -> Call:
    """The number of error cells in a range; 0 in Python, where an error would have been raised."""
    return Call("SUMPRODUCT", [Call("ISERROR", [item], lambda a: 0.0) * 1], lambda a: 0.0)


def either(condition: Any, yes: Any, no: Any) -> Call:
    """IF."""
    return Call("IF", [condition, yes, no], lambda a: a[1].value if a[0].value else a[2].value)


def every(*conditions: Any) -> Call:
    """AND."""
    return Call("AND", list(conditions), lambda a: all(bool(v) for x in a for v in x.values()))


class Ref(Expr):
    """A cell as seen from a formula, with ``$`` where copying must not move it."""

    def __init__(self, cell: Cell, row_fixed: bool, column_fixed: bool) -> None:
        self.cell, self.row_fixed, self.column_fixed = cell, row_fixed, column_fixed

    def _text(self, sheet: str) -> str:
        place = f"{'$' * self.column_fixed}{xl_col_to_name(self.cell.column)}{'$' * self.row_fixed}{self.cell.row + 1}"
        return place if self.cell.sheet == sheet else f"{self.cell.sheet}!{place}"

    def _value(self) -> Scalar:
        return self.cell.value


class Cell(Expr):
    """One cell: a number, a text, or an expression, with a style (see :mod:`procure.report.styles`)."""

    def __init__(self, sheet: str, row: int, column: int, content: Any, style: str, comment: str = "") -> None:
        self.sheet, self.row, self.column, self.content, self.style = sheet, row, column, content, style
        self.comment = comment

    def _text(self, sheet: str) -> str:
        return Ref(self, False, False).text(sheet)

    @cached_property
    def _known(self) -> Scalar:
        return self.content.value if isinstance(self.content, Expr) else self.content

    def _value(self) -> Scalar:
        return self._known

    @property
    def fixed(self) -> Ref:
        """The cell with both ``$``."""
        return Ref(self, True, True)

    @property
    def in_column(self) -> Ref:
        """The cell with its column fixed: a label at the left of a row."""
        return Ref(self, False, True)

    @property
    def in_row(self) -> Ref:
        """The cell with its row fixed: a header above a column."""
        return Ref(self, True, False)


class Block(Expr):
    """A rectangle of cells, written with ``$`` in front of rows and, unless ``column_fixed`` is off, columns."""

    def __init__(self, sheet: Sheet, first: tuple[int, int], last: tuple[int, int], row_fixed: bool,
                 column_fixed: bool) -> None:  # fmt: skip
        self.sheet, self.first, self.last = sheet, first, last
        self.row_fixed, self.column_fixed = row_fixed, column_fixed

    def _text(self, sheet: str) -> str:
        ends = [f"{'$' * self.column_fixed}{xl_col_to_name(column)}{'$' * self.row_fixed}{row + 1}"
                for row, column in (self.first, self.last)]  # fmt: skip
        place = ":".join(ends)
        return place if self.sheet.name == sheet else f"{self.sheet.name}!{place}"

    def _values(self) -> list[Scalar]:
        found = self.sheet.cells
        return [
            found[row, column].value if (row, column) in found else None
            for row in range(self.first[0], self.last[0] + 1)
            for column in range(self.first[1], self.last[1] + 1)
        ]

    def _value(self) -> Scalar:
        raise TypeError("a block of cells has no single value")


class Place(Expr):
    """A cell named by its place, filled before or after the formula that reads it."""

    def __init__(self, sheet: Sheet, row: int, column: int, row_fixed: bool, column_fixed: bool) -> None:
        self.sheet, self.row, self.column = sheet, row, column
        self.row_fixed, self.column_fixed = row_fixed, column_fixed

    def _cell(self) -> Ref:
        return Ref(self.sheet.cells[self.row, self.column], self.row_fixed, self.column_fixed)

    def _text(self, sheet: str) -> str:
        return self._cell().text(sheet)

    def _value(self) -> Scalar:
        return self._cell().value


class Sheet:
    """A sheet being filled; nothing is written before the whole book is known."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cells: dict[tuple[int, int], Cell] = {}
        self.widths: dict[int, float] = {}
        self.lines: dict[int, int] = {}
        """Lines of text that a row is as high as, where it is more than one."""
        self.freeze = (0, 0)
        self.filter: tuple[int, int, int, int] | None = None
        self.landscape = True

    def put(self, row: int, column: int, content: Any, style: str = "text", *, comment: str = "") -> Cell:
        """Place a number, text or expression, with a comment for whoever points at it; a place is filled once."""
        if (row, column) in self.cells:
            raise ValueError(f"{self.name}!{xl_col_to_name(column)}{row + 1} is filled already")
        cell = Cell(self.name, row, column, content, style, comment)
        self.cells[row, column] = cell
        return cell

    def at(self, row: int, column: int, *, row_fixed: bool = False, column_fixed: bool = True) -> Place:
        """A cell by its place; it may be filled later. Its column is fixed unless told otherwise."""
        return Place(self, row, column, row_fixed, column_fixed)

    def block(self, top: int, left: int, bottom: int, right: int, *, row_fixed: bool = True,
              column_fixed: bool = True) -> Block:  # fmt: skip
        """A rectangle of this sheet, ends included."""
        return Block(self, (top, left), (bottom, right), row_fixed, column_fixed)

    def column(self, column: int, top: int, bottom: int) -> Block:
        """A part of one column of this sheet, ends included."""
        return self.block(top, column, bottom, column)
