"""What losses of racks, caches, pods and sites take, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from procure.families.wording import figure
from procure.plan import Plan
from procure.plan.tables import Placement, Survival
from procure.report.words import planned_quarters, share
from procure.schema import Lost, Tier

NO_LOSS = 1e-6
"""Share of what a load needs after a loss that is rounding."""
NOT_HELD = (
    "Racks, instances and LPX copies are counted after a loss; more first tokens may be late then, and HBM for "
    "prompts, ports, and the caches in one or two units that are down are not counted again"
)
"""What a plan does not hold after a loss, whoever asks to survive it."""


def loss_sentences(plan: Plan) -> tuple[list[str], list[str]]:
    """What each loss takes in the planned quarter in which it takes most against what is left.

    First losses after which not all loads have what they need, those that leave nothing at all last; then those that
    the units left carry. A plan that is
    sized by clock hour may have fewer units than its loads take at all their peaks at once, where losses are counted.
    """
    worst = _tightest(plan, lambda row: [(row.site, row.loss, row.lost, row.sku)])
    short = [row for row in worst if row.short_share > NO_LOSS]
    rest = [row for row in worst if row.short_share <= NO_LOSS]
    short.sort(key=lambda r: (_is_all_there_is(r), -r.short_share))
    return _losses(plan, short), _losses(plan, rest)


def _is_all_there_is(row: Survival) -> bool:
    """Whether the loss of the one pod or site takes everything, which nobody needs to be told first."""
    return row.racks_there <= 0 and not row.asked


def cache_sentences(plan: Plan) -> list[str]:
    """For each workload that lives on caches what its tightest pool takes without a store, and without CMX."""
    tier = _tiers(plan)

    def read_by(row: Survival) -> Iterable[tuple[str, str]]:
        if row.loss is Lost.STORE:
            for workload in row.workloads.split(", "):
                yield workload, "any store"
                if tier.get(row.lost) is Tier.CMX:
                    yield workload, "CMX"

    return _losses(plan, sorted(_tightest(plan, read_by), key=lambda r: (-r.short_share, r.site, r.lost, r.sku)))


def _tightest(plan: Plan, keys: Callable[[Survival], Iterable[tuple[Any, ...]]]) -> list[Survival]:
    """For each key that rows have the row of a planned quarter that is tightest; a row once."""
    worst: dict[tuple[Any, ...], Survival] = {}
    planned = set(planned_quarters(plan))
    for row in plan.rows(Survival):
        for key in keys(row) if row.quarter in planned else ():
            if key not in worst or _tighter(row, worst[key]):
                worst[key] = row
    return list({id(row): row for row in worst.values()}.values())


def _tiers(plan: Plan) -> dict[str, Tier]:
    """Tier of each store that caches lie in."""
    return {row.store: row.tier for row in plan.rows(Placement)}


def _losses(plan: Plan, rows: Iterable[Survival]) -> list[str]:
    by_clock, tier = not plan.tables["day"].empty, _tiers(plan)
    return [_loss(row, by_clock, tier) for row in rows]


def _tighter(row: Survival, other: Survival) -> bool:
    return row.racks_needed * max(other.racks_there, 0.0) > other.racks_needed * max(row.racks_there, 0.0) or (
        row.racks_there <= 0 and other.racks_there > 0
    )


def _loss(row: Survival, by_clock: bool, tier: Mapping[str, Tier]) -> str:
    """One loss, as ``without CMX (cmx:cmx-enclosure) at lakeside the load (coding reads it) needs 74.6 of 41 …``."""
    store = f"{tier[row.lost].word} ({row.lost})" if row.lost in tier else row.lost
    lost = {
        Lost.RACK: f"with one {row.lost} fewer at {row.site}",
        Lost.TWO_RACKS: f"with two {row.lost} fewer at {row.site}",
        Lost.POD: f"with one pod fewer at {row.site}",
        Lost.CMX_RACK: f"with one CMX rack fewer at {row.site}",
        Lost.STORE: f"without {store} at {row.site}",
        Lost.CACHES: f"without any cache at {row.site}",
        Lost.SITE: f"without {row.site}",
    }[row.loss]
    beside = "" if row.loss in (Lost.RACK, Lost.TWO_RACKS, Lost.POD, Lost.SITE) else f" ({row.workloads} read it)"
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
