"""Which units may stand where and when, and what they may do there: what could be bought, whatever it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from procure.instance.tables import Fixed, PoolRole, Rented, RentOffer, SkuRow
from procure.schema import Role


def rent_windows(tables: Mapping[str, pd.DataFrame]) -> list[tuple[RentOffer, int]]:
    """Offers of rent, each with every quarter in which its units may be rented, or are since the plan began."""
    begun: dict[str, int] = {}
    for r in Rented.rows(tables["rented"]):
        begun[r.offer] = min(begun.get(r.offer, r.from_t), r.from_t)
    found = []
    for offer in RentOffer.rows(tables["rent_offers"]):
        never = offer.last_t + 1
        first = min(offer.first_t if offer.first_t <= offer.last_start_t else never, begun.get(offer.offer, never))
        found += [(offer, t) for t in range(max(first, 0), offer.last_t + 1)]
    return found


def first_arrivals(tables: Mapping[str, pd.DataFrame]) -> dict[str, int]:
    """First quarter in which an order placed inside the horizon can stand, by SKU on sale."""
    return {
        row.sku: row.first_order_t + row.lead_quarters
        for row in SkuRow.rows(tables["skus"])
        if row.first_order_t <= row.last_order_t
    }


@dataclass(frozen=True)
class Placeable:
    """Units that may stand: in the fleet, on firm order, ordered in time, or rented.

    Attributes:
        units: (site, SKU, t).
        role: of pools that may only prefill or only decode, by (site, SKU).
    """

    units: frozenset[tuple[str, str, int]]
    role: Mapping[tuple[str, str], Role]

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame]) -> Placeable:
        """From the tables ``resource_use``, ``skus``, ``fixed``, ``quarters``, ``pool_roles`` and those of rent."""
        use = tables["resource_use"]
        allowed = set(zip(use["site"], use["sku"], strict=True))
        orders = first_arrivals(tables)
        first = {(site, sku): orders[sku] for site, sku in allowed if sku in orders}
        for r in Fixed.rows(tables["fixed"]):
            first[r.site, r.sku] = min(first.get((r.site, r.sku), r.vintage_t), r.vintage_t)
        quarters = tables["quarters"]["t"].tolist()
        units = {(*place, t) for place, start in first.items() for t in quarters if t >= start}
        units |= {(offer.site, offer.sku, t) for offer, t in rent_windows(tables)}
        return cls(frozenset(units), {(r.site, r.sku): r.role for r in PoolRole.rows(tables["pool_roles"])})

    @property
    def sites(self) -> list[str]:
        """Sites where anything may stand."""
        return sorted({site for site, _, _ in self.units})

    def prefills(self, site: str, sku: str, t: int) -> bool:
        """Whether units of a SKU may stand at a site in a quarter and prefill."""
        return (site, sku, t) in self.units and self.role.get((site, sku)) is not Role.DECODE

    def decodes(self, site: str, sku: str, t: int) -> bool:
        """Whether units of a SKU may stand at a site in a quarter and decode."""
        return (site, sku, t) in self.units and self.role.get((site, sku)) is not Role.PREFILL

    @property
    def serves(self) -> set[tuple[str, int]]:
        """(SKU, t) where units may prefill at a site at which something may decode: no link is needed."""
        decoding = {(site, t) for site, sku, t in self.units if self.decodes(site, sku, t)}
        return {(sku, t) for site, sku, t in self.units if (site, t) in decoding and self.prefills(site, sku, t)}
