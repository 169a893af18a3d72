"""Power modes in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "maxq_within_own": RowWords("racks that may run at Max-Q", "racks", ("site", "sku", "t")),
        "full_power_work": RowWords("racks at full power", "racks", ("site", "sku", "at")),
    },
    bought=("racks at full power",),
    no_cause="racks run at Max-Q because power is short: the power of the site is the cause",
)
