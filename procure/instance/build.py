"""Case to instance: sizing, performance and demand meet here and become numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from procure import demand as demand_of
from procure.case.frames import in_order
from procure.instance import first_token, prefill, retention, service
from procure.instance.demand_tables import demand_tables
from procure.instance.instance import Instance
from procure.instance.supply import skus_in_play, supply_tables
from procure.instance.worth import short_prices_table, token_prices_table

if TYPE_CHECKING:
    from procure.case import Case


def build(case: Case) -> Instance:
    """Every coefficient that the program of a case needs, as plain tables, the same whatever order its rows are in.

    Raises:
        InputError: something in the case cannot be resolved, such as an unknown card or reuse curve.
    """
    case = replace(case, tables={name: in_order(frame) for name, frame in case.tables.items()})
    demand = demand_of.build(case)
    all_loads = service.loads(case, demand)
    pools = service.gpu_pools(case)
    lpx = [sku for sku in skus_in_play(case) if sku.kind == "lpx"]
    store_tables, reads = retention.store_tables(case)
    rates = service.rates_table(case, demand)
    lengths = service.lengths_table(all_loads)
    tables = {
        **supply_tables(case),
        **demand_tables(case, demand),
        "workloads": service.workloads_table(case, demand),
        "short_prices": short_prices_table(case, demand),
        "token_prices": token_prices_table(case),
        "rates": rates,
        "lengths": lengths,
        "serve": service.serve_table(case, all_loads, pools, lpx),
        **prefill.prefill_tables(case, all_loads, pools, reads),
        "cached_tokens": prefill.cached_tokens_table(all_loads),
        **store_tables,
        "idle_hbm": service.idle_hbm_table(all_loads, pools),
        "parked": retention.parked_table(lengths, rates),
        "ages": retention.ages_table(case, demand),
        "lpx_copies": service.lpx_copies_table(case, all_loads, lpx),
    }
    tables["out_of_reach"] = first_token.out_of_reach(tables)
    settings = {
        "budget_basis": case.settings.budget_basis,
        "budget_carry": case.settings.budget_carry,
        "utilisation_cap": case.settings.utilisation_cap,
    }
    return Instance(tables, settings)
