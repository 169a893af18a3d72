"""How a family is told in a planner's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd


@dataclass(frozen=True)
class Broken:
    """A row that is broken in the plan that breaks least: its key, and by how much in its own unit.

    ``activity`` is its left-hand side, ``limit`` its right-hand side; ``values`` are those of all columns by name;
    ``quarters`` and ``tables`` are the instance's.
    """

    key: tuple[Any, ...]
    over: float
    activity: float
    limit: float
    values: Mapping[str, float]
    quarters: Sequence[str]
    tables: Mapping[str, pd.DataFrame]


class RowWords(NamedTuple):
    """What a broken row says: the limit, its unit and the units per unit of the row, and what its key names.

    ``key``: ``t`` a quarter, ``at`` the time of service, ``site``, ``of`` what the limit is of, anything else by
    itself, ``-`` nothing that a planner needs. ``by`` has limit, unit and scale for each value of ``of``.
    """

    limit: str
    unit: str
    key: tuple[str, ...]
    scale: float = 1.0
    by: Mapping[str, tuple[str, str, float]] = MappingProxyType({})


@dataclass(frozen=True)
class Full:
    """A row of a plan's ``limits`` of which it is asked what moves it; ``stated`` are the case's tables, ``tables``
    the instance's.
    """

    quarter: str
    site: str
    item: str
    stated: Mapping[str, pd.DataFrame]
    tables: Mapping[str, pd.DataFrame]

    @property
    def on_offer(self) -> pd.DataFrame:
        """SKUs that may be ordered within the horizon: rows of the instance's ``skus``."""
        skus = self.tables["skus"]
        return skus[skus["first_order_t"] <= skus["last_order_t"]]

    @property
    def site_row(self) -> tuple[str, Mapping[str, Any]] | None:
        """The row of the case's ``sites`` that holds in the quarter: its path and its cells.

        None at a provider's location.
        """
        sites = self.stated["sites"]
        held = sites[(sites["site"] == self.site) & (sites["from_quarter"] <= self.quarter)]
        if held.empty:
            return None
        row = {str(name): cell for name, cell in held.sort_values("from_quarter").iloc[-1].items()}
        return f"sites/{self.site}/{row['from_quarter']}", row

    def cell(self, frame: pd.DataFrame, key: str, name: str, column: str) -> float:
        """The number in the one row of a table with that name as its key."""
        return float(frame.loc[frame[key] == name, column].iloc[0])


class Moved(NamedTuple):
    """How a planner moves a limit: a path of the case, what stands there, and what one more unit takes of it.

    The step eases: below zero where less is asked for. ``counts``: it is in the unit of the limit, so that less slack
    than a step is no room for one more unit; otherwise a limit is full where nothing is left of it.
    """

    path: str
    value: float
    step: float
    unit: str
    counts: bool = True


@dataclass(frozen=True)
class Cause:
    """A limit that a planner can move, as the cause of a shortfall.

    Attributes:
        word: as it is told; it names the limit wherever limits are thought away.
        rows: components whose rows state it; their upper sides are lifted where it is asked what else would be served.
        of: only rows with this value in their key, if any.
        place: where it stands among causes that are told together: what is moved most easily comes first. Of families
            that share a cause, one says it.
        at_best: whether it is followed by what can be had at best.
    """

    word: str
    rows: tuple[str, ...]
    of: str = ""
    place: int = 0
    at_best: bool = False

    def states(self, component: str, key: tuple[Any, ...]) -> bool:
        """Whether a row of the program is one of this limit."""
        return component in self.rows and (not self.of or self.of in key)


@dataclass(frozen=True)
class Words:
    """A family in words; ``WORDS`` in its ``words.py``.

    Attributes:
        rows: every component of rows that its program has.
        given: its rows in the plan's ``limits`` that the site, the budget or a supplier sets.
        bought: its rows in ``limits`` that follow from what was bought.
        moves: what a planner changes in the case to move a limit, by its name in ``limits``; every limit that is given
            has one, and so has one that a promise sets.
        causes: its limits that can be named as the cause of a shortfall.
        told: says a broken row of a component, but for its quarter, in another way than its :class:`RowWords` do.
        yields: components that a planner asks for beyond what is there: told as broken before any other that would
            have to give way to them.
        spared: decisions that are no way out of a breach: it is told where it is, not where these would put it.
        no_limit, no_cause: why it has none of these, where it has none.
    """

    rows: Mapping[str, RowWords] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    bought: tuple[str, ...] = ()
    moves: Mapping[str, Callable[[Full], Moved | None]] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()
    told: Mapping[str, Callable[[Broken], str]] = field(default_factory=dict)
    yields: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    no_limit: str = ""
    no_cause: str = ""


def amount(text: str, unit: str) -> str:
    """A figure with its unit: ``1 enclosure``, ``4 enclosures``."""
    return f"{text} {unit.removesuffix('s') if text.lstrip('+-') == '1' else unit}"


def figure(number: float, digits: int = 6) -> str:
    """A number with thousands separators and so many figures, never in powers of ten below a quadrillion."""
    if abs(number) >= 1e15:
        return f"{number:.{digits}g}"
    if float(number).is_integer() or abs(number) >= 10.0 ** (digits - 1):
        return f"{number:,.0f}"
    return f"{number:,.{digits}g}"
