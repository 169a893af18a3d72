"""Sales of a plan as a reader sums them up: by quarter, site and SKU, whatever batches the units are of."""

from __future__ import annotations

import pandas as pd

from procure.plan.summary import Sale
from procure.timekey import grouped


def sales_summary(table: pd.DataFrame) -> list[Sale]:
    """Rows of a plan's ``sales`` as plan.json lists them."""
    keys, sums = ["quarter", "site", "sku"], ["count", "net_usd", "book_loss_usd"]
    found = grouped(table, keys, as_index=False)[sums].sum()
    return [
        {"quarter": quarter, "site": site, "sku": sku, "count": int(count), "net_usd": net, "book_loss_usd": loss}
        for quarter, site, sku, count, net, loss in found[keys + sums].itertuples(index=False, name=None)
    ]
