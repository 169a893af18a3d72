"""What losses of racks, caches and sites take, in sentences."""

from __future__ import annotations

from procure.families.wording import figure
from procure.plan import Plan
from procure.plan.tables import Survival
from procure.report.words import planned_quarters, share
from procure.schema import Lost

NO_LOSS = 1e-6
"""Share of what a load needs after a loss that is rounding."""


def loss_sentences(plan: Plan) -> tuple[list[str], list[str]]:
    """What each loss takes in the planned quarter in which it takes most against what is left.

    First losses after which not all loads have what they need, then those that the units left carry. A plan that is
    sized by clock hour may have fewer units than its loads take at all their peaks at once, where losses are counted.
    """
    by_clock = not plan.tables["day"].empty
    worst: dict[tuple[str, Lost, str, str], Survival] = {}
    planned = set(planned_quarters(plan))
    for row in plan.rows(Survival):
        key = (row.site, row.loss, row.lost, row.sku)
        if row.quarter in planned and (key not in worst or _tighter(row, worst[key])):
            worst[key] = row
    short = [row for row in worst.values() if row.short_share > NO_LOSS]
    rest = [row for row in worst.values() if row.short_share <= NO_LOSS]
    short.sort(key=lambda r: -r.short_share)
    return [_loss(row, by_clock) for row in short], [_loss(row, by_clock) for row in rest]


def _tighter(row: Survival, other: Survival) -> bool:
    return row.racks_needed * max(other.racks_there, 0.0) > other.racks_needed * max(row.racks_there, 0.0) or (
        row.racks_there <= 0 and other.racks_there > 0
    )


def _loss(row: Survival, by_clock: bool) -> str:
    """One loss, as ``without cmx:cmx-enclosure at lakeside coding needs 74.6 of 41 vr-nvl72 in 2027Q3 (...)``."""
    lost = {
        Lost.RACK: f"with one {row.lost} fewer at {row.site}",
        Lost.CMX_RACK: f"with one CMX rack fewer at {row.site}",
        Lost.STORE: f"without {row.lost} at {row.site}",
        Lost.CACHES: f"without any cache at {row.site}",
        Lost.SITE: f"without {row.site}",
    }[row.loss]
    beside = "" if row.loss in (Lost.RACK, Lost.SITE) else f" ({row.workloads} read it)"
    short = row.short_share > NO_LOSS
    told = f"{share(row.short_share)} is not there" if short else "enough"
    amounts = f"{row.racks_needed:,.1f} of {figure(max(row.racks_there, 0.0))} {row.sku}"
    when = f"{row.quarter}, all at their own peaks" if by_clock else row.quarter
    text = f"{lost} the load{beside} needs {amounts} in {when}: {told}"
    if row.asked:
        text += f"; {row.asked} must be served then" + (", others are shed" if short else "")
    if row.loss is Lost.RACK and row.likely_down > 1:
        text += f"; {row.likely_down} are to be planned as down"
    return f"{text}."
