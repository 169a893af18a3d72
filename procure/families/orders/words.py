"""Orders in words."""

from __future__ import annotations

from procure.families.wording import Cause, RowWords, Words

WORDS = Words(
    rows={
        "supply_cap": RowWords("what the supplier sells in a quarter", "units", ("sku", "t")),
        "minimum_order": RowWords("the minimum order", "units", ("sku", "t")),
        "bought_or_sold": RowWords("a SKU that is ordered and sold in one quarter", "orders", ("sku", "t")),
        "order_placed": RowWords("the largest order", "units", ("sku", "t")),
    },
    given=("supply",),
    bought=("minimum order",),
    causes=(
        Cause("supply", ("supply_cap",), place=3),
        Cause("minimum order", ("minimum_order", "order_placed"), place=5),
    ),
)
