"""The scale-out network in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "sent_within_scale_out": RowWords("scale-out network, sending", "units", ("at", "site", "sku")),
        "received_within_scale_out": RowWords("scale-out network, receiving", "units", ("at", "site", "sku")),
    },
    bought=("scale-out sent", "scale-out received"),
    no_cause="NICs come with the racks that are bought: what keeps more from standing is the cause",
)
