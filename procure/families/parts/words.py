"""Parts in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "kits_within_hosts": RowWords("drive bays of hosts for kits", "kits", ("site", "sku", "t")),
        "enclosures_in_racks": RowWords("places of CMX racks for enclosures", "enclosures", ("site", "t")),
        "no_empty_cmx_rack": RowWords("CMX enclosures for the CMX racks that stand", "enclosures", ("site", "t")),
        "parts_in_free_hosts": RowWords("places in hosts that are not reserved", "units", ("site", "at", "sku")),
        "fitted_within_own": RowWords("units that are not reserved", "units", ("site", "sku", "at")),
    },
    bought=("kits in hosts", "CMX enclosures in racks", "CMX racks not empty", "parts in free hosts"),
    no_cause="parts hold caches, which only save work; what is not kept is computed, on racks that are bought",
)
