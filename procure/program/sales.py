"""Sales that a plan may make, and what the sold units still take: what several families share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from procure.program.index import Index, group


class Sale(NamedTuple):
    """One unit leaves service at the start of quarter ``t`` and is sold.

    ``key`` is that of its decision: (group, t) of ``retire`` for what exists or is on order, (site, SKU, quarter of
    the order, t) of ``resell`` for what the plan buys.
    """

    key: tuple[Any, ...]
    site: str
    sku: str
    t: int
    vintage_t: int
    paid_usd: float
    support_usd_per_quarter: float

    def decision(self, m: Any) -> Any:
        """The variable with the number of units."""
        return m.retire[self.key] if len(self.key) == 2 else m.resell[self.key]


def of_groups(index: Index) -> list[Sale]:
    """Sales of units that exist or are firmly on order, from the end of their lock-up on."""
    return [
        Sale((name, t), row.site, row.sku, t, int(row.vintage_t), row.paid_usd, row.support_usd_per_quarter)
        for name, row in index.fixed.items()
        if row.retirable and index.sku[row.sku].resale_per_quarter
        for t in index.t
        if t >= max(int(row.vintage_t) + int(index.sku[row.sku].resale_lockup_quarters), 0)
    ]


def of_orders(index: Index) -> list[Sale]:
    """Sales of units that the plan buys, where the case allows them, from the end of their lock-up on."""
    if index.instance.settings["resale"] != "all":
        return []
    found = []
    for site, name, order_t in index.orders:
        sku = index.sku[name]
        vintage = order_t + int(sku.lead_quarters)
        unit = (vintage, index.price[name, vintage], index.support[name, vintage])
        first = vintage + int(sku.resale_lockup_quarters)
        if sku.resale_per_quarter:
            found += [Sale((site, name, order_t, t), site, name, t, *unit) for t in range(first, index.horizon)]
    return found


def sales(index: Index) -> list[Sale]:
    """Every sale that the plan may make."""
    return [*index.of(of_groups), *index.of(of_orders)]


def sales_by_sku(index: Index) -> dict[tuple[str, int], list[Sale]]:
    """Sales of a SKU in a quarter, over all sites."""
    return group(index.of(sales), lambda sale: (sale.sku, sale.t))


def leaving(index: Index) -> dict[tuple[str, str, int], list[Sale]]:
    """Sales whose units still stand at (site, SKU) in a quarter, sold and not yet removed."""
    found: dict[tuple[str, str, int], list[Sale]] = {}
    for sale in index.of(sales):
        for t in removal_quarters(index, sale):
            found.setdefault((sale.site, sale.sku, t), []).append(sale)
    return found


def removal_quarters(index: Index, sale: Sale) -> range:
    """Quarters of the horizon in which a unit that was sold still takes its place and idles."""
    return range(sale.t, min(sale.t + int(index.sku[sale.sku].removal_quarters), index.horizon))


def there(m: Any, index: Index, site: str, sku: str, t: int) -> Iterator[Any]:
    """Decisions whose sum is what takes a place: units that stand, and units sold that are not yet removed."""
    if (site, sku, t) in index.in_stock:
        yield m.own[site, sku, t]
    for sale in index.of(leaving).get((site, sku, t), []):
        yield sale.decision(m)
