"""Which pairs of sites may prefill and decode for each other: where what may stand, and in which role."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from procure.instance.first_token import LEAST
from procure.instance.placeable import Placeable
from procure.instance.tables import Ship, ShipFirstToken

READ = (
    "prefill", "serve", "ships", "ship_first_token", "skus", "fixed", "resource_use", "quarters", "pool_roles",
    "rent_offers", "rented",
)  # fmt: skip
"""Tables that :func:`kept` reads."""


def kept(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Ways to send caches over links, and their first tokens, of pairs that a plan may use.

    The sending site may hold a pool that prefills so, the receiving one a pool that decodes the bucket. A pair on which
    every request of a bucket is late is no way where the receiving site may prefill it: nobody would send a cache to be
    late. Where nothing else prefills for a site it stays one, since some requests may be late.
    """
    placeable = Placeable.of(tables)
    decoded = _sites(tables["serve"], placeable.sites, placeable.decodes)
    prefilled = _sites(tables["prefill"], placeable.sites, placeable.prefills)
    rows = [
        r
        for r in Ship.rows(tables["ships"])
        if placeable.prefills(r.from_site, r.sku, r.t)
        and (r.t, r.workload, r.bucket, r.to_site) in decoded
        and (r.late_share < 1.0 - LEAST or (r.t, r.workload, r.bucket, r.to_site) not in prefilled)
    ]
    used = {(r.t, r.workload, r.sku, r.from_site, r.to_site) for r in rows}
    curves = (r for r in ShipFirstToken.rows(tables["ship_first_token"])
              if (r.t, r.workload, r.sku, r.from_site, r.to_site) in used)  # fmt: skip
    return {"ships": Ship.frame(rows), "ship_first_token": ShipFirstToken.frame(curves)}


def _sites(
    table: pd.DataFrame, sites: list[str], may: Callable[[str, str, int], bool]
) -> set[tuple[int, str, str, str]]:
    """(t, workload, bucket, site) where a pool that may stand may do a row of ``serve`` or ``prefill``."""
    cells = zip(*(table[name].tolist() for name in ("t", "workload", "bucket", "sku")), strict=True)
    return {(t, workload, bucket, site) for t, workload, bucket, sku in cells for site in sites if may(site, sku, t)}
