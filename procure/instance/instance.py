"""The tables that a program is built from, their columns and units."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from procure.timekey import TimeKey, time_keys

RESOURCES = {
    "power_kw": ("power", "kW"),
    "positions": ("positions", "positions"),
    "area_m2": ("area", "m2"),
    "liquid_kw": ("liquid cooling", "kW"),
    "ports": ("ports", "ports"),
}
"""What a site has a limit of, in a planner's word and unit."""

SCHEMA: dict[str, dict[str, str]] = {
    "quarters": {
        "t": "position of the quarter, 0 for the first",
        "quarter": "its name",
        "planned": "1 planned, 0 look-ahead",
        "fiscal_year": "fiscal year whose budget it draws on",
        "discount_factor": "present value at the start of quarter 0 of one USD paid in this quarter",
    },
    "skus": {
        "sku": "name",
        "kind": "gpu, lpx, cmx_rack, cmx_enclosure or ssd_kit",
        "host": "gpu SKU that an ssd_kit goes into",
        "lead_quarters": "whole quarters from order to delivery, rounded up",
        "first_order_t": "earliest order whose delivery is not before general availability",
        "last_order_t": "latest order that arrives in the horizon, before the end of sale; below the first: none",
        "min_order": "units, the least number in an order of a quarter over all sites",
        "supply_per_quarter": "units, the most that can be ordered in a quarter over all sites",
        "life_quarters": "quarters until the residual value is zero",
        "haircut": "share of the straight-line value that a unit is worth",
        "resale_spread": "share of the residual value that a sale loses",
        "milestone_order": "share of the price paid in the quarter of the order; the rest on delivery",
        "attach_usd": "USD per unit for what it drags along outside itself",
        "install_usd": "USD per unit for installation, paid on delivery",
        "usable_share": "share of owned units that may be busy at the peak: availability, spares, utilisation cap",
        "present_share": "share of owned units that are up and not spares; no CMX rack or enclosure is a spare",
        "gpus": "GPUs per unit",
        "pod_slots": "NVL72 places that the unit takes in a pod; 0 outside pods",
        "places": "SSD kits or CMX enclosures that the unit holds; 0 for what holds none",
    },
    "prices": {
        "sku": "name",
        "t": "quarter of delivery",
        "price_usd": "USD per unit",
        "support_usd_per_quarter": "USD per unit and quarter for units delivered then",
    },
    "fixed": {
        "group": "identifier of a group of units that exist or are firmly on order",
        "site": "site",
        "sku": "SKU",
        "count": "units",
        "vintage_t": "quarter of delivery, negative for the past",
        "retirable": "1 where the plan may sell them",
        "paid_usd": "USD paid or to be paid for the unit itself, without attach and installation",
        "due_usd": "USD per unit still to be paid, on delivery",
        "due_t": "quarter of that payment",
        "support_usd_per_quarter": "USD per unit and quarter",
    },
    "reserved": {"t": "quarter", "site": "site", "sku": "SKU", "count": "units held for other purposes"},
    "resource_use": {
        "site": "site",
        "sku": "SKU",
        "resource": "power_kw, positions, area_m2, liquid_kw or ports",
        "per_unit": "of one unit with what it drags along; facility power includes the PUE",
    },
    "site_limits": {"t": "quarter", "site": "site", "resource": "resource", "limit": "most that the site has built"},
    "pods": {
        "site": "site",
        "pods_max": "most pods",
        "nvl72_per_pod": "places for pod racks",
        "lpx_per_pod": "places for LPX racks",
        "cmx_racks_per_pod": "places for CMX racks",
        "cmx_crosses_pods": "1 where racks read the CMX of other pods too",
    },
    "expansions": {
        "site": "site",
        "expansion": "name",
        "lead_quarters": "whole quarters until it can be used",
        "max_count": "most of them",
        "capex_usd": "USD each, paid when ordered",
    },
    "expansion_adds": {"site": "site", "expansion": "name", "resource": "resource", "adds": "amount of each"},
    "budget": {"t": "quarter", "budget_usd": "most capital spending"},
    "upkeep": {
        "site": "site",
        "sku": "SKU",
        "idle_usd_per_quarter": "USD for power of one idle unit with its attach",
        "prefill_usd_per_quarter": "USD for the extra power of one unit busy with prefill all quarter",
        "decode_usd_per_quarter": "USD for the extra power of one unit busy with decode all quarter",
        "space_usd_per_quarter": "USD for the space of one unit with its attach",
    },
    "workloads": {
        "workload": "name",
        "card": "LLM",
        "priority": "weight of a request of this workload in the shortfall",
        "ttft_share": "share of requests that must meet TTFT",
        "ttft_target_s": "seconds to the first token that are asked for; inf: none",
        "tps_target": "tokens/s of one user in the fastest phase that has tokens; 0: none",
    },
    "short_prices": {
        "t": "quarter",
        "workload": "workload",
        "usd_per_request": "worth of a mean request of that quarter; the price of one unserved in look-ahead quarters",
    },
    "token_prices": {
        "workload": "workload",
        "tokens": "cached input, computed input or output",
        "usd_per_million": "what a million of them sells for",
    },
    "tasks": {
        "t": "quarter",
        "workload": "workload",
        "output_s": "seconds from the first token to the last at the speeds asked for",
        "calls": "requests of one task that follow one another: those of one of its subtasks",
        "tool_s": "seconds of tools between the requests of one subtask",
    },
    "rates": {
        "t": "quarter",
        "workload": "workload",
        "bucket": "length bucket",
        "requests_per_s": "rate that capacity is sized for: the peak, or the mean of deferrable work",
        "mean_per_peak": "mean rate over that rate",
    },
    "lengths": {
        "t": "quarter",
        "workload": "workload",
        "bucket": "length bucket",
        "input_tokens": "mean tokens of input",
        "input_upper_tokens": "longest input: a sequence of it must fit",
        "thinking_tokens": "mean tokens of thinking",
        "visible_tokens": "mean tokens of visible output",
        "kv_bytes": "bytes of the parked sequence",
    },
    "serve": {
        "point": "identifier of an operating point for a bucket",
        "t": "quarter",
        "workload": "workload",
        "bucket": "length bucket",
        "card": "LLM",
        "deployment": "pool, with + and the lpx SKU where LPX decodes beside it",
        "sku": "gpu SKU that works",
        "rack_s": "unit-seconds of decode per request on that SKU",
        "lpx_sku": "lpx SKU that decodes beside it; empty without LPX",
        "lpx_rack_s": "LPX rack-seconds per request, 0 without LPX",
        "free_hbm_bytes": "HBM beside weights and running batch, per unit busy with it",
        "tps_user": "tokens/s of one user at this point, in its slowest phase",
        "tps_margin": "least ratio over the phases of speed reached to speed promised; inf where none is promised",
        "evidence": "what the point rests on",
    },
    "prefill": {
        "option": "identifier of a way to prefill a bucket",
        "t": "quarter",
        "workload": "workload",
        "bucket": "length bucket",
        "sku": "gpu SKU that works",
        "store": "store that the reused tokens come from, or recompute",
        "rack_s": "unit-seconds per request",
        "ttft_s": "mean seconds to the first token",
        "late_share": "share of the bucket's requests, its longest, whose first token misses the target",
        "read_bytes": "bytes read from the store per request",
        "valid_bytes": "bytes of them that parking again need not write: entries, not states or windows",
        "evidence": "what the cost rests on",
    },
    "first_token": {
        "t": "quarter",
        "workload": "workload with a target",
        "sku": "gpu SKU that prefills",
        "store": "store that the reused tokens come from, or recompute",
        "share": "share of the workload's requests in order of length",
        "ttft_s": "seconds to the first token of the longest of them",
    },
    "cached_tokens": {
        "t": "quarter",
        "workload": "workload",
        "bucket": "length bucket",
        "shared_tokens": "mean tokens of input that a full prefill finds in a cache: the shared prefix",
        "reused_tokens": "mean tokens of input that a request finds whose own cache was kept",
    },
    "out_of_reach": {
        "t": "quarter",
        "workload": "workload",
        "bucket": "length bucket",
        "share": "share of its requests, the longest, late on every pool that may stand, beyond what may be late",
    },
    "stores": {
        "store": "name",
        "tier": "hbm, dram, ssd or cmx",
        "return_share": "chance that a return reaches its copy",
    },
    "store_units": {
        "store": "store",
        "sku": "SKU that brings bytes",
        "bytes": "bytes per unit",
        "read_bytes_per_s": "per unit, at the utilisation cap",
        "write_bytes_per_s": "per unit, at the utilisation cap",
        "write_bytes_per_day": "per unit, by endurance; inf where memory does not wear",
    },
    "store_readers": {
        "sku": "gpu SKU that may read CMX",
        "read_bytes_per_s": "per reading unit from all CMX stores together, at the utilisation cap",
    },
    "idle_hbm": {"sku": "gpu SKU", "bytes": "HBM of an idle unit beside resident weights"},
    "parked": {
        "t": "quarter",
        "workload": "workload",
        "kv_bytes": "bytes of one parked sequence at the mix of buckets",
    },
    "ages": {
        "t": "quarter",
        "workload": "workload",
        "interval": "position of the age interval, 0 for the youngest",
        "age_to_s": "idle seconds at its end",
        "seconds": "its length",
        "return_share": "share of requests that return within it",
        "mean_released": "mean over the interval of the share of parked bytes that a return has taken back",
    },
    "dayparts": {
        "daypart": "part of the day, 0 the busiest; no constraint uses parts yet",
        "hours_per_day": "clock hours in it",
        "clock_hours": "which, such as 9 10 11",
    },
    "daypart_rates": {
        "daypart": "part of the day",
        "workload": "workload",
        "of_peak": "rate of its busiest hour over the workload's peak",
        "mean_of_peak": "mean rate over the workload's peak",
    },
    "notes": {
        "workload": "workload",
        "topic": "context cap, reused share or reuse clock",
        "sentence": "what holds its lengths or reuse back",
    },
    "lpx_copies": {
        "card": "LLM",
        "sku": "lpx SKU",
        "racks_per_copy": "whole LPX racks that hold its FFN weights",
        "copies_per_pod": "whole copies that fit in a pod",
    },
}
"""Tables of an instance: column → meaning. Base units throughout."""


@dataclass(frozen=True)
class Instance:
    """Plain tables of coefficients; see :data:`SCHEMA`.

    ``settings`` holds the few scalars a program needs: ``budget_carry``, ``budget_basis``, ``horizon`` (quarters)
    and ``utilisation_cap`` (of an LPX copy's time).
    """

    tables: dict[str, pd.DataFrame]
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        for name, columns in SCHEMA.items():
            have = list(self.tables[name].columns)
            if have != list(columns):
                raise ValueError(f"instance table {name} has columns {have}, not {list(columns)}")

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.tables[name]

    @cached_property
    def quarters(self) -> list[str]:
        """Names of the quarters, in order: that of quarter t is ``quarters[t]``."""
        return list(self.tables["quarters"]["quarter"])

    @cached_property
    def position(self) -> dict[str, int]:
        """Position t of each quarter by its name."""
        return {name: t for t, name in enumerate(self.quarters)}

    @cached_property
    def span(self) -> dict[str, str]:
        """Whether each quarter, by its name, is ``planned`` or ``lookahead``."""
        planned = self.tables["quarters"]["planned"].tolist()
        return {name: "planned" if flag else "lookahead" for name, flag in zip(self.quarters, planned, strict=True)}

    @cached_property
    def blocks(self) -> list[TimeKey]:
        """Every block that something is asked for in, in order."""
        return sorted(set(time_keys(self.tables["quarters"])))

    @property
    def hash(self) -> str:
        """SHA-256 of the content, the same for the same numbers in another run."""
        digest = hashlib.sha256(repr(sorted(self.settings.items())).encode())
        for name in SCHEMA:
            digest.update(name.encode())
            digest.update(self.tables[name].to_csv(index=False, float_format="%.12g").encode())
        return digest.hexdigest()


def table(name: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """An instance table from rows in the order of its columns."""
    return pd.DataFrame(rows, columns=list(SCHEMA[name]))
