"""Orders in words."""

from __future__ import annotations

from procure.families.wording import Broken, Cause, Full, Moved, RowWords, Words, amount, figure
from procure.quarter import Quarter


def moved(full: Full) -> Moved:
    """What the supplier sells of the SKU in that quarter, or in every one, by a unit."""
    stated, skus = full.stated["supply"], full.tables["skus"]
    lead = int(full.cell(skus, "sku", full.item, "lead_quarters"))
    delivered = str(Quarter(full.quarter) + lead)
    if ((stated["sku"] == full.item) & (stated["quarter"] == delivered)).any():
        units = full.cell(stated[stated["quarter"] == delivered], "sku", full.item, "most_units")
        return Moved(f"supply/{full.item}/{delivered}/most_units", units, 1.0, "units")
    units = full.cell(full.tables["skus"], "sku", full.item, "supply_per_quarter")
    return Moved(f"hardware/{full.item}/supply_per_quarter", units, 1.0, "units")


def not_placed(broken: Broken) -> str:
    """Units that are ordered though an order of so few, or so many, is not placed."""
    units = amount(figure(broken.over), "units")
    return f"{units} of {broken.key[0]} ordered that its minimum order, or the largest one, does not allow"


WORDS = Words(
    rows={
        "supply_cap": RowWords("what the supplier sells in a quarter", "units", ("sku", "t")),
        "minimum_order": RowWords("the minimum order", "units", ("sku", "t")),
        "bought_or_sold": RowWords("a SKU that is ordered and sold in one quarter", "orders", ("sku", "t")),
        "order_placed": RowWords("the largest order", "units", ("sku", "t")),
    },
    given=("supply",),
    moves={"supply": moved},
    bought=("minimum order",),
    told={"order_placed": not_placed},
    causes=(
        Cause("supply", ("supply_cap",), place=3),
        Cause("minimum order", ("minimum_order", "order_placed"), place=5),
    ),
)
