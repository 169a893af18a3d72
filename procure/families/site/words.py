"""Sites in words."""

from __future__ import annotations

from collections.abc import Callable

from procure.families.wording import Cause, Full, Moved, RowWords, Words
from procure.schema import Resource

SHARE = 0.1
"""Of a limit, by which it is moved where nothing on offer says how much a unit takes."""
RESOURCE_WORDS = {str(resource): (resource.word, resource.unit, resource.scale) for resource in Resource}


def moved(resource: Resource) -> Callable[[Full], Moved | None]:
    """What moves a resource of a site: the row of the case that holds, by what the largest unit on offer takes.

    By a tenth where nothing is on offer that takes any of it.
    """

    def move(full: Full) -> Moved | None:
        if (stated := full.site_row) is None:
            return None
        path, row = stated
        use = full.tables["resource_use"]
        offered = {*full.on_offer["sku"], *full.tables["rent_offers"]["sku"]}
        mine = use[(use["site"] == full.site) & (use["resource"] == resource) & use["sku"].isin(offered)]
        most = float(mine["per_unit"].max()) if len(mine) else 0.0
        step = most or SHARE * float(row[resource])
        return Moved(f"{path}/{resource}", float(row[resource]), step, resource.unit, counts=most > 0)

    return move


WORDS = Words(
    rows={
        "site_limit": RowWords("", "", ("t", "site", "of"), by=RESOURCE_WORDS),
        "expansions_at_most": RowWords("expansions on offer", "times", ("site", "expansion")),
    },
    given=tuple(resource.word for resource in Resource),
    moves={resource.word: moved(resource) for resource in Resource},
    causes=tuple(Cause(resource.word, ("site_limit",), of=resource, place=2) for resource in Resource),
)
