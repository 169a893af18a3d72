"""What a plan serves in each part of the day: its tables of service as they are in those clock hours."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Daypart, DaypartRate, Serve, Workload
from procure.plan.tables import Deferred, Prefilled, Serving
from procure.quarter import HOURS_PER_DAY
from procure.schema import RECOMPUTE, Role
from procure.timekey import PEAK


class PartOfDay(NamedTuple):
    """Decode and prefill in some clock hours.

    ``hours`` names them, ``hours_per_day`` is how many; requests/s and racks of the rows are those of these hours.
    """

    hours: str
    hours_per_day: int
    decoding: list[Serving]
    filled: list[Prefilled]

    @property
    def works(self) -> list[Serving | Prefilled]:
        """Both."""
        return [*self.decoding, *self.filled]


def waiting(instance: Instance) -> set[str]:
    """Workloads that are placed in parts of the day; none where capacity is sized at one coincident peak."""
    if instance.settings["dayparts"] == "peak":
        return set()
    return {r.workload for r in instance.rows(Workload) if r.deferrable}


def parts_of_day(instance: Instance, tables: dict[str, pd.DataFrame]) -> list[PartOfDay]:
    """Service in each part of the day, or at the one peak.

    ``serving`` and ``prefill`` tell each workload at its own peak, and work that may wait at the mean of the day. In a
    part a workload's rows are less in proportion; of work that may wait they are those of ``deferred``, but for what
    reads a store, which runs evenly over the day.
    """
    decoding, filled = Serving.rows(tables["serving"]), Prefilled.rows(tables["prefill"])
    if instance.settings["dayparts"] == "peak":
        return [PartOfDay(PEAK, HOURS_PER_DAY, decoding, filled)]
    waits, points = waiting(instance), {r.point: r for r in instance.rows(Serve)}
    of_peak = {(r.daypart, r.workload): r.of_peak for r in instance.rows(DaypartRate)}
    placed = Deferred.rows(tables["deferred"])
    made = []
    for part in instance.rows(Daypart):
        here = [r for r in placed if r.hours == part.daypart]
        decode = [_decoded(r, points[r.point]) for r in here if r.work is Role.DECODE and r.point in points]
        fills = [_prefilled(r) for r in here if r.work is Role.PREFILL]
        for row in decoding:
            if row.workload not in waits:
                share = of_peak[part.daypart, row.workload]
                scaled = row.requests_per_s * share, row.racks * share, row.lpx_racks * share
                decode.append(replace(row, requests_per_s=scaled[0], racks=scaled[1], lpx_racks=scaled[2]))
        for fill in filled:
            if fill.workload not in waits or fill.store != RECOMPUTE:
                share = 1.0 if fill.workload in waits else of_peak[part.daypart, fill.workload]
                fills.append(replace(fill, requests_per_s=fill.requests_per_s * share, racks=fill.racks * share))
        made.append(PartOfDay(part.daypart, part.hours_per_day, decode, fills))
    return made


def _decoded(r: Deferred, point: Serve) -> Serving:
    """A row of ``serving`` for work that is placed."""
    return Serving(
        r.quarter, r.site, r.workload, r.bucket, point.deployment, r.sku, r.requests_per_s, r.racks, r.lpx_racks,
        point.distance, point.low, point.evidence, r.point, r.scenario, r.daypart,
    )  # fmt: skip


def _prefilled(r: Deferred) -> Prefilled:
    """A row of ``prefill`` for work that is placed."""
    return Prefilled(
        r.quarter, r.site, r.workload, r.bucket, r.sku, r.sku, RECOMPUTE, r.requests_per_s, r.racks, r.scenario,
        r.daypart,
    )  # fmt: skip
