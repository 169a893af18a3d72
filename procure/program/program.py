"""The program as a table of contents: index sets, then decisions, rows and costs of every family."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from procure.families import contents
from procure.instance import Instance
from procure.program.declare import check, first_stage
from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.running import add_running


@dataclass(frozen=True)
class Program:
    """A Pyomo model and the index sets it was built over.

    ``model.shortfall`` and ``model.cost`` are the objectives of the two stages; a stage uses one of them.
    """

    model: Any
    index: Index


def build(instance: Instance, parts: Mapping[str, Part] | None = None) -> Program:
    """Build the whole program of an instance, of all families unless ``parts`` says otherwise.

    Raises:
        Undeclared: a family's decisions or rows are not what they say of themselves.
    """
    index = Index(instance)
    paused = gc.isenabled()
    gc.disable()  # nothing here is cyclic garbage, and collections are half of the build time
    try:
        model = assemble(index, (contents.programs() if parts is None else parts).values())
    finally:
        if paused:
            gc.enable()
    return Program(model, index)


def assemble(index: Index, parts: Iterable[Part]) -> pyo.ConcreteModel:
    """The model of some families over index sets: every decision first, then the rows, then both objectives.

    Raises:
        Undeclared: a family's decisions or rows are not what they say of themselves.
    """
    model, parts = pyo.ConcreteModel(), list(parts)
    for part in parts:
        if part.variables is not None:
            part.variables(model, index)
    for part in parts:
        for add in part.rows:
            add(model, index)
    least_cost(model, index, parts)
    least_shortfall(model, index)
    check(model)
    return model


def least_cost(m: Any, index: Index, parts: Iterable[Part]) -> None:
    """Least net present cost: the sum of what every family costs.

    M USD, each payment discounted from the start of its quarter, residual values from the end of the horizon. What
    exists and is on order enters as a constant: the variable ``always``, fixed at 1, so that any reader of the MPS file
    counts it.
    """
    terms = Terms()
    for part in parts:
        if part.cost is not None:
            part.cost(m, index, terms)
        if part.running is not None:
            add_running(index, terms, part.running(m, index))
    m.always = first_stage([0], bounds=(1.0, 1.0))
    terms.add(terms.constant, m.always[0])
    m.cost = pyo.Objective(expr=terms.expression, sense=pyo.minimize)


def least_shortfall(m: Any, index: Index) -> None:
    """Least weighted shortfall over planned quarters: Σ_t quarter_short[t], in basis points of their demand."""
    m.shortfall = pyo.Objective(expr=pyo.quicksum(m.quarter_short.values()), sense=pyo.minimize)
