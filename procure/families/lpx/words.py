"""LPX in words."""

from __future__ import annotations

from procure.families.wording import Cause, RowWords, Words

WORDS = Words(
    rows={
        "lpx_time_within_copies": RowWords("LPX time of copies", "racks", ("site", "card", "sku", "at")),
        "lpx_linking": RowWords(
            "LPX copies set up", "of the rate", ("site", "card", "sku", "at", "workload", "bucket")
        ),
        "lpx_copies_within_racks": RowWords("LPX racks for copies", "racks", ("site", "sku", "t")),
        "lpx_copies_within_pods": RowWords("LPX copies in pods", "copies", ("site", "card", "sku", "t")),
    },
    bought=("LPX time", "LPX copies in pods", "LPX racks for copies"),
    causes=(Cause("pods", ("lpx_copies_within_pods",)),),
)
