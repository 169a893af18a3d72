"""What survives a loss, in words."""

from __future__ import annotations

from procure.families.wording import Cause, RowWords, Words

_POOL = ("loss", "site", "sku", "t")
_BUCKET = ("loss", "at", "workload", "bucket")

_HITS = ("loss", "site", "deployment", "llm", "role", "holder", "at")

WORDS = Words(
    rows={
        "units_left": RowWords("racks left after a loss", "racks", _POOL),
        "copies_left_in_pods": RowWords(
            "LPX copies after a loss in pods", "copies", ("loss", "site", "card", "sku", "t")
        ),
        "work_after_loss": RowWords("work after a loss", "racks", ("loss", "site", "sku", "at")),
        "instances_after_loss": RowWords(
            "whole instances after a loss", "instances", ("loss", "site", "deployment", "llm", "role", "at")
        ),
        "copies_after_loss": RowWords("LPX time after a loss", "racks", ("loss", "site", "card", "sku", "at")),
        "outside_the_fullest_pod": RowWords("units outside the fullest pod", "units", ("site", "sku", "t")),
        "caches_in_parts": RowWords("units that hold caches", "units", ("site", "holder", "t")),
        "parts_in_order": RowWords("units that hold caches, in order", "units", ("site", "holder", "n", "t")),
        "spared_by_hits": RowWords("work that hits spare after a loss", "racks", (*_HITS, "n")),
        "spared_in_parts": RowWords("work that hits spare in parts that are left", "racks", (*_HITS, "n")),
        "used_where_served": RowWords(
            "pools that lose racks", "of the rate", ("loss", "site", "at", "workload", "bucket", "role", "sku")
        ),
        "served_elsewhere": RowWords("service without a site", "of the rate", _BUCKET),
        "prefilled_elsewhere": RowWords("prefill without a site", "of the rate", (*_BUCKET, "site")),
    },
    bought=("units left after a loss", "LPX copies left after a loss"),
    causes=(
        Cause("resilience", ("units_left", "outside_the_fullest_pod", "caches_in_parts", "served_elsewhere"), place=9),
        Cause("pods", ("copies_left_in_pods",)),
    ),
)
