"""Sites in words."""

from __future__ import annotations

from procure.families.wording import Cause, RowWords, Words
from procure.schema import Resource

RESOURCE_WORDS = {str(resource): (resource.word, resource.unit, resource.scale) for resource in Resource}

WORDS = Words(
    rows={
        "site_limit": RowWords("", "", ("t", "site", "of"), by=RESOURCE_WORDS),
        "expansions_at_most": RowWords("expansions on offer", "times", ("site", "expansion")),
    },
    given=tuple(resource.word for resource in Resource),
    causes=tuple(Cause(resource.word, ("site_limit",), of=resource, place=2) for resource in Resource),
)
