"""Family 6: LPX decodes in whole copies of a card's FFN weights, in the pods of the racks it works with."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.present import add_present


def lpx_time_within_copies(m: Any, index: Index) -> None:
    """The LPX time of all workloads of a card fits the copies set up for it.

        Σ_p rate·lpx_rack_s·serve[p,s] ≤ racks_per_copy[c] · cap · copies[s,c,t]

    LPX racks; cap is the utilisation cap.
    """
    cap = index.instance.settings["utilisation_cap"]
    points = group((x for x in index.serve if x[0].lpx_rack_s), lambda x: (x[1], x[0].card, x[0].t))

    def rule(m: Any, site: str, card: str, t: int) -> Any:
        row = Terms()
        for p, s in points[site, card, t]:
            row.add(p.rate * p.lpx_rack_s, m.serve[p.point, s])
        row.add(-cap * index.copies[card].racks_per_copy, m.copies[site, card, t])
        return row.at_most(0.0)

    m.lpx_time_within_copies = pyo.Constraint(index.instances, rule=rule)


def lpx_linking(m: Any, index: Index) -> None:
    """No copy, no LPX decode; a cut that only tightens the relaxation.

        Σ_p serve[p,s] ≤ min(1, capacity/rate) · copies[s,c,t]        for every t, s, w, b

    where capacity = racks_per_copy·cap/lpx_rack_s is what one copy decodes of the bucket.
    """
    cap = index.instance.settings["utilisation_cap"]
    points = group(
        (x for x in index.serve if x[0].lpx_rack_s), lambda x: (x[1], x[0].card, x[0].t, x[0].workload, x[0].bucket)
    )

    def rule(m: Any, site: str, card: str, t: int, workload: str, bucket: str) -> Any:
        row = Terms()
        share = 0.0
        for p, s in points[site, card, t, workload, bucket]:
            row.add(1.0, m.serve[p.point, s])
            share = max(share, index.copies[card].racks_per_copy * cap / p.lpx_rack_s / p.rate)
        row.add(-min(1.0, share), m.copies[site, card, t])
        return row.at_most(0.0)

    m.lpx_linking = pyo.Constraint(sorted(points), rule=rule)


def lpx_copies_within_racks(m: Any, index: Index) -> None:
    """Copies take whole racks of those that are up and not reserved.

    Σ_c racks_per_copy[c]·copies[s,c,t] ≤ present_share · (own[s,LPX,t] − reserved[s,LPX,t])
    """
    cards = group(index.instances, lambda x: (x[0], x[2]))

    def rule(m: Any, site: str, t: int) -> Any:
        row = Terms()
        for s, card, quarter in cards[site, t]:
            row.add(index.copies[card].racks_per_copy, m.copies[s, card, quarter])
        add_present(m, index, row, -1.0, (site, index.lpx, t))
        return row.at_most(0.0)

    m.lpx_copies_within_racks = pyo.Constraint(sorted(cards), rule=rule)


def lpx_copies_within_pods(m: Any, index: Index) -> None:
    """A copy stands in one pod: copies[s,c,t] ≤ copies_per_pod[c] · pods[s,t]."""

    def rule(m: Any, site: str, card: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.copies[site, card, t])
        row.add(-index.copies[card].copies_per_pod, m.pods[site, t])
        return row.at_most(0.0)

    m.lpx_copies_within_pods = pyo.Constraint(index.instances, rule=rule)
