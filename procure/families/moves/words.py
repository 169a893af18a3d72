"""Moves between stores in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "moved_only_falls": RowWords(
            "caches moved and kept on", "of the rate", ("at", "site", "workload", "-", "store")
        )
    },
    no_limit="what moves takes of the bytes, bandwidth and endurance of both stores, which are limits of stores",
    no_cause="caches only save work; what is not kept is computed, on racks that are bought",
)
