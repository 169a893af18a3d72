"""The table of contents: every family, in the order in which program, checks and reports tell them.

A new family is a folder here and its name in :data:`NAMES`. Its parts are found by name, not imported by this module,
so that whoever asks for checks or words never loads the program (and Pyomo with it).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

NAMES = (
    "fleet",
    "demand",
    "prefill",
    "compute",
    "lpx",
    "retention",
    "cmx",
    "stores",
    "latency",
    "site",
    "parts",
    "pods",
    "orders",
    "budget",
    "upkeep",
)


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
