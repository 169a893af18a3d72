"""Rent in words."""

from __future__ import annotations

from procure.families.wording import Cause, Full, Moved, RowWords, Words


def moved(full: Full) -> Moved:
    """What an offer has at once, by a unit."""
    units = full.cell(full.tables["rent_offers"], "offer", full.item, "most_units")
    return Moved(f"rent/{full.item}/most_units", units, 1.0, "units")


WORDS = Words(
    rows={
        "rent_cap": RowWords("units for rent", "units", ("offer", "t")),
        "rent_begins": RowWords("units whose rent begins", "units", ("offer", "t")),
        "rent_term": RowWords("the minimum term of rent", "units", ("offer", "t")),
    },
    given=("rent",),
    moves={"rent": moved},
    causes=(Cause("rent", ("rent_cap",), place=3),),
)
