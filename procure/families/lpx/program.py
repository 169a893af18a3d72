"""Family 6 in the program: LPX decodes in whole copies of a card's FFN weights, in the pods of its racks."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.plan.plan import frame
from procure.program.day import add_way, day_of
from procure.program.decided import Decided
from procure.program.declare import More, block_rows, first_stage, first_stage_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.timekey import TimeKey


def sets_of_copies(index: Index) -> list[tuple[str, str, str, int]]:
    """(site, card, lpx, t) where copies of a card may be set up on an LPX SKU."""
    return sorted({(site, p.card, p.lpx_sku, p.at.t) for p, site in index.serve if p.lpx_sku})


def add_variables(m: Any, index: Index) -> None:
    """copies[site, card, lpx, t] of a card on an LPX SKU, integer."""
    m.copies = first_stage(index.of(sets_of_copies), more=More.HELPS, domain=pyo.NonNegativeIntegers)


def lpx_time_within_copies(m: Any, index: Index) -> None:
    """The LPX time of all workloads of a card fits the copies set up for it, on each LPX SKU l apart.

        Σ_{p with l} rate·lpx_rack_s·serve[p,s] ≤ racks_per_copy[c,l] · cap · copies[s,c,l,t]

    LPX racks; cap is the utilisation cap. With parts of the day in each of them, as work is
    (:func:`procure.program.day.add_way`).
    """
    cap = index.instance.settings["utilisation_cap"]
    points = group((x for x in index.serve if x[0].lpx_sku), lambda x: (x[1], x[0].card, x[0].lpx_sku, x[0].at))

    def rule(m: Any, site: str, card: str, lpx: str, at: TimeKey) -> Any:
        row = Terms()
        for p, s in points[site, card, lpx, at.block]:
            add_way(m, index, row, p.rate * p.lpx_rack_s, (p, s), at)
        row.add(-cap * index.copies[card, lpx].racks_per_copy, m.copies[site, card, lpx, at.t])
        return row.at_most(0.0)

    day = index.of(day_of)
    keys = [
        (*key[:3], hours) for key in sorted(points) for hours in day.rows(key[3], {p.workload for p, _ in points[key]})
    ]
    m.lpx_time_within_copies = block_rows(keys, rule=rule)


def lpx_linking(m: Any, index: Index) -> None:
    """No copy, no LPX decode; a cut that only tightens the relaxation.

        Σ_{p with l} serve[p,s] ≤ min(1, capacity/rate) · copies[s,c,l,t]        for every t, s, w, b, l

    where capacity = racks_per_copy·cap/lpx_rack_s is what one copy decodes of the bucket.
    """
    cap = index.instance.settings["utilisation_cap"]
    points = group(
        (x for x in index.serve if x[0].lpx_sku),
        lambda x: (x[1], x[0].card, x[0].lpx_sku, x[0].at, x[0].workload, x[0].bucket),
    )

    def rule(m: Any, site: str, card: str, lpx: str, at: TimeKey, workload: str, bucket: str) -> Any:
        row = Terms()
        share = 0.0
        for p, s in points[site, card, lpx, at, workload, bucket]:
            row.add(1.0, m.serve[p.point, s])
            share = max(share, index.copies[card, lpx].racks_per_copy * cap / p.lpx_rack_s / p.rate)
        row.add(-min(1.0, share), m.copies[site, card, lpx, at.t])
        return row.at_most(0.0)

    m.lpx_linking = block_rows(sorted(points), rule=rule)


def lpx_copies_within_racks(m: Any, index: Index) -> None:
    """Copies take whole racks of those that are up and not reserved.

    Σ_c racks_per_copy[c,l]·copies[s,c,l,t] ≤ present_share · (own[s,l,t] − reserved[s,l,t])
    """
    copies = group(index.of(sets_of_copies), lambda x: (x[0], x[2], x[3]))

    def rule(m: Any, site: str, lpx: str, t: int) -> Any:
        row = Terms()
        for key in copies[site, lpx, t]:
            row.add(index.copies[key[1], lpx].racks_per_copy, m.copies[key])
        present = index.sku[lpx].present_share
        row.add(-present, m.own[site, lpx, t])
        row.constant += present * index.reserved.get((t, site, lpx), 0.0)
        return row.at_most(0.0)

    m.lpx_copies_within_racks = first_stage_rows(sorted(copies), rule=rule)


def lpx_copies_within_pods(m: Any, index: Index) -> None:
    """A copy stands in one pod: copies[s,c,l,t] ≤ copies_per_pod[c,l] · pods[s,t]."""

    def rule(m: Any, site: str, card: str, lpx: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.copies[site, card, lpx, t])
        row.add(-index.copies[card, lpx].copies_per_pod, m.pods[site, t])
        return row.at_most(0.0)

    m.lpx_copies_within_pods = first_stage_rows(index.of(sets_of_copies), rule=rule)


def copies(d: Decided) -> pd.DataFrame:
    """Copies that are set up, and the racks that they take."""
    rows = [
        (d.names[t], site, card, lpx, count, count * int(d.index.copies[card, lpx].racks_per_copy))
        for site, card, lpx, t in d.index.of(sets_of_copies)
        if (count := d.value.whole(d.m.copies[site, card, lpx, t]))
    ]
    return frame("lpx_copies", rows)


PROGRAM = Part(
    (lpx_time_within_copies, lpx_linking, lpx_copies_within_racks, lpx_copies_within_pods),
    add_variables,
    tables={"lpx_copies": copies},
)
