"""Prefill in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={"prefill_where_decoded": RowWords("prefill", "of the rate", ("at", "site", "workload", "bucket"))},
    no_limit="an equation: what is decoded is prefilled, on racks whose work is limited",
    no_cause="an equation of requests; what holds them back is the work of racks",
)
