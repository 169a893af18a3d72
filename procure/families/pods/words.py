"""Pods in words."""

from __future__ import annotations

from procure.families.wording import Cause, Full, Moved, RowWords, Words
from procure.rules.places import POD_PLACES

PLACE_WORDS = {place: (f"{word} places in pods", "racks", 1.0) for place, word in POD_PLACES.items()}


def moved(full: Full) -> Moved | None:
    """The pods of the site's row that holds, by one."""
    if (stated := full.site_row) is None:
        return None
    path, row = stated
    return Moved(f"{path}/pods_max", float(row["pods_max"]), 1.0, "pods")


WORDS = Words(
    rows={
        "places_in_pods": RowWords("", "", ("site", "t", "of"), by=PLACE_WORDS),
        "pods_stay": RowWords("pods once opened", "pods", ("site", "t")),
    },
    given=("pods",),
    moves={"pods": moved},
    bought=tuple(f"{word} places in pods" for word in POD_PLACES.values()),
    causes=(Cause("pods", ("places_in_pods",), place=4),),
)
