"""What decisions and rows say of themselves: when they are decided, which block they are of, and what mends them.

The program has two stages. What is decided first (the fleet, its orders, the money) holds whatever comes; recourse is
the service of one block of time (:class:`procure.timekey.TimeKey`), decided when its demand is known. A row of recourse
belongs to one block: what ties blocks to each other is decided first, or the program does not fall apart. Every family
makes its decisions and rows with the four functions here, and :func:`check` holds them to what they said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression
from pyomo.repn import generate_standard_repn

from procure.timekey import TimeKey

FIRST = None
"""The block of what is decided first: none."""

MOST_TOLD = 10
"""Faults of a program that are told at once."""


class More(IntEnum):
    """What more of a first-stage column does to the rows of blocks."""

    HURTS = -1
    """It only tightens them."""
    APART = 0
    """It stands in none of them."""
    HELPS = 1
    """It only loosens them: it is capacity."""


@dataclass(frozen=True)
class Decision:
    """What a variable says of itself; ``block`` gives the block of a key, and is None for the first stage.

    ``counts`` marks integers that only add up others, ``tolerated`` what may be left unserved and count as served.
    """

    block: Callable[[Any], TimeKey] | None
    more: More = More.APART
    counts: bool = False
    tolerated: bool = False


@dataclass(frozen=True)
class Rows:
    """What a constraint says of itself; ``block`` gives the block of a key, and is None for the first stage.

    ``mended_by`` names the first-stage variable that makes up for what a fleet breaks, one for one; ``against`` names
    first-stage variables that act on these rows against what they say of themselves.
    """

    block: Callable[[Any], TimeKey] | None
    mended_by: str = ""
    against: tuple[str, ...] = ()


class Undeclared(ValueError):
    """A program whose decisions or rows are not what they were declared to be; the lines name them."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        more = [f"and {len(lines) - MOST_TOLD} more"] if len(lines) > MOST_TOLD else []
        super().__init__("The program does not keep to its declarations:\n  " + "\n  ".join(lines[:MOST_TOLD] + more))


def first_stage(keys: Iterable[Any], *, more: More = More.APART, counts: bool = False, **domain: Any) -> Any:
    """Decisions that hold in every block; ``domain`` is Pyomo's domain and bounds."""
    return _said(pyo.Var(keys, **domain), Decision(None, more, counts))


def recourse(
    keys: Iterable[Any], *, blocks: Mapping[Any, TimeKey] | None = None, tolerated: bool = False, **domain: Any
) -> Any:
    """Decisions of one block each: that of the time key in their key, or what ``blocks`` says by its first part."""
    of = _time_key if blocks is None else lambda key: blocks[key[0]]
    return _said(pyo.Var(keys, **domain), Decision(of, tolerated=tolerated))


def first_stage_rows(keys: Iterable[Any], *, rule: Callable[..., Any]) -> Any:
    """Rows over decisions of the first stage alone."""
    return _said(pyo.Constraint(keys, rule=rule), Rows(None))


def block_rows(
    keys: Iterable[Any], *, rule: Callable[..., Any], mended_by: str = "", against: Collection[str] = ()
) -> Any:
    """Rows of one block each, that of the time key in their key."""
    return _said(pyo.Constraint(keys, rule=rule), Rows(_time_key, mended_by, tuple(against)))


def _said(component: Any, declaration: Decision | Rows) -> Any:
    component.declared = declaration
    return component


def _time_key(key: Any) -> TimeKey:
    parts = key if isinstance(key, tuple) else (key,)
    return next(part for part in parts if isinstance(part, TimeKey)).block


def declaration(component: Any) -> Any:
    """What a component says of itself, or None."""
    return getattr(component, "declared", None)


def block_of(data: Any) -> TimeKey | None:
    """The block of one variable or row; none for the first stage."""
    said = declaration(data.parent_component())
    return None if said.block is FIRST else said.block(data.index())


def terms_of(row: Any) -> Iterator[tuple[float, Any]]:
    """Coefficient and variable of every term of a row."""
    body = row.body
    if isinstance(body, LinearExpression):
        return zip(body.linear_coefs, body.linear_vars, strict=True)
    plain = generate_standard_repn(body)
    return zip(plain.linear_coefs, plain.linear_vars, strict=True)


def check(model: Any) -> None:
    """Hold a program to its declarations.

    Raises:
        Undeclared: a component that says nothing, a row that ties blocks through recourse, a row of the first stage
            with recourse in it, a column that acts on a block otherwise than it says, a row that nothing mends.
    """
    kinds = (pyo.Var, pyo.Constraint)
    components = [component for kind in kinds for component in model.component_objects(kind)]
    silent = [c.local_name for c in components if declaration(c) is None]
    if silent:
        raise Undeclared([f"{name}: say which stage or block it is of (procure.program.declare)" for name in silent])
    block = {id(v): block_of(v) for var in model.component_objects(pyo.Var) for v in var.values()}
    lines: list[str] = []
    for rows in model.component_objects(pyo.Constraint):
        said = declaration(rows)
        for row in rows.values():
            lines += _faults(row, said, block)
    if lines:
        raise Undeclared(lines)


def _faults(row: Any, said: Rows, block: Mapping[int, TimeKey | None]) -> Iterator[str]:
    """What is wrong with one row."""
    mine = None if said.block is FIRST else said.block(row.index())
    mended = said.mended_by == ""
    for coef, variable in terms_of(row):
        theirs = block[id(variable)]
        if theirs is not FIRST and theirs != mine:
            yield _tie(row, mine, block)
            return
        if theirs is FIRST and mine is not FIRST:
            name = variable.parent_component().local_name
            yield from _acts(row, coef, variable, said)
            mended |= name == said.mended_by and coef == (-1.0 if row.lower is None else 1.0)
    if not mended:
        yield f"{row.name}: {said.mended_by}, which mends it, does not stand in it one for one"


def _tie(row: Any, mine: TimeKey | None, block: Mapping[int, TimeKey | None]) -> str:
    """A row with recourse of another block than its own, in words."""
    found: dict[TimeKey, str] = {}
    for _, variable in terms_of(row):
        theirs = block[id(variable)]
        if theirs is not FIRST:
            found.setdefault(theirs, variable.name)
    told = ", ".join(f"{name} of block {at.words}" for at, name in sorted(found.items()))
    if mine is FIRST:
        return f"{row.name}: a row of the first stage with recourse, {told}"
    return f"{row.name}: a row of block {mine.words} that ties blocks through recourse, {told}"


def _acts(row: Any, coef: float, variable: Any, said: Rows) -> Iterator[str]:
    """Whether a first-stage column acts on a row as it says of itself."""
    name = variable.parent_component().local_name
    if name in said.against:
        return
    more = declaration(variable.parent_component()).more
    sides = ((row.upper, coef < 0), (row.lower, coef > 0))
    effects = {loosens for side, loosens in sides if side is not None}
    if more is More.APART:
        yield f"{row.name}: {variable.name} stands in a block; say whether more of {name} helps or hurts there"
    elif effects != {more is More.HELPS}:
        acts = "does both" if len(effects) > 1 else "hurts" if more is More.HELPS else "helps"
        yield f"{row.name}: more of {variable.name} {acts} here; {name} says that it {more.name.lower()}"
