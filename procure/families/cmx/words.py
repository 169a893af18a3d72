"""Pods with CMX in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "cmx_reads_in_pods": RowWords("NVL72 places of pods with CMX, for reading it", "places", ("site", "at")),
        "cmx_sessions_on_readers": RowWords("racks that read CMX", "racks", ("site", "at")),
        "cmx_sessions_in_pods": RowWords("NVL72 places of pods with CMX, for its sessions", "places", ("site", "at")),
    },
    bought=("CMX sessions on readers", "CMX readers in pods", "CMX sessions in pods"),
    no_cause="caches only save work; what is not kept in CMX is computed, on racks that are bought",
)
