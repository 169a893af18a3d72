"""The table of contents: every family, in the order in which program, checks and reports tell them.

A new family is a folder here and its name in :data:`NAMES`. Its parts are found by name, not imported by this module,
so that whoever asks for checks or words never loads the program (and Pyomo with it).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from procure.families.wording import Cause, Full, Moved, RowWords, Words

NAMES = (
    "fleet",
    "rent",
    "demand",
    "prefill",
    "links",
    "scale_out",
    "compute",
    "modes",
    "dayparts",
    "replicas",
    "lpx",
    "survivability",
    "retention",
    "moves",
    "cmx",
    "stores",
    "latency",
    "site",
    "reservations",
    "parts",
    "pods",
    "orders",
    "order_changes",
    "budget",
    "upkeep",
)


@cache
def settings() -> tuple[str, ...]:
    """Settings of a case that families read in their program and check, ``SETTINGS`` of a family's folder."""
    found = [getattr(import_module(f"procure.families.{name}"), "SETTINGS", ()) for name in NAMES]
    return tuple(sorted({setting for of in found for setting in of}))


@cache
def programs() -> dict[str, Any]:
    """What each family brings to the program: a :class:`procure.program.part.Part` by name."""
    return {name: import_module(f"procure.families.{name}.program").PROGRAM for name in NAMES}


@cache
def checks() -> dict[str, Any]:
    """What each family brings to the check of a plan: a :class:`procure.plan.part.Check` by name."""
    return {name: import_module(f"procure.families.{name}.check").CHECK for name in NAMES}


def faults() -> dict[str, list[Any]]:
    """What families demand beside their limits, by the name of the check that says it, in order."""
    found: dict[str, list[Any]] = {}
    for check in checks().values():
        for name, faults_of in check.faults.items():
            found.setdefault(name, []).append(faults_of)
    return found


@cache
def words() -> dict[str, Words]:
    """How each family is told."""
    return {name: import_module(f"procure.families.{name}.words").WORDS for name in NAMES}


def row_words() -> dict[str, RowWords]:
    """How each component of the program is told."""
    return {component: row for told in words().values() for component, row in told.rows.items()}


def causes() -> dict[str, tuple[Cause, ...]]:
    """Limits that a planner can move, by word, in the order in which they are told."""
    found: dict[str, list[Cause]] = {}
    for told in words().values():
        for cause in told.causes:
            found.setdefault(cause.word, []).append(cause)
    order = sorted(found, key=lambda word: max(cause.place for cause in found[word]))
    return {word: tuple(found[word]) for word in order}


def given_limits() -> frozenset[str]:
    """Rows of a plan's ``limits`` that the site, the budget or a supplier sets; others follow from what was bought."""
    return frozenset(name for told in words().values() for name in told.given)


def moves() -> dict[str, Callable[[Full], Moved | None]]:
    """What moves a limit of a plan's ``limits``, by its name; None of a row that no cell of the case states."""
    return {name: move for told in words().values() for name, move in told.moves.items()}
