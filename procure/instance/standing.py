"""Which units may stand where and when, and what they may do there: what could be bought, whatever it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from procure.instance.tables import Fixed, PoolRole, SkuRow
from procure.schema import Role


@dataclass(frozen=True)
class Standing:
    """Units that may stand: in the fleet, on firm order, or ordered in time.

    Attributes:
        units: (site, SKU, t).
        role: of pools that may only prefill or only decode, by (site, SKU).
    """

    units: frozenset[tuple[str, str, int]]
    role: Mapping[tuple[str, str], Role]

    @classmethod
    def of(cls, tables: Mapping[str, pd.DataFrame]) -> Standing:
        """From the tables ``resource_use``, ``skus``, ``fixed``, ``quarters`` and ``pool_roles`` of an instance."""
        use = tables["resource_use"]
        allowed = set(zip(use["site"], use["sku"], strict=True))
        orders = {
            r.sku: r.first_order_t + r.lead_quarters
            for r in SkuRow.rows(tables["skus"])
            if r.first_order_t <= r.last_order_t
        }
        first = {(site, sku): orders[sku] for site, sku in allowed if sku in orders}
        for r in Fixed.rows(tables["fixed"]):
            first[r.site, r.sku] = min(first.get((r.site, r.sku), r.vintage_t), r.vintage_t)
        quarters = tables["quarters"]["t"].tolist()
        units = frozenset((*place, t) for place, start in first.items() for t in quarters if t >= start)
        return cls(units, {(r.site, r.sku): r.role for r in PoolRole.rows(tables["pool_roles"])})

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
