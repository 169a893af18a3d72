"""Changes of firm orders in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={"changes_within_order": RowWords("units of a firm order that can be changed", "units", ("group",))},
    no_limit="what an order has is checked with its terms; nothing stands against a limit of its own",
    no_cause="it counts the units of an order; what keeps more from existing are orders, sites and money",
)
