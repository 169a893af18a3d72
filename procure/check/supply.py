"""What stands, what is on the way and what could be ordered, by quarter: what every finding is held against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.instance.tables import SkuRow

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
        """Units of fleet and firm orders by quarter (rows) and SKU (columns), reserved ones taken off."""
        steps = range(len(self.quarters))
        fixed, held = self.table("fixed"), self.table("reserved")
        names = list(self.table("skus")["sku"])
        return pd.DataFrame(
            {
                sku: [
                    float(fixed.loc[(fixed["sku"] == sku) & (fixed["vintage_t"] <= t), "count"].sum())
                    - float(held.loc[(held["sku"] == sku) & (held["t"] == t), "count"].sum())
                    for t in steps
                ]
                for sku in names
            }
        )

    @cached_property
    def arrival(self) -> dict[str, int]:
        """First quarter in which an order placed inside the horizon can stand, for SKUs on sale."""
        return {
            row.sku: row.first_order_t + row.lead_quarters
            for row in self.instance.rows(SkuRow)
            if row.first_order_t <= row.last_order_t
        }

    @cached_property
    def kind(self) -> dict[str, str]:
        """Kind of every SKU."""
        skus = self.table("skus")
        return dict(zip(skus["sku"], skus["kind"], strict=True))

    def can_stand(self, sku: str, t: int) -> bool:
        """Whether any unit of a SKU can stand in a quarter."""
        return float(self.firm[sku][t]) > 0 or self.arrival.get(sku, len(self.quarters)) <= t

    @cached_property
    def decode(self) -> pd.DataFrame:
        """Decode points, and whether units of every SKU that a point needs can stand (``can``) and are firm (``firm``).

        A point needs its gpu SKU, and its lpx SKU where LPX decodes beside it.
        """
        serve = self.instance["serve"]
        needs = list(zip(serve["t"].tolist(), serve["sku"].tolist(), serve["lpx_sku"].tolist(), strict=True))
        can = {key: all(self.can_stand(sku, key[0]) for sku in key[1:] if sku) for key in set(needs)}
        firm = {key: all(float(self.firm[sku][key[0]]) > 0 for sku in key[1:] if sku) for key in set(needs)}
        return serve.assign(can=[can[key] for key in needs], firm=[firm[key] for key in needs])
