"""The fleet in words."""

from __future__ import annotations

from procure.families.wording import Full, Moved, RowWords, Words


def moved(full: Full) -> Moved:
    """What may be sold of the SKU in every quarter, by a unit."""
    units = full.cell(full.tables["skus"], "sku", full.item, "resale_per_quarter")
    return Moved(f"hardware/{full.item}/resale_per_quarter", units, 1.0, "units")


WORDS = Words(
    rows={
        "fleet_balance": RowWords("the fleet balance", "units", ("site", "sku", "t")),
        "retire_within_group": RowWords("units that a group can sell", "units", ("group",)),
        "resell_within_order": RowWords("units that an order can sell", "units", ("site", "sku", "-", "-")),
        "resale_cap": RowWords("what can be sold in a quarter", "units", ("sku", "t")),
        "reserved_stands": RowWords("units reserved for other purposes but not there", "units", ("site", "sku", "t")),
    },
    given=("resale",),
    moves={"resale": moved},
    bought=("reserved units stand",),
    no_cause="it counts what exists; what keeps more from existing are orders, sites and money",
)
