"""Which limits bind and what one more unit is worth: the limit moved in the case, and the case solved again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from procure.case import Case
from procure.errors import Fault, InputError
from procure.families import contents
from procure.families.wording import Full, Moved, figure
from procure.instance import Instance
from procure.plan import Plan
from procure.plan.tables import Limit
from procure.quarter import quarter_ranges
from procure.why.question import Kind, Question, Relation

NEARLY = 1e-6
"""Relative slack on top of a step within which a limit is asked about: a unit that just does not fit is kept out."""
DOUBLED, HALVED = "doubled", "halved"


@dataclass(frozen=True)
class Candidate:
    """A limit that is asked about, with what moves it.

    Attributes:
        name: the limit with its site and item, in words.
        quarters: those in which it leaves no room; all, if none is such.
        moved: what moves it.
    """

    name: str
    quarters: tuple[str, ...]
    moved: Moved

    @property
    def step(self) -> float:
        """By how much it is moved: what one more unit takes, and no more than there is, so that doubling is as much."""
        step, value = self.moved.step, self.moved.value
        return math.copysign(min(abs(step), value), step) if value > 0 else step

    @property
    def can_double(self) -> bool:
        """Whether twice as much of it (half as much, where less eases) is more than a step."""
        return abs(self.step) < self.moved.value * (1.0 if self.step > 0 else 0.5)


def candidates(plan: Plan, case: Case, instance: Instance, named: Sequence[str] = ()) -> list[Candidate]:
    """Limits of a plan that leave less than one more unit takes, and those that are named whether or not they do.

    One for each cell of the case: a limit of several quarters that one cell states is one.

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
        name = name_of(row)
        names |= {row.family, name}
        moved = moves[row.family](Full(row.quarter, row.site, row.item, case.tables, instance.tables))
        no_room = row.slack <= abs(moved.step) * (1.0 - NEARLY) if moved.counts else row.binding
        is_full = row.used > 0 and no_room
        if {row.family, name} & set(named) if named else is_full:
            found.setdefault((name, moved.path), []).append((row.quarter, moved, is_full))
    unknown = [name for name in named if name not in names]
    if unknown:
        known = ", ".join(sorted(names)) or "none"
        raise InputError([Fault("--limit", 0, "", name, f"A limit of the plan: {known}.") for name in unknown])
    return [
        Candidate(name, tuple(q for q, _, full in rows if full) or tuple(q for q, *_ in rows), rows[0][1])
        for (name, _), rows in found.items()
    ]


def name_of(row: Limit) -> str:
    """A limit with its site and item."""
    return " ".join(part for part in (row.family, f"at {row.site}" if row.site else "", row.item) if part)


def question(candidate: Candidate, doubled: bool = False) -> Question:
    """What one more unit of a limit is worth, or twice as much of it: half as much, where less eases."""
    moved, up = candidate.moved, candidate.step > 0
    value = moved.value * (2.0 if up else 0.5) if doubled else moved.value + candidate.step
    step = (DOUBLED if up else HALVED) if doubled else f"{'+' if up else ''}{figure(candidate.step)} {moved.unit}"
    return Question(
        Kind.LIMIT,
        f"{candidate.name} ({figure(moved.value)} {moved.unit})",
        step,
        {moved.path: value},
        Relation.EASES,
        quarter_ranges(candidate.quarters),
    )
