"""Stores in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "store_reads": RowWords("read bandwidth of a store", "TB/s", ("at", "site", "store")),
        "peer_reads": RowWords("what units read from each other", "TB/s", ("at", "site", "-", "sku")),
        "reader_limit": RowWords("what ports read from CMX", "TB/s", ("at", "site", "sku")),
        "store_writes": RowWords("write bandwidth of a store", "TB/s", ("at", "site", "store")),
        "store_wear": RowWords("endurance of a store", "TB a day", ("at", "site", "store")),
    },
    bought=("store reads", "store writes", "store wear", "store readers", "peer readers"),
    no_cause="caches only save work; what a store cannot take is computed, on racks that are bought",
)
