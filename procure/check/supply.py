"""What stands, what is on the way and what could be ordered, by quarter: what every finding is held against."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.instance.placeable import rent_windows
from procure.instance.tables import Fixed, QuarterSupply, Rented, RentOffer, Reserved, SkuRow

if TYPE_CHECKING:
    from procure.case import Case
    from procure.instance import Instance


@dataclass(frozen=True)
class Supply:
    """What stands, what is on the way and what could be ordered, by quarter."""

    case: Case
    instance: Instance

    def table(self, name: str) -> Any:
        """A table of the instance."""
        return self.instance[name]

    @cached_property
    def quarters(self) -> list[str]:
        """Names of the quarters."""
        return [str(quarter) for quarter in self.case.quarters]

    @cached_property
    def firm(self) -> Any:
        """Units of fleet, firm orders and running rent by quarter (rows) and SKU (columns), reserved ones taken off."""
        units: dict[tuple[int, str], float] = defaultdict(float)
        steps = range(len(self.quarters))
        of_offer = {offer.offer: offer.sku for offer in self.instance.rows(RentOffer)}
        for group in self.instance.rows(Fixed):
            for t in steps[max(group.vintage_t, 0) :]:
                units[t, group.sku] += group.count
        for rent in self.instance.rows(Rented):
            for t in steps[max(rent.from_t, 0) : rent.until_t + 1]:
                units[t, of_offer[rent.offer]] += rent.count
        for held in self.instance.rows(Reserved):
            units[held.t, held.sku] -= held.count
        return pd.DataFrame({sku: [units[t, sku] for t in steps] for sku in self.table("skus")["sku"]})

    @cached_property
    def most(self) -> Any:
        """Units that can stand without an order of one's own, as ``firm``: those, and all that can be rented beside."""
        running: dict[tuple[str, int], float] = defaultdict(float)
        for rent in self.instance.rows(Rented):
            for t in range(max(rent.from_t, 0), rent.until_t + 1):
                running[rent.offer, t] += rent.count
        units = self.firm.astype(float)
        for offer in self.instance.rows(RentOffer):
            starts = offer.first_t <= offer.last_start_t
            for t in range(max(offer.first_t, 0), offer.last_t + 1) if starts else ():
                units.loc[t, offer.sku] += max(offer.most_units - running[offer.offer, t], 0.0)
        return units

    @cached_property
    def arrival(self) -> dict[str, int]:
        """First quarter in which an order placed inside the horizon can stand, for SKUs on sale.

        The supplier delivers some by then, as far as the case says.
        """
        none = {(r.sku, r.t) for r in self.instance.rows(QuarterSupply) if not r.most_units}
        found = {}
        for row in self.instance.rows(SkuRow):
            opens = [t for t in range(row.first_order_t, row.last_order_t + 1) if (row.sku, t) not in none]
            if opens:
                found[row.sku] = opens[0] + row.lead_quarters
        return found

    @cached_property
    def kind(self) -> dict[str, str]:
        """Kind of every SKU."""
        skus = self.table("skus")
        return dict(zip(skus["sku"], skus["kind"], strict=True))

    def can_stand(self, sku: str, t: int) -> bool:
        """Whether any unit of a SKU can stand in a quarter."""
        ordered = self.arrival.get(sku, len(self.quarters)) <= t
        return float(self.firm[sku][t]) > 0 or ordered or (sku, t) in self.rentable

    @cached_property
    def rentable(self) -> set[tuple[str, int]]:
        """(SKU, t) where units can be rented, or are."""
        return {(offer.sku, t) for offer, t in rent_windows(self.instance.tables)}

    @cached_property
    def decode(self) -> pd.DataFrame:
        """Decode points, and whether units of every SKU that one needs can stand: ``can``, ``most`` without an order.

        A point needs its gpu SKU, and its lpx SKU where LPX decodes beside it.
        """
        serve = self.instance["serve"]
        needs = list(zip(serve["t"].tolist(), serve["sku"].tolist(), serve["lpx_sku"].tolist(), strict=True))
        can = {key: all(self.can_stand(sku, key[0]) for sku in key[1:] if sku) for key in set(needs)}
        most = {key: all(float(self.most[sku][key[0]]) > 0 for sku in key[1:] if sku) for key in set(needs)}
        return serve.assign(can=[can[key] for key in needs], most=[most[key] for key in needs])
