"""Parts in words."""

from __future__ import annotations

from procure.families.wording import Broken, RowWords, Words, amount, figure


def empty_rack(broken: Broken) -> str:
    """The enclosures that are missing in CMX racks that stand."""
    return f"CMX racks at {broken.key[0]} stand without {amount(figure(broken.over), 'enclosures')} that they need"


WORDS = Words(
    rows={
        "kits_within_hosts": RowWords("drive bays of hosts for kits", "kits", ("site", "sku", "t")),
        "enclosures_in_racks": RowWords("places of CMX racks for enclosures", "enclosures", ("site", "t")),
        "no_empty_cmx_rack": RowWords("CMX enclosures for the CMX racks that stand", "enclosures", ("site", "t")),
        "parts_in_free_hosts": RowWords("places in hosts that are not reserved", "units", ("site", "at", "sku")),
        "fitted_within_own": RowWords("units that are not reserved", "units", ("site", "sku", "at")),
    },
    bought=("kits in hosts", "CMX enclosures in racks", "CMX racks not empty", "parts in free hosts"),
    told={"no_empty_cmx_rack": empty_rack},
    no_cause="parts hold caches, which only save work; what is not kept is computed, on racks that are bought",
)
