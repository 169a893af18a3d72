"""Links in words."""

from __future__ import annotations

from procure.families.wording import Cause, RowWords, Words

WORDS = Words(
    rows={
        "shipped_was_prefilled": RowWords("prefill for other sites", "of the rate", ("at", "-", "site")),
        "shipped_within_link": RowWords("bandwidth of a link", "of what it may carry", ("at", "site", "site")),
    },
    given=("link bandwidth",),
    causes=(Cause("link bandwidth", ("shipped_within_link",), place=8),),
)
