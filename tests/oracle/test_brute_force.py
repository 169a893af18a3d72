"""The optimum of tiny cases, by trying every plan, equals what both ways of solving find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest
from oracle_brute import BruteForce
from solved_case import found, planned
from tiny_case import budget, fleet, quarter_names, tiny, token_worth

QUARTERS = quarter_names(6)
AGENT = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}}
CODE = {"code": {"scenario": "large-coding", "context_cap_tokens": 131_072, "card": "gpt-oss-120b", "tps_user": 800}}
VR, GB, KIT = "vr-nvl72", "gb300-nvl72", "ssd-kit-vr-nvl72"
OLD = {"fleet": fleet(("a", "gb200-nvl72", 2, "2025Q1", 3.3e6))}
DEAR = token_worth(60.0)


def floor_for_the_lesser_tier() -> Any:
    """Two racks have room for a part of what is asked for; the workload of no weight is still served by half."""
    peaks = {"chat": [110, 60, 60], "batch": [60, 30, 30]}
    case = tiny(peaks=peaks, workloads={"chat": {"priority": 50.0}, "batch": {"min_served_share": 0.5}},
                sites=places(3.0))  # fmt: skip
    return case, {GB: 2}


def contracted_space() -> Any:
    """150 kW are paid for anyway; a second rack rents beyond that, unless a hall is built that pays no rent."""
    sites = ({"positions": 3.0, "contracted_kw": 150.0, "space_usd_per_kw_month": 500.0},)
    halls = {"expansions": expansions(("a", "hall", 120.0, 0, 0.0, 3e5, 1, 1))}
    case = tiny(peaks={"chat": [80, 80, 80]}, sites=sites, tables=halls)
    return case, {GB: 2}


def operating_budget() -> Any:
    """One rack costs 128,000 USD a quarter at work; there is money for it, and not for all of its work."""
    caps = budget(1e12, 1e12, 1e12).assign(opex_usd=[1.25e5, 2.5e5, 4e5])
    case = tiny(peaks={"chat": [60, 60, 60]}, sites=places(3.0), tables={"budget": caps})
    return case, {GB: 2}


def two_tiers(objective: str, batch_usd: float = 0.002) -> Any:
    """Chats of little input beside long prompts with little output, room for two racks."""
    peaks = {"chat": [120, 120, 120], "batch": [40, 50, 50]}
    long = {"input_mean_tokens": 24_000, "output_visible_tokens": 60, "output_thinking_tokens": 0, "ttft_s": 20.0}
    workloads = {
        "chat": {"input_mean_tokens": 2_000, "output_visible_tokens": 1_200},
        "batch": {**long, "lookahead_short_usd_per_request": batch_usd},
    }
    case = tiny(peaks=peaks, workloads=workloads, sites=places(3.0), settings={"objective": objective})
    return case, {GB: 2}


def places(positions: float) -> tuple[dict[str, float]]:
    return ({"positions": positions},)


def orders(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["site", "sku", "count", "delivery", "price_usd_per_unit"])


def expansions(*rows: tuple[Any, ...]) -> pd.DataFrame:
    names = ["site", "expansion", "power_kw", "positions", "area_m2", "capex_usd", "lead_quarters", "max_count"]
    return pd.DataFrame(rows, columns=names)


def reserved(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["site", "sku", "quarter", "count", "purpose"])


def racks_only() -> Any:
    return tiny(peaks={"chat": [110, 140, 150, 160]}, planned=2, sites=places(8), tables=OLD), {GB: 3}


def ssd_against_recompute() -> Any:
    """More is asked for than two racks serve: whatever saves rack time is bought, a kit of half the size for each."""
    figures = {(KIT, "price_usd"): 50_000, (KIT, "store_bytes"): 2.76e14}
    case = tiny(skus=(VR, KIT), peaks={"agent": [80, 45, 50]}, workloads=AGENT, sites=places(3.5), figures=figures,
                settings={"rack_local_return_share": 0.6})  # fmt: skip
    return case, {VR: 2, KIT: 2}


def cmx_of_one_pod() -> Any:
    """Pods of one rack each: the CMX rack stands beside one of two, and works for the sessions of that one alone."""
    figures = {(VR, "dram_usable_share_kv"): 0.01, ("cmx-enclosure", "last_order"): "2027Q1"}
    standing = fleet(("a", VR, 2, "2026Q4", 7e6), ("a", "cmx-rack", 1, "2026Q4", 5e5)).assign(retirable=False)
    case = tiny(skus=("cmx-enclosure",), peaks={"agent": [80, 60, 50]}, workloads=AGENT, sites=places(4.5),
                figures={**figures, ("cmx-enclosure", "price_usd"): 60_000}, tables={"fleet": standing},
                settings={"nvl72_per_pod": 1})  # fmt: skip
    return case, {"cmx-enclosure": 2}


def kits_in_hosts_that_others_hold() -> Any:
    """Three racks, one for training; three kits, which stand in all of them: two serve, and memory of two racks."""
    tables = {
        "fleet": fleet(("a", VR, 3, "2026Q4", 7e6), ("a", KIT, 3, "2026Q4", 5e5)),
        "reserved": reserved(*(("a", VR, q, 1, "training") for q in QUARTERS[:3])),
    }
    figures = {(VR, "dram_usable_share_kv"): 0.01, (KIT, "store_bytes"): 5e13}
    case = tiny(skus=(VR,), peaks={"agent": [100, 90, 95]}, workloads=AGENT, sites=places(6.3), figures=figures,
                tables=tables)  # fmt: skip
    return case, {VR: 1}


def the_only_enclosure_is_for_others() -> Any:
    figures = {
        ("cmx-enclosure", "supply_per_quarter"): 2,
        ("cmx-enclosure", "price_usd"): 60_000,
    }
    tables = {
        "fleet": fleet(("a", "cmx-rack", 1, "2026Q4", 5e5), ("a", "cmx-enclosure", 1, "2026Q4", 6e5)),
        "reserved": reserved(*(("a", "cmx-enclosure", q, 1, "archive") for q in QUARTERS[:3])),
    }
    case = tiny(skus=(VR, "cmx-enclosure"), peaks={"agent": [85, 45, 50]}, workloads=AGENT, sites=places(4.5),
                figures=figures, tables=tables)  # fmt: skip
    return case, {VR: 2, "cmx-enclosure": 2}


def cmx_against_recompute() -> Any:
    figures = {
        ("cmx-enclosure", "supply_per_quarter"): 2,
        ("cmx-rack", "supply_per_quarter"): 1,
        ("cmx-enclosure", "last_order"): QUARTERS[1],
        ("cmx-rack", "last_order"): QUARTERS[1],
        ("cmx-enclosure", "price_usd"): 60_000,
    }
    skus = (VR, "cmx-rack", "cmx-enclosure")
    case = tiny(skus=skus, peaks={"agent": [85, 45, 50]}, workloads=AGENT, sites=places(4.5), figures=figures)
    return case, {VR: 2, "cmx-rack": 1, "cmx-enclosure": 2}


def worn_drives_are_replaced() -> Any:
    """Drives that endure little: written to beyond that, and bought again, whole sequences each time."""
    figures = {(KIT, "price_usd"): 50_000, (KIT, "endurance_dwpd"): 0.02, (VR, "dram_usable_share_kv"): 0.01,
               (VR, "hbm_bytes_per_gpu"): 60e9}  # fmt: skip
    settings = {"flash_wear": "replace", "flash_writes": "write_through", "write_amplification": 1.5}
    case = tiny(skus=(VR, KIT), peaks={"agent": [80, 45, 50]}, workloads=AGENT, sites=places(3.5), figures=figures,
                settings=settings)  # fmt: skip
    return case, {VR: 2, KIT: 2}


def a_second_kit() -> Any:
    """Racks of two standing kits and a cheaper, smaller one on sale: kits of both SKUs fill the bays together."""
    figures = {("kit-b", "price_usd"): 20_000, ("kit-b", "store_bytes"): 2e14, (VR, "dram_usable_share_kv"): 0.01}
    tables = {"fleet": fleet(("a", VR, 2, "2026Q4", 7e6), ("a", KIT, 1, "2026Q4", 5e5))}
    case = tiny(skus=("kit-b",), peaks={"agent": [60, 55, 50]}, workloads=AGENT, sites=places(3.6), figures=figures,
                tables=tables, alike={"kit-b": KIT}, settings={"rack_local_return_share": 0.7})  # fmt: skip
    return case, {"kit-b": 2}


def a_second_lpx() -> Any:
    """A copy takes two racks that are up: the two that stand are too few, and those of another SKU make their own."""
    figures = {("lpx-b", "supply_per_quarter"): 3, ("lpx-b", "last_order"): "2027Q1", ("lpx-b", "price_usd"): 1e6}
    standing = fleet(("a", VR, 2, "2026Q4", 7e6), ("a", "lpx", 2, "2026Q4", 3e6))
    tables = {"fleet": standing.assign(retirable=False)}
    case = tiny(skus=("lpx-b",), peaks={"code": [22, 22, 22]}, workloads=CODE, sites=places(12), figures=figures,
                tables=tables, alike={"lpx-b": "lpx"})  # fmt: skip
    return case, {"lpx-b": 3}


def second_enclosures_and_frames() -> Any:
    """The standing frame is full with one enclosure; frames of another SKU hold two of the other."""
    figures = {
        ("cmx-rack", "enclosures_per_rack"): 1,
        ("frame-b", "enclosures_per_rack"): 2,
        ("cmx-enclosure", "store_bytes"): 2e13,
        ("frame-b", "supply_per_quarter"): 1,
        ("frame-b", "last_order"): "2027Q1",
        ("tray-b", "last_order"): "2027Q1",
        ("tray-b", "supply_per_quarter"): 2,
        ("tray-b", "price_usd"): 60_000,
        (VR, "dram_usable_share_kv"): 0.01,
    }
    standing = fleet(
        ("a", VR, 2, "2026Q4", 7e6), ("a", "cmx-rack", 1, "2026Q4", 5e5), ("a", "cmx-enclosure", 1, "2026Q4", 6e5)
    )
    tables = {"fleet": standing.assign(retirable=False)}
    case = tiny(skus=("frame-b", "tray-b"), peaks={"agent": [60, 55, 50]}, workloads=AGENT, sites=places(5.6),
                figures=figures, tables=tables, alike={"frame-b": "cmx-rack", "tray-b": "cmx-enclosure"})  # fmt: skip
    return case, {"frame-b": 1, "tray-b": 2}


def lpx_copies(positions: float = 6.1, racks: int = 4, **settings: Any) -> Any:
    figures = {("lpx", "supply_per_quarter"): racks, ("lpx", "last_order"): QUARTERS[1]}
    case = tiny(skus=(VR, "lpx"), peaks={"code": [10, 15, 18]}, workloads=CODE, sites=places(positions),
                figures=figures, settings=settings)  # fmt: skip
    return case, {VR: 2, "lpx": racks}


def budget_on_payment() -> Any:
    tables = {**OLD, "budget": budget(3e6, 2e6, 9e6, 9e6)}
    return tiny(peaks={"chat": [80, 130, 140, 140]}, planned=2, sites=places(8), tables=tables, settings=DEAR), {GB: 3}


def budget_on_commitment() -> Any:
    settings = {"budget_basis": "commitment", "budget_carry": "none", **DEAR}
    tables = {**OLD, "budget": budget(5e6, 5e6, 1e6, 1e6, 1e6)}
    peaks = {"chat": [80, 170, 170, 190, 190]}
    return tiny(peaks=peaks, planned=2, lead=1, sites=places(8), tables=tables, settings=settings), {GB: 2}


def facility_power_and_expansion() -> Any:
    site = {"power_kw": 400.0, "power_basis": "facility"}
    tables = {"expansions": expansions(("a", "hall", 200.0, 5, 20.0, 4e5, 1, 2))}
    case = tiny(peaks={"chat": [60, 100, 160, 160]}, planned=2, sites=(site,), tables=tables)
    return case, {GB: 3}


def least_order_and_supply() -> Any:
    figures = {(GB, "min_order"): 3, (GB, "supply_per_quarter"): 4}
    return tiny(peaks={"chat": [40, 60, 160]}, sites=places(8), figures=figures), {GB: 4}


def first_quarters_of_a_generation() -> Any:
    """One rack is delivered in the first quarter, where two are needed; later as many as anyone wants."""
    first = pd.DataFrame([(GB, QUARTERS[0], 1)], columns=["sku", "quarter", "most_units"])
    return tiny(peaks={"chat": [110, 110, 110]}, sites=places(8), tables={"supply": first}), {GB: 3}


def one_order_for_two_sites() -> Any:
    """No site holds three racks; the supplier sells no fewer, and counts what goes to both."""
    sites = ({"site": "a", "positions": 3.0}, {"site": "b", "positions": 3.0, "electricity_usd_per_kwh": 0.07})
    figures = {(GB, "min_order"): 3}
    return tiny(peaks={"chat": [80, 100, 110]}, sites=sites, figures=figures), {GB: 2}


def shortfall_by_priority() -> Any:
    agent = {"agent": {**AGENT["agent"], "priority": 3.0}}
    peaks = {"chat": [100, 120, 130, 140], "agent": [10, 12, 12, 13]}
    return tiny(peaks=peaks, planned=2, workloads=agent, sites=places(2)), {GB: 1}


def shortfall_inside_lead_time() -> Any:
    tables = {
        "fleet": fleet(("a", "gb200-nvl72", 1, "2025Q1", 3.3e6)),
        "orders": orders(("a", GB, 1, QUARTERS[1], 4.4e6)),
    }
    return tiny(peaks={"chat": [100, 90, 95, 100]}, lead=1, sites=places(6), tables=tables), {GB: 2}


def offers(*rows: tuple[Any, ...]) -> pd.DataFrame:
    names = ["offer", "site", "sku", "most_units", "usd_per_gpu_hour", "lead_quarters", "min_term_quarters",
             "from_quarter", "to_quarter", "charged_to"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def rent_until_racks_come() -> Any:
    """Racks come a quarter from now; servers past their last order bridge the time, two quarters at least."""
    old = fleet(("a", "gb200-nvl72", 1, "2025Q1", 3.3e6)).assign(retirable=False)
    bridge = offers(("bridge", "provider", "hgx-h200", 2, 1.5, 0, 2, None, None, None))
    tables = {"fleet": old, "rent": bridge}
    case = tiny(peaks={"chat": [60, 65, 65]}, sites=places(8), tables=tables, settings=DEAR,
                figures={(GB, "available_from"): QUARTERS[1]})  # fmt: skip
    return case, {GB: 1}


def rent_at_the_site() -> Any:
    """Racks for rent share the places of the site with a firm order, and begin a quarter after they are asked for."""
    tables = {
        "fleet": fleet(("a", "gb200-nvl72", 1, "2025Q1", 3.3e6)).assign(retirable=False),
        "orders": orders(("a", GB, 1, QUARTERS[2], 4.4e6)),
        "rent": offers(("lease", "a", GB, 2, 4.0, 1, 1, None, None, None)),
    }
    return tiny(skus=(), peaks={"chat": [40, 140, 140]}, sites=places(2.95), tables=tables, settings=DEAR), {}


def rent_from_the_budget_of_capital() -> Any:
    """The budget pays for the server that runs, then for three; the offer ends before the last quarter."""
    tables = {
        "rent": offers(("lease", "provider", "hgx-h200", 4, 1.0, 0, 1, None, QUARTERS[1], "capital")),
        "rented": pd.DataFrame([("lease", 1, "2026Q4", QUARTERS[0])],
                               columns=["offer", "count", "from_quarter", "until_quarter"]),
        "budget": budget(17_520, 3 * 17_520, 0.0),
    }  # fmt: skip
    return tiny(skus=(), peaks={"chat": [6, 5, 5]}, tables=tables, settings={"budget_carry": "none"}), {}


def two_sites_and_workloads() -> Any:
    sites = (
        {"site": "a", "positions": 3.0},
        {"site": "b", "positions": 3.0, "electricity_usd_per_kwh": 0.04, "space_usd_per_kw_month": 120.0},
    )
    tables = {
        "fleet": fleet(("a", "hgx-h200", 3, "2024Q1", 3e5)),
        "reserved": reserved(("a", "hgx-h200", QUARTERS[1], 2, "training")),
    }
    peaks = {"chat": [100, 120, 130], "agent": [10, 12, 12]}
    return tiny(peaks=peaks, workloads=AGENT, sites=sites, tables=tables), {GB: 2}


def deferrable_beside_voice() -> Any:
    """An answer in two phases (voice), work sized at its mean, and an old server that may be sold."""
    workloads = {
        "batch": {"scenario": "offline", "card": "gpt-oss-120b", "mean_to_peak": 0.6},
        "voice": {"scenario": "voice", "card": "gpt-oss-120b"},
    }
    peaks = {"batch": [900, 1200, 1500, 1500], "voice": [300, 300, 400, 500]}
    tables = {"fleet": fleet(("a", "hgx-h200", 2, "2024Q1", 3e5))}
    figures = {("hgx-b300", "supply_per_quarter"): 2, ("hgx-b300", "last_order"): QUARTERS[1]}
    case = tiny(
        skus=("hgx-b300",), peaks=peaks, planned=2, workloads=workloads, sites=places(3), tables=tables,
        figures=figures, settings={"resale": "existing"},
    )  # fmt: skip
    return case, {"hgx-b300": 2}


def batch_fills_the_night() -> Any:
    """Two racks by day; a third only if the batch stood on top of them. Each LLM has its own day on the clock."""
    shapes = pd.DataFrame([("office", 9, 17, 4.0), ("office", 17, 9, 1.0)], columns=SHAPE)
    workloads = {
        "batch": {"scenario": "offline"},
        "day": {"day_shape": "office"},
        "night": {"day_shape": "office", "clock_shift_hours": 8},
    }
    peaks = {"batch": [20, 60, 90, 90], "day": [60, 60, 60, 60], "night": [50, 55, 60, 60]}
    settings = {"dayparts": "clock"}
    case = tiny(peaks=peaks, planned=2, workloads=workloads, tables={"day_shapes": shapes}, settings=settings)
    return case, {GB: 3}


def batch_of_one_server_and_returns() -> Any:
    """Whole instances through the night, and documents that return to HBM and DRAM, evenly over the day."""
    small = {"card": "gpt-oss-120b", "instance_gpus": 4}
    shapes = pd.DataFrame([("office", 8, 20, 1.0), ("office", 20, 8, 0.0)], columns=SHAPE)
    workloads = {
        "batch": {"scenario": "offline", "reuse_curve": "chat", **small},
        "day": {"scenario": "chat", "day_shape": "office", **small},
    }
    peaks = {"batch": [8, 14, 20], "day": [40, 43, 46]}
    settings = {"dayparts": "clock", "whole_instances_up_to": 20.0}
    case = tiny(skus=("hgx-h200",), peaks=peaks, workloads=workloads, tables={"day_shapes": shapes},
                settings=settings)  # fmt: skip
    return case, {"hgx-h200": 4}


SHAPE = ["shape", "from_hour", "to_hour", "load"]


SLOW_EXIT = {
    (GB, "resale_spread"): 0.02, (GB, "resale_delay_quarters"): 1, (GB, "resale_lockup_quarters"): 2,
    (GB, "resale_per_quarter"): 1, (GB, "removal_usd"): 1e5, (GB, "removal_quarters"): 1, (GB, "haircut"): 1.0,
    (GB, "attach_usd"): 0, (GB, "install_usd"): 0,
}  # fmt: skip
DEAR_RACKS = {"fleet": fleet(("a", GB, 2, "2026Q4", 9e6))}


def sales_beside_orders(**other: Any) -> Any:
    """Racks that are worth more than new ones cost: none is sold in the quarter that orders, and none at once."""
    figures = {**SLOW_EXIT, (GB, "price_usd"): 1.5e6, **{(GB, name): value for name, value in other.items()}}
    case = tiny(peaks={"chat": [85, 85, 85]}, sites=places(4.6), figures=figures, tables=DEAR_RACKS,
                settings={"resale": "existing"})  # fmt: skip
    return case, {GB: 1}


def sales_one_at_a_time(**other: Any) -> Any:
    """Demand that falls to nothing: two racks are sold in two quarters."""
    figures = {**SLOW_EXIT, **{(GB, name): value for name, value in other.items()}}
    case = tiny(peaks={"chat": [85, 0, 0]}, sites=places(4.6), figures=figures, tables=DEAR_RACKS,
                settings={"resale": "existing"})  # fmt: skip
    return case, {GB: 1}


def bought_and_sold_again(**other: Any) -> Any:
    """Racks that are bought for one quarter and sold after it; one rack on order is sold too."""
    figures = {**SLOW_EXIT, (GB, "resale_lockup_quarters"): 1, (GB, "resale_per_quarter"): 2,
               **{(GB, name): value for name, value in other.items()}}  # fmt: skip
    case = tiny(peaks={"chat": [85, 0, 0]}, sites=places(4.6), figures=figures,
                tables={"orders": orders(("a", GB, 1, QUARTERS[0], 5e6))}, settings={"resale": "all"})  # fmt: skip
    return case, {GB: 2}


def room_after_removal(**other: Any) -> Any:
    """Old racks fill the site: they are sold a quarter before those that serve more can stand in their places."""
    old = {"resale_lockup_quarters": 0, "resale_per_quarter": 2, "removal_quarters": 1, "removal_usd": 1e5,
           "resale_delay_quarters": 2, **other}  # fmt: skip
    case = tiny(peaks={"chat": [40, 0, 110, 110]}, planned=2, sites=places(3.0),
                figures={("gb200-nvl72", name): value for name, value in old.items()}, tables=OLD,
                settings={"resale": "existing", **DEAR})  # fmt: skip
    return case, {GB: 2}


LLAMA = {"scenario": "chat", "card": "llama-3.1-70b"}


def late_prompts() -> Any:
    """Old servers are late for more than may be: a new rack takes as many of the long prompts as it must."""
    tables = {"fleet": fleet(("a", "hgx-h200", 12, "2025Q1", 3e5))}
    chat = {"chat": {"ttft_s": 2.0, "ttft_share": 0.97}}
    return tiny(peaks={"chat": [12, 12, 12]}, workloads=chat, sites=places(12), tables=tables), {GB: 2}


def late_beyond_the_promise() -> Any:
    """Hits are in time, many others are not, and a part is out of reach of any pool: short by that much, no more."""
    tables = {"fleet": fleet(("a", "hgx-h100", 2, "2025Q1", 2e5))}
    chat = {"chat": {**LLAMA, "ttft_s": 0.5, "ttft_share": 0.99}}
    return tiny(skus=("hgx-h100",), peaks={"chat": [0.8, 0.9, 0.9]}, workloads=chat, tables=tables), {"hgx-h100": 4}


def nothing_returns_in_time() -> Any:
    """No reuse: whole buckets are out of reach, and the rest is served without a server for them."""
    chat = {"chat": {**LLAMA, "ttft_s": 0.8, "ttft_share": 0.9, "reuse_curve": "none"}}
    return tiny(skus=("hgx-h200",), peaks={"chat": [9, 8, 7]}, workloads=chat, sites=places(9)), {"hgx-h200": 3}


SMALL = {"reuse_curve": "none", "ttft_s": 30.0, "tps_user": 15.0}


def small_llms_on_whole_servers(
    big: str = "none", sites: Sequence[Mapping[str, Any]] = ({"positions": 9.0},), **settings: Any
) -> Any:
    """One instance each of two LLMs, which prefill and decode: 0.7 of a server is busy, two hold them."""
    small = {**SMALL, "card": "llama-3.1-70b", "instance_gpus": 8}
    workloads = {"big": {**SMALL, "weight_precision": "fp8", "resilience": big}, "small": small}
    case = tiny(skus=("hgx-h200",), peaks={"big": [0.5] * 3, "small": [0.15] * 3}, workloads=workloads, sites=sites,
                settings={"availability": 1.0, "spare_share": 0.0, **settings})  # fmt: skip
    return case, {"hgx-h200": 3}


def instances_by_role() -> Any:
    """One server decodes; prefill takes a little more than a new one, so an old one helps it, or another new one."""
    chat = {"chat": {**SMALL, "card": "llama-3.1-70b", "instance_gpus": 8}}
    tables = {"fleet": fleet(("a", "hgx-h20", 2, "2025Q1", 2e5))}
    case = tiny(skus=("hgx-h200",), peaks={"chat": [0.85, 0.85, 0.85]}, workloads=chat, sites=places(9), tables=tables,
                settings={"instance_roles": "apart"})  # fmt: skip
    return case, {"hgx-h200": 2}


def links(*rows: tuple[Any, ...]) -> pd.DataFrame:
    names = ["from_site", "to_site", "from_quarter", "bandwidth_gbit_per_s", "other_traffic_share", "latency_s",
             "usd_per_month"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def pools(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["site", "sku", "role"])


def prefill_over_a_link() -> Any:
    """Old servers that only prefill, at a site of their own: the link, then half of it, says what they are good for."""
    tables = {
        "fleet": fleet(("a", "hgx-h200", 2, "2025Q1", 2e5)),
        "links": links(("a", "b", "2026Q1", 2.0, 0.2, 0.01, 2_000.0), ("a", "b", QUARTERS[1], 2.0, 0.6, 0.01, 9_000.0)),
        "pools": pools(("a", "hgx-h200", "prefill")),
    }
    chat = {"chat": {"card": "gpt-oss-120b", "ttft_s": 3.0, "ttft_share": 0.8, "reuse_curve": "none"}}
    case = tiny(skus=("hgx-h20",), peaks={"chat": [6, 6, 6]}, workloads=chat, tables=tables,
                sites=({"positions": 0.9}, {"site": "b", "positions": 3.0}))  # fmt: skip
    return case, {"hgx-h20": 3}


def small_llms_with_a_server_down() -> Any:
    """Two instances on two servers, as :func:`small_llms_on_whole_servers`; with one down, both must be left: three."""
    return small_llms_on_whole_servers("n+1", resilience="n+1")


def a_small_llm_whose_neighbour_is_shed() -> Any:
    """Only one of the two LLMs must be served with a server down, and it takes the place of the other."""
    return small_llms_on_whole_servers("n+1")


def one_workload_survives_two_racks_down() -> Any:
    """Chat alone fills three racks and agents less than one: with two down three must stand for agents and more."""
    workloads = {"agent": {**AGENT["agent"], "resilience": "n+2", "cache_loss": "cold_start"}}
    peaks = {"chat": [10, 20, 20], "agent": [10, 12, 12]}
    return tiny(peaks=peaks, workloads=workloads, sites=places(8)), {GB: 4}


def drives_may_be_lost() -> Any:
    """Racks whose drives are out must prefill what they would have found there."""
    case, most = ssd_against_recompute()
    return case.replace(settings={"cache_loss": "store"}), {**most, VR: 3}


def a_cmx_rack_may_be_lost() -> Any:
    """Of four CMX racks, all that two pods hold, a quarter of the hits is lost; of fewer more than they bring."""
    figures = {(VR, "dram_usable_share_kv"): 0.001, (VR, "hbm_bytes_per_gpu"): 55e9,
               ("cmx-rack", "enclosures_per_rack"): 1, ("cmx-enclosure", "price_usd"): 60_000}  # fmt: skip
    standing = fleet(("a", VR, 4, "2026Q4", 7e6)).assign(retirable=False)
    case = tiny(skus=("cmx-rack", "cmx-enclosure"), peaks={"agent": [25.5, 20, 20]}, workloads=AGENT, sites=places(14),
                figures=figures, tables={"fleet": standing},
                settings={"cache_loss": "cmx_rack"})  # fmt: skip
    return case, {"cmx-rack": 4, "cmx-enclosure": 4}


def a_pod_may_be_lost() -> Any:
    """Chat is shed, agents are served by two racks of three, without the third of their caches that lies in the pod."""
    workloads = {"agent": {**AGENT["agent"], "resilience": "pod"}}
    peaks = {"chat": [10, 20, 20], "agent": [40, 44, 44]}
    case = tiny(skus=(VR,), peaks=peaks, workloads=workloads, sites=({"positions": 8.0, "pods_max": 3},))
    return case, {VR: 4}


def lpx_copies_in_two_pods() -> Any:
    """One copy is enough; of two, one in each pod, one is left: with two LPX racks each and a rack beside them."""
    return lpx_copies(12.0, 5, resilience="pod")


def an_lpx_rack_may_be_down() -> Any:
    """A copy takes two of three LPX racks: one is to spare as it is. The rack beside them needs a second one."""
    return lpx_copies(12.0, 5, resilience="n+1")


def two_sites_each_able_to_carry_it() -> Any:
    """Two instances on two servers at either of two sites."""
    sites = ({"site": "a", "positions": 9.0}, {"site": "b", "positions": 9.0, "electricity_usd_per_kwh": 0.07})
    case, _ = small_llms_on_whole_servers("two_sites", sites, resilience="two_sites")
    return case, {"hgx-h200": 2}


def caches_move_down(how: str = "exclusive") -> Any:
    """Drives that endure little and are written whole sequences: young caches lie in memory, some of the old there."""
    figures = {(KIT, "price_usd"): 50_000, (KIT, "endurance_dwpd"): 0.1, (KIT, "store_bytes"): 5e14,
               (VR, "dram_usable_share_kv"): 0.03, (VR, "hbm_bytes_per_gpu"): 60e9}  # fmt: skip
    settings = {"cache_moves": how, "flash_writes": "write_through"}
    case = tiny(skus=(VR, KIT), peaks={"agent": [80, 45, 50]}, workloads=AGENT, sites=places(3.5), figures=figures,
                settings=settings)  # fmt: skip
    return case, {VR: 2, KIT: 2}


def caches_written_through() -> Any:
    """The same, with drives that last and take new tokens only."""
    case, most = caches_move_down("write_through")
    return case.replace(settings={"flash_writes": "write_once"}), most


def racks_at_maxq() -> Any:
    """Power for two racks at Max-P, or three of which one saves; later for all: they serve what two would not."""
    sites = ({"power_kw": 690.0, "positions": 9.0}, {"power_kw": 740.0, "positions": 9.0, "from_quarter": "2027Q3"})
    case = tiny(skus=(VR,), peaks={"chat": [170, 160, 190]}, sites=sites, settings={"power_modes": "by_quarter"})
    return case, {VR: 3}


def slow_ports_of_prefill() -> Any:
    """Servers read each other's memory by the ports of those that do not decode, and hand over all that they can."""
    figures = {("hgx-h20", "scale_out_bytes_per_s_per_gpu"): 7.5e7}
    chat = {"chat": {"card": "gpt-oss-120b", "ttft_s": 60.0}}
    settings = {"dram_home": "pod", "read_ports": "prefill", "peer_dram_bytes_per_s_per_gpu": 4e6}
    case = tiny(skus=("hgx-h20",), peaks={"chat": [8, 8, 8]}, workloads=chat, figures=figures, settings=settings,
                sites=places(2.0))  # fmt: skip
    return case, {"hgx-h20": 6}


def a_batch_through_slow_ports() -> Any:
    """By day servers decode; at night a batch fills NICs and ports of those that do not decode, which return reads."""
    shapes = pd.DataFrame([("office", 8, 20, 1.0), ("office", 20, 8, 0.2)], columns=SHAPE)
    chat = {"card": "gpt-oss-120b", "ttft_s": 60.0, "day_shape": "office"}
    batch = {"scenario": "offline", "card": "gpt-oss-120b", "reuse_curve": "chat"}
    settings = {"dayparts": "clock", "dram_home": "pod", "read_ports": "prefill", "peer_dram_bytes_per_s_per_gpu": 4e6}
    case = tiny(skus=("hgx-h20",), peaks={"chat": [6, 6, 6], "batch": [8, 10, 12]},
                workloads={"chat": chat, "batch": batch}, settings=settings, sites=places(2.0),
                figures={("hgx-h20", "scale_out_bytes_per_s_per_gpu"): 6e7},
                tables={"day_shapes": shapes})  # fmt: skip
    return case, {"hgx-h20": 6}


CASES: list[tuple[Callable[[], Any], set[str], set[str]]] = [
    (racks_only, {GB}, set()),
    (a_batch_through_slow_ports, {"hgx-h20"}, {"scale-out sent"}),
    (ssd_against_recompute, {VR, KIT}, {"kits in hosts"}),
    (cmx_against_recompute, {VR, "cmx-rack", "cmx-enclosure"}, set()),
    (kits_in_hosts_that_others_hold, set(), {"parts in free hosts"}),
    (the_only_enclosure_is_for_others, {VR, "cmx-enclosure"}, set()),
    (cmx_of_one_pod, {"cmx-enclosure"}, {"CMX sessions in pods"}),
    (a_second_kit, {"kit-b"}, {"kits in hosts"}),
    (worn_drives_are_replaced, {VR, KIT}, set()),
    (a_second_lpx, {"lpx-b"}, set()),
    (second_enclosures_and_frames, {"frame-b", "tray-b"}, set()),
    (lpx_copies, {VR, "lpx"}, set()),
    (budget_on_payment, set(), set()),
    (budget_on_commitment, {GB}, {"busy racks"}),
    (facility_power_and_expansion, {GB}, set()),
    (least_order_and_supply, {GB}, {"minimum order"}),
    (one_order_for_two_sites, {GB}, {"minimum order"}),
    (first_quarters_of_a_generation, {GB}, {"supply"}),
    (shortfall_by_priority, {GB}, {"busy racks"}),
    (shortfall_inside_lead_time, set(), {"busy racks"}),
    (rent_until_racks_come, set(), {"rent"}),
    (rent_at_the_site, set(), {"positions"}),
    (rent_from_the_budget_of_capital, set(), {"budget"}),
    (two_sites_and_workloads, {GB}, set()),
    (deferrable_beside_voice, {"hgx-b300"}, set()),
    (batch_fills_the_night, {GB}, set()),
    (batch_of_one_server_and_returns, {"hgx-h200"}, set()),
    (sales_beside_orders, {GB}, {"resale"}),
    (sales_one_at_a_time, set(), {"resale"}),
    (bought_and_sold_again, {GB}, set()),
    (room_after_removal, set(), {"positions"}),
    (late_prompts, {GB}, set()),
    (operating_budget, {GB}, {"opex"}),
    (contracted_space, {GB}, {"positions"}),
    (floor_for_the_lesser_tier, {GB}, {"positions", "least share served"}),
    (late_beyond_the_promise, {"hgx-h100"}, {"late first tokens"}),
    (nothing_returns_in_time, {"hgx-h200"}, {"late first tokens"}),
    (small_llms_on_whole_servers, {"hgx-h200"}, {"racks for whole instances"}),
    (slow_ports_of_prefill, {"hgx-h20"}, {"scale-out sent", "scale-out received"}),
    (prefill_over_a_link, {"hgx-h20"}, {"link bandwidth"}),
    (instances_by_role, {"hgx-h200"}, {"racks for whole instances"}),
    (small_llms_with_a_server_down, {"hgx-h200"}, {"units left after a loss"}),
    (a_small_llm_whose_neighbour_is_shed, {"hgx-h200"}, {"racks for whole instances"}),
    (one_workload_survives_two_racks_down, {GB}, {"units left after a loss"}),
    (drives_may_be_lost, {VR, KIT}, {"units left after a loss"}),
    (a_cmx_rack_may_be_lost, {"cmx-rack", "cmx-enclosure"}, {"units left after a loss"}),
    (a_pod_may_be_lost, {VR}, {"units left after a loss"}),
    (lpx_copies_in_two_pods, {VR, "lpx"}, {"LPX copies left after a loss"}),
    (an_lpx_rack_may_be_down, {VR, "lpx"}, {"units left after a loss"}),
    (two_sites_each_able_to_carry_it, {"hgx-h200"}, {"units left after a loss"}),
    (racks_at_maxq, {VR}, set()),
    (caches_move_down, {VR, KIT}, set()),
    (caches_written_through, {VR, KIT}, set()),
]
QUICK = {
    small_llms_on_whole_servers, cmx_of_one_pod, a_second_lpx, least_order_and_supply, late_beyond_the_promise,
    sales_one_at_a_time, floor_for_the_lesser_tier, small_llms_with_a_server_down,
    racks_at_maxq, operating_budget, contracted_space,
    rent_until_racks_come, rent_at_the_site, rent_from_the_budget_of_capital,
}  # fmt: skip
"""Orders, sales, CMX, LPX and lateness in a second or two each; the others are slow."""


@pytest.mark.parametrize(
    ("make", "bought", "binding"),
    [pytest.param(*row, id=row[0].__name__, marks=[] if row[0] in QUICK else [pytest.mark.slow]) for row in CASES],
)
@pytest.mark.thorough
def test_trying_every_plan_finds_the_same_optimum(make, bought, binding):
    case, most = make()
    short_bp, cost, cost_a_little_above = BruteForce(case, most).best()
    plan, whole = planned(case, gap=1e-6), found(case, "whole", 1e-6)
    for short, usd, bound in (
        (plan.summary["shortfall"]["share"] * 1e4, plan.objective_usd, plan.summary["bound_usd"]),
        (whole.short_bp, whole.cost_usd, whole.bound_usd),
    ):
        assert short == pytest.approx(short_bp, abs=1.1e-2)
        size = abs(usd) * 1e-5 + 1.0
        assert cost_a_little_above - size <= usd <= cost + size
        assert bound <= cost + size
    assert str(plan.status) == ("short" if short_bp > 1.0 else "optimal")
    assert set(plan.purchases["sku"]) == bought
    limits = plan.tables["limits"]
    assert binding <= set(limits.loc[limits["binding"], "family"])


OBJECTIVES = {
    # chats pay for a rack, batches for none at that worth; at more they come before chats, and pay for a second one
    ("min_cost_priced", 0.002): ({"batch"}, 1),
    ("min_cost_priced", 0.2): ({"chat"}, 2),
    ("max_margin", 0.002): ({"batch"}, 1),
    # more requests are chats, more tokens are batches
    ("max_served", 0.002): ({"batch"}, 2),
    ("max_served_tokens", 0.002): ({"chat"}, 2),
}
"""Workloads that are short in the planned quarter, and racks bought, by objective and worth of a batch request."""


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "worth"), OBJECTIVES)
def test_trying_every_plan_finds_the_same_optimum_of_every_objective(objective, worth):
    case, most = two_tiers(objective, worth)
    short_bp, best, _ = BruteForce(case, most).best()
    short, racks = OBJECTIVES[objective, worth]
    plan, whole = planned(case, gap=1e-6), found(case, "whole", 1e-6)
    for usd, bound in ((plan.objective_usd, plan.summary["bound_usd"]), (whole.cost_usd, whole.bound_usd)):
        assert usd == pytest.approx(best, rel=1e-5, abs=1.0)
        assert bound <= best + abs(best) * 1e-5 + 1.0
    assert str(plan.status) == "optimal"
    assert plan.tables["costs"]["npv_usd"].sum() == pytest.approx(plan.objective_usd, abs=1.0)
    assert plan.purchases["count"].sum() == racks
    assert {r["workload"] for r in plan.summary["shortfall"]["workloads"] if r["share"] > 1e-3} == short
    if case.objective.ranked:
        assert plan.summary["shortfall"]["share"] * 1e4 == pytest.approx(short_bp, abs=1.1e-2)
        assert whole.short_bp == pytest.approx(short_bp, abs=1.1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("make", [budget_on_payment, budget_on_commitment])
def test_the_budget_cases_would_buy_more_without_their_budget(make):
    case, _ = make()
    free = case.replace(tables={"budget": budget(*[1e12] * len(case.quarters))})
    held, bought = (planned(c, gap=1e-6) for c in (case, free))
    assert bought.summary["shortfall"]["share"] < held.summary["shortfall"]["share"] - 1e-3


EASED = [
    (sales_one_at_a_time, "resale_per_quarter", 1, 3),
    (sales_one_at_a_time, "removal_quarters", 1, 0),
    (sales_one_at_a_time, "removal_usd", 1e5, 0),
    (sales_one_at_a_time, "resale_delay_quarters", 1, 0),
    (bought_and_sold_again, "resale_lockup_quarters", 2, 1),
]
"""A term of sales as the case has it, and one under which a sale is easier."""


@pytest.mark.slow
@pytest.mark.parametrize(("make", "term", "strict", "eased"), [pytest.param(*row, id=row[1]) for row in EASED])
def test_every_term_of_a_sale_makes_the_plan_dearer(make, term, strict, eased):
    held, free = (planned(make(**{term: value})[0], gap=1e-6) for value in (strict, eased))
    assert free.objective_usd < held.objective_usd - 1e4


@pytest.mark.slow
def test_terms_that_no_sale_meets_change_nothing():
    """Two units are all there is to sell at once, and old racks have stood long enough."""
    for make, term, value in ((bought_and_sold_again, "resale_per_quarter", 3),
                              (room_after_removal, "resale_lockup_quarters", 2)):  # fmt: skip
        plans = [planned(make(**given)[0], gap=1e-6) for given in ({}, {term: value})]
        assert plans[0].objective_usd == pytest.approx(plans[1].objective_usd, abs=10.0)


@pytest.mark.slow
def test_nothing_is_sold_where_the_case_does_not_say_so():
    made = sales_one_at_a_time()[0]
    plan = planned(made.replace(settings={"resale": "none"}), gap=1e-6)
    assert plan.tables["sales"].empty
    assert plan.summary["sales"] == []
    assert plan.objective_usd > planned(made, gap=1e-6).objective_usd + 1e4
