"""Case to instance: sizing, performance and demand meet here and become numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure import demand as demand_of
from procure.case.frames import in_order
from procure.families import contents
from procure.instance import (
    demand_tables,
    first_token,
    inherited,
    links,
    money,
    pairs,
    prefill,
    rent,
    replicas,
    reservations,
    retention,
    return_shares,
    service,
    sites,
    units,
    worth,
)
from procure.instance.instance import Instance
from procure.instance.stages import Build, Cache, Key
from procure.instance.tables import (
    FirstToken,
    FullPowerPrefill,
    InstanceRate,
    InstanceRow,
    Prefill,
    Serve,
    Ship,
    ShipFirstToken,
)

if TYPE_CHECKING:
    from procure.case import Case

OF_CASE = (money, units, inherited, sites, reservations, rent, links)
"""Modules whose tables know no workload."""
TABLES: tuple[tuple[str, Callable[..., pd.DataFrame], tuple[str, ...]], ...] = (
    *((name, make, ("case",)) for of in OF_CASE for name, make in of.TABLES.items()),
    *((name, make, ("demand",)) for name, make in demand_tables.TABLES.items()),
    ("tasks", demand_tables.tasks_table, ("case", "demand")),
    ("workloads", service.workloads_table, ("case", "demand")),
    ("resilience", service.resilience_table, ("case",)),
    ("short_prices", worth.short_prices_table, ("case", "demand")),
    ("token_prices", worth.token_prices_table, ("case",)),
    ("rates", service.rates_table, ("case", "demand")),
    ("wear_prices", retention.wear_prices_table, ("case",)),
    ("ages", retention.ages_table, ("case", "demand")),
    ("lengths", service.lengths_table, ("loads",)),
    ("handovers", service.handovers_table, ("loads",)),
    ("nics", service.nics_table, ("case",)),
    ("cached_tokens", prefill.cached_tokens_table, ("loads",)),
    ("idle_hbm", service.idle_hbm_table, ("case", "loads")),
    ("lpx_copies", service.lpx_copies_table, ("case", "loads")),
    ("parked", retention.parked_table, ("lengths", "rates")),
)
"""Tables that are a stage each: name, what makes it, and what that is given."""


def build(case: Case, cache: Cache | None = None) -> Instance:
    """Every coefficient that the program of a case needs, as plain tables, the same whatever order its rows are in.

    Args:
        case: what the planner asks.
        cache: what builds of other cases left; stages that read nothing else than theirs are not run again. The tables
            are the same with and without.

    Raises:
        InputError: something in the case cannot be resolved, such as an unknown card or reuse curve.
    """
    ordered = replace(case, tables={name: in_order(frame) for name, frame in case.tables.items()})
    run = Build(ordered, cache)
    run.stage("demand", demand_of.build, "case")
    run.stage("rules", service.rules_of, "case")
    loads = run.stage("loads", service.loads, "case", "demand", "rules")
    tables = {name: run.stage(name, make, *given) for name, make, given in TABLES}
    tables |= run.stage("stores", retention.store_tables, "case")
    tables |= _work_tables(run, list(loads))
    tables |= _kept_pairs(run, tables)
    run.made |= tables
    shares = partial(_of, return_shares.return_shares_table, return_shares.READ)
    tables["return_shares"] = run.stage("return_shares", shares, *return_shares.READ, "case")
    away = partial(_of, first_token.out_of_reach, first_token.READ)
    tables["out_of_reach"] = run.stage("out_of_reach", away, *first_token.READ)
    tables |= _instance_tables(run, list(loads))
    return Instance(tables, {name: getattr(case.settings, name) for name in contents.settings()})


def _work_tables(run: Build, loads: list[str]) -> dict[str, pd.DataFrame]:
    """The tables ``serve``, ``prefill`` and ``first_token``, which take longest: a stage for each workload."""
    served = [run.stage(f"serve {w}", service.serve_rows, "case", ("loads", Key(w))) for w in loads]
    ways = [run.stage(f"prefill {w}", prefill.ways, "case", ("loads", Key(w))) for w in loads]
    held = [run.stage(f"full power {w}", prefill.full_power_options, "case", ("loads", Key(w))) for w in loads]
    return {
        "serve": Serve.frame(chain.from_iterable(served)),
        "prefill": Prefill.frame(row for way in ways for row in way.options),
        "first_token": FirstToken.frame(row for way in ways for row in way.curves),
        "ships": Ship.frame(row for way in ways for row in way.ships),
        "ship_first_token": ShipFirstToken.frame(row for way in ways for row in way.ship_curves),
        "full_power_prefill": FullPowerPrefill.frame(chain.from_iterable(held)),
    }


def _kept_pairs(run: Build, tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables ``ships`` and ``ship_first_token`` without pairs of sites that nothing can use."""
    if tables["ships"].empty:
        return {}
    run.made |= tables
    made: dict[str, pd.DataFrame] = run.stage("pairs", partial(_of, pairs.kept, pairs.READ), *pairs.READ)
    return made


def _instance_tables(run: Build, loads: list[str]) -> dict[str, pd.DataFrame]:
    """The tables ``instances`` and ``instance_rates``; how fast instances of each size are is a stage per workload."""
    if not loads:
        return {"instances": InstanceRow.empty(), "instance_rates": InstanceRate.empty()}
    sized = [run.stage(f"sizes {w}", replicas.sizes, "case", ("loads", Key(w))) for w in loads]
    run.made["sizes"] = pd.concat(sized, ignore_index=True)
    run.stage("prefill_sizes", replicas.prefill_sizes, "case", "loads")
    given = (*replicas.READ, "sizes", "prefill_sizes", "case")
    made: dict[str, pd.DataFrame] = run.stage("instances", partial(_of, replicas.instances, replicas.READ), *given)
    return made


def _of(make: Callable[..., Any], names: tuple[str, ...], *read: Any) -> Any:
    """What is made of tables by their names, and of what is given beside them."""
    return make(dict(zip(names, read, strict=False)), *read[len(names) :])
