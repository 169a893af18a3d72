"""Links between sites, and what the pools of each do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case import schema as given
from procure.instance.tables import LinkRow, PoolRole
from procure.instance.units import skus_in_play
from procure.quarter import MONTHS_PER_QUARTER, Quarter
from procure.schema import BYTES_PER_GBIT, Role

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case


def links(case: Case) -> list[LinkRow]:
    """Links of every quarter: usable bytes/s are the bandwidth less the share kept for other traffic."""
    stages: dict[tuple[str, str], list[given.Link]] = {}
    for r in given.Link.rows(case.tables["links"]):
        stages.setdefault((r.from_site, r.to_site), []).append(r)
    rows = []
    for t, quarter in enumerate(case.quarters):
        for (sends, receives), of in sorted(stages.items()):
            begun = [r for r in of if Quarter(r.from_quarter) <= quarter]
            if begun:
                last = max(begun, key=lambda r: Quarter(r.from_quarter))
                usable = last.bandwidth_gbit_per_s * BYTES_PER_GBIT * (1.0 - last.other_traffic_share)
                if usable > 0:
                    rent = last.usd_per_month * MONTHS_PER_QUARTER
                    rows.append(LinkRow(t, sends, receives, usable, last.latency_s, rent))
    return rows


def _links(case: Case) -> pd.DataFrame:
    return LinkRow.frame(links(case))


def _pool_roles(case: Case) -> pd.DataFrame:
    play = {sku.name for sku in skus_in_play(case)}
    rows = (PoolRole(r.site, r.sku, Role(r.role)) for r in given.Pool.rows(case.tables["pools"]) if r.sku in play)
    return PoolRole.frame(sorted(rows, key=lambda r: (r.site, r.sku)))


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {
    "links": _links,
    "pool_roles": _pool_roles,
}
"""Tables of :data:`procure.instance.tables.TABLES` that it makes, of the case alone."""
