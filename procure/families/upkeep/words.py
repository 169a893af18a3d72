"""Power and space as costs, in words."""

from __future__ import annotations

from procure.families.wording import Words

WORDS = Words(
    no_limit="it is paid for, not limited; the power of a site is a limit of the site",
    no_cause="a price decides whether something is worth it, not whether it fits",
)
