"""Reservations in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

WORDS = Words(
    rows={"exercised_at_most": RowWords("steps that a reservation keeps", "steps", ("reservation",))},
    no_limit="what is kept on offer is checked with its terms; what a site then holds is a limit of the site",
    no_cause="a price decides whether a step is kept; what keeps more from standing is the site",
)
