"""Pods in words."""

from __future__ import annotations

from procure.families.wording import Cause, RowWords, Words
from procure.rules.places import POD_PLACES

PLACE_WORDS = {place: (f"{word} places in pods", "racks", 1.0) for place, word in POD_PLACES.items()}

WORDS = Words(
    rows={
        "places_in_pods": RowWords("", "", ("site", "t", "of"), by=PLACE_WORDS),
        "pods_stay": RowWords("pods once opened", "pods", ("site", "t")),
    },
    given=("pods",),
    bought=tuple(f"{word} places in pods" for word in POD_PLACES.values()),
    causes=(Cause("pods", ("places_in_pods",), place=4),),
)
