"""How much of the service moves to other hardware from one quarter to the next, from the tables of a plan."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypedDict

import pandas as pd

from procure.instance.tables import PlacedBefore, Rate
from procure.plan.tables import Prefilled, Serving
from procure.schema import Role

if TYPE_CHECKING:
    from procure.instance import Instance


Place = tuple[str, str, str, str]
"""Decode or prefill, workload, site, and the deployment or SKU that does it."""


class Placed(TypedDict):
    """What moves in a plan whose placement was asked to stay, and what that costs.

    ``moved`` is :func:`moved_share`, ``moved_cheapest`` that of the cheapest service of the same fleet;
    ``given_up_usd`` is what the plan costs more than with that service.
    """

    moved: float
    moved_cheapest: float
    given_up_usd: float


def moved_share(instance: Instance, tables: dict[str, pd.DataFrame]) -> float:
    """Workloads that move between quarters: shares of their requests that other hardware serves than before, summed.

        Σ_{t>0,w} Σ_p max(0, y[t,w,p] − y[t−1,w,p])

    y is the share of the workload's requests decoded by a deployment at a site, and likewise that prefilled by a SKU at
    a site, y[−1] what the case states of the quarter before the first; a workload that is served wholly by other racks,
    which also prefill it, counts as 2. The first quarter in which a workload is asked for moves nothing, nor does the
    first of all where nothing is stated.
    """
    share = _shares(instance, tables)
    before = instance.rows(PlacedBefore)
    stated = {(r.work, r.workload) for r in before}
    for r in before:
        share.setdefault((r.work, r.workload, r.site, r.deployment), {})[-1] = r.share
    asked = {(r.t, r.workload) for r in instance.rows(Rate) if r.requests_per_s > 0}
    return sum(
        max(0.0, found - by_quarter.get(t - 1, 0.0))
        for key, by_quarter in share.items()
        for t, found in by_quarter.items()
        if t >= 0 and ((t - 1, key[1]) in asked or (t == 0 and key[:2] in stated))
    )


def _shares(instance: Instance, tables: dict[str, pd.DataFrame]) -> dict[Place, dict[int, float]]:
    """Share of a workload's requests that each place decodes, or prefills, by position of the quarter."""
    rate: dict[tuple[int, str], float] = defaultdict(float)
    for r in instance.rows(Rate):
        rate[r.t, r.workload] += r.requests_per_s
    share: dict[Place, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    position = instance.position
    for decode in Serving.rows(tables["serving"]):
        t = position[decode.quarter]
        key = (Role.DECODE, decode.workload, decode.site, decode.deployment)
        share[key][t] += decode.requests_per_s / rate[t, decode.workload]
    for fill in Prefilled.rows(tables["prefill"]):
        t = position[fill.quarter]
        key = (Role.PREFILL, fill.workload, fill.site, fill.sku)
        share[key][t] += fill.requests_per_s / rate[t, fill.workload]
    return {key: dict(by_quarter) for key, by_quarter in share.items()}
