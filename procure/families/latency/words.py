"""First tokens in words."""

from __future__ import annotations

from procure.families.wording import Cause, RowWords, Words

WORDS = Words(
    rows={"late_prefill_share": RowWords("the share that may be late", "of the rate", ("at", "workload"))},
    bought=("late first tokens",),
    causes=(Cause("time to first token", ("late_prefill_share",), place=10, at_best=True),),
)
