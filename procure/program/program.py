"""The program as a table of contents: index sets, decisions, constraint families, objectives."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from procure.instance import Instance
from procure.program import (
    bandwidth,
    budget,
    compute,
    demand,
    fleet,
    latency,
    lpx,
    objective,
    pods,
    prefill,
    retention,
    site,
    structure,
)
from procure.program.index import Index
from procure.program.variables import add_variables

FAMILIES = (
    fleet.fleet_balance,
    fleet.retire_within_group,
    fleet.reserved_stands,
    demand.demand_met,
    demand.short_counts_late,
    demand.shortfall_of_quarter,
    prefill.prefill_where_decoded,
    compute.work_within_racks,
    lpx.lpx_time_within_copies,
    lpx.lpx_linking,
    lpx.lpx_copies_within_racks,
    lpx.lpx_copies_within_pods,
    retention.kept_at_most_served,
    retention.kept_only_falls,
    retention.hits_from_kept,
    retention.parked_within_store,
    pods.cmx_reads_in_pods,
    pods.cmx_sessions_in_pods,
    bandwidth.store_reads,
    bandwidth.reader_limit,
    bandwidth.store_writes,
    bandwidth.store_wear,
    latency.late_prefill_share,
    site.site_limit,
    site.expansions_at_most,
    structure.kits_within_hosts,
    structure.enclosures_in_racks,
    structure.parts_in_free_hosts,
    structure.places_in_pods,
    structure.pods_stay,
    structure.supply_cap,
    structure.minimum_order,
    budget.budget_limit,
    budget.carry_rule,
)
"""Every constraint family, in the order of the design; a new one is added here and nowhere else."""

OBJECTIVES = (objective.least_cost, objective.least_shortfall)


@dataclass(frozen=True)
class Program:
    """A Pyomo model and the index sets it was built over.

    ``model.shortfall`` and ``model.cost`` are the objectives of the two stages; a stage uses one of them.
    """

    model: Any
    index: Index


def build(instance: Instance) -> Program:
    """Build the whole program of an instance."""
    index = Index(instance)
    paused = gc.isenabled()
    gc.disable()  # nothing here is cyclic garbage, and collections are half of the build time
    try:
        model = pyo.ConcreteModel()
        add_variables(model, index)
        for add in (*FAMILIES, *OBJECTIVES):
            add(model, index)
    finally:
        if paused:
            gc.enable()
    return Program(model, index)
