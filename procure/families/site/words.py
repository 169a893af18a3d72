"""Sites in words."""

from __future__ import annotations

from procure.families.scales import RESOURCE_PER_UNIT
from procure.families.wording import Cause, RowWords, Words
from procure.instance import RESOURCES

RESOURCE_WORDS = {name: (word, unit, RESOURCE_PER_UNIT[name]) for name, (word, unit) in RESOURCES.items()}

WORDS = Words(
    rows={
        "site_limit": RowWords("", "", ("t", "site", "of"), by=RESOURCE_WORDS),
        "expansions_at_most": RowWords("expansions on offer", "times", ("site", "expansion")),
    },
    given=tuple(word for word, _ in RESOURCES.values()),
    causes=tuple(Cause(word, ("site_limit",), of=name, place=2) for name, (word, _) in RESOURCES.items()),
)
