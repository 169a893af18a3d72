"""Work of pools in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={"work_within_racks": RowWords("racks that may be busy", "racks", ("site", "sku", "at"))},
    bought=("busy racks",),
    no_cause="racks are bought: what keeps more from standing is the cause",
)
