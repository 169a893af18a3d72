"""Demand in words."""

from __future__ import annotations

from procure.families.scales import BASIS_POINTS
from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={
        "demand_met": RowWords("demand", "of the rate", ("at", "workload", "bucket")),
        "short_counts_late": RowWords("what may be late without being short", "of the rate", ("at", "workload")),
        "shortfall_of_quarter": RowWords(
            "the shortfall allowed", "of the weighted demand", ("at",), 1.0 / BASIS_POINTS
        ),
    },
    no_limit="what is not served is counted short, in the SLA table, with its cause",
    no_cause="it is what falls short, not what holds it back",
)
