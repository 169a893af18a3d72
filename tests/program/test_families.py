"""Every constraint family binds in one hand-made case and is inert in another: with it a plan costs more, or the same.

``BINDING`` and ``INERT`` map each family to a case; a register test fails when a family has none. A case is a function
that edits the default tables and may return settings of the instance.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from hand_instance import (
    SITE,
    W,
    a_day,
    asks,
    batch,
    edit,
    hand_tables,
    handed,
    instance,
    instances,
    linked,
    lpx_points,
    rows,
    second_site,
    standing,
    store,
    workload,
)

from procure.families.contents import programs
from procure.program.index import Index
from procure.program.program import Program, assemble
from procure.solver.compile import Compiled, compile_program
from procure.solver.highs import Options
from procure.solver.whole import solve_whole

Tables = dict[str, pd.DataFrame]
NAMES = [add.__name__ for part in programs().values() for add in part.rows]


@cache
def compiled(edits: Any, without: str = "") -> tuple[Compiled, dict[str, set[str]]]:
    """A case as arrays, built once, and the names of the rows that each family adds; ``without`` leaves one out."""
    tables = hand_tables()
    settings = edits(tables) or {}
    tweak = settings.pop("tweak", None)
    index = Index(instance(tables, **settings))
    added: dict[str, set[str]] = {}

    def recorded(add: Any) -> Any:
        def run(m: Any, index: Index) -> None:
            before = set(m.component_map(pyo.Constraint))
            add(m, index)
            added[add.__name__] = set(m.component_map(pyo.Constraint)) - before

        return run

    parts = [
        replace(part, rows=tuple(recorded(add) for add in part.rows if add.__name__ != without))
        for part in programs().values()
    ]
    model = assemble(index, parts)
    if tweak is not None:
        tweak(model)
    return compile_program(Program(model, index)), added


def rows_of(family: str, edits: Any) -> np.ndarray:
    """Which rows of a case a family adds."""
    case, added = compiled(edits)
    return np.array([name in added[family] for name, _ in case.keys])


def freed(family: str, edits: Any) -> Compiled:
    """A case without a family: the same arrays less its rows, or built without what is no row."""
    case, added = compiled(edits)
    if not added[family]:
        return compiled(edits, without=family)[0]
    left = ~rows_of(family, edits)
    return replace(
        case,
        matrix=case.matrix[left],
        keys=[key for key, stays in zip(case.keys, left, strict=True) if stays],
        rows=[row for row, stays in zip(case.rows, left, strict=True) if stays],
        **{name: getattr(case, name)[left] for name in ("row_lower", "row_upper", "mendable", "row_block")},
    )


def least(edits: Any, without: str = "", *, relaxed: bool = False) -> float:
    """The least cost (or shortfall, for that family) with or without a family; infinite where nothing fits."""
    case = freed(without, edits) if without else compiled(edits)[0]
    if relaxed:
        case = replace(case, integer=np.zeros_like(case.integer))
    objective = "shortfall" if edits.__name__.startswith("short") else "cost"
    answer = solve_whole(case, Options(gap=0.0, threads=1), objective, None)
    return float("inf") if answer.objective is None else answer.objective


# Cases, binding


def demand_alone(tables: Tables) -> None:
    """Racks must be bought for the demand."""


def two_groups_of_which_one_may_be_sold(tables: Tables) -> None:
    no_demand(tables)
    standing(tables, "g", 3, paid=9e6, retirable=1)
    standing(tables, "g", 3, paid=0.0)


def two_groups_and_a_market_for_two(tables: Tables) -> None:
    no_demand(tables)
    for paid in (9e6, 8e6):
        standing(tables, "g", 3, paid=paid, retirable=1)
    edit(tables, "skus", {"sku": "g"}, resale_per_quarter=2)


def old_racks_at_the_price_of_new_ones(tables: Tables) -> dict[str, Any]:
    """Racks that cost nothing and may not be sold: as racks of an order that was never placed they would bring much."""
    no_demand(tables)
    standing(tables, "g", 3, paid=0.0)
    return {"resale": "all"}


def dear_racks_while_cheap_ones_are_ordered(tables: Tables) -> None:
    """What stands is worth most at once, and the racks that the demand needs must be ordered at once."""
    standing(tables, "g", 3, paid=9e6, retirable=1)


def cheap_racks_for_rent(tables: Tables) -> None:
    """Two racks for rent that cost next to nothing; the demand needs more."""
    rows(tables, "rent_offers", ("o", SITE, "g", 2, 1e3, 0, 1, 0, 2, 2, 0))


def racks_for_rent_for_two_quarters(tables: Tables) -> None:
    """Demand stands in one quarter alone; the second is paid for too."""
    rows(tables, "rent_offers", ("o", SITE, "g", 20, 1e4, 0, 2, 0, 1, 2, 0))


def dear_order_that_can_be_cancelled(tables: Tables) -> None:
    """Racks can be had for a fifth of what is due on those on order; more cannot be cancelled than are."""
    no_demand(tables)
    edit(tables, "skus", {"sku": "g"}, supply_per_quarter=10.0)
    rows(tables, "fixed", ("order-0", "order", SITE, "g", 3, 1, 0, 1e6, 5e6, 1, 9e3))
    rows(tables, "order_terms", ("order-0", 1, 0.0, 0, 0.0))


def order_too_dear_to_cancel(tables: Tables) -> None:
    dear_order_that_can_be_cancelled(tables)
    edit(tables, "order_terms", {}, cancel_usd=1e9)


def racks_for_rent_that_are_too_dear(tables: Tables) -> None:
    rows(tables, "rent_offers", ("o", SITE, "g", 2, 1e9, 0, 2, 0, 1, 2, 0))


def reserved_and_well_paid_for(tables: Tables) -> None:
    no_demand(tables)
    standing(tables, "g", 3, paid=9e6, retirable=1)
    rows(tables, "reserved", (2, SITE, "g", 2))


def short_in_the_planned_quarter(tables: Tables) -> None:
    """The first orders arrive after it."""
    tables["rates"] = pd.DataFrame([(0, W, 0, 100.0, 0.5)], columns=tables["rates"].columns)


def half_of_the_planned_quarter_at_least(tables: Tables) -> None:
    """Racks stand and work costs power; nothing else makes the plan serve the planned quarter."""
    short_in_the_planned_quarter(tables)
    standing(tables, "g", 14)
    tables["serve"]["t"] = tables["prefill"]["t"] = 0
    edit(tables, "workloads", {}, min_served_share=0.5)


def space_beyond_the_contract(tables: Tables) -> None:
    """A rack takes 1,000 USD of the 3,000 that it rents for, the rest is beyond the contract."""
    rows(tables, "space", *((t, SITE, 30.0, 33.0) for t in range(3)))


def space_within_the_contract(tables: Tables) -> None:
    rows(tables, "space", *((t, SITE, 30.0, 1e6) for t in range(3)))


def running_costs_capped(tables: Tables) -> None:
    """Racks stand, and their work costs more than is left of the operating budget."""
    standing(tables, "g", 14)
    rows(tables, "opex", (1, 14 * (5_000.0 + 10_000.0) + 100.0))


def one_lpx_copy_is_too_little(tables: Tables) -> None:
    lpx_points(tables, alone=True)


def lpx_copy_hardly_used(tables: Tables) -> None:
    lpx_points(tables, alone=True)
    edit(tables, "serve", {}, lpx_rack_s=1e-4)


def pods_hold_one_copy_each(tables: Tables) -> None:
    """Six LPX racks hold three copies; one pod holds three places and one copy of two."""
    lpx_points(tables, alone=True)
    edit(tables, "serve", {}, lpx_rack_s=0.012)
    edit(tables, "serve", {}, rack_s=0.001)
    edit(tables, "prefill", {}, rack_s=0.001)
    edit(tables, "pods", {}, pods_max=1, lpx_per_pod=6)


def ssd_reuse(tables: Tables, **limits: float) -> None:
    store(tables, "ssd", **limits)


def returns_of_all_that_is_served(tables: Tables) -> None:
    """All would be hits if more could be parked than was served."""
    ssd_reuse(tables)
    tables["ages"] = tables["ages"].iloc[:1]


def returns_of_the_part_that_is_served(tables: Tables) -> None:
    """Six racks serve a part; with caches of what was never served more would be hits, and more served."""
    returns_of_all_that_is_served(tables)
    standing(tables, "g", 6)
    edit(tables, "skus", {"sku": "g"}, supply_per_quarter=0.0)


def late_returns_only(tables: Tables) -> None:
    """Everything returns in the second interval, in a store too small for the first."""
    ssd_reuse(tables, bytes=3e12)
    edit(tables, "ages", {"interval": 0}, return_share=0.0, seconds=100.0)
    edit(tables, "ages", {"interval": 1}, return_share=0.6, seconds=10.0)


def two_modes(tables: Tables, power_kw: float) -> None:
    """Six racks of work, twelve racks at full power; one at Max-Q leaves 40 of its 100 kW and a tenth of its work."""
    rows(tables, "site_limits", (1, SITE, "power_kw", power_kw))
    rows(tables, "power_modes", ("g", 0.9))
    rows(tables, "maxq_savings", (SITE, "g", "power_kw", 40.0))


def power_for_fewer_racks_than_saving_would_take(tables: Tables) -> None:
    """The work would take 14 racks, of which 18 save."""
    two_modes(tables, 700.0)


def prefill_that_must_not_be_slower(tables: Tables) -> None:
    """Eight racks prefill at full power; within 1,080 kW the work takes 13 of which six save."""
    two_modes(tables, 1_080.0)
    rows(tables, "full_power_prefill", ("o0",), ("o1",))


def copies_that_never_moved(tables: Tables) -> dict[str, Any]:
    """Drives take hardly any writes, and memory holds hardly any copies that could move there."""
    late_returns_only(tables)
    store(tables, "dram", bytes=1e9)
    edit(tables, "store_units", {"store": "ssd:g"}, write_bytes_per_s=1e7, bytes=1e15)
    return {"cache_moves": "write_through"}


def small_store(tables: Tables) -> None:
    ssd_reuse(tables, bytes=1e11)


def slow_reads(tables: Tables) -> None:
    ssd_reuse(tables, read_bytes_per_s=1e9)


def slow_readers(tables: Tables) -> None:
    store(tables, "cmx", reader_bytes_per_s=1e9)


def slow_writes(tables: Tables) -> None:
    ssd_reuse(tables, write_bytes_per_s=2e9)


def soft_drives(tables: Tables) -> None:
    ssd_reuse(tables, write_bytes_per_day=2e9 * 86_400 / 2)


def late_prompts(tables: Tables) -> None:
    """The long bucket is late in full: a third of the requests where a tenth may be; reuse is dear but in time."""
    ssd_reuse(tables)
    edit(tables, "skus", {"sku": "k"}, supply_per_quarter=0.0)
    edit(tables, "prefill", {"option": "o1"}, late_share=1.0)


def late_prompts_and_a_choice_of_points(tables: Tables) -> None:
    """Two alike ways to prefill and decode each bucket: only the rule keeps it from being served twice, some late."""
    late_prompts(tables)
    for name, key in (("serve", "point"), ("prefill", "option")):
        again = tables[name].assign(**{key: "again " + tables[name][key]})
        tables[name] = pd.concat([tables[name], again], ignore_index=True)


def less_than_an_instance_for_each_role(tables: Tables) -> None:
    """Decode fills 0.4 of an instance, prefill 0.6 of one: one rack does the work, each role has its own."""
    edit(tables, "serve", {}, rack_s=0.001)
    edit(tables, "serve", {"bucket": 1}, rack_s=0.002)
    edit(tables, "prefill", {}, rack_s=0.0015)
    edit(tables, "prefill", {"bucket": 1}, rack_s=0.003)
    instances(tables, "decode", "prefill")


def decode_of_more_than_one_instance(tables: Tables) -> None:
    """Decode fills 1.4 instances, 0.7 with each bucket; prefill 0.6: two racks do the work, three hold it."""
    less_than_an_instance_for_each_role(tables)
    edit(tables, "serve", {}, rack_s=0.0035)
    edit(tables, "serve", {"bucket": 1}, rack_s=0.007)


def a_large_load_beside_a_small_one(tables: Tables) -> None:
    """1.6 racks of work beside an instance that is 0.4 busy: two racks do the work, three hold it."""
    edit(tables, "serve", {}, rack_s=0.0005)
    edit(tables, "serve", {"bucket": 1}, rack_s=0.001)
    edit(tables, "prefill", {}, rack_s=0.0005)
    edit(tables, "prefill", {"bucket": 1}, rack_s=0.001)
    rows(tables, "workloads", workload("v", llm="large"))
    rows(tables, "rates", (1, "v", 0, 400.0, 0.5))
    point, way = tables["serve"].iloc[:1], tables["prefill"].iloc[:1]
    others = {"serve": point.assign(point="pv", rack_s=0.001), "prefill": way.assign(option="ov", rack_s=0.001)}
    for name, row in others.items():
        tables[name] = pd.concat([tables[name], row.assign(workload="v")], ignore_index=True)
    for name in ("tasks", "lengths", "parked"):
        tables[name] = pd.concat([tables[name], tables[name].iloc[:1].assign(workload="v")], ignore_index=True)
    rows(tables, "short_prices", (1, "v", 1.0))
    instances(tables, "both")
    instances(tables, "both", llm="large", whole=0)


def a_rack_may_be_down(tables: Tables) -> None:
    """Eight racks at 0.75 do the work; with one down, another one must stand."""
    edit(tables, "skus", {}, usable_share=0.75, present_share=1.0)
    asks(tables)


def a_rack_of_instances_may_be_down(tables: Tables) -> None:
    """An instance for each role, a rack each: three racks instead of two."""
    less_than_an_instance_for_each_role(tables)
    asks(tables)


def an_lpx_rack_may_be_down(tables: Tables) -> None:
    """Four copies of two racks; with one of eight down only three would be left."""
    one_lpx_copy_is_too_little(tables)
    a_rack_may_be_down(tables)


def one_pod_for_each_copy_and_a_site_may_be_down(tables: Tables) -> None:
    """One copy at each site serves in parts; a site holds three in its racks, and one in its only pod."""
    pods_hold_one_copy_each(tables)
    second_site(tables)
    asks(tables, units_down=0, site_down=1)


def a_site_may_be_down(tables: Tables) -> None:
    second_site(tables)
    asks(tables, units_down=0, site_down=1)


def a_cmx_rack_may_be_lost(tables: Tables) -> None:
    """Racks cost a million, a CMX rack with its enclosure a fifth of it: more of them lose less of the hits at once."""
    store(tables, "cmx")
    asks(tables, units_down=0, cache_loss="cmx_rack")


def few_positions(tables: Tables) -> None:
    edit(tables, "site_limits", {}, limit=12.0)


def one_hall_is_not_enough(tables: Tables) -> None:
    few_positions(tables)
    rows(tables, "expansions", (SITE, "hall", 0, 1, 1e5, 2))
    rows(tables, "expansion_adds", (SITE, "hall", "positions", 3.0))


def one_hall_is_kept(tables: Tables) -> None:
    """Three halls of which none is on offer any more; a hold keeps one."""
    few_positions(tables)
    rows(tables, "expansions", (SITE, "hall", 0, 3, 1e5, -1))
    rows(tables, "expansion_adds", (SITE, "hall", "positions", 3.0))
    rows(tables, "reservations", ("hold", SITE, "hall", "firm_hold", 1, 1, 0, 2, 0.0, 0.0))


def kits_are_cheap_racks_dear(tables: Tables) -> None:
    """One kit for each rack that stands; without the rule all reuse would come from kits that no rack holds."""
    small_store(tables)
    edit(tables, "prices", {"sku": "k"}, price_usd=1e4, support_usd_per_quarter=0.0)


def kits_that_find_no_free_host(tables: Tables) -> None:
    """Ten kits in fourteen racks, of which twelve are for others: two kits serve."""
    small_store(tables)
    standing(tables, "g", 14)
    standing(tables, "k", 10)
    rows(tables, "reserved", (1, SITE, "g", 12))


def one_pod_does_not_read_enough(tables: Tables) -> None:
    """A pod holds four racks, which read 6 GB/s of the 54 that all hits take; the ports of twelve would do for 19."""
    store(tables, "cmx", reader_bytes_per_s=2e9)
    edit(tables, "pods", {}, cmx_crosses_pods=0)


def sessions_of_more_than_one_pod(tables: Tables) -> None:
    """Twelve racks work on requests whose caches could lie in CMX; four of them stand beside one CMX rack."""
    store(tables, "cmx")
    edit(tables, "pods", {}, cmx_crosses_pods=0)


def racks_for_enclosures(tables: Tables) -> None:
    store(tables, "cmx")


def pods_are_full(tables: Tables) -> None:
    edit(tables, "pods", {}, pods_max=2)


def a_pod_that_would_close(tables: Tables) -> dict[str, Any]:
    """Demand in the second quarter needs pods; none may stand in the third."""

    def close(model: Any) -> None:
        model.pods[SITE, 2].setub(0)
        for key in model.own:
            if key[2] == 2:
                model.places_in_pods[SITE, 2, "nvl72_per_pod"].deactivate()

    return {"tweak": close}


def supplier_sells_few(tables: Tables) -> None:
    edit(tables, "skus", {"sku": "g"}, supply_per_quarter=5.0)


def orders_of_fifteen(tables: Tables) -> None:
    edit(tables, "skus", {"sku": "g"}, min_order=15)


def thin_purse(tables: Tables) -> None:
    rows(tables, "budget", (0, 2e6), (1, 4e6), (2, 0.0))


def purse_that_may_not_be_carried(tables: Tables) -> dict[str, Any]:
    """A quarter of the price is due with the order, the rest a quarter later: the first purse would pay for it."""
    rows(tables, "budget", (0, 2e7), (1, 4e6), (2, 0.0))
    return {"budget_carry": "none"}


def a_link_for_half_of_it(tables: Tables) -> None:
    """300 GB/s would be sent, were the link as wide; what is not is short, at 1 USD a request."""
    standing(tables, "g", 10)
    linked(tables, 1.5e11)


def cheap_prefill_that_cannot_be_sent(tables: Tables) -> None:
    linked(tables, 4e11)
    for bucket in (0, 1):
        rows(tables, "prefill", (f"c{bucket}", 1, W, bucket, "g", "recompute", 1e-4, 1.0, 0.0, 0.0, 0.0, "physics"))


def slow_nics(tables: Tables) -> None:
    """300 GB/s leave the site that prefills, and reach the one that decodes: 25 racks at each."""
    linked(tables, 1e12)
    handed(tables, 1.5e10)


def peers_memory(tables: Tables, speed: float) -> None:
    """Memory that racks read from each other, as fast as their ports go."""
    name = store(tables, "dram", read_bytes_per_s=speed)
    rows(tables, "peer_readers", (name, "g", speed))


def slow_reads_by_prefill_alone(tables: Tables) -> dict[str, Any]:
    """Decode keeps twelve racks busy: all of twenty could read the 27 GB/s that return, the others half of it."""
    edit(tables, "serve", {"bucket": 0}, rack_s=0.03)
    edit(tables, "serve", {"bucket": 1}, rack_s=0.06)
    peers_memory(tables, 2e9)
    return {"read_ports": "prefill"}


def batch_beside_a_day(tables: Tables) -> dict[str, Any]:
    """Racks are full by day and a quarter full at night, which does not hold all that may wait."""
    a_day(tables)
    batch(tables, rack_s=0.05)
    return {"dayparts": "clock"}


def batch_with_decode_of_its_own(tables: Tables) -> dict[str, Any]:
    """Prefill would run at night, on racks that are free then; decode evenly, on LPX racks of its own."""
    a_day(tables)
    batch(tables, rack_s=0.049)
    edit(tables, "serve", {"point": "pv"}, rack_s=1e-4, deployment="g+l", lpx_sku="l", lpx_rack_s=0.1)
    return {"dayparts": "clock"}


def returns_of_work_that_may_wait(tables: Tables) -> dict[str, Any]:
    """Kept caches are worth it, and bring requests into the day, when others fill the racks."""
    a_day(tables)
    ssd_reuse(tables)
    batch(tables, rack_s=0.06)
    edit(tables, "workloads", {"workload": W}, deferrable=1)
    edit(tables, "workloads", {"workload": "v"}, deferrable=0)
    edit(tables, "daypart_rates", {"workload": "v", "daypart": "17-09"}, of_peak=0.0)
    return {"dayparts": "clock"}


def batch_in_an_ample_fleet(tables: Tables) -> dict[str, Any]:
    standing(tables, "g", 16)
    return batch_beside_a_day(tables)


def returns_in_an_ample_fleet(tables: Tables) -> dict[str, Any]:
    standing(tables, "g", 16)
    return returns_of_work_that_may_wait(tables)


BINDING: dict[str, Any] = {
    "fleet_balance": demand_alone,
    "retire_within_group": two_groups_of_which_one_may_be_sold,
    "resell_within_order": old_racks_at_the_price_of_new_ones,
    "resale_cap": two_groups_and_a_market_for_two,
    "reserved_stands": reserved_and_well_paid_for,
    "changes_within_order": dear_order_that_can_be_cancelled,
    "rent_cap": cheap_racks_for_rent,
    "rent_begins": racks_for_rent_for_two_quarters,
    "rent_term": racks_for_rent_for_two_quarters,
    "demand_met": demand_alone,
    "short_counts_late": late_prompts_and_a_choice_of_points,
    "least_share_served": half_of_the_planned_quarter_at_least,
    "shortfall_of_quarter": short_in_the_planned_quarter,
    "prefill_where_decoded": demand_alone,
    "shipped_was_prefilled": cheap_prefill_that_cannot_be_sent,
    "shipped_within_link": a_link_for_half_of_it,
    "sent_within_scale_out": slow_nics,
    "received_within_scale_out": slow_nics,
    "work_within_racks": demand_alone,
    "maxq_within_own": power_for_fewer_racks_than_saving_would_take,
    "full_power_work": prefill_that_must_not_be_slower,
    "decode_over_day": batch_beside_a_day,
    "prefill_in_its_hours": batch_with_decode_of_its_own,
    "kept_in_every_part": returns_of_work_that_may_wait,
    "work_within_instances": decode_of_more_than_one_instance,
    "instance_linking": less_than_an_instance_for_each_role,
    "instances_take_units": less_than_an_instance_for_each_role,
    "work_beside_instances": a_large_load_beside_a_small_one,
    "lpx_time_within_copies": one_lpx_copy_is_too_little,
    "lpx_linking": lpx_copy_hardly_used,
    "lpx_copies_within_racks": one_lpx_copy_is_too_little,
    "lpx_copies_within_pods": pods_hold_one_copy_each,
    "units_left": a_rack_may_be_down,
    "copies_left_in_pods": one_pod_for_each_copy_and_a_site_may_be_down,
    "caches_in_parts": a_cmx_rack_may_be_lost,
    "work_after_loss": a_rack_may_be_down,
    "spared_by_hits": a_cmx_rack_may_be_lost,
    "instances_after_loss": a_rack_of_instances_may_be_down,
    "copies_after_loss": an_lpx_rack_may_be_down,
    "used_where_served": a_rack_may_be_down,
    "served_elsewhere": a_site_may_be_down,
    "kept_at_most_served": returns_of_the_part_that_is_served,
    "kept_only_falls": late_returns_only,
    "hits_from_kept": returns_of_all_that_is_served,
    "parked_within_store": small_store,
    "moved_only_falls": copies_that_never_moved,
    "cmx_reads_in_pods": one_pod_does_not_read_enough,
    "cmx_sessions_in_pods": sessions_of_more_than_one_pod,
    "store_reads": slow_reads,
    "peer_reads": slow_reads_by_prefill_alone,
    "reader_limit": slow_readers,
    "store_writes": slow_writes,
    "store_wear": soft_drives,
    "late_prefill_share": late_prompts,
    "site_limit": few_positions,
    "expansions_at_most": one_hall_is_not_enough,
    "exercised_at_most": one_hall_is_kept,
    "kits_within_hosts": kits_are_cheap_racks_dear,
    "enclosures_in_racks": racks_for_enclosures,
    "parts_in_free_hosts": kits_that_find_no_free_host,
    "places_in_pods": pods_are_full,
    "pods_stay": a_pod_that_would_close,
    "supply_cap": supplier_sells_few,
    "minimum_order": orders_of_fifteen,
    "bought_or_sold": dear_racks_while_cheap_ones_are_ordered,
    "budget_limit": thin_purse,
    "space_rented": space_beyond_the_contract,
    "opex_limit": running_costs_capped,
    "carry_rule": purse_that_may_not_be_carried,
}

# Cases, inert: the family has rows (or the rule applies), and they change nothing


def no_demand(tables: Tables) -> None:
    tables["rates"] = tables["rates"].iloc[:0]


def moves_that_save_nothing(tables: Tables) -> dict[str, Any]:
    store(tables, "dram")
    reuse_that_saves_nothing(tables)
    return {"cache_moves": "exclusive"}


def power_for_all_at_full_power(tables: Tables) -> None:
    two_modes(tables, 5_000.0)
    rows(tables, "full_power_prefill", ("o0",), ("o1",))


def ample_fleet(tables: Tables) -> None:
    standing(tables, "g", 14)


def worthless_work(tables: Tables) -> None:
    edit(tables, "short_prices", {}, usd_per_request=0.0)


def small_loads_in_an_ample_fleet(tables: Tables) -> None:
    a_large_load_beside_a_small_one(tables)
    ample_fleet(tables)


def a_rack_down_of_an_ample_fleet(tables: Tables) -> None:
    ample_fleet(tables)
    asks(tables)


def a_cmx_rack_lost_of_an_ample_fleet(tables: Tables) -> None:
    ample_fleet(tables)
    a_cmx_rack_may_be_lost(tables)


def a_rack_of_instances_down_of_an_ample_fleet(tables: Tables) -> None:
    small_loads_in_an_ample_fleet(tables)
    asks(tables)


def an_lpx_rack_down_of_many(tables: Tables) -> None:
    lpx_that_stands_already(tables)
    asks(tables)


def a_site_down_of_two_ample_ones(tables: Tables) -> None:
    a_site_may_be_down(tables)
    ample_fleet(tables)
    rows(tables, "fixed", ("fleet-b", "fleet", "b", "g", 14, -4, 0, 1e6, 0.0, 0, 1e4))


def free_prefill(tables: Tables) -> None:
    edit(tables, "prefill", {}, rack_s=0.0)


def sale_of_one_group(tables: Tables) -> None:
    no_demand(tables)
    standing(tables, "g", 3, paid=1e5, retirable=1)


def bought_to_stay(tables: Tables) -> dict[str, Any]:
    """A sale brings a tenth of what a rack is worth."""
    edit(tables, "skus", {"sku": "g"}, resale_spread=0.9)
    return {"resale": "all"}


def reserved_and_not_for_sale(tables: Tables) -> None:
    no_demand(tables)
    standing(tables, "g", 3)
    rows(tables, "reserved", (2, SITE, "g", 2))


def short_of_nothing(tables: Tables) -> None:
    short_in_the_planned_quarter(tables)
    standing(tables, "g", 14)
    tables["serve"]["t"] = tables["prefill"]["t"] = 0


def work_that_is_free_and_must_be_done(tables: Tables) -> None:
    half_of_the_planned_quarter_at_least(tables)
    edit(tables, "upkeep", {}, decode_usd_per_quarter=0.0, prefill_usd_per_quarter=0.0)


def lpx_that_stands_already(tables: Tables) -> None:
    lpx_copy_hardly_used(tables)
    standing(tables, "l", 8)


def reuse_that_saves_nothing(tables: Tables) -> None:
    ssd_reuse(tables)
    edit(tables, "prefill", {"store": "ssd:g"}, rack_s=0.05)


def held_hosts_and_reuse_that_saves_nothing(tables: Tables) -> None:
    reuse_that_saves_nothing(tables)
    standing(tables, "g", 3)
    rows(tables, "reserved", (1, SITE, "g", 2))


def ample_drives(tables: Tables) -> None:
    ssd_reuse(tables, write_bytes_per_day=1e20)


def ample_cmx(tables: Tables) -> None:
    store(tables, "cmx")


def pods_of_cmx_not_worth_it(tables: Tables) -> None:
    cmx_not_worth_it(tables)
    edit(tables, "pods", {}, cmx_crosses_pods=0)


def cmx_not_worth_it(tables: Tables) -> None:
    store(tables, "cmx")
    edit(tables, "prefill", {"store": "cmx"}, rack_s=0.05)


def prompts_late_within_the_share(tables: Tables) -> None:
    edit(tables, "prefill", {"option": "o1"}, late_share=1.0)
    edit(tables, "workloads", {}, ttft_share=0.6)


def hall_that_is_not_needed(tables: Tables) -> None:
    rows(tables, "expansions", (SITE, "hall", 1, 1, 1e5, 1))
    rows(tables, "expansion_adds", (SITE, "hall", "positions", 3.0))


def hall_that_is_kept_and_not_needed(tables: Tables) -> None:
    hall_that_is_not_needed(tables)
    rows(tables, "reservations", ("hold", SITE, "hall", "firm_hold", 1, 1, 0, 1, 1e3, 0.0))


def supplier_sells_enough(tables: Tables) -> None:
    edit(tables, "skus", {"sku": "g"}, supply_per_quarter=100.0)


def orders_of_two(tables: Tables) -> None:
    edit(tables, "skus", {"sku": "g"}, min_order=2)


def running_costs_met(tables: Tables) -> None:
    standing(tables, "g", 14)
    rows(tables, "opex", (1, 1e9))


def full_purse(tables: Tables) -> None:
    rows(tables, "budget", (0, 1e9), (1, 1e9), (2, 1e9))


def full_purse_not_carried(tables: Tables) -> dict[str, Any]:
    full_purse(tables)
    return {"budget_carry": "none"}


def a_link_for_all_of_it(tables: Tables) -> None:
    linked(tables, 4e11)


def nics_for_the_mix_but_not_for_long_prompts(tables: Tables) -> None:
    """Racks that prefill hand over 37.5 GB/s each at the mix, 50 where all prompts are long; their NICs take 44."""
    linked(tables, 1e12)
    handed(tables, 5.5e10)


def nics_for_the_mix_but_not_for_long_contexts(tables: Tables) -> None:
    """Racks that decode are handed 75 GB/s each at the mix, 100 where all contexts are long; their NICs take 88."""
    linked(tables, 1e12)
    handed(tables, 1.1e11)


def fast_reads_by_prefill_alone(tables: Tables) -> dict[str, Any]:
    peers_memory(tables, 1e13)
    return {"read_ports": "prefill"}


INERT: dict[str, Any] = {
    "fleet_balance": no_demand,
    "retire_within_group": sale_of_one_group,
    "resell_within_order": bought_to_stay,
    "resale_cap": sale_of_one_group,
    "reserved_stands": reserved_and_not_for_sale,
    "changes_within_order": order_too_dear_to_cancel,
    **dict.fromkeys(("rent_cap", "rent_begins", "rent_term"), racks_for_rent_that_are_too_dear),
    "demand_met": worthless_work,
    "short_counts_late": prompts_late_within_the_share,
    "least_share_served": work_that_is_free_and_must_be_done,
    "shortfall_of_quarter": short_of_nothing,
    "prefill_where_decoded": free_prefill,
    "shipped_was_prefilled": a_link_for_all_of_it,
    "shipped_within_link": a_link_for_all_of_it,
    "sent_within_scale_out": nics_for_the_mix_but_not_for_long_prompts,
    "received_within_scale_out": nics_for_the_mix_but_not_for_long_contexts,
    "work_within_racks": ample_fleet,
    "maxq_within_own": power_for_all_at_full_power,
    "full_power_work": power_for_all_at_full_power,
    "decode_over_day": batch_in_an_ample_fleet,
    "prefill_in_its_hours": batch_in_an_ample_fleet,
    "kept_in_every_part": returns_in_an_ample_fleet,
    **dict.fromkeys(
        ("work_within_instances", "instance_linking", "instances_take_units", "work_beside_instances"),
        small_loads_in_an_ample_fleet,
    ),
    "lpx_time_within_copies": lpx_copy_hardly_used,
    "lpx_linking": lpx_that_stands_already,
    "lpx_copies_within_racks": lpx_that_stands_already,
    "lpx_copies_within_pods": lpx_copy_hardly_used,
    **dict.fromkeys(("units_left", "work_after_loss", "used_where_served"), a_rack_down_of_an_ample_fleet),
    **dict.fromkeys(("caches_in_parts", "spared_by_hits"), a_cmx_rack_lost_of_an_ample_fleet),
    **dict.fromkeys(("copies_left_in_pods", "copies_after_loss"), an_lpx_rack_down_of_many),
    "instances_after_loss": a_rack_of_instances_down_of_an_ample_fleet,
    "served_elsewhere": a_site_down_of_two_ample_ones,
    "kept_at_most_served": reuse_that_saves_nothing,
    "kept_only_falls": reuse_that_saves_nothing,
    "hits_from_kept": reuse_that_saves_nothing,
    "parked_within_store": ample_drives,
    "moved_only_falls": moves_that_save_nothing,
    "cmx_reads_in_pods": pods_of_cmx_not_worth_it,
    "cmx_sessions_in_pods": pods_of_cmx_not_worth_it,
    "store_reads": ample_drives,
    "peer_reads": fast_reads_by_prefill_alone,
    "reader_limit": ample_cmx,
    "store_writes": ample_drives,
    "store_wear": ample_drives,
    "late_prefill_share": prompts_late_within_the_share,
    "site_limit": demand_alone,
    "expansions_at_most": hall_that_is_not_needed,
    "exercised_at_most": hall_that_is_kept_and_not_needed,
    "kits_within_hosts": ample_drives,
    "enclosures_in_racks": cmx_not_worth_it,
    "parts_in_free_hosts": held_hosts_and_reuse_that_saves_nothing,
    "places_in_pods": demand_alone,
    "pods_stay": demand_alone,
    "supply_cap": supplier_sells_enough,
    "minimum_order": orders_of_two,
    "bought_or_sold": sale_of_one_group,
    "budget_limit": full_purse,
    "space_rented": space_within_the_contract,
    "opex_limit": running_costs_met,
    "carry_rule": full_purse_not_carried,
}
ONLY_TIGHTENS = {"lpx_linking", "instance_linking"}
"""Families that a whole plan never feels: they are seen in the relaxation."""


@pytest.mark.parametrize("family", NAMES)
def test_the_family_makes_a_plan_dearer_where_it_binds(family):
    case = BINDING[family]
    relaxed = family in ONLY_TIGHTENS
    held, free = least(case, relaxed=relaxed), least(case, without=family, relaxed=relaxed)
    assert free < held - 1e-4 * max(1.0, abs(free))
    if relaxed:
        assert least(case) == pytest.approx(least(case, without=family), rel=1e-6)


@pytest.mark.parametrize("family", NAMES)
def test_the_family_changes_nothing_where_it_is_slack(family):
    """It has rows there (a balance of no fleet and bounds apart): slack makes it inert, not absence."""
    case = INERT[family]
    assert rows_of(family, case).any() or family in {"carry_rule", "fleet_balance"}
    held, free = least(case), least(case, without=family)
    assert held < float("inf")
    assert held == pytest.approx(free, rel=1e-6, abs=1e-6)


def test_every_family_has_both_cases():
    assert set(BINDING) == set(NAMES) == set(INERT)
