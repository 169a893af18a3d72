"""Parts of the day in words."""

from __future__ import annotations

from procure.families.wording import RowWords, Words

_WAY = ("way", "site", "at")

WORDS = Words(
    rows={
        "decode_over_day": RowWords("decode over the hours of a day", "of the rate", _WAY),
        "prefill_over_day": RowWords("prefill over the hours of a day", "of the rate", _WAY),
        "prefill_in_its_hours": RowWords(
            "prefill in the hours of its decode", "of the rate", ("at", "site", "workload", "bucket")
        ),
        "sent_in_its_hours": RowWords("what leaves over links in the hours of its prefill", "of the rate", _WAY),
        "kept_in_every_part": RowWords("caches of work that may wait", "of the rate", ("at", "site", "workload")),
    },
    no_limit="what is placed is held against the racks there are, by the limits on busy racks",
    no_cause="work that may wait can stand in any hour; the racks that it needs there are bought",
)
