"""The fleet in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "fleet_balance": RowWords("the fleet balance", "units", ("site", "sku", "t")),
        "retire_within_group": RowWords("units that a group can sell", "units", ("group",)),
        "resell_within_order": RowWords("units that an order can sell", "units", ("site", "sku", "-", "-")),
        "resale_cap": RowWords("what can be sold in a quarter", "units", ("sku", "t")),
        "reserved_stands": RowWords("units reserved for other purposes but not there", "units", ("site", "sku", "t")),
    },
    given=("resale",),
    bought=("reserved units stand",),
    no_cause="it counts what exists; what keeps more from existing are orders, sites and money",
)
