"""Family 4 in the program: the work of a pool fits the racks that may be busy."""

from __future__ import annotations

from typing import Any

from procure.program.declare import block_rows
from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.present import add_slowed, add_work, hours_of_pools
from procure.timekey import TimeKey


def work_within_racks(m: Any, index: Index) -> None:
    """Decode and prefill keep no more racks busy than availability, spares and the utilisation cap allow.

        Σ_p rate·rack_s·serve[p,s] + Σ_o rate·rack_s·prefill[o,s]
            ≤ usable_share[k] · (own[s,k,t] − reserved[s,k,t] − (1 − factor[k])·maxq[s,k,t])

    Racks; one at Max-Q does ``factor`` of the work of one at full power. With one coincident peak, deferrable work is
    sized at its mean; with parts of the day d, in each of them

        Σ_{p,o of w} of_peak[d,w]·rate·rack_s·(serve or prefill) + Σ_{deferrable} rate·rack_s·placed[·,s,d] ≤ the same

    (:mod:`procure.program.day`). Left out where no work can run.
    """

    def rule(m: Any, site: str, sku: str, at: TimeKey) -> Any:
        row = Terms()
        add_work(m, index, row, (site, sku, at))
        usable = index.sku[sku].usable_share
        row.add(-usable, m.own[site, sku, at.t])
        add_slowed(m, index, row, usable, (site, sku, at.t))
        return row.at_most(-usable * index.reserved.get((at.t, site, sku), 0.0))

    m.work_within_racks = block_rows(hours_of_pools(index), rule=rule)


PROGRAM = Part((work_within_racks,))
