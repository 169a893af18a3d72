"""Power and space as costs, in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={"space_rented": RowWords("space beyond what is contracted and built", "kW", ("site", "t"), 1e3)},
    no_limit="it is paid for, not limited; the power of a site is a limit of the site",
    no_cause="a price decides whether something is worth it, not whether it fits",
)
