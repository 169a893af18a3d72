"""What a study asks: a case with values changed, worked out with one effort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from procure.case import Case
from procure.errors import Fault, InputError
from procure.solver import Method, Options
from procure.solver.held import Hold

Change = Mapping[str, Any]
"""Paths and the values put there, as :meth:`procure.Case.with_value` takes them; none is the case as it stands.

A path that begins with :data:`HELD` changes nothing in the case: it holds what the plan orders, see :func:`hold_of`.
"""

HELD = "buy/"


@dataclass(frozen=True)
class Effort:
    """How hard to try on each changed case; as for :func:`procure.solve`.

    Attributes:
        gap, time_limit_s, threads, seed, method: as there.
        ask_causes: whether causes of shortfall are looked for; where not, they are *not known* as far as they take a
            search.

    Raises:
        InputError: a gap, time limit, number of threads or seed that no search can follow.
    """

    gap: float = 0.005
    time_limit_s: float = float("inf")
    threads: int = 0
    seed: int = 0
    method: Method = "decomposed"
    ask_causes: bool = True

    def __post_init__(self) -> None:
        Options(self.gap, self.time_limit_s, self.threads, self.seed)

    def facts(self) -> dict[str, Any]:
        """The effort as JSON holds it: no time limit is null; causes are named where they are not asked for."""
        stated = asdict(self)
        if self.ask_causes:  # as in studies of before
            del stated["ask_causes"]
        return stated | {"time_limit_s": None if self.time_limit_s == float("inf") else self.time_limit_s}


def plain(change: Change) -> dict[str, Any]:
    """A change as JSON holds it: numbers of NumPy as Python's, no limit as the text that a case says it by."""
    values = {path: value.item() if isinstance(value, np.generic) else value for path, value in change.items()}
    return {path: "inf" if value == float("inf") else value for path, value in values.items()}


def changed(case: Case, change: Change) -> Case:
    """The case with every value of a change, one after the other; what it holds of the orders is :func:`holds_of`.

    Raises:
        InputError: a path that leads nowhere, or a value that does not fit.
    """
    for path, value in change.items():
        if not path.startswith(HELD):
            case = case.with_value(path, value)
    return case


def holds_of(case: Case, change: Change) -> list[Hold]:
    """What a change holds of the orders of a case.

    Raises:
        InputError: a path or value that says no such thing.
    """
    return [hold_of(case, path, value) for path, value in change.items() if path.startswith(HELD)]


def hold_of(case: Case, path: str, value: Any) -> Hold:
    """Orders held: ``buy/SITE/SKU/QUARTER`` with ``3`` (so many units), ``<=3`` (at most) or ``>=3`` (at least).

    SITE is a site or ``*``, all together; SKU one or several joined by ``+``, together; QUARTER one, two joined by
    ``..`` with all between, or ``*``, the whole horizon.

    Raises:
        InputError: a site, SKU or quarter that the case does not have, or a value that is no number of units.
    """
    parts = path.removeprefix(HELD).rsplit("/", 2)
    names = [str(quarter) for quarter in case.quarters]
    site, skus, span = parts if len(parts) == 3 else ("", "", "")
    first, _, last = (f"{names[0]}..{names[-1]}" if span == "*" else span).partition("..")
    known = first in names and (last or first) in names and (site == "*" or site in set(case.tables["sites"]["site"]))
    text = str(value).strip()
    sign = text[:2] if text[:2] in ("<=", ">=") else ""
    try:
        units = float(text.removeprefix(sign))
    except ValueError:
        known = False
    if not known or not set(skus.split("+")) <= set(case.catalogue.skus):
        expected = "buy/SITE/SKU/QUARTER with a site (or *), SKUs (joined by +) and quarters (A..B, or *) of the case,"
        raise InputError([Fault("change", 0, path, text, f"{expected} and units such as 3, <=3 or >=3.")])
    quarters = frozenset(names[names.index(first) : names.index(last or first) + 1])
    least, most = (0.0 if sign == "<=" else units), (float("inf") if sign == ">=" else units)
    return Hold(site, frozenset(skus.split("+")), quarters, least, most)
