"""Demand in words."""

from __future__ import annotations

from procure.families.scales import BASIS_POINTS
from procure.families.wording import Broken, Full, Moved, RowWords, Words


def short_of_least_share(broken: Broken) -> str:
    """What a workload can be served at most within all other limits, and the share that is asked for at least."""
    workload = broken.key[1]
    asked, can = 1.0 - broken.limit, 1.0 - broken.limit - broken.over
    return f"{workload} asks for {asked:.2%} served at least, {can:.2%} at most can be within all other limits"


SHARE = 0.01
"""By which a least share is lowered."""


def moved(full: Full) -> Moved:
    """The workload's least share, lowered by a hundredth of its requests."""
    least = full.cell(full.stated["workloads"], "workload", full.item, "min_served_share")
    return Moved(f"workloads/{full.item}/min_served_share", least, -SHARE, "share")


WORDS = Words(
    rows={
        "demand_met": RowWords("demand", "of the rate", ("at", "workload", "bucket")),
        "short_counts_late": RowWords("what may be late without being short", "of the rate", ("at", "workload")),
        "least_share_served": RowWords("share not served", "of the rate", ("at", "workload")),
        "shortfall_of_quarter": RowWords(
            "the shortfall allowed", "of the weighted demand", ("at",), 1.0 / BASIS_POINTS
        ),
    },
    given=("least share served",),
    moves={"least share served": moved},
    told={"least_share_served": short_of_least_share},
    yields=("least_share_served",),
    no_cause="it is what falls short, not what holds it back",
)
