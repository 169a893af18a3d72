"""Links in words."""

from __future__ import annotations

from procure.families.wording import Cause, Full, Moved, RowWords, Words

SHARE = 0.1
"""Of a link's bandwidth, by which it is moved."""


def moved(full: Full) -> Moved:
    """The bandwidth of the row of the case that holds, by a tenth."""
    to_site, links = full.item.removeprefix("to "), full.stated["links"]
    mine = links[(links["from_site"] == full.site) & (links["to_site"] == to_site)]
    row = mine[mine["from_quarter"] <= full.quarter].sort_values("from_quarter").iloc[-1]
    path = f"links/{full.site}/{to_site}/{row['from_quarter']}/bandwidth_gbit_per_s"
    gbit_per_s = float(row["bandwidth_gbit_per_s"])
    return Moved(path, gbit_per_s, SHARE * gbit_per_s, "Gbit/s", counts=False)


WORDS = Words(
    rows={
        "shipped_was_prefilled": RowWords("prefill for other sites", "of the rate", ("at", "-", "site")),
        "shipped_within_link": RowWords("bandwidth of a link", "of what it may carry", ("at", "site", "site")),
    },
    given=("link bandwidth",),
    moves={"link bandwidth": moved},
    causes=(Cause("link bandwidth", ("shipped_within_link",), place=8),),
)
