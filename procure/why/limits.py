"""Which limits bind and what one more unit is worth: the limit moved in the case, and the case solved again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from procure.case import Case
from procure.errors import Fault, InputError
from procure.families import contents
from procure.families.wording import Full, Moved, amount, figure
from procure.instance import Instance
from procure.plan import Plan
from procure.plan.tables import Limit
from procure.quarter import quarter_ranges
from procure.why.question import Kind, Question, Relation

NEARLY = 1e-6
"""Relative slack on top of a step within which a limit is asked about: a unit that just does not fit is kept out."""
FULL = 1e-4
"""Share of a limit not counted in units below which nothing is left of it: what may count as served though it is
not leaves as much, beyond what the plan itself calls binding. Whether it binds is what the changed plan says."""
MILLION = 1e6
"""USD from which on amounts are told in millions."""
DOUBLED, HALVED = "doubled", "halved"


@dataclass(frozen=True)
class Candidate:
    """A limit that is asked about, with what moves it.

    Attributes:
        name: the limit with its site and item, in words.
        cells: what moves it, and in which quarters what stands there leaves no room; in all, if none is such.
    """

    name: str
    cells: tuple[tuple[Moved, tuple[str, ...]], ...]

    @property
    def singles(self) -> list[Candidate]:
        """The cells one by one, where there are several."""
        return [Candidate(self.name, (cell,)) for cell in self.cells] if len(self.cells) > 1 else []

    @property
    def can_double(self) -> bool:
        """Whether twice as much of it (half as much, where less eases) is more than a step."""
        return any(abs(_step(m)) < m.value * (1.0 if m.step > 0 else 0.5) for m, _ in self.cells)


def _step(moved: Moved) -> float:
    """By how much a cell is moved: what one more unit takes, and no more than there is, so that doubling is as much."""
    return math.copysign(min(abs(moved.step), moved.value), moved.step) if moved.value > 0 else moved.step


def candidates(plan: Plan, case: Case, instance: Instance, named: Sequence[str] = ()) -> list[Candidate]:
    """Limits of a plan that leave less than one more unit takes, and those that are named whether or not they do.

    A limit that several cells of the case state, each for some quarters, is one: to move one of them may help nobody as
    long as the others stand.

    Args:
        named: limits by name, ``power``, ``power at north`` or ``supply lpx``; all that are full if none is.

    Raises:
        InputError: no limit of a name, with those there are.
    """
    moves = contents.moves()
    found: dict[tuple[str, str], list[tuple[str, Moved, bool]]] = {}
    names: set[str] = set()
    for row in plan.rows(Limit):
        if row.family not in moves:
            continue
        moved = moves[row.family](Full(row.quarter, row.site, row.item, case.tables, instance.tables))
        if moved is None:
            continue
        name = name_of(row)
        names |= {row.family, name}
        no_room = row.slack <= (abs(moved.step) * (1.0 - NEARLY) if moved.counts else FULL * abs(row.limit))
        is_full = row.used > 0 and no_room
        if {row.family, name} & set(named) if named else is_full:
            found.setdefault((name, moved.path), []).append((row.quarter, moved, is_full))
    unknown = [name for name in named if name not in names]
    if unknown:
        known = ", ".join(sorted(names)) or "none"
        raise InputError([Fault("--limit", 0, "", name, f"A limit of the plan: {known}.") for name in unknown])
    limits: dict[str, list[tuple[Moved, tuple[str, ...]]]] = {}
    for (name, _), rows in found.items():
        quarters = tuple(q for q, _, full in rows if full) or tuple(q for q, *_ in rows)
        limits.setdefault(name, []).append((rows[0][1], quarters))
    return [Candidate(name, tuple(cells)) for name, cells in limits.items()]


def name_of(row: Limit) -> str:
    """A limit with its site and item."""
    return " ".join(part for part in (row.family, f"at {row.site}" if row.site else "", row.item) if part)


def question(candidate: Candidate, doubled: bool = False) -> Question:
    """What one more unit of a limit is worth, or twice as much of it: half as much, where less eases."""
    moves = [moved for moved, _ in candidate.cells]
    unit, up = moves[0].unit, moves[0].step > 0
    values = {m.path: m.value * (2.0 if up else 0.5) if doubled else m.value + _step(m) for m in moves}
    what = (DOUBLED if up else HALVED) if doubled else f"{'+' if up else ''}{_span(map(_step, moves), unit)}"
    return Question(
        Kind.LIMIT,
        f"{candidate.name} ({_span((m.value for m in moves), unit)})",
        f"{what} in each" if len(moves) > 1 else what,
        values,
        Relation.EASES,
        quarter_ranges(quarter for _, quarters in candidate.cells for quarter in quarters),
    )


def _span(values: Iterable[float], unit: str) -> str:
    """Amounts with their unit, from the least to the most."""
    low, *_, high = sorted(set(values), key=abs) * 2
    if unit == "USD" and abs(low) >= MILLION:
        low, high, unit = low / MILLION, high / MILLION, "M USD"
    text = figure(low) if figure(low) == figure(high) else f"{figure(low)} to {figure(high)}"
    return amount(text, unit)
