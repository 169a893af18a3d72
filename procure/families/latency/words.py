"""First tokens in words."""

from __future__ import annotations

from procure.families.wording import Cause, Full, Moved, RowWords, Words

SHARE = 0.1
"""Of a time to first token, by which it is moved."""


def moved(full: Full) -> Moved:
    """The workload's time to first token, by a tenth."""
    ttft_s = full.cell(full.stated["workloads"], "workload", full.item, "ttft_s")
    return Moved(f"workloads/{full.item}/ttft_s", ttft_s, SHARE * ttft_s, "s", counts=False)


WORDS = Words(
    rows={"late_prefill_share": RowWords("the share that may be late", "of the rate", ("at", "workload"))},
    bought=("late first tokens",),
    moves={"late first tokens": moved},
    causes=(Cause("time to first token", ("late_prefill_share",), place=10, at_best=True),),
)
