"""What links between sites carry, in sentences."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import Limit, Shipped
from procure.report.words import planned_quarters, rounded, share
from procure.schema import BYTES_PER_GBIT
from procure.timekey import unmixed

LINK = "link bandwidth"
"""Rows of the limits that are links'."""
FULL = 1e-3
"""A link with less than this share left is full."""


def link_sentences(plan: Plan) -> list[str]:
    """What each link carries in the planned quarter in which it is fullest, and what sending adds to first tokens.

    Of a link that carries nothing it is said so: a planner who states one wants to know.
    """
    planned = planned_quarters(plan)
    limits = unmixed(plan.tables["limits"])
    links = limits[(limits["family"] == LINK) & limits["quarter"].isin(planned)]
    sent = [r for r in plan.rows(Shipped) if r.quarter in planned]
    sentences = []
    for row in Limit.rows(links.sort_values(["site", "item", "used"]).drop_duplicates(["site", "item"], keep="last")):
        mine = [r for r in sent if (r.quarter, r.from_site, f"to {r.to_site}") == (row.quarter, row.site, row.item)]
        if not mine:
            sentences.append(f"{row.site} {row.item}: carries nothing.")
            continue
        rate = sum(r.requests_per_s for r in mine)
        seconds = sum(r.requests_per_s * r.transfer_s for r in mine) / rate
        used = "full" if row.used > (1.0 - FULL) * row.limit else share(row.used / row.limit)
        egress, most = (bytes_per_s / BYTES_PER_GBIT for bytes_per_s in (row.used, row.limit))
        sentences.append(
            f"{row.site} {row.item}: {rounded(egress)} of {rounded(most)} Gbit/s ({used}) at the peak of "
            f"{row.quarter}, {rounded(rate)} requests/s prefilled at {row.site}; sending one takes "
            f"{rounded(seconds, 2)} s."
        )
    return sentences
