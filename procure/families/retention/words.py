"""Kept caches in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "kept_at_most_served": RowWords("caches to keep", "of the rate", ("at", "site", "workload")),
        "kept_only_falls": RowWords("caches kept on", "of the rate", ("at", "site", "workload", "-", "store")),
        "hits_from_kept": RowWords(
            "returns to kept caches", "of the rate", ("at", "site", "workload", "bucket", "store")
        ),
        "parked_within_store": RowWords("bytes for parked KV", "TB", ("at", "site", "store")),
    },
    bought=("parked KV",),
    no_cause="caches only save work; what is not kept is computed, on racks that are bought",
)
