"""Sales of a plan as a reader sums them up: by quarter, site and SKU, whatever batches the units are of."""

from __future__ import annotations

import pandas as pd

from procure.plan.summary import Sale
from procure.timekey import totals


def sales_summary(table: pd.DataFrame) -> list[Sale]:
    """Rows of a plan's ``sales`` as plan.json lists them."""
    keys = ["quarter", "site", "sku"]
    count, net, loss = (totals(table, keys, value) for value in ("count", "net_usd", "book_loss_usd"))
    return [
        {"quarter": key[0], "site": key[1], "sku": key[2], "count": int(count[key]), "net_usd": net[key],
         "book_loss_usd": loss[key]}
        for key in count
    ]  # fmt: skip
