"""Cases that tests of explanations share: two planned quarters of rising load, and one for each limit that binds."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tiny_case import budget, fleet, linked_sites, tiny

from procure.case import Case

GB, OLD_SKU = "gb300-nvl72", "gb200-nvl72"


def old(count: int = 1) -> pd.DataFrame:
    """Racks that stand already."""
    return fleet(("a", OLD_SKU, count, "2025Q1", 3.3e6))


def grown(**more: Any) -> Case:
    """Twice the load within a year, and room for it unless stated otherwise."""
    return tiny(planned=2, **{"peaks": {"chat": [100, 150, 200, 200]}, "sites": ({"positions": 20.0},), **more})


def _by_rent() -> Case:
    names = ["offer", "site", "sku", "most_units", "usd_per_gpu_hour"]
    offers = pd.DataFrame([("bridge", "a", OLD_SKU, 1, 4.0)], columns=names)
    return tiny(skus=(), peaks={"chat": [150.0] * 3}, sites=({"positions": 20.0},),
                tables={"rent": offers, "fleet": old()})  # fmt: skip


def _for_sale() -> Case:
    return tiny(skus=(), peaks={"chat": [20.0] * 3}, tables={"fleet": old(4)}, settings={"resale": "existing"},
                figures={(OLD_SKU, "resale_per_quarter"): 1})  # fmt: skip


def _least_share() -> Case:
    """One rack for two loads, of which the one that counts less must be served."""
    workloads = {"chat": {"priority": 5.0}, "rag": {"scenario": "chat", "min_served_share": 0.8}}
    return tiny(skus=(), peaks={"chat": [60.0] * 3, "rag": [30.0] * 3}, tables={"fleet": old()}, workloads=workloads)


def _late() -> Case:
    """Old servers, of which there are enough, that are too slow for long prompts."""
    chat = {"card": "llama-3.1-70b", "reuse_curve": "none", "ttft_s": 2.7}
    return tiny(skus=(), peaks={"chat": [4, 4, 4]}, workloads={"chat": chat}, sites=({"positions": 20.0},),
                tables={"fleet": fleet(("a", "hgx-h100", 10, "2025Q1", 2e5))})  # fmt: skip


def _of_opex() -> Case:
    spent = budget(*[1e9] * 4).assign(opex_usd=2.5e5)
    return grown(tables={"fleet": old(), "budget": spent})


BINDING = {
    "positions": lambda: grown(sites=({"positions": 2.0},)),
    "power": lambda: grown(sites=({"positions": 20.0, "power_kw": 200.0},)),
    "area": lambda: grown(sites=({"positions": 20.0, "area_m2": 3.0},)),
    "liquid cooling": lambda: grown(sites=({"positions": 20.0, "liquid_kw": 150.0},)),
    "ports": lambda: grown(sites=({"positions": 20.0, "ports": 120.0},)),
    "supply": lambda: grown(figures={(GB, "supply_per_quarter"): 1}),
    "pods": lambda: grown(
        skus=("vr-nvl72",), sites=({"positions": 60.0, "pods_max": 1},), settings={"nvl72_per_pod": 1}
    ),
    "budget": lambda: grown(tables={"fleet": old(), "budget": budget(6e6, 6e6, 1e8, 1e8)}),
    "opex": _of_opex,
    "link bandwidth": linked_sites,
    "rent": _by_rent,
    "resale": _for_sale,
    "least share served": _least_share,
    "late first tokens": _late,
}
"""Cases by the one limit that holds something back: more is served, or saved, without it."""
