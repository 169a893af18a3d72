"""What can be bought: one record per SKU, in base units."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from procure.schema import SkuKind

SKU_KINDS = tuple(SkuKind)
"""What an SKU is; decides which attributes it must have."""
SERVER_GPUS = 8
"""GPUs of the largest scale-up domain that is one server."""


@dataclass(frozen=True)
class Sku:
    """One thing that can be bought. Base units, FLOP/s dense; what a kind does not have is 0."""

    name: str
    kind: SkuKind
    depreciation_class: str
    host: str = ""
    """For an SSD kit: the GPU SKU whose bays it fills."""

    gpus: int = 0
    hbm_bytes_per_gpu: float = 0.0
    hbm_bytes_per_s_per_gpu: float = 0.0
    fp4_flops_per_gpu: float = 0.0
    fp8_flops_per_gpu: float = 0.0
    bf16_flops_per_gpu: float = 0.0
    exponentials_per_s_per_gpu: float = 0.0
    """Exponentials of softmax that the special function units give, which bound long attention beside FLOP/s."""
    scale_up_bytes_per_s_per_gpu: float = 0.0
    """One way, to the GPUs of the same domain."""
    scale_up_domain_gpus: int = 0
    scale_out_bytes_per_s_per_gpu: float = 0.0
    """One way, to other racks."""

    dram_kv_bytes: float = 0.0
    """Host memory of one unit that KV caches may use: dram_bytes x dram_usable_share_kv."""
    dram_bytes_per_s: float = 0.0
    """Host memory to GPUs, per unit and direction."""

    store_bytes: float = 0.0
    store_read_bytes_per_s: float = 0.0
    store_write_bytes_per_s: float = 0.0
    endurance_dwpd: float = 0.0
    """Drive writes per day: mean bytes written per day <= this x store_bytes."""
    ssd_included_bytes: float = 0.0
    """Drives inside a GPU unit's price; they fill bays, so a kit of the same size goes only into the rest."""
    enclosures_per_rack: int = 0
    """Enclosures that a CMX rack holds."""
    cmx_read_bytes_per_s: float = 0.0
    """How fast one unit can read from CMX; 0 where CMX is not supported."""
    pod_slots: float = 0.0
    """NVL72 places that one unit takes in a pod; 0 where it stands outside pods."""
    pairs_with_lpx: int = 0
    """1 where LPX racks of its pod may decode beside it."""

    throughput_factor: float = 1.0
    """Multiplies prefill and decode rates of GPUs: below 1 in a power mode that saves (Max-Q)."""
    projection: str = ""
    """For hardware that is only announced: month of the roadmap that its figures rest on; else empty."""

    sram_bytes: float = 0.0
    fp8_flops_per_rack: float = 0.0

    power_kw: float = 0.0
    power_typical_kw: float = 0.0
    power_idle_kw: float = 0.0
    power_maxq_kw: float = 0.0
    """Most that a unit draws at Max-Q, a power mode that saves; 0 where it has none."""
    maxq_throughput_factor: float = 0.0
    """Prefill and decode rates at Max-Q over those at full power; 0 where it has no such mode."""
    positions: float = 0.0
    area_m2: float = 0.0
    footprint_m2: float = 0.0
    """Area that carries the weight: floor loading is weight_kg / footprint_m2."""
    weight_kg: float = 0.0
    liquid_kw: float = 0.0
    ports: float = 0.0

    attach_kw: float = 0.0
    """Network and cooling gear that one unit needs outside itself; at typical and maximum load alike."""
    attach_positions: float = 0.0
    attach_usd: float = 0.0
    install_usd: float = 0.0

    price_usd: float = 0.0
    """2026Q4 level; `Catalogue.price_usd` gives the price of a delivery quarter."""
    price_flash_share: float = 0.0
    """Share of the price that follows the flash path; the rest follows `price_path`."""
    price_path: str = ""
    lead_quarters: float = 0.0
    """From order to delivery; whoever plans rounds it up to whole quarters."""
    available_from: str = ""
    """First quarter of delivery."""
    last_order: str = ""
    """Last quarter in which it can be ordered; empty where no end is known."""
    life_years: float = 0.0
    haircut: float = 0.0
    resale_spread: float = 0.0
    """Share of the residual value that a sale loses; what stands at the end of the horizon loses none."""
    resale_delay_quarters: float = 0.0
    """From the quarter in which a sold unit leaves service to its money; whoever plans rounds it up."""
    resale_lockup_quarters: float = 0.0
    """For so long a unit stands before it may be sold; whoever plans rounds it up."""
    resale_per_quarter: int = 0
    """Most units that can be sold in a quarter, over all sites."""
    removal_usd: float = 0.0
    """For taking out one unit that was sold, paid when it leaves service."""
    removal_quarters: float = 0.0
    """For so long a sold unit still takes its place and idles; whoever plans rounds it up."""
    book_life_years: float = 0.0
    """Straight-line life in the books, for the loss that a sale shows; no decision rests on it."""
    support_per_year: float = 0.0
    """Fraction of the price paid."""
    failures_per_year: float = 0.0
    """Times that a year of operation takes one unit out of service, whatever fails in it; of a kit by drive."""
    repair_hours: float = 0.0
    """Mean hours until it serves again, with firmware and rollouts, which take units out as failures do."""
    min_order: int = 1
    supply_per_quarter: float = float("inf")
    milestone_order: float = 0.0
    milestone_delivery: float = 0.0
    milestone_acceptance: float = 0.0

    @property
    def in_servers(self) -> bool:
        """Whether its GPUs share a scale-up domain with those of one server only; else with those of a rack."""
        return 0 < self.scale_up_domain_gpus <= SERVER_GPUS

    @property
    def machine(self) -> Machine:
        """What work on the SKU depends on: what it computes, holds and moves, and no more."""
        return Machine(**{name: getattr(self, name) for name in ("name", *MACHINE)})


class Machine(Sku):
    """A SKU as far as work on it goes: what it draws, takes up, costs and when it is sold are left at zero."""

    def __init__(self, **figures: Any) -> None:
        super().__init__(**{"depreciation_class": "", **figures})


INTEGER_FIELDS = (
    "gpus",
    "scale_up_domain_gpus",
    "min_order",
    "pairs_with_lpx",
    "enclosures_per_rack",
    "resale_per_quarter",
)
FIELDS = tuple(field.name for field in fields(Sku) if field.name != "name")
MACHINE = tuple(name for name in FIELDS[: FIELDS.index("power_kw")] if name != "depreciation_class")
"""Attributes that decide how fast work is done and what is held."""

_EVERY = {
    "kind", "depreciation_class", "power_kw", "power_typical_kw", "power_idle_kw", "positions", "area_m2",
    "footprint_m2", "weight_kg", "liquid_kw", "ports", "attach_kw", "attach_positions", "attach_usd",
    "install_usd", "price_usd", "price_path", "lead_quarters", "available_from", "last_order", "life_years", "haircut",
    "resale_spread", "resale_delay_quarters", "resale_lockup_quarters", "resale_per_quarter", "removal_usd",
    "removal_quarters", "book_life_years", "support_per_year", "failures_per_year", "repair_hours",
    "min_order", "supply_per_quarter", "milestone_order",
    "milestone_delivery", "milestone_acceptance",
}  # fmt: skip
_STORE = {"store_bytes", "store_read_bytes_per_s", "store_write_bytes_per_s", "endurance_dwpd"}
REQUIRED: dict[str, set[str]] = {
    SkuKind.GPU: _EVERY
    | {
        "gpus", "hbm_bytes_per_gpu", "hbm_bytes_per_s_per_gpu", "fp4_flops_per_gpu", "fp8_flops_per_gpu",
        "bf16_flops_per_gpu", "exponentials_per_s_per_gpu", "scale_up_bytes_per_s_per_gpu", "scale_up_domain_gpus",
        "scale_out_bytes_per_s_per_gpu", "dram_bytes", "dram_usable_share_kv", "dram_bytes_per_s",
        "ssd_included_bytes", "cmx_read_bytes_per_s", "pod_slots", "pairs_with_lpx",
    },
    SkuKind.LPX: _EVERY | {"sram_bytes", "fp8_flops_per_rack"},
    SkuKind.CMX_RACK: _EVERY | {"enclosures_per_rack"},
    SkuKind.CMX_ENCLOSURE: _EVERY | _STORE,
    SkuKind.SSD_KIT: _EVERY | _STORE | {"host"},
}  # fmt: skip
"""Attributes that a SKU of each kind must have: a missing one is a fault, never a silent zero."""

POSITIVE = (
    "gpus", "hbm_bytes_per_gpu", "hbm_bytes_per_s_per_gpu", "bf16_flops_per_gpu", "exponentials_per_s_per_gpu",
    "scale_up_bytes_per_s_per_gpu", "scale_up_domain_gpus", "scale_out_bytes_per_s_per_gpu", "sram_bytes",
    "fp8_flops_per_rack", "life_years", "book_life_years", "throughput_factor",
)  # fmt: skip
"""Attributes that something is divided by: zero has no meaning."""


INFORMATIVE = {
    "dram_kv_bytes": "State dram_bytes and dram_usable_share_kv.",
    "cdu_usd": "Add it to attach_usd in the attach table.",
    "lpus": "",
    "drives": "State store_bytes.",
    "sram_usable_share_weights": "State the premise lpx/racks_fill.",
    "link_bytes_per_s": "State the premise lpx/link_efficiency.",
    "link_latency_s": "State the premise lpx/transfer_s.",
    **dict.fromkeys(
        (
            "read_latency_s",
            "remote_read_bytes_per_s",
            "sram_bytes_per_s",
            "link_bytes_per_token_r1",
            "same_pod_required",
        ),
        "",
    ),
    **{f"market_value_age_{age:02d}q": "State life_years and haircut." for age in range(0, 28, 4)},
}
"""Attributes that a case cannot replace because no plan reads them, and what to state instead."""


WORDS = ("kind", "host", "depreciation_class", "price_path", "projection")
"""Attributes that name or sort; they are no premises."""

READ = frozenset({*FIELDS, "dram_bytes", "dram_usable_share_kv"}) - {*WORDS, "dram_kv_bytes"}
"""Figures of a SKU that a plan reads."""


def build(name: str, values: dict[str, Any]) -> Sku:
    """The record of one SKU from its attribute values; attributes that are not fields of `Sku` stay facts."""
    if "dram_bytes" in values:
        values = {**values, "dram_kv_bytes": values["dram_bytes"] * values["dram_usable_share_kv"]}
    known = {attribute: value for attribute, value in values.items() if attribute in FIELDS}
    known.update({attribute: round(known[attribute]) for attribute in INTEGER_FIELDS if attribute in known})
    return Sku(name=name, **{**known, "kind": SkuKind(known["kind"])})
