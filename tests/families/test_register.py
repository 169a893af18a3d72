"""Every family tells its whole story: a program, a check, rows in words, limits and causes or why it has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from solved_case import Solved, built, solved_rich
from tiny_case import rich

from procure.case.settings import Settings
from procure.families import contents
from procure.plan.money import Ledger
from procure.plan.plan import TABLES
from procure.program.index import Index
from procure.program.program import assemble
from procure.schema import CostLine

LEAST_REASON = 20
"""Characters of a reason that says something."""


@pytest.fixture(scope="module")
def components() -> dict[str, set[str]]:
    """Components of rows that each family's functions add to the program of a case with a bit of everything."""
    found: dict[str, set[str]] = {name: set() for name in contents.NAMES}

    def recorded(family: str, add: Any) -> Any:
        def run(m: Any, index: Any) -> None:
            before = {c.local_name for c in m.component_objects(pyo.Constraint)}
            add(m, index)
            found[family] |= {c.local_name for c in m.component_objects(pyo.Constraint)} - before

        return run

    parts = contents.programs().items()
    assemble(
        Index(built(rich())),
        [replace(part, rows=tuple(recorded(name, add) for add in part.rows)) for name, part in parts],
    )
    return found


@pytest.mark.parametrize("family", contents.NAMES)
def test_every_family_adds_rows_or_costs_and_has_words_for_each_component(family, components):
    part = contents.programs()[family]
    assert part.rows or part.cost or part.running
    assert components[family] == set(contents.words()[family].rows)


@pytest.mark.parametrize("family", [name for name in contents.NAMES if contents.programs()[name].rows])
def test_every_family_with_rows_has_them_worked_by_hand(family):
    assert f'check(ROWS, "{family}"' in Path(__file__).with_name(f"test_rows_{family}.py").read_text()


@pytest.mark.parametrize("family", contents.NAMES)
def test_every_family_checks_what_its_program_says(family):
    """Rows by limits or by faults, or by cash where they say only what is paid; costs by cash."""
    part, check = contents.programs()[family], contents.checks()[family]
    priced = contents.words()[family].no_limit and check.cash
    assert not part.rows or check.limits or check.faults or priced
    assert not (part.cost or part.running) or check.cash
    assert check.limits or check.faults or check.cash


@pytest.mark.parametrize("family", contents.NAMES)
def test_every_family_has_limits_and_causes_or_says_why_not(family):
    words, check = contents.words()[family], contents.checks()[family]
    for told, reason in ((words.given + words.bought, words.no_limit), (words.causes, words.no_cause)):
        assert bool(told) != bool(reason)
        assert told or len(reason) > LEAST_REASON
    assert bool(words.given + words.bought) == (check.limits is not None)


def test_every_limit_that_others_set_has_what_moves_it():
    for words in contents.words().values():
        assert set(words.given) <= set(words.moves) <= set(words.given + words.bought)


def test_settings_that_families_read_are_those_of_a_case():
    assert set(contents.settings()) <= set(Settings.model_fields)
    assert set(built(rich()).settings) == set(contents.settings())


def test_causes_name_components_that_there_are_and_stand_in_one_order():
    known = set(contents.row_words())
    for causes in contents.causes().values():
        assert {component for cause in causes for component in cause.rows} <= known
    sites = ["power", "positions", "area", "liquid cooling", "ports"]
    assert list(contents.causes()) == [
        "budget",
        *sites,
        "operating budget",
        "rent",
        "supply",
        "pods",
        "minimum order",
        "link bandwidth",
        "resilience",
        "time to first token",
    ]


@pytest.fixture(scope="module")
def full() -> Solved:
    return solved_rich()


def test_the_rows_of_limits_are_those_that_families_have_words_for(full):
    names = [name for words in contents.words().values() for name in words.given + words.bought]
    assert len(names) == len(set(names))
    assert set(full.plan.tables["limits"]["family"]) <= set(names)


def test_every_table_that_follows_from_decisions_is_written_by_one_family():
    written = [name for part in contents.programs().values() for name in part.tables]
    recomputed = {"cash", "costs", "unit_costs", "limits", "premises", "checks"}
    assert len(written) == len(set(written))
    assert set(written) == set(TABLES) - recomputed


def test_every_cost_line_is_paid_by_one_family(full):
    """Power by upkeep, for instance; a line that nobody or two pay would be counted wrong."""
    paid: dict[str, set[str]] = {}
    for family, check in contents.checks().items():
        if check.cash is not None:
            ledger = Ledger(full.instance)
            check.cash(ledger, full.instance, full.plan.tables)
            for _, line, _, _ in ledger.cash:
                paid.setdefault(line, set()).add(family)
    assert set(paid) <= set(CostLine)
    assert {line: families for line, families in paid.items() if len(families) > 1} == {}
