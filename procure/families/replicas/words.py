"""Whole instances in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

_KIND = ("site", "deployment", "llm", "role", "at")

WORDS = Words(
    rows={
        "work_within_instances": RowWords("work of whole instances", "instances", _KIND),
        "instance_linking": RowWords("instances set up", "of the rate", (*_KIND, "workload", "bucket", "work")),
        "instances_take_units": RowWords("racks that instances take", "racks", ("site", "sku", "t")),
        "instances_within_units": RowWords("racks for whole instances", "racks", ("site", "sku", "t")),
        "work_beside_instances": RowWords("racks beside whole instances", "racks", ("site", "sku", "at")),
    },
    bought=("racks for whole instances",),
    no_cause="racks are bought: what keeps more from standing is the cause",
)
